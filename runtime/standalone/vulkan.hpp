// SPDX-License-Identifier: Apache-2.0
// Vulkan as the runtime calls it: instance functions through volk's globals, device functions through a table
// per device.
#pragma once

#include <volk.h>

namespace saccade::runtime {

// Finds the Vulkan loader, once per process. Throws Error DeviceRequirements if there is none.
void loadVulkan();

// Throws Error unless `result` is a success code. `action` completes the sentence "could not ...".
void check(VkResult result, const char* action);

// Loads the instance functions into volk's globals, once per process: they are the loader's own entry points,
// which serve every instance.
void loadInstanceFunctions(VkInstance instance);

}  // namespace saccade::runtime
