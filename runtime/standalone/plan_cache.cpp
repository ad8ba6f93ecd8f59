// SPDX-License-Identifier: Apache-2.0
#include "standalone/plan_cache.hpp"

#include <type_traits>

namespace saccade::runtime {
namespace {

// Collects the fields of a description one by one: the bytes of a whole struct would include its padding.
class KeyWriter {
 public:
  explicit KeyWriter(char op) : key_(1, op) {}

  template <typename... Fields>
  std::string operator()(const Fields&... fields) && {
    (add(fields), ...);
    return std::move(key_);
  }

 private:
  template <typename Value>
    requires std::is_arithmetic_v<Value> || std::is_enum_v<Value>
  void add(const Value& value) {
    key_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void add(const TensorDesc& tensor) {
    add(tensor.dtype);
    for (std::int64_t size : tensor.sizes) add(size);
    for (std::int64_t stride : tensor.strides) add(stride);
  }
  template <typename Value>
  void add(const std::optional<Value>& value) {
    add(value.has_value());
    if (value) add(*value);
  }
  void add(const std::string& text) { key_ += text + '\0'; }

  std::string key_;
};

}  // namespace

std::string PlanCache::keyOf(const AttentionDesc& d) {
  return KeyWriter('A')(d.q, d.k, d.v, d.out, d.lse, d.probs, d.mask, d.bias, d.alibiSlopes,
                        d.sink, d.blockTable, d.kScale, d.vScale, d.scaleBlock, d.seqlensQ, d.seqlensK, d.sequences, d.causal, d.windowLeft,
                        d.windowRight, d.softmaxScale, d.temperature, d.softcap, d.dropout, d.dropoutSeed, d.dropoutOffset, d.normalizer, d.sigmoidBias, d.kernel);
}

std::string PlanCache::keyOf(const MatmulDesc& d) {
  return KeyWriter('M')(d.a, d.b, d.bias, d.residual, d.out, d.activation, d.kernel);
}

std::string PlanCache::keyOf(const LayerNormDesc& d) {
  return KeyWriter('L')(d.x, d.weight, d.bias, d.out, d.epsilon, d.kernel);
}

std::string PlanCache::keyOf(const SoftmaxDesc& d) { return KeyWriter('S')(d.x, d.out, d.kernel); }

std::string PlanCache::keyOf(const ActivationDesc& d) {
  return KeyWriter('C')(d.x, d.out, d.activation, d.kernel);
}

std::string PlanCache::keyOf(const PatchEmbedDesc& d) {
  return KeyWriter('P')(d.image, d.weight, d.bias, d.residual, d.out, d.patchSize, d.kernel);
}

std::shared_ptr<const Plan> PlanCache::find(const std::string& key) {
  const auto found = index_.find(key);
  if (found == index_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->plan;
}

std::shared_ptr<const Plan> PlanCache::get(const std::string& key, const std::function<Plan()>& create) {
  {
    const std::lock_guard lock(mutex_);
    if (auto plan = find(key)) return plan;
  }
  // Outside the lock: creating pipelines may take the driver seconds.
  auto plan = std::make_shared<const Plan>(create());
  const std::lock_guard lock(mutex_);
  if (auto meanwhile = find(key)) return meanwhile;
  entries_.push_front({key, plan});
  index_[key] = entries_.begin();
  if (entries_.size() > kCapacity) {
    index_.erase(entries_.back().key);
    entries_.pop_back();
  }
  return plan;
}

}  // namespace saccade::runtime
