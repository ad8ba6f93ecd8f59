// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace saccade::runtime {

// An environment variable; an unset one is empty.
std::string environmentText(const char* name);

// A variable that switches something on or off: unset and "0" are false, "1" is true, anything else throws
// Error InvalidArgument.
bool environmentSwitch(const char* name);

// A number of milliseconds above 0, or "off" for infinity; `unset` if the variable is not set. Throws Error InvalidArgument
// for anything else.
double environmentMilliseconds(const char* name, double unset);

}  // namespace saccade::runtime
