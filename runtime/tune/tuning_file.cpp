// SPDX-License-Identifier: Apache-2.0
#include "tune/tuning_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <vector>

#include "io/atomic_file.hpp"
#include "io/file_error.hpp"
#include "tune/tuning_format.hpp"

namespace saccade::tune {
namespace {

using json = nlohmann::ordered_json;

// Held by one process at a time, and by one thread of it.
class Lock {
 public:
  explicit Lock(const std::filesystem::path& path) {
    descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor_ < 0) throw io::FileError::fromErrno(path, "lock", errno);
    while (::flock(descriptor_, LOCK_EX) != 0) {
      if (errno == EINTR) continue;
      const int error = errno;
      ::close(descriptor_);
      throw io::FileError::fromErrno(path, "lock", error);
    }
  }
  ~Lock() { ::close(descriptor_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  int descriptor_;
};

json emptyFile(const SaccadeDeviceFacts& facts) {
  return {{"format", kTuningFormat},
          {"version", kTuningVersion},
          {"library", fmt::format("{}.{}.{}", SACCADE_VERSION_MAJOR, SACCADE_VERSION_MINOR, SACCADE_VERSION_PATCH)},
          {"device",
           {{"name", facts.deviceName},
            {"vendor_id", facts.vendorId},
            {"device_id", facts.deviceId},
            {"driver_name", facts.driverName},
            {"driver_info", facts.driverInfo},
            {"driver_version", facts.driverVersion}}},
          {"entries", json::array()}};
}

json valueAt(const json& object, const char* name) {
  return object.is_object() && object.contains(name) ? object[name] : json();
}

void refuseToReplace(const std::filesystem::path& path, const json& old, const json& fresh) {
  if (valueAt(old, "format") != fresh["format"]) return;
  if (const json version = valueAt(old, "version"); version.is_number_integer() && version > kTuningVersion) {
    throw io::FileError(path, "version", version.dump(), fmt::format("this program writes version {}; choose another file", kTuningVersion));
  }
  for (const char* name : {"name", "vendor_id", "device_id"}) {
    const json value = valueAt(valueAt(old, "device"), name);
    if (!value.is_null() && value != fresh["device"][name]) {
      throw io::FileError(path, fmt::format("device.{}", name), value.dump(),
                          fmt::format("that of this device is {}; choose another file", fresh["device"][name].dump()));
    }
  }
}

// The entries of the file, as far as they are any; sets `note` if it is replaced.
json readEntries(const std::filesystem::path& path, const json& fresh, std::string& note) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return json::array();
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  const json old = json::parse(text, nullptr, false);
  if (old.is_discarded()) {
    note = fmt::format("{} was not JSON and is replaced", path.string());
    return json::array();
  }
  refuseToReplace(path, old, fresh);
  for (const char* name : {"format", "version", "library", "device"}) {
    if (nlohmann::json(valueAt(old, name)) == nlohmann::json(fresh[name])) continue;  // in any order of members
    note = fmt::format("{} had another {} and is replaced", path.string(), name);
    return json::array();
  }
  json entries = valueAt(old, "entries");
  return entries.is_array() ? entries : json::array();
}

json entryOf(const Result& result) {
  return {{"problem", result.problem},
          {"kernel", result.winner},
          {"milliseconds", result.winnerMilliseconds},
          {"built_in", result.builtIn},
          {"built_in_milliseconds", result.builtInMilliseconds},
          {"measured", result.measured}};
}

}  // namespace

std::string mergeIntoFile(const std::filesystem::path& path, const SaccadeDeviceFacts& facts, std::span<const Result> results) {
  std::error_code error;
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), error);
  if (error) throw io::FileError::fromErrno(path.parent_path(), "create", error.value());
  const Lock lock(path.string() + ".lock");
  json file = emptyFile(facts);
  std::string note;
  std::vector<json> entries;
  for (json& entry : readEntries(path, file, note)) entries.push_back(std::move(entry));
  for (const Result& result : results) {
    std::erase_if(entries, [&](const json& entry) { return valueAt(entry, "problem") == result.problem; });
    if (result.winner != result.builtIn) entries.push_back(entryOf(result));
  }
  file["entries"] = entries;
  io::writeFileAtomically(path, file.dump(2, ' ', false, json::error_handler_t::replace) + "\n");
  return note;
}

}  // namespace saccade::tune
