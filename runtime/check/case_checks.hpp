// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "check/check.hpp"

namespace saccade::check {

// One check for each *.safetensors file in `folder` and its sub-folders, by path. `weights` is
// the model that cases of the operator `model` need; empty: those are not run. Throws io::FileError if the
// folder cannot be read or a file is no case file.
Checks caseChecks(const std::filesystem::path& folder, const std::filesystem::path& weights = {});

}  // namespace saccade::check
