// SPDX-License-Identifier: Apache-2.0
#include "api/context.hpp"

#include <algorithm>

#include "api/message.hpp"
#include "kernels/registry.hpp"
#include "kernels/tile.hpp"

namespace saccade::core {
namespace {

void requireHandle(bool given, const char* field) {
  if (!given) refuse(field, "{} is null; it is required", field);
}

}  // namespace

Context::Context(const SaccadeContextCreateInfo& info) {
  if (info.structSize != sizeof(SaccadeContextCreateInfo)) {
    refuse("structSize", "structSize is {}, this library expects {}; start from saccadeContextCreateInfoDefault()",
           info.structSize, sizeof(SaccadeContextCreateInfo));
  }
  requireHandle(info.instance != VK_NULL_HANDLE, "instance");
  requireHandle(info.physicalDevice != VK_NULL_HANDLE, "physicalDevice");
  requireHandle(info.device != VK_NULL_HANDLE, "device");
  requireHandle(info.getInstanceProcAddr != nullptr, "getInstanceProcAddr");
  requireHandle(info.enabledFeatures != nullptr, "enabledFeatures");
  if (!(info.dispatchBudget > 0)) {
    refuse("dispatchBudget", "dispatchBudget is {} ms; it must be above 0, INFINITY to leave all work in one piece", info.dispatchBudget);
  }
  dispatchBudget_ = info.dispatchBudget;
  if (info.kernel != nullptr && *info.kernel != '\0') {
    requireKnownKernel(parseKernelRequest(forcedKernel_ = info.kernel).kernel);
  }
  if (info.allocationCallbacks != nullptr) callbacks_ = *info.allocationCallbacks;
  const VkAllocationCallbacks* callbacks = callbacks_ ? &*callbacks_ : nullptr;

  instanceFunctions_ = loadInstanceFunctions(info.instance, info.getInstanceProcAddr);
  functions_ = loadDeviceFunctions(info.device, instanceFunctions_.vkGetDeviceProcAddr);
  const FeatureSet enabled = readFeatures(info.enabledFeatures);
  facts_ = queryFacts(instanceFunctions_, info.physicalDevice, info.apiVersion, enabled);
  for (const FeatureRequirement& requirement : featureRequirements()) {
    if (requirement.required && !(enabled.*requirement.member)) {
      throw Refusal(SACCADE_ERROR_DEVICE_REQUIREMENTS, requirement.name,
                    std::format("{} of {} is not enabled on {}; it is required: {}", requirement.name,
                                requirement.structName, facts_.deviceName, requirement.buys));
    }
  }
  for (const KernelEntry& entry : kernelRegistry()) leftOut_.push_back(leftOutModules(entry));
  if (info.tuning != nullptr && info.tuningSize > 0) {
    try {
      tuning_ = readTuning({static_cast<const char*>(info.tuning), info.tuningSize}, facts_);
    } catch (const Refusal& refusal) {
      tuningIgnored_ = refusal.text;
    }
  }
  pipelines_.emplace(functions_, info.device, info.pipelineCache, callbacks,
                     facts_.apiVersion >= VK_API_VERSION_1_3, isCpu(facts_) ? kUnknownCpuPace : kUnknownGpuPace);
  parameters_.emplace(instanceFunctions_, functions_, info.physicalDevice, info.device, callbacks);
}

}  // namespace saccade::core

using namespace saccade::core;

SaccadeStatus saccadeGetDeviceRequirements(VkInstance instance, VkPhysicalDevice physicalDevice,
                                           PFN_vkGetInstanceProcAddr getInstanceProcAddr, uint32_t* count,
                                           SaccadeRequirement* items, SaccadeMessage* message) {
  return guarded(message, [&] {
    requireHandle(instance != VK_NULL_HANDLE, "instance");
    requireHandle(physicalDevice != VK_NULL_HANDLE, "physicalDevice");
    requireHandle(getInstanceProcAddr != nullptr, "getInstanceProcAddr");
    requireHandle(count != nullptr, "count");
    const auto requirements = featureRequirements();
    if (items == nullptr) {
      *count = static_cast<uint32_t>(requirements.size());
      return;
    }
    const InstanceFunctions functions = loadInstanceFunctions(instance, getInstanceProcAddr);
    VkPhysicalDeviceVulkan12Features vulkan12{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
    VkPhysicalDeviceVulkan11Features vulkan11{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES, &vulkan12};
    VkPhysicalDeviceFeatures2 chain{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &vulkan11};
    VkPhysicalDeviceProperties properties{};
    functions.vkGetPhysicalDeviceProperties(physicalDevice, &properties);
    if (properties.apiVersion < VK_API_VERSION_1_2) {
      throw Refusal(SACCADE_ERROR_DEVICE_REQUIREMENTS, "apiVersion",
                    std::format("{} offers Vulkan {}.{}; 1.2 is required", properties.deviceName,
                                VK_API_VERSION_MAJOR(properties.apiVersion), VK_API_VERSION_MINOR(properties.apiVersion)));
    }
    functions.vkGetPhysicalDeviceFeatures2(physicalDevice, &chain);
    const FeatureSet available = readFeatures(&chain);
    *count = std::min(*count, static_cast<uint32_t>(requirements.size()));
    for (uint32_t i = 0; i < *count; i++) {
      const FeatureRequirement& requirement = requirements[i];
      items[i] = {requirement.name, requirement.structName, requirement.buys, requirement.required,
                  available.*requirement.member};
    }
  });
}

SaccadeStatus saccadeCreateContext(const SaccadeContextCreateInfo* info, SaccadeContext* context,
                                   SaccadeMessage* message) {
  return guarded(message, [&] {
    requireHandle(context != nullptr, "context");
    *context = nullptr;
    requireHandle(info != nullptr, "info");
    *context = new SaccadeContextT(*info);
  });
}

void saccadeDestroyContext(SaccadeContext context) { delete context; }

const SaccadeDeviceFacts* saccadeGetDeviceFacts(SaccadeContext context) { return &context->facts(); }

void saccadeGetTuningInfo(SaccadeContext context, SaccadeTuningInfo* info) {
  *info = {static_cast<uint32_t>(context->tuning().size()), context->tuningIgnored().c_str()};
}

void saccadeGetContextStatistics(SaccadeContext context, SaccadeContextStatistics* statistics) {
  *statistics = context->pipelines().statistics();
}

SaccadeStatus saccadeGetKernels(SaccadeContext context, uint32_t* count, SaccadeKernelInfo* kernels,
                                SaccadeMessage* message) {
  return guarded(message, [&] {
    requireHandle(context != nullptr, "context");
    requireHandle(count != nullptr, "count");
    const auto registry = kernelRegistry();
    if (kernels == nullptr) {
      *count = static_cast<uint32_t>(registry.size());
      return;
    }
    *count = std::min(*count, static_cast<uint32_t>(registry.size()));
    for (uint32_t i = 0; i < *count; i++) {
      const KernelEntry& entry = registry[i];
      const char* reason = entry.deviceRefusal(context->facts());
      kernels[i] = {entry.name, entry.op, entry.idea, entry.selectable, *reason == '\0', reason,
                    context->leftOut()[i].c_str()};
    }
  });
}
