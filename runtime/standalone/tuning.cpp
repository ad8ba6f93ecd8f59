// SPDX-License-Identifier: Apache-2.0
#include "standalone/tuning.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <system_error>

#include "text/formatted.hpp"
#include "tune/tuning_format.hpp"

namespace saccade::runtime {
namespace {

// "tuning-llvmpipe_LLVM_19_1_7_256_bits-00010005-00000000-06801006.json": for people first, unique by the numbers.
std::string fileName(const VkPhysicalDeviceProperties& device) {
  std::string name(device.deviceName);
  const auto isPlain = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  std::replace_if(name.begin(), name.end(), [&](char c) { return !isPlain(c); }, '_');
  name.erase(std::unique(name.begin(), name.end(), [](char a, char b) { return a == '_' && b == '_'; }), name.end());
  return formatted("tuning-{}-{:08x}-{:08x}-{:08x}.json", name.substr(0, 60), device.vendorID, device.deviceID, device.driverVersion);
}

}  // namespace

Tuning readTuning(const std::string& asked, const std::filesystem::path& cacheFolder, const VkPhysicalDeviceProperties& device) {
  Tuning tuning;
  if (asked == "off" || (asked.empty() && cacheFolder.empty())) return tuning;
  tuning.file = asked.empty() ? cacheFolder / fileName(device) : std::filesystem::path(asked);
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(tuning.file, error);
  const auto cannot = [&](const std::string& why) {
    tuning.problem = formatted("tuning file {} is ignored: {}", tuning.file.string(), why);
    return tuning;
  };
  if (!std::filesystem::exists(status)) return asked.empty() ? tuning : cannot("it does not exist");
  if (!std::filesystem::is_regular_file(status)) return cannot("it is not a regular file");
  const std::uintmax_t bytes = std::filesystem::file_size(tuning.file, error);
  if (!error && bytes > kMostTuningBytes) return cannot(formatted("it has {} bytes, more than the {} that one may have", bytes, kMostTuningBytes));
  std::ifstream stream(tuning.file, std::ios::binary);
  if (!stream) return cannot("it cannot be opened");
  tuning.content.assign(std::istreambuf_iterator<char>(stream), {});
  return tuning;
}

}  // namespace saccade::runtime
