// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "standalone/vulkan.hpp"

namespace saccade::runtime {

// Bytes [begin, end) of a buffer that an operator touches.
struct Access {
  VkBuffer buffer = VK_NULL_HANDLE;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  bool write = false;
};

// What recorded work has touched since the last barrier.
class Hazards {
 public:
  // Notes what comes next. True if a barrier must be recorded before it; everything noted earlier is
  // forgotten then.
  bool add(std::span<const Access> accesses);
  void clear() { accesses_.clear(); }

 private:
  bool conflicts(const Access& access) const;

  std::vector<Access> accesses_;
};

}  // namespace saccade::runtime
