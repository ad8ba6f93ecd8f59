// SPDX-License-Identifier: Apache-2.0
//
// Counts what a Vulkan program does instead of claiming it. All functions of Vulkan are looked up through
// countedProcAddr: by volk for the host, by VMA, and by Saccade, to which the host hands it as the only way
// in. Those that CallCounts names come back with a counter in front.
#pragma once

#include <cstdint>

#include <volk.h>

namespace example {

struct CallCounts {
  std::uint64_t submits = 0;  // vkQueueSubmit, vkQueueSubmit2
  // What takes something to the CPU: recorded copies into buffers (vkCmdCopyBuffer, vkCmdCopyImageToBuffer), and mapping or
  // invalidating memory (vkMapMemory, vkInvalidateMappedMemoryRanges). The host keeps nothing mapped that the device
  // writes, so the CPU can read none of it without one of these.
  std::uint64_t copies = 0;
};

CallCounts& callCounts();

// `next` is where the functions come from: the loader's vkGetInstanceProcAddr. To be set once, before the first look-up.
void countCalls(PFN_vkGetInstanceProcAddr next);
VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL countedProcAddr(VkInstance instance, const char* name);

}  // namespace example
