// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include <saccade/runtime.hpp>

#include "io/case_file.hpp"
#include "reference/run_case.hpp"

namespace saccade::check {

using reference::NotRun;

// Whether a kernel keeps softmax weights in fp32 until they are multiplied with V. Of other operators there is nothing to round.
io::PRounding weightRounding(const std::string& kernel);

struct CaseOptions {
  std::string kernel;             // of the operator that the case is about; empty: the planner's choice
  std::filesystem::path weights;  // of the model, for cases whose weights are in another file
};

struct DeviceResults {
  io::TensorMap tensors;                 // in the inputs' dtype (lse: F32), under the format's names
  std::string kernel;                    // what ran
  std::vector<std::string> overwritten;  // tensors outside which something was written; must be empty
};

using DeviceOutcome = std::variant<DeviceResults, NotRun>;

// The operator of which a case may choose the kernel: attention for `attention`, `mha`, `vit` and `model`.
SaccadeOperator caseOperator(const io::CaseFile& file);

// Runs a case on a device. All tensors have guard margins, and outputs begin as NaN. NotRun if the case has
// something that is unknown, or that this version refuses: the reason names it. Throws io::FileError if the
// file's tensors do not fit each other, Error if the device failed.
DeviceOutcome runCaseOnDevice(const Device& device, const io::CaseFile& file,
                              const CaseOptions& options = {});

}  // namespace saccade::check
