// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "standalone/vulkan.hpp"

namespace saccade::runtime {

// The tuning file of a device: where it is or would be, and what it holds.
struct Tuning {
  std::filesystem::path file;  // empty: none is looked for
  std::string content;         // for ContextDesc::tuning; empty: there is none
  std::string problem;         // why a file that was asked for, or exists, cannot be read: a sentence; else empty
};

// `asked` is "off", a file, or empty for the device's own file in `cacheFolder` (which may be empty: none). That one need not exist.
Tuning readTuning(const std::string& asked, const std::filesystem::path& cacheFolder, const VkPhysicalDeviceProperties& device);

}  // namespace saccade::runtime
