// SPDX-License-Identifier: Apache-2.0
// The registry of kernel variants: names, what each is for, and whether a device can run it at all. Which variant runs
// for a problem is decided by choose() (kernels/choose.hpp) from what the operator's variants say of it.
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
  uint32_t unrolled = 0;  // bit i: the specialisation constant i is how often a loop of the module is unrolled
  const char* module = name;  // its shaders are called <module>_<dtype>_<native|portable>: variants may share one
  const char* needs = "";     // what deviceRefusal looks for, for people; "" if it refuses no device
  bool roundsWeights = false; // attention: weights are rounded to the tensors' dtype before they are multiplied with V
};

std::span<const KernelEntry> kernelRegistry();

// The entry of a kernel that is known to exist.
const KernelEntry& kernelEntry(const std::string& name);

// Refuses a name that no operator has, listing those that exist.
void requireKnownKernel(const std::string& name);

// Modules of a kernel that this build lacks and why, one per line; "" if none.
std::string leftOutModules(const KernelEntry& entry);

// The KernelEntry::unrolled of a module.
uint32_t unrolledConstants(const ShaderModuleCode& shader);

// Whether there are modules of a kernel for a dtype at all, left out of this build or not.
bool isMadeFor(const char* kernel, SaccadeDtype dtype);

// The module of a kernel for a dtype on a device: the native one if device and build have it, else the portable one. Refuses if
// this build left both out.
const ShaderModuleCode& shaderFor(const char* kernel, SaccadeDtype dtype, const DeviceFacts& facts);

}  // namespace saccade::core
