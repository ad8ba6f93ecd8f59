// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <variant>

#include "io/case_file.hpp"

namespace saccade::reference {

// Why a case was not run; to be reported as such, never as passed.
struct NotRun {
  std::string reason;
};

using CaseOutcome = std::variant<io::TensorMap, NotRun>;

// Runs a case on the scalar path. The results are F64, under the names that the format gives the expected
// tensors; probs only where the case expects them. Throws io::FileError if the file's tensors do not fit each
// other.
CaseOutcome runCaseOnReference(const io::CaseFile& file);

}  // namespace saccade::reference
