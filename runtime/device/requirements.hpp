// SPDX-License-Identifier: Apache-2.0
// What Saccade requires and recommends of a device: one table, read for the public list, for the check of a
// host's device and for the facts.
#pragma once

#include <span>

#include "saccade/saccade.h"

namespace saccade::core {

// The features that matter here, wherever in a chain they stand.
struct FeatureSet {
  bool bufferDeviceAddress = false;
  bool shaderInt64 = false;
  bool storageBuffer8BitAccess = false;
  bool storageBuffer16BitAccess = false;
  bool shaderFloat16 = false;
  bool subgroupSizeControl = false;
  bool pipelineExecutableInfo = false;
};

// Reads a chain as it is given to vkCreateDevice or filled by vkGetPhysicalDeviceFeatures2. NULL is an empty chain.
FeatureSet readFeatures(const VkPhysicalDeviceFeatures2* chain);

struct FeatureRequirement {
  const char* name;
  const char* structName;
  const char* buys;
  bool required;
  bool FeatureSet::* member;
};

std::span<const FeatureRequirement> featureRequirements();

}  // namespace saccade::core
