// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>

#include "io/tensor_data.hpp"

namespace saccade::tool {

// --kv-dtype and --scale-block: keys and values of attention quantised, with scales.
void addQuantisedOptions(CLI::App& command, std::optional<io::DType>& dtype, std::int64_t& block);

// Throws UsageError where --scale-block stands alone.
void requireQuantised(const CLI::App& command);

}  // namespace saccade::tool
