// SPDX-License-Identifier: Apache-2.0
#include "standalone/device_list.hpp"

#include "standalone/features.hpp"
#include "standalone/instance.hpp"
#include "text/formatted.hpp"

namespace saccade::runtime {
namespace {

DeviceType typeOf(VkPhysicalDeviceType type) {
  switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU: return DeviceType::IntegratedGpu;
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU: return DeviceType::DiscreteGpu;
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU: return DeviceType::VirtualGpu;
    case VK_PHYSICAL_DEVICE_TYPE_CPU: return DeviceType::Cpu;
    default: return DeviceType::Other;
  }
}

std::vector<std::string> missingOf(const Instance& instance, VkPhysicalDevice physicalDevice,
                                   std::uint32_t apiVersion) {
  if (apiVersion < VK_API_VERSION_1_2) return {"Vulkan 1.2"};  // and nothing else of it can be asked
  std::vector<std::string> missing =
      missingRequirements(runtimeRequirements(instance.handle(), physicalDevice));
  std::uint32_t timestampValidBits = 0;
  if (findComputeFamily(physicalDevice, timestampValidBits) == VK_QUEUE_FAMILY_IGNORED) {
    missing.emplace_back("compute queue");
  }
  return missing;
}

DeviceSummary summarise(const Instance& instance, VkPhysicalDevice physicalDevice, std::uint32_t index) {
  VkPhysicalDeviceDriverProperties driver{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES};
  VkPhysicalDeviceProperties2 properties{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
  vkGetPhysicalDeviceProperties(physicalDevice, &properties.properties);
  if (properties.properties.apiVersion >= VK_API_VERSION_1_2) {
    properties.pNext = &driver;
    vkGetPhysicalDeviceProperties2(physicalDevice, &properties);
  }
  DeviceSummary summary;
  summary.index = index;
  summary.name = properties.properties.deviceName;
  summary.type = typeOf(properties.properties.deviceType);
  summary.driver = formatted("{} {}", driver.driverName, driver.driverInfo);
  summary.apiVersion = properties.properties.apiVersion;
  summary.missing = missingOf(instance, physicalDevice, summary.apiVersion);
  summary.supported = summary.missing.empty();
  return summary;
}

}  // namespace

std::vector<ListedDevice> listDevices(const Instance& instance) {
  std::vector<ListedDevice> devices;
  for (VkPhysicalDevice physicalDevice : instance.physicalDevices()) {
    const auto index = static_cast<std::uint32_t>(devices.size());
    devices.push_back({physicalDevice, summarise(instance, physicalDevice, index)});
  }
  return devices;
}

std::uint32_t findComputeFamily(VkPhysicalDevice physicalDevice, std::uint32_t& timestampValidBits) {
  std::uint32_t count = 0;
  vkGetPhysicalDeviceQueueFamilyProperties(physicalDevice, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  vkGetPhysicalDeviceQueueFamilyProperties(physicalDevice, &count, families.data());
  std::uint32_t found = VK_QUEUE_FAMILY_IGNORED;
  for (std::uint32_t i = 0; i < count; ++i) {
    if ((families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) == 0) continue;
    if (found == VK_QUEUE_FAMILY_IGNORED || (timestampValidBits == 0 && families[i].timestampValidBits > 0)) {
      found = i;
      timestampValidBits = families[i].timestampValidBits;
    }
  }
  return found;
}

}  // namespace saccade::runtime
