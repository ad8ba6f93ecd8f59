// SPDX-License-Identifier: Apache-2.0
// A host that calls the Vulkan loader by the global names of its functions, and the standalone runtime.
#include <cstdio>

#include <vulkan/vulkan.h>

#include "attention.hpp"

int main() {
  std::uint32_t version = 0;
  if (vkEnumerateInstanceVersion(&version) != VK_SUCCESS || version < VK_API_VERSION_1_2) {
    std::fprintf(stderr, "the loader gave version %u\n", version);
    return 1;
  }
  return attentionIsRight() ? 0 : 1;
}
