// SPDX-License-Identifier: Apache-2.0
#include "text/formatted.hpp"

namespace saccade {

std::string formattedWith(std::string_view format, std::format_args args) { return std::vformat(format, args); }

}  // namespace saccade
