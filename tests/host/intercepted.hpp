// SPDX-License-Identifier: Apache-2.0
// Vulkan functions with a watcher around them, for a host that hands Saccade a vkGetInstanceProcAddr of its own.
#pragma once

#include <map>
#include <string>

#include <vulkan/vulkan.h>

namespace saccade::host {

// Watcher::before gets the arguments, Watcher::after nothing. Both are static: Vulkan functions have no place for a pointer.
template <class Watcher, auto function>
struct Intercepted;

template <class Watcher, class Result, class... Arguments, Result(VKAPI_PTR* function)(Arguments...)>
struct Intercepted<Watcher, function> {
  static VKAPI_ATTR Result VKAPI_CALL call(Arguments... arguments) {
    struct After {
      ~After() { Watcher::after(); }
    } after;
    Watcher::before(arguments...);
    return function(arguments...);
  }
};

// What loads the functions of `Watcher::functions()` in place of those of the same name, and all others as they are.
template <class Watcher>
PFN_vkVoidFunction VKAPI_CALL interceptedDeviceFunction(VkDevice device, const char* name) {
  const auto found = Watcher::functions().find(name);
  return found != Watcher::functions().end() ? found->second : vkGetDeviceProcAddr(device, name);
}

template <class Watcher>
PFN_vkVoidFunction VKAPI_CALL interceptedInstanceFunction(VkInstance instance, const char* name) {
  const auto found = Watcher::functions().find(name);
  if (found != Watcher::functions().end()) return found->second;
  if (std::string(name) != "vkGetDeviceProcAddr") return vkGetInstanceProcAddr(instance, name);
  return reinterpret_cast<PFN_vkVoidFunction>(interceptedDeviceFunction<Watcher>);
}

#define SACCADE_INTERCEPTED(Watcher, name) \
  {#name, reinterpret_cast<PFN_vkVoidFunction>(Intercepted<Watcher, &name>::call)}

}  // namespace saccade::host
