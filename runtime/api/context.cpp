// SPDX-License-Identifier: Apache-2.0
#include "api/context.hpp"

#include <algorithm>

#include "api/message.hpp"
#include "kernels/registry.hpp"
#include "kernels/tile.hpp"

namespace saccade::core {
namespace {

std::string versionText(uint32_t version) {
  return formatted("{}.{}.{}", VK_API_VERSION_MAJOR(version), VK_API_VERSION_MINOR(version), VK_API_VERSION_PATCH(version));
}

void requireHandle(bool given, const char* field) {
  if (!given) refuse(field, "{} is null; it is required", field);
}

// Refuses what can be seen without asking Vulkan.
const SaccadeContextCreateInfo& checked(const SaccadeContextCreateInfo& info) {
  // Comes first: it says which structure this is.
  if (info.headerVersion >> 12 != SACCADE_VERSION >> 12) {
    refuse("headerVersion",
           "the host was compiled with saccade.h {}, this library is {}; compile and link the same minor version, and start from "
           "saccadeContextCreateInfoDefault()",
           versionText(info.headerVersion), versionText(SACCADE_VERSION));
  }
  if (info.structSize != sizeof(SaccadeContextCreateInfo)) {
    refuse("structSize", "structSize is {}, this library expects {}; start from saccadeContextCreateInfoDefault()",
           info.structSize, sizeof(SaccadeContextCreateInfo));
  }
  requireHandle(info.instance != VK_NULL_HANDLE, "instance");
  requireHandle(info.physicalDevice != VK_NULL_HANDLE, "physicalDevice");
  requireHandle(info.device != VK_NULL_HANDLE, "device");
  requireHandle(info.getInstanceProcAddr != nullptr, "getInstanceProcAddr");
  requireHandle(info.enabledFeatures != nullptr, "enabledFeatures");
  if (info.enabledFeatures->sType != VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2) {
    refuse("enabledFeatures", "enabledFeatures->sType is {}; it must be VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2 ({})",
           static_cast<int>(info.enabledFeatures->sType), static_cast<int>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2));
  }
  if (!(info.dispatchBudget > 0)) {
    refuse("dispatchBudget", "dispatchBudget is {} ms; it must be above 0, INFINITY to leave all work in one piece", info.dispatchBudget);
  }
  return info;
}

}  // namespace

