// SPDX-License-Identifier: Apache-2.0
// std::format, compiled once: wherever it is called directly it takes the compiler two seconds.
#pragma once

#include <format>
#include <string>
#include <string_view>

namespace saccade::core {

std::string formattedWith(std::string_view format, std::format_args args);

template <class... Args>
std::string formatted(std::format_string<Args...> format, Args&&... args) {
  return formattedWith(format.get(), std::make_format_args(args...));
}

}  // namespace saccade::core
