// SPDX-License-Identifier: Apache-2.0
#include "kernels/tile.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "api/message.hpp"

namespace saccade::core {
namespace {

KernelRequest::Field parseField(std::string_view text) {
  const size_t equals = text.find('=');
  const std::string_view name = text.substr(0, equals);
  const std::string_view digits = equals == std::string_view::npos ? "" : text.substr(equals + 1);
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (name.empty() || digits.empty() || error != std::errc() || end != digits.data() + digits.size()) {
    refuse("kernel", "kernel has \"{}\" behind its name; fields of its tile are given as NAME=NUMBER, e.g. keys=4", text.substr(0, 100));
  }
  return {std::string(name), value};
}

}  // namespace

KernelRequest parseKernelRequest(const std::string& text) {
  KernelRequest request;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    const std::string_view word = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    if (word.empty()) continue;
    if (request.kernel.empty()) {
      request.kernel = word;
      continue;
    }
    KernelRequest::Field field = parseField(word);
    for (const KernelRequest::Field& earlier : request.tile) {
      if (earlier.name == field.name) refuse("kernel", "kernel gives {} twice: {} and {}", field.name, earlier.value, field.value);
    }
    request.tile.push_back(std::move(field));
  }
  return request;
}

uint32_t maxLocalSize(const DeviceFacts& facts) {
  return std::max(1u, std::min(facts.maxComputeWorkGroupInvocations, facts.maxComputeWorkGroupSize[0]));
}

std::string tileValueRefusal(const DeviceFacts& facts, const KernelRequest::Field& field, uint32_t least, uint32_t most, uint32_t step) {
  if (field.name == "local_size" && field.value > maxLocalSize(facts)) {
    return formatted("local_size is {}, but work-groups have at most {} invocations on this device", field.value, maxLocalSize(facts));
  }
  if (field.value >= least && field.value <= most && (field.value - least) % step == 0) return "";
  return formatted("{} is {}, but must be {} to {}{}", field.name, field.value, least, most,
                     step == 1 ? "" : formatted(" in steps of {}", step));
}

}  // namespace saccade::core