Context::Context(const SaccadeContextCreateInfo& info)
    : log_(checked(info)), device_(info.device), checkedUse_(info.checkUse == VK_TRUE) {
  dispatchBudget_ = info.dispatchBudget;
  if (info.kernel != nullptr && *info.kernel != '\0') {
    requireKnownKernel(parseKernelRequest(forcedKernel_ = info.kernel).kernel);
  }
  if (info.allocationCallbacks != nullptr) callbacks_ = *info.allocationCallbacks;
  const VkAllocationCallbacks* callbacks = callbacks_ ? &*callbacks_ : nullptr;

  instanceFunctions_ = loadInstanceFunctions(info.instance, info.getInstanceProcAddr);
  functions_ = loadDeviceFunctions(info.device, instanceFunctions_.vkGetDeviceProcAddr);
  if (info.debugUtils == VK_TRUE) debugUtils_ = DebugUtils(info.instance, info.device, info.getInstanceProcAddr);
  FeatureSet enabled = readFeatures(info.enabledFeatures, {info.enabledExtensions, info.enabledExtensionCount});
  facts_ = queryFacts(instanceFunctions_, info.physicalDevice, info.apiVersion, enabled);
  enabled.vulkan13 = facts_.apiVersion >= VK_API_VERSION_1_3;
  enabled.subgroupSizeControlExtension |= enabled.vulkan13;
  enabled.subgroupRotateExtension |= facts_.apiVersion >= kApiVersion14;
  enabled.debugUtils = debugUtils_.on();
  FeatureSet available = availableFeatures(instanceFunctions_, info.physicalDevice, info.getInstanceProcAddr);
  if (!enabled.vulkan13) available.maintenance4 = false;  // apiVersion 1.3 comes first
  for (const FeatureRequirement& requirement : featureRequirements()) {
    if (enabled.*requirement.member) continue;
    if (requirement.required) {
      throw Refusal(SACCADE_ERROR_DEVICE_REQUIREMENTS, requirement.name,
                    formatted("{} of {} is not enabled on {}; it is required: {}", requirement.name,
                                requirement.structName, facts_.deviceName, requirement.buys));
    }
    if (available.*requirement.member) gains_.push_back(toC(requirement, true));
  }
  if (enabled.vulkanMemoryModel && !enabled.vulkanMemoryModelDeviceScope) {
    throw Refusal(SACCADE_ERROR_DEVICE_REQUIREMENTS, "vulkanMemoryModelDeviceScope",
                  formatted("vulkanMemoryModel is enabled on {} and vulkanMemoryModelDeviceScope is not: enable both or neither, for without "
                            "the second Vulkan then allows no atomics on buffers", facts_.deviceName));
  }
  for (const KernelEntry& entry : kernelRegistry()) leftOut_.push_back(leftOutModules(entry));
  if (info.tuning != nullptr && info.tuningSize > 0) {
    try {
      tuning_ = readTuning({static_cast<const char*>(info.tuning), info.tuningSize}, facts_);
    } catch (const Refusal& refusal) {
      tuningIgnored_ = refusal.text;
    }
  }
  pipelines_.emplace(functions_, facts_, info.device, info.pipelineCache, callbacks, debugUtils_, log_);
  parameters_.emplace(instanceFunctions_, functions_, info.physicalDevice, info.device, callbacks, debugUtils_);

  log_.write(SACCADE_SEVERITY_INFO, "context on {} ({} {}), Vulkan {}.{}", facts_.deviceName, facts_.driverName, facts_.driverInfo,
             VK_API_VERSION_MAJOR(facts_.apiVersion), VK_API_VERSION_MINOR(facts_.apiVersion));
  for (const SaccadeRequirement& gain : gains_) {
    log_.write(SACCADE_SEVERITY_INFO, "{} of {} is not enabled; it would buy: {}", gain.name, gain.structName, gain.buys);
  }
  if (!tuningIgnored_.empty()) log_.write(SACCADE_SEVERITY_WARNING, "the tuning file is ignored: {}", tuningIgnored_);
}

void Context::checkDevice(VkCommandBuffer commandBuffer) const {
  // A dispatchable handle points to an object that begins with the loader's table of its device's functions (the loader's
  // interface to drivers); drivers called without a loader have the same word in all of their objects.
  const auto tableOf = [](auto handle) { return *reinterpret_cast<void* const*>(handle); };
  if (tableOf(commandBuffer) == tableOf(device_)) return;
  refuse("commandBuffer", "commandBuffer belongs to another VkDevice than the plan's context ({}); record it with a plan of its own device",
         facts_.deviceName);
}

}  // namespace saccade::core

using namespace saccade::core;

uint32_t saccadeGetVersion() { return SACCADE_VERSION; }

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
    const FeatureSet available = availableFeatures(functions, physicalDevice, getInstanceProcAddr);
    *count = std::min(*count, static_cast<uint32_t>(requirements.size()));
    for (uint32_t i = 0; i < *count; i++) {
      items[i] = toC(requirements[i], available.*requirements[i].member);
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

void saccadeDestroyContext(SaccadeContext context) {
  if (context == nullptr) return;
  if (const uint32_t plans = context->planCount(); plans > 0) {
    context->log().write(SACCADE_SEVERITY_ERROR,
                         "a context is not destroyed, because {} of its plans still exist, among them \"{}\"; destroy them first", plans,
                         labelOfAPlan(*context));
    return;
  }
  delete context;
}

const SaccadeDeviceFacts* saccadeGetDeviceFacts(SaccadeContext context) { return &context->facts(); }

void saccadeGetContextInfo(SaccadeContext context, SaccadeContextInfo* info) {
  *info = {static_cast<uint32_t>(context->gains().size()), context->gains().data(), context->planCount(),
           static_cast<uint32_t>(context->tuning().size()), context->tuningIgnored().c_str()};
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
