// SPDX-License-Identifier: Apache-2.0
#include "device/matrix_facts.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace saccade::core {
namespace {

// What a driver lists; empty if it has no such function or fails.
template <class Properties, class Function>
std::vector<Properties> listed(Function function, VkPhysicalDevice physicalDevice, VkStructureType type) {
  uint32_t count = 0;
  if (function == nullptr || function(physicalDevice, &count, nullptr) != VK_SUCCESS) return {};
  Properties empty{};
  empty.sType = type;
  std::vector<Properties> properties(count, empty);
  if (function(physicalDevice, &count, properties.data()) < 0) return {};
  properties.resize(count);
  return properties;
}

bool isNarrow(uint32_t type) {
  for (const uint32_t narrow : {static_cast<uint32_t>(VK_COMPONENT_TYPE_FLOAT16_KHR), static_cast<uint32_t>(VK_COMPONENT_TYPE_SINT8_KHR),
                                static_cast<uint32_t>(VK_COMPONENT_TYPE_UINT8_KHR), kComponentTypeBfloat16, kComponentTypeFloat8E4M3,
                                kComponentTypeFloat8E5M2}) {
    if (type == narrow) return true;
  }
  return false;
}

// Copies as many as there is room for, and returns how many. Where there are more, those that kernels use come before others; those
// that are kept stay in order.
template <class Shape, size_t Room>
uint32_t keep(std::vector<Shape> shapes, Shape (&room)[Room]) {
  if (shapes.size() > Room) {
    const auto rank = [](const Shape& shape) { return (shape.scope == VK_SCOPE_SUBGROUP_KHR ? 0 : 2) + (isNarrow(shape.aType) ? 0 : 1); };
    std::stable_sort(shapes.begin(), shapes.end(), [&](const Shape& a, const Shape& b) { return rank(a) < rank(b); });
    shapes.resize(Room);
  }
  std::copy(shapes.begin(), shapes.end(), room);
  return static_cast<uint32_t>(shapes.size());
}

}  // namespace

void queryMatrixFacts(const InstanceFunctions& functions, VkPhysicalDevice physicalDevice, const FeatureSet& enabled,
                      DeviceFacts& facts) {
  if (!enabled.cooperativeMatrixExtension || !enabled.cooperativeMatrix) return;
  const bool second = enabled.cooperativeMatrix2Extension;
  VkPhysicalDeviceCooperativeMatrix2PropertiesNV limits{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_2_PROPERTIES_NV};
  VkPhysicalDeviceCooperativeMatrixPropertiesKHR matrix{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_PROPERTIES_KHR};
  if (second) matrix.pNext = &limits;
  VkPhysicalDeviceProperties2 properties{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &matrix};
  functions.vkGetPhysicalDeviceProperties2(physicalDevice, &properties);
  if ((matrix.cooperativeMatrixSupportedStages & VK_SHADER_STAGE_COMPUTE_BIT) == 0) return;

  facts.cooperativeMatrix = VK_TRUE;
  std::vector<SaccadeCooperativeMatrixShape> shapes;
  for (const auto& item : listed<VkCooperativeMatrixPropertiesKHR>(functions.vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR, physicalDevice,
                                                                   VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR)) {
    shapes.push_back({item.MSize, item.NSize, item.KSize, static_cast<uint32_t>(item.AType), static_cast<uint32_t>(item.BType),
                      static_cast<uint32_t>(item.CType), static_cast<uint32_t>(item.ResultType), static_cast<uint32_t>(item.scope),
                      item.saturatingAccumulation});
  }
  facts.cooperativeMatrixShapeCount = keep(std::move(shapes), facts.cooperativeMatrixShapes);
  if (!second) return;

  facts.cooperativeMatrixFlexibleDimensions = enabled.cooperativeMatrixFlexibleDimensions;
  facts.cooperativeMatrixReductions = enabled.cooperativeMatrixReductions;
  facts.cooperativeMatrixConversions = enabled.cooperativeMatrixConversions;
  facts.cooperativeMatrixPerElementOperations = enabled.cooperativeMatrixPerElementOperations;
  facts.cooperativeMatrixWorkgroupScope = enabled.cooperativeMatrixWorkgroupScope;
  facts.cooperativeMatrixTensorAddressing = enabled.cooperativeMatrixTensorAddressing;
  facts.cooperativeMatrixBlockLoads = enabled.cooperativeMatrixBlockLoads;
  facts.cooperativeMatrixWorkgroupScopeMaxWorkgroupSize = limits.cooperativeMatrixWorkgroupScopeMaxWorkgroupSize;
  facts.cooperativeMatrixWorkgroupScopeReservedSharedMemory = limits.cooperativeMatrixWorkgroupScopeReservedSharedMemory;
  facts.cooperativeMatrixFlexibleDimensionsMaxDimension = limits.cooperativeMatrixFlexibleDimensionsMaxDimension;
  if (!enabled.cooperativeMatrixFlexibleDimensions) return;
  std::vector<SaccadeFlexibleMatrixShape> flexible;
  for (const auto& item : listed<VkCooperativeMatrixFlexibleDimensionsPropertiesNV>(
           functions.vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV, physicalDevice,
           VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_FLEXIBLE_DIMENSIONS_PROPERTIES_NV)) {
    flexible.push_back({item.MGranularity, item.NGranularity, item.KGranularity, static_cast<uint32_t>(item.AType),
                        static_cast<uint32_t>(item.BType), static_cast<uint32_t>(item.CType), static_cast<uint32_t>(item.ResultType),
                        static_cast<uint32_t>(item.scope), item.workgroupInvocations, item.saturatingAccumulation});
  }
  facts.flexibleMatrixShapeCount = keep(std::move(flexible), facts.flexibleMatrixShapes);
}

}  // namespace saccade::core
