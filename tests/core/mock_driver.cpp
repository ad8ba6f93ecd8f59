// SPDX-License-Identifier: Apache-2.0
#include "mock_driver.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <span>

namespace saccade::test {
namespace {

MockDriver* driver = nullptr;
std::vector<std::byte> mappedMemory;  // of the last allocation; its address is the device address too

template <class Handle>
Handle fakeHandle() {
  static uintptr_t next = 0x1000;
  return reinterpret_cast<Handle>(next += 16);
}

std::recursive_mutex mutex;  // the pipelines of a plan are created on several threads

VkResult outcome(const char* function) {
  const std::lock_guard lock(mutex);
  driver->calls[function]++;
  const auto failure = driver->failures.find(function);
  return failure == driver->failures.end() ? VK_SUCCESS : failure->second;
}

template <class Handle>
VkResult create(const char* function, const VkAllocationCallbacks* callbacks, Handle* handle) {
  const std::lock_guard lock(mutex);
  const VkResult result = outcome(function);
  *handle = result == VK_SUCCESS ? fakeHandle<Handle>() : Handle{};
  if (result == VK_SUCCESS) {
    driver->liveObjects++;
    driver->objectsWithCallbacks += callbacks != nullptr;
  }
  return result;
}

template <class Handle>
void destroy(Handle handle) {
  const std::lock_guard lock(mutex);
  if (handle != VK_NULL_HANDLE) driver->liveObjects--;
}

void fillProperties(VkPhysicalDeviceProperties& properties) {
  const core::DeviceFacts& facts = driver->facts;
  properties.apiVersion = facts.apiVersion;
  properties.deviceType = static_cast<VkPhysicalDeviceType>(facts.deviceType);
  std::memcpy(properties.deviceName, facts.deviceName, sizeof facts.deviceName);
  properties.limits.maxComputeSharedMemorySize = facts.maxComputeSharedMemorySize;
  properties.limits.maxComputeWorkGroupInvocations = facts.maxComputeWorkGroupInvocations;
  std::copy_n(facts.maxComputeWorkGroupSize, 3, properties.limits.maxComputeWorkGroupSize);
  std::copy_n(facts.maxComputeWorkGroupCount, 3, properties.limits.maxComputeWorkGroupCount);
  properties.limits.maxPushConstantsSize = facts.maxPushConstantsSize;
  properties.limits.timestampPeriod = facts.timestampPeriod;
}

void fillChain(VkBaseOutStructure* item) {
  const core::DeviceFacts& facts = driver->facts;
  for (; item != nullptr; item = item->pNext) {
    if (item->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES) {
      auto& subgroup = *reinterpret_cast<VkPhysicalDeviceSubgroupProperties*>(item);
      subgroup.subgroupSize = facts.subgroupSize;
      subgroup.supportedStages = VK_SHADER_STAGE_COMPUTE_BIT;
      subgroup.supportedOperations = facts.subgroupOperations;
    } else if (item->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES) {
      reinterpret_cast<VkPhysicalDeviceFloatControlsProperties*>(item)
          ->shaderSignedZeroInfNanPreserveFloat32 = facts.signedZeroInfNanPreserveFloat32;
    } else if (item->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES) {
      auto& sizes = *reinterpret_cast<VkPhysicalDeviceSubgroupSizeControlProperties*>(item);
      sizes.minSubgroupSize = facts.minSubgroupSize;
      sizes.maxSubgroupSize = facts.maxSubgroupSize;
      sizes.maxComputeWorkgroupSubgroups = facts.maxComputeWorkgroupSubgroups;
      sizes.requiredSubgroupSizeStages = facts.subgroupSizeControl ? VK_SHADER_STAGE_COMPUTE_BIT : 0;
    } else if (item->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_PROPERTIES_KHR) {
      reinterpret_cast<VkPhysicalDeviceCooperativeMatrixPropertiesKHR*>(item)->cooperativeMatrixSupportedStages =
          driver->matrixStages;
    } else if (item->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_2_PROPERTIES_NV) {
      auto& limits = *reinterpret_cast<VkPhysicalDeviceCooperativeMatrix2PropertiesNV*>(item);
      limits.cooperativeMatrixWorkgroupScopeMaxWorkgroupSize = facts.cooperativeMatrixWorkgroupScopeMaxWorkgroupSize;
      limits.cooperativeMatrixWorkgroupScopeReservedSharedMemory = facts.cooperativeMatrixWorkgroupScopeReservedSharedMemory;
      limits.cooperativeMatrixFlexibleDimensionsMaxDimension = facts.cooperativeMatrixFlexibleDimensionsMaxDimension;
    }
  }
}

// Answers a query if the driver knows the structure.
template <class Structure>
void answer(VkBaseOutStructure* item, const Structure& known) {
  if (item->sType != known.sType) return;
  auto* next = item->pNext;
  *reinterpret_cast<Structure*>(item) = known;
  item->pNext = next;
}

// Lists as Vulkan does: how many there are, or as many as there is room for.
template <class Item>
VkResult list(const std::vector<Item>& items, uint32_t* count, Item* room) {
  const auto total = static_cast<uint32_t>(items.size());
  *count = room == nullptr ? total : std::min(*count, total);
  if (room != nullptr) std::copy_n(items.begin(), *count, room);
  return *count < total ? VK_INCOMPLETE : VK_SUCCESS;
}

VkResult listExtensions(uint32_t* count, VkExtensionProperties* room) {
  std::vector<VkExtensionProperties> items;
  for (const char* name : driver->extensions) std::strcpy(items.emplace_back().extensionName, name);
  return list(items, count, room);
}

VkResult listShapes(uint32_t* count, VkCooperativeMatrixPropertiesKHR* room) {
  std::vector<VkCooperativeMatrixPropertiesKHR> items;
  for (const SaccadeCooperativeMatrixShape& shape : driver->shapes) {
    items.push_back({VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR, nullptr, shape.mSize, shape.nSize, shape.kSize,
                     VkComponentTypeKHR(shape.aType), VkComponentTypeKHR(shape.bType), VkComponentTypeKHR(shape.cType),
                     VkComponentTypeKHR(shape.resultType), shape.saturatingAccumulation, VkScopeKHR(shape.scope)});
  }
  return list(items, count, room);
}

VkResult listFlexibleShapes(uint32_t* count, VkCooperativeMatrixFlexibleDimensionsPropertiesNV* room) {
  std::vector<VkCooperativeMatrixFlexibleDimensionsPropertiesNV> items;
  for (const SaccadeFlexibleMatrixShape& shape : std::span(driver->facts.flexibleMatrixShapes, driver->facts.flexibleMatrixShapeCount)) {
    items.push_back({VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_FLEXIBLE_DIMENSIONS_PROPERTIES_NV, nullptr, shape.mGranularity,
                     shape.nGranularity, shape.kGranularity, VkComponentTypeKHR(shape.aType), VkComponentTypeKHR(shape.bType),
                     VkComponentTypeKHR(shape.cType), VkComponentTypeKHR(shape.resultType), shape.saturatingAccumulation,
                     VkScopeKHR(shape.scope), shape.workgroupInvocations});
  }
  return list(items, count, room);
}

// What vkGetInstanceProcAddr and vkGetDeviceProcAddr of this driver know.
PFN_vkVoidFunction lookUp(const char* name);

#define MOCK(name, parameters, ...) \
  {#name, reinterpret_cast<PFN_vkVoidFunction>(static_cast<PFN_##name>([] parameters __VA_ARGS__))}

const std::map<std::string, PFN_vkVoidFunction>& functions() {
  static const std::map<std::string, PFN_vkVoidFunction> table{
      MOCK(vkGetDeviceProcAddr, (VkDevice, const char* name), { return lookUp(name); }),
      MOCK(vkEnumerateDeviceExtensionProperties,
           (VkPhysicalDevice, const char*, uint32_t* count, VkExtensionProperties* extensions),
           { return listExtensions(count, extensions); }),
      MOCK(vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR,
           (VkPhysicalDevice, uint32_t* count, VkCooperativeMatrixPropertiesKHR* shapes), { return listShapes(count, shapes); }),
      MOCK(vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV,
           (VkPhysicalDevice, uint32_t* count, VkCooperativeMatrixFlexibleDimensionsPropertiesNV* shapes),
           { return listFlexibleShapes(count, shapes); }),
      MOCK(vkGetPhysicalDeviceProperties, (VkPhysicalDevice, VkPhysicalDeviceProperties * properties),
           { fillProperties(*properties); }),
      MOCK(vkGetPhysicalDeviceProperties2, (VkPhysicalDevice, VkPhysicalDeviceProperties2 * properties),
           {
             fillProperties(properties->properties);
             fillChain(static_cast<VkBaseOutStructure*>(properties->pNext));
           }),
      MOCK(vkGetPhysicalDeviceFeatures2, (VkPhysicalDevice, VkPhysicalDeviceFeatures2 * features),
           {
             features->features = driver->features.features;
             for (auto* item = static_cast<VkBaseOutStructure*>(features->pNext); item != nullptr;
                  item = item->pNext) {
               answer(item, driver->features11);
               answer(item, driver->features12);
               answer(item, driver->subgroupSizes);
               answer(item, driver->maintenance4);
               answer(item, driver->rotate);
               answer(item, driver->matrix);
               answer(item, driver->matrix2);
             }
           }),
      MOCK(vkGetPhysicalDeviceMemoryProperties, (VkPhysicalDevice, VkPhysicalDeviceMemoryProperties * memory),
           {
             memory->memoryTypeCount = 1;
             memory->memoryTypes[0].propertyFlags = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
                                                    VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
           }),
      MOCK(vkCreatePipelineLayout,
           (VkDevice, const VkPipelineLayoutCreateInfo*, const VkAllocationCallbacks* callbacks,
            VkPipelineLayout* layout),
           { return create("vkCreatePipelineLayout", callbacks, layout); }),
      MOCK(vkCreateShaderModule,
           (VkDevice, const VkShaderModuleCreateInfo*, const VkAllocationCallbacks* callbacks,
            VkShaderModule* module),
           { return create("vkCreateShaderModule", callbacks, module); }),
      MOCK(vkCreateComputePipelines,
           (VkDevice, VkPipelineCache, uint32_t, const VkComputePipelineCreateInfo* info,
            const VkAllocationCallbacks* callbacks, VkPipeline* pipeline),
           {
             const std::lock_guard lock(mutex);
             if (const auto* size = static_cast<const VkPipelineShaderStageRequiredSubgroupSizeCreateInfo*>(info->stage.pNext)) {
               driver->requiredSubgroupSizes.push_back(size->requiredSubgroupSize);
             }
             driver->stageFlags |= info->stage.flags;
             return create("vkCreateComputePipelines", callbacks, pipeline);
           }),
      MOCK(vkCreateBuffer,
           (VkDevice, const VkBufferCreateInfo*, const VkAllocationCallbacks* callbacks, VkBuffer* buffer),
           { return create("vkCreateBuffer", callbacks, buffer); }),
      MOCK(vkAllocateMemory,
           (VkDevice, const VkMemoryAllocateInfo* info, const VkAllocationCallbacks* callbacks,
            VkDeviceMemory* memory),
           {
             mappedMemory.assign(info->allocationSize, std::byte{0});
             return create("vkAllocateMemory", callbacks, memory);
           }),
      MOCK(vkBindBufferMemory, (VkDevice, VkBuffer, VkDeviceMemory, VkDeviceSize),
           { return outcome("vkBindBufferMemory"); }),
      MOCK(vkMapMemory, (VkDevice, VkDeviceMemory, VkDeviceSize, VkDeviceSize, VkMemoryMapFlags, void** data),
           {
             *data = mappedMemory.data();
             return outcome("vkMapMemory");
           }),
      MOCK(vkGetBufferMemoryRequirements, (VkDevice, VkBuffer, VkMemoryRequirements * requirements),
           { *requirements = {65536, 256, 1}; }),
      MOCK(vkGetBufferDeviceAddress, (VkDevice, const VkBufferDeviceAddressInfo*),
           { return static_cast<VkDeviceAddress>(reinterpret_cast<uintptr_t>(mappedMemory.data())); }),
      MOCK(vkDestroyPipelineLayout, (VkDevice, VkPipelineLayout layout, const VkAllocationCallbacks*),
           { destroy(layout); }),
      MOCK(vkDestroyShaderModule, (VkDevice, VkShaderModule module, const VkAllocationCallbacks*),
           { destroy(module); }),
      MOCK(vkDestroyPipeline, (VkDevice, VkPipeline pipeline, const VkAllocationCallbacks*),
           { destroy(pipeline); }),
      MOCK(vkDestroyBuffer, (VkDevice, VkBuffer buffer, const VkAllocationCallbacks*), { destroy(buffer); }),
      MOCK(vkFreeMemory, (VkDevice, VkDeviceMemory memory, const VkAllocationCallbacks*),
           { destroy(memory); }),
      MOCK(vkCmdBindPipeline, (VkCommandBuffer, VkPipelineBindPoint, VkPipeline pipeline),
           { driver->commands.push_back({CommandKind::BindPipeline, pipeline}); }),
      MOCK(vkCmdPushConstants,
           (VkCommandBuffer, VkPipelineLayout, VkShaderStageFlags, uint32_t, uint32_t size,
            const void* values),
           {
             Command command{CommandKind::PushConstants};
             std::memcpy(&command.push, values, std::min<size_t>(size, sizeof command.push));
             driver->commands.push_back(command);
           }),
      MOCK(vkCmdDispatch, (VkCommandBuffer, uint32_t x, uint32_t y, uint32_t z),
           { driver->commands.push_back({CommandKind::Dispatch, VK_NULL_HANDLE, {}, x * y * z}); }),
      MOCK(vkCmdPipelineBarrier,
           (VkCommandBuffer, VkPipelineStageFlags, VkPipelineStageFlags, VkDependencyFlags, uint32_t,
            const VkMemoryBarrier*, uint32_t, const VkBufferMemoryBarrier*, uint32_t,
            const VkImageMemoryBarrier*),
           { driver->commands.push_back({CommandKind::Barrier}); }),
      MOCK(vkEnumerateInstanceExtensionProperties, (const char*, uint32_t* count, VkExtensionProperties* extensions),
           {
             *count = 1;
             if (extensions != nullptr) std::strcpy(extensions->extensionName, VK_EXT_DEBUG_UTILS_EXTENSION_NAME);
             return VK_SUCCESS;
           }),
      MOCK(vkSetDebugUtilsObjectNameEXT, (VkDevice, const VkDebugUtilsObjectNameInfoEXT* info),
           {
             const std::lock_guard lock(mutex);
             driver->names.push_back(info->pObjectName);
             return VK_SUCCESS;
           }),
      MOCK(vkCmdBeginDebugUtilsLabelEXT, (VkCommandBuffer, const VkDebugUtilsLabelEXT* label),
           { driver->commands.push_back({.kind = CommandKind::BeginLabel, .label = label->pLabelName}); }),
      MOCK(vkCmdEndDebugUtilsLabelEXT, (VkCommandBuffer), { driver->commands.push_back({CommandKind::EndLabel}); }),
  };
  return table;
}

PFN_vkVoidFunction lookUp(const char* name) {
  const auto found = functions().find(name);
  return found == functions().end() || driver->missingFunction == name ? nullptr : found->second;
}

}  // namespace

MockDriver::MockDriver(const core::DeviceFacts& facts_) : facts(facts_) {
  driver = this;
  features12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
  features12.bufferDeviceAddress = facts.bufferDeviceAddress;
  features12.storageBuffer8BitAccess = facts.storageBuffer8BitAccess;
  features12.shaderFloat16 = facts.shaderFloat16;
  features12.vulkanMemoryModel = features12.vulkanMemoryModelDeviceScope = facts.vulkanMemoryModel;
  features11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES;
  features11.pNext = &features12;
  features11.storageBuffer16BitAccess = facts.storageBuffer16BitAccess;
  features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  features.pNext = &features11;
  features.features.shaderInt64 = facts.shaderInt64;
  subgroupSizes.subgroupSizeControl = facts.subgroupSizeControl;
  subgroupSizes.computeFullSubgroups = facts.computeFullSubgroups;
  maintenance4.maintenance4 = facts.maintenance4;
  rotate.shaderSubgroupRotate = (facts.subgroupOperations & VK_SUBGROUP_FEATURE_ROTATE_BIT_KHR) != 0;
  rotate.shaderSubgroupRotateClustered = (facts.subgroupOperations & VK_SUBGROUP_FEATURE_ROTATE_CLUSTERED_BIT_KHR) != 0;
  matrix.cooperativeMatrix = facts.cooperativeMatrix;
  matrix2.cooperativeMatrixFlexibleDimensions = facts.cooperativeMatrixFlexibleDimensions;
  matrix2.cooperativeMatrixReductions = facts.cooperativeMatrixReductions;
  matrix2.cooperativeMatrixConversions = facts.cooperativeMatrixConversions;
  matrix2.cooperativeMatrixPerElementOperations = facts.cooperativeMatrixPerElementOperations;
  matrix2.cooperativeMatrixWorkgroupScope = facts.cooperativeMatrixWorkgroupScope;
  matrix2.cooperativeMatrixTensorAddressing = facts.cooperativeMatrixTensorAddressing;
  matrix2.cooperativeMatrixBlockLoads = facts.cooperativeMatrixBlockLoads;
  features12.pNext = &subgroupSizes;
  subgroupSizes.pNext = &maintenance4;
  maintenance4.pNext = &rotate;
  rotate.pNext = &matrix;
  matrix.pNext = &matrix2;
  shapes.assign(facts.cooperativeMatrixShapes, facts.cooperativeMatrixShapes + facts.cooperativeMatrixShapeCount);
  if (rotate.shaderSubgroupRotate == VK_TRUE) extensions.push_back(VK_KHR_SHADER_SUBGROUP_ROTATE_EXTENSION_NAME);
  if (facts.cooperativeMatrix) extensions.push_back(VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME);
  if (facts.flexibleMatrixShapeCount > 0) extensions.push_back(VK_NV_COOPERATIVE_MATRIX_2_EXTENSION_NAME);
}

MockDriver::~MockDriver() { driver = nullptr; }

VkCommandBuffer MockDriver::commandBuffer() { return fakeHandle<VkCommandBuffer>(); }

SaccadeContextCreateInfo MockDriver::contextInfo() {
  SaccadeContextCreateInfo info = saccadeContextCreateInfoDefault();
  info.apiVersion = VK_API_VERSION_1_2;
  info.instance = fakeHandle<VkInstance>();
  info.physicalDevice = fakeHandle<VkPhysicalDevice>();
  info.device = fakeHandle<VkDevice>();
  info.getInstanceProcAddr = [](VkInstance, const char* name) { return lookUp(name); };
  info.enabledFeatures = &features;
  info.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
  info.enabledExtensions = extensions.data();
  info.checkUse = VK_FALSE;  // follows the build otherwise; handles here point nowhere
  return info;
}

}  // namespace saccade::test
