// SPDX-License-Identifier: Apache-2.0
// Device facts: asked of the driver once, into the plain public struct, which tests fake.
#pragma once

#include <string>

#include "device/functions.hpp"
#include "device/requirements.hpp"

namespace saccade::core {

using DeviceFacts = SaccadeDeviceFacts;

// Only what the host enabled counts.
DeviceFacts queryFacts(const InstanceFunctions& functions, VkPhysicalDevice physicalDevice, uint32_t apiVersion,
                       const FeatureSet& enabled);

// Whether kernels compiled with NATIVE=1 (shaders/variants.cmake) run here.
bool hasNativeAccess(const DeviceFacts& facts);
inline constexpr const char* kNeedsNativeAccess =
    "needs 64-bit integers, 8- and 16-bit storage and subgroup operations (vote, shuffle, clustered, quad)";

// Why a shader cannot rely on subgroups of `size` here; "" if it can.
std::string subgroupSizeRefusal(const DeviceFacts& facts, uint32_t size);

// CPU devices execute a subgroup as one vector: loads with a uniform address are cheap, shared memory is not.
inline bool isCpu(const DeviceFacts& facts) { return facts.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU; }

// A CPU device with narrow subgroups and nothing native. The one driver like that is SwiftShader, and no fact says what else it is
// known for: it indexes arrays of an invocation lane by lane, and optimises a module before it puts specialisation constants in.
// The width keeps lavapipe out where a host has enabled nothing.
inline bool isPlainCpu(const DeviceFacts& facts) { return isCpu(facts) && !hasNativeAccess(facts) && facts.subgroupSize <= 4; }

}  // namespace saccade::core
