// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include <saccade/saccade.hpp>

namespace saccade::runtime {

// The most recently used plans of a device by their description. Thread-safe.
class PlanCache {
 public:
  template <typename Desc>
  std::shared_ptr<const Plan> get(const Context& context, const Desc& desc) {
    return get(keyOf(desc), [&] { return context.plan(desc); });
  }

  static constexpr std::size_t kCapacity = 256;

 private:
  struct Entry {
    std::string key;
    std::shared_ptr<const Plan> plan;
  };

  static std::string keyOf(const AttentionDesc& desc);
  static std::string keyOf(const MatmulDesc& desc);
  static std::string keyOf(const LayerNormDesc& desc);
  static std::string keyOf(const SoftmaxDesc& desc);
  static std::string keyOf(const ActivationDesc& desc);
  static std::string keyOf(const PatchEmbedDesc& desc);

  std::shared_ptr<const Plan> get(const std::string& key, const std::function<Plan()>& create);
  std::shared_ptr<const Plan> find(const std::string& key);

  std::mutex mutex_;
  std::list<Entry> entries_;  // most recently used first
  std::unordered_map<std::string, std::list<Entry>::iterator> index_;
};

}  // namespace saccade::runtime
