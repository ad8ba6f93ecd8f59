// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>

#include <saccade/runtime.hpp>

#include "text/formatted.hpp"

namespace saccade {
namespace {

std::string lowered(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

std::string listed(std::span<const DeviceSummary> devices) {
  std::string text;
  for (const DeviceSummary& device : devices) {
    text += formatted("\n  {}: {} ({}, {})", device.index, device.name, deviceTypeName(device.type),
                      device.driver);
    if (!device.supported) text += formatted(", lacks {}", joined(device.missing, ", "));
  }
  return text;
}

[[noreturn]] void refuse(const std::string& sentence, std::span<const DeviceSummary> devices) {
  throw Error(Status::DeviceRequirements, "device", sentence + listed(devices));
}

int rank(DeviceType type) {
  switch (type) {
    case DeviceType::DiscreteGpu: return 0;
    case DeviceType::IntegratedGpu: return 1;
    case DeviceType::VirtualGpu: return 2;
    case DeviceType::Other: return 3;
    case DeviceType::Cpu: return 4;
  }
  return 5;
}

std::optional<std::uint32_t> asIndex(const std::string& text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::size_t chooseBest(std::span<const DeviceSummary> devices) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (devices[i].supported && (!best || rank(devices[i].type) < rank(devices[*best].type))) best = i;
  }
  if (!best) refuse("no Vulkan device of this machine has what Saccade requires; there are:", devices);
  return *best;
}

std::size_t chooseNamed(std::span<const DeviceSummary> devices, const std::string& select) {
  const std::optional<std::uint32_t> index = asIndex(select);
  std::vector<std::size_t> matches;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const bool hit = index ? devices[i].index == *index
                           : lowered(devices[i].name).find(lowered(select)) != std::string::npos;
    if (hit) matches.push_back(i);
  }
  if (matches.empty()) {
    refuse(formatted("no device {} '{}'; give an index or a part of a name of:",
                     index ? "has index" : "matches", select),
           devices);
  }
  if (matches.size() > 1) {
    refuse(formatted("'{}' matches {} devices; give an index or a longer part of the name of:", select,
                     matches.size()),
           devices);
  }
  const DeviceSummary& device = devices[matches.front()];
  if (!device.supported) {
    refuse(formatted("{} lacks {}, which Saccade requires; there are:", device.name,
                     joined(device.missing, ", ")),
           devices);
  }
  return matches.front();
}

}  // namespace

const char* deviceTypeName(DeviceType type) noexcept {
  switch (type) {
    case DeviceType::DiscreteGpu: return "discrete GPU";
    case DeviceType::IntegratedGpu: return "integrated GPU";
    case DeviceType::VirtualGpu: return "virtual GPU";
    case DeviceType::Cpu: return "CPU";
    case DeviceType::Other: break;
  }
  return "other";
}

std::size_t chooseDevice(std::span<const DeviceSummary> devices, const std::string& select) {
  if (devices.empty()) {
    throw Error(
        Status::DeviceRequirements, "device",
        "this machine has no Vulkan device; install a driver (a graphics driver, or mesa-vulkan-drivers for "
        "the CPU)");
  }
  return select.empty() ? chooseBest(devices) : chooseNamed(devices, select);
}

}  // namespace saccade
