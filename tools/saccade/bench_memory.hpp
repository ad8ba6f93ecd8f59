// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include <saccade/runtime.hpp>

namespace saccade::tool {

// Bytes of the largest memory heap of the device that are not in use, by the driver's account
// (VK_EXT_memory_budget); where it keeps none, the size of the heap less what this program has allocated.
std::uint64_t availableMemory(const Device& device);

// A workload that needs more memory than there is. Thrown before anything is allocated for it.
class MemoryShortage : public std::runtime_error {
 public:
  MemoryShortage(const std::string& shape, std::uint64_t needed, std::uint64_t available, const std::string& where);
};

// Throws MemoryShortage unless the device has `deviceBytes` to spare; on a CPU device, whose memory is the
// host's, the host's copies as well.
void requireMemory(const Device& device, const std::string& shape, std::uint64_t deviceBytes,
                   std::uint64_t hostBytes);

std::string bytesText(double bytes);  // "1.50 GiB", "32.0 MiB", "512 bytes"

}  // namespace saccade::tool
