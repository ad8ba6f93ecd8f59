// SPDX-License-Identifier: Apache-2.0
#include "bench_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace saccade::tool {

namespace {

template <typename Function>
Function instanceFunction(const DeviceHandles& handles, const char* name) {
  return reinterpret_cast<Function>(handles.getInstanceProcAddr(handles.instance, name));
}

bool keepsBudget(const DeviceHandles& handles) {
  const auto enumerate = instanceFunction<PFN_vkEnumerateDeviceExtensionProperties>(
      handles, "vkEnumerateDeviceExtensionProperties");
  std::uint32_t count = 0;
  if (enumerate(handles.physicalDevice, nullptr, &count, nullptr) != VK_SUCCESS) return false;
  std::vector<VkExtensionProperties> extensions(count);
  if (enumerate(handles.physicalDevice, nullptr, &count, extensions.data()) != VK_SUCCESS) return false;
  return std::any_of(extensions.begin(), extensions.end(), [](const VkExtensionProperties& extension) {
    return std::strcmp(extension.extensionName, VK_EXT_MEMORY_BUDGET_EXTENSION_NAME) == 0;
  });
}

}  // namespace

std::uint64_t availableMemory(const Device& device) {
  const DeviceHandles handles = device.handles();
  VkPhysicalDeviceMemoryBudgetPropertiesEXT budget{};
  budget.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT;
  VkPhysicalDeviceMemoryProperties2 properties{};
  properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2;
  const bool known = keepsBudget(handles);
  if (known) properties.pNext = &budget;
  instanceFunction<PFN_vkGetPhysicalDeviceMemoryProperties2>(handles, "vkGetPhysicalDeviceMemoryProperties2")(
      handles.physicalDevice, &properties);
  std::uint64_t available = 0;
  for (std::uint32_t i = 0; i < properties.memoryProperties.memoryHeapCount; ++i) {
    const VkMemoryHeap& heap = properties.memoryProperties.memoryHeaps[i];
    if ((heap.flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) == 0) continue;
    const std::uint64_t total = known ? budget.heapBudget[i] : heap.size;
    const std::uint64_t used = known ? budget.heapUsage[i] : device.memory().currentBytes;
    available = std::max(available, total - std::min(total, used));
  }
  return available;
}

MemoryShortage::MemoryShortage(const std::string& shape, std::uint64_t needed, std::uint64_t available,
                               const std::string& where)
    : std::runtime_error(fmt::format("{} needs {} of memory, but {} has {} available; choose a smaller shape",
                                     shape, bytesText(static_cast<double>(needed)), where,
                                     bytesText(static_cast<double>(available)))) {}

void requireMemory(const Device& device, const std::string& shape, std::uint64_t deviceBytes,
                   std::uint64_t hostBytes) {
  const std::uint64_t needed = deviceBytes + (device.summary().type == DeviceType::Cpu ? hostBytes : 0);
  const std::uint64_t available = availableMemory(device);
  if (needed > available) {
    throw MemoryShortage(shape, needed, available, device.summary().name);
  }
}

std::string bytesText(double bytes) {
  if (bytes < 1024) return fmt::format("{} bytes", bytes);
  const char* units[] = {"KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  bytes /= 1024;
  while (bytes >= 1024 && unit + 1 < std::size(units)) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", bytes, bytes < 10 ? 2 : bytes < 100 ? 1 : 0, units[unit]);
}

}  // namespace saccade::tool
