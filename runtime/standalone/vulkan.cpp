// SPDX-License-Identifier: Apache-2.0
#include "standalone/vulkan.hpp"

#include <mutex>

#include <dlfcn.h>

#include <saccade/saccade.hpp>

namespace saccade::runtime {

PFN_vkGetInstanceProcAddr vkGetInstanceProcAddr = nullptr;
#define X(name) PFN_##name name = nullptr;
SACCADE_RUNTIME_LOADER_FUNCTIONS(X)
SACCADE_RUNTIME_INSTANCE_FUNCTIONS(X)
#undef X

namespace {

#if defined(__APPLE__)
constexpr const char* kLoaderNames[] = {"libvulkan.1.dylib", "libvulkan.dylib", "libMoltenVK.dylib"};
#else
constexpr const char* kLoaderNames[] = {"libvulkan.so.1", "libvulkan.so"};
#endif

template <class Function>
void load(Function& function, VkInstance instance, const char* name) {
  function = reinterpret_cast<Function>(vkGetInstanceProcAddr(instance, name));
}

// The library stays loaded until the process ends.
bool findLoader() {
  for (const char* name : kLoaderNames) {
    void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) continue;
    vkGetInstanceProcAddr = reinterpret_cast<PFN_vkGetInstanceProcAddr>(dlsym(library, "vkGetInstanceProcAddr"));
    if (vkGetInstanceProcAddr != nullptr) break;
    dlclose(library);
  }
  if (vkGetInstanceProcAddr == nullptr) return false;
#define X(name) load(name, VK_NULL_HANDLE, #name);
  SACCADE_RUNTIME_LOADER_FUNCTIONS(X)
#undef X
  return true;
}

}  // namespace

void loadVulkan() {
  static const bool found = findLoader();
  if (!found) {
    throw Error(
        Status::DeviceRequirements, "",
        "no Vulkan loader was found on this machine; install it (Debian and Ubuntu: libvulkan1) and a driver "
        "(a graphics driver, or mesa-vulkan-drivers for the CPU)");
  }
}

void loadInstanceFunctions(VkInstance instance) {
  static std::once_flag once;
  std::call_once(once, [&] {
#define X(name) load(name, instance, #name);
    SACCADE_RUNTIME_INSTANCE_FUNCTIONS(X)
#undef X
  });
}

DeviceFunctions loadDeviceFunctions(VkDevice device) {
  DeviceFunctions functions;
#define X(name) functions.name = reinterpret_cast<PFN_##name>(vkGetDeviceProcAddr(device, #name));
  SACCADE_RUNTIME_DEVICE_FUNCTIONS(X)
#undef X
  return functions;
}

}  // namespace saccade::runtime
