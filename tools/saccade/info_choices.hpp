// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <saccade/runtime.hpp>

namespace saccade::tool {

// Which kernel a device takes by itself for attention as language models need it, with which tile, and why. Nothing is
// compiled; tuning files do not count.
nlohmann::ordered_json attentionChoices(const DeviceFacts& facts);

}  // namespace saccade::tool
