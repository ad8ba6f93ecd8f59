// SPDX-License-Identifier: Apache-2.0
// std::format, compiled once: wherever it is called directly it takes the compiler two seconds, and fmt without its library eight.
#pragma once

#include <format>
#include <string>
#include <string_view>

namespace saccade {

std::string formattedWith(std::string_view format, std::format_args args);

template <class... Args>
std::string formatted(std::format_string<Args...> format, Args&&... args) {
  return formattedWith(format.get(), std::make_format_args(args...));
}

// The values, as {} writes them, with the separator between them.
template <class Range>
std::string joined(const Range& values, std::string_view separator) {
  std::string text;
  bool first = true;
  for (const auto& value : values) {
    if (!first) text += separator;
    first = false;
    text += formatted("{}", value);
  }
  return text;
}

}  // namespace saccade
