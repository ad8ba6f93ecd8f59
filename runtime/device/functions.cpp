// SPDX-License-Identifier: Apache-2.0
#include "device/functions.hpp"

#include "api/message.hpp"

namespace saccade::core {
namespace {

template <class Function, class Loader, class Handle>
void load(Function& function, Loader loader, Handle handle, const char* name) {
  function = reinterpret_cast<Function>(loader(handle, name));
  if (function == nullptr) {
    throw Refusal(SACCADE_ERROR_DEVICE_REQUIREMENTS, name,
                  formatted("{} is missing: instance and device must be created for Vulkan 1.2 or newer", name));
  }
}

}  // namespace

InstanceFunctions loadInstanceFunctions(VkInstance instance, PFN_vkGetInstanceProcAddr getInstanceProcAddr) {
  InstanceFunctions functions;
#define X(name) load(functions.name, getInstanceProcAddr, instance, #name);
  SACCADE_INSTANCE_FUNCTIONS(X)
#undef X
#define X(name) functions.name = reinterpret_cast<PFN_##name>(getInstanceProcAddr(instance, #name));
  SACCADE_OPTIONAL_INSTANCE_FUNCTIONS(X)
#undef X
  return functions;
}

DeviceFunctions loadDeviceFunctions(VkDevice device, PFN_vkGetDeviceProcAddr getDeviceProcAddr) {
  DeviceFunctions functions;
#define X(name) load(functions.name, getDeviceProcAddr, device, #name);
  SACCADE_DEVICE_FUNCTIONS(X)
#undef X
  return functions;
}

}  // namespace saccade::core
