// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace saccade::tool {

// A report of joinReports whose devices list every check ("checks"), as JUnit XML: a suite per device, kernel
// and group.
std::string junitText(const nlohmann::json& report);

}  // namespace saccade::tool
