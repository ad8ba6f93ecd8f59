// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>
#include <saccade/runtime.hpp>

namespace saccade::tool {

// Runs this program again with `arguments` and the device's index, in a process of its own: a driver that
// crashes costs its own results only. Returns the device's report; one that says "crashed with signal N" if
// that is what happened.
nlohmann::json verifyInChild(const DeviceSummary& device, const std::vector<std::string>& arguments);

}  // namespace saccade::tool
