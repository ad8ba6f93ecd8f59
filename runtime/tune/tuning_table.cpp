// SPDX-License-Identifier: Apache-2.0
#include "tune/tuning_table.hpp"

#include <nlohmann/json.hpp>

#include "api/message.hpp"
#include "attention/choice.hpp"
#include "kernels/registry.hpp"
#include "ops/matmul_choice.hpp"
#include "tune/tuning_format.hpp"

namespace saccade::core {
namespace {

using nlohmann::json;

constexpr int kMaxDepth = 8;

std::string libraryVersion() {
  return formatted("{}.{}.{}", SACCADE_VERSION_MAJOR, SACCADE_VERSION_MINOR, SACCADE_VERSION_PATCH);
}

template <class... Args>
[[noreturn]] void ignore(const std::string& field, std::format_string<Args...> format, Args&&... args) {
  refuse(field, "tuning file ignored: {}", formatted(format, std::forward<Args>(args)...));
}

// As much of a value as a message has room for.
std::string excerpt(const json& value) {
  std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
  if (text.size() > 100) text = text.substr(0, 100) + "...";
  return text;
}

json parse(std::string_view text) {
  if (text.size() > kMostTuningBytes) ignore("tuning", "it has {} bytes, more than the {} that one may have", text.size(), kMostTuningBytes);
  try {
    return json::parse(text, [](int depth, json::parse_event_t, json&) {
      if (depth > kMaxDepth) ignore("tuning", "it is nested deeper than {} levels", kMaxDepth);
      return true;
    });
  } catch (const json::exception& error) {
    const std::string_view what = error.what();  // "[json.exception.parse_error.101] parse error at line 1, ..."
    const size_t start = what.find("] ");
    ignore("tuning", "it is not JSON: {}", what.substr(start == std::string_view::npos ? 0 : start + 2));
  }
}

std::string fieldName(std::string_view path, std::string_view name) { return std::string(path) + std::string(name); }

const json& member(const json& object, std::string_view path, std::string_view name) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  if (!object.is_object() || found == object.end()) ignore(fieldName(path, name), "{}{} is missing", path, name);
  return *found;
}

const std::string& text(const json& object, std::string_view path, std::string_view name) {
  const json& value = member(object, path, name);
  if (!value.is_string()) ignore(fieldName(path, name), "{}{} is {}; it must be text", path, name, excerpt(value));
  return value.get_ref<const std::string&>();
}

void requireEqual(const json& object, std::string_view path, std::string_view name, const json& wanted, std::string_view whose) {
  const json& value = member(object, path, name);
  if (value != wanted) ignore(fieldName(path, name), "{}{} is {}, but that of {} is {}", path, name, excerpt(value), whose, excerpt(wanted));
}

// Refuses files of another kind, another version or another device.
void checkHeader(const json& file, const DeviceFacts& facts) {
  if (text(file, "", "format") != kTuningFormat) {
    ignore("format", "format is {}; it must be \"{}\"", excerpt(file["format"]), kTuningFormat);
  }
  const json& version = member(file, "", "version");
  if (version != kTuningVersion) {
    const bool newer = version.is_number_integer() && version > kTuningVersion;
    ignore("version", "version is {}, {}; this library reads version {}", excerpt(version),
           newer ? "newer than this library" : "which does not exist any more", kTuningVersion);
  }
  // Kernels change from one version to the next, and what was measured of them with it.
  requireEqual(file, "", "library", libraryVersion(), "this library");
  const json& device = member(file, "", "device");
  requireEqual(device, "device.", "name", facts.deviceName, "this device");
  requireEqual(device, "device.", "vendor_id", facts.vendorId, "this device");
  requireEqual(device, "device.", "device_id", facts.deviceId, "this device");
  requireEqual(device, "device.", "driver_name", facts.driverName, "this device");
  requireEqual(device, "device.", "driver_info", facts.driverInfo, "this device");
  requireEqual(device, "device.", "driver_version", facts.driverVersion, "this device");
}

KernelRequest readRequest(const json& entry, const std::string& path, const std::string& problem, const DeviceFacts& facts) {
  const std::string& kernel = text(entry, path, "kernel");
  std::string refusal;
  KernelRequest request;
  try {
    request = parseKernelRequest(kernel);
    requireKnownKernel(request.kernel);
    const bool attention = kernelEntry(request.kernel).op == SACCADE_OPERATOR_ATTENTION;
    if (!problem.starts_with(attention ? "attention " : "matmul ")) refusal = "it is not a variant of that operator";
    if (refusal.empty()) refusal = kernelEntry(request.kernel).deviceRefusal(facts);
    if (refusal.empty()) refusal = attention ? attentionRequestRefusal(facts, request) : matmulRequestRefusal(facts, request);
  } catch (const Refusal& error) {
    refusal = error.text;
  }
  if (!refusal.empty()) ignore(path + "kernel", "{}kernel is {}: {}", path, excerpt(kernel), refusal);
  return request;
}

}  // namespace

TuningTable readTuning(std::string_view content, const DeviceFacts& facts) {
  const json file = parse(content);
  checkHeader(file, facts);
  const json& entries = member(file, "", "entries");
  if (!entries.is_array()) ignore("entries", "entries is {}; it must be a list", excerpt(entries));
  TuningTable table;
  for (size_t i = 0; i < entries.size(); i++) {
    const std::string path = formatted("entries[{}].", i);
    const std::string& problem = text(entries[i], path, "problem");
    if (table.find(problem) != nullptr) ignore(path + "problem", "{}problem is {} a second time", path, excerpt(problem));
    table.insert(problem, readRequest(entries[i], path, problem, facts));
  }
  return table;
}

}  // namespace saccade::core
