// SPDX-License-Identifier: Apache-2.0
// The registry of kernel variants: names, what each is for, and whether a device can run it at all. Which variant runs
// for a problem is decided by choose() from what the operator's variants say of it.
#pragma once

#include <span>
#include <string>

#include "api/message.hpp"
#include "device/facts.hpp"
#include "kernels/shader_table.hpp"
#include "saccade/saccade.h"

namespace saccade::core {

struct KernelEntry {
  const char* name;
  SaccadeOperator op;
  const char* idea;
  bool selectable;  // a variant that plans choose from; else it runs beside or inside one
  const char* (*deviceRefusal)(const DeviceFacts& facts);  // "" if the device can run it; static storage
  const char* module = name;  // its shaders are called <module>_<dtype>_<native|portable>: variants may share one
};

std::span<const KernelEntry> kernelRegistry();

// The entry of a kernel that is known to exist.
const KernelEntry& kernelEntry(const std::string& name);

// Refuses a name that no operator has, listing those that exist.
void requireKnownKernel(const std::string& name);

// Modules of a kernel that this build lacks and why, one per line; "" if none.
std::string leftOutModules(const KernelEntry& entry);

// The module of a kernel for a dtype on a device: the native one if device and build have it, else the portable one. Refuses if
// this build left both out.
const ShaderModuleCode& shaderFor(const char* kernel, SaccadeDtype dtype, const DeviceFacts& facts);

struct Estimate {
  double cost;      // relative to the other variants of the operator; the lowest is taken
  const char* why;  // one clause for people
};

template <class Problem>
struct Variant {
  const char* name;  // an entry of the registry
  // Why it cannot compute this problem on this device; "" if it can. Device limits are in the registry's entry.
  std::string (*refusal)(const DeviceFacts& facts, const Problem& problem);
  Estimate (*estimate)(const DeviceFacts& facts, const Problem& problem);
};

struct Choice {
  size_t index;
  std::string reason;  // a line per variant
};

// `asked` is the description's kernel, `forced` the context's; both may be empty. A forced kernel binds only the
// operator that has a variant of its name; an asked one must be such a variant.
template <class Problem>
Choice choose(std::span<const Variant<Problem>> variants, const DeviceFacts& facts, const Problem& problem,
              const std::string& asked, const std::string& forced) {
  const auto find = [&](const std::string& name) {
    size_t i = 0;
    while (i < variants.size() && name != variants[i].name) i++;
    return i;
  };
  const auto refusalOf = [&](const Variant<Problem>& variant) {
    const std::string device = kernelEntry(variant.name).deviceRefusal(facts);
    return device.empty() ? variant.refusal(facts, problem) : device;
  };
  std::string named = asked;
  if (named.empty() && find(forced) < variants.size()) named = forced;
  if (!named.empty()) {
    const size_t index = find(named);
    if (index == variants.size()) {
      std::string names;
      for (const auto& variant : variants) names += (names.empty() ? "" : ", ") + std::string(variant.name);
      refuse("kernel", "kernel is \"{}\", which is not a variant of this operator; it has: {}", named, names);
    }
    if (const std::string refusal = refusalOf(variants[index]); !refusal.empty()) {
      refuseUnsupported("kernel", "kernel \"{}\" was asked for, but cannot run here: {}", named, refusal);
    }
    return {index, named + ": chosen: asked for by name"};
  }

  size_t best = variants.size();
  Estimate bestEstimate{};
  std::string others;
  for (size_t i = 0; i < variants.size(); i++) {
    if (const std::string refusal = refusalOf(variants[i]); !refusal.empty()) {
      others += std::string("\n") + variants[i].name + ": cannot run: " + refusal;
      continue;
    }
    const Estimate estimate = variants[i].estimate(facts, problem);
    size_t loser = i;
    Estimate loserEstimate = estimate;
    if (best == variants.size() || estimate.cost < bestEstimate.cost) {
      loser = best;
      loserEstimate = bestEstimate;
      best = i;
      bestEstimate = estimate;
    }
    if (loser < variants.size()) {
      others += std::string("\n") + variants[loser].name + ": not taken: " + loserEstimate.why;
    }
  }
  if (best == variants.size()) {
    refuseUnsupported("kernel", "no kernel of this operator can run here:{}", others);
  }
  return {best, std::string(variants[best].name) + ": chosen: " + bestEstimate.why + others};
}

}  // namespace saccade::core
