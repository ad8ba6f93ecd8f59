// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check/device_case.hpp"

// One function per operator that a case file may name. Each may throw Error InvalidArgument or Unsupported
// for what the core refuses.

namespace saccade::check {

inline constexpr std::int64_t kAny = io::CaseFile::kAnySize;

DeviceOutcome runAttentionCase(const Device& device, const io::CaseFile& file, const CaseOptions& options);
DeviceOutcome runMatmulCase(const Device& device, const io::CaseFile& file, const CaseOptions& options);
DeviceOutcome runGeluCase(const Device& device, const io::CaseFile& file, const CaseOptions& options);
DeviceOutcome runLayerNormCase(const Device& device, const io::CaseFile& file, const CaseOptions& options);
DeviceOutcome runPatchEmbedCase(const Device& device, const io::CaseFile& file, const CaseOptions& options);
DeviceOutcome runMhaCase(const Device& device, const io::CaseFile& file, const CaseOptions& options);
DeviceOutcome runVitCase(const Device& device, const io::CaseFile& file, const CaseOptions& options);
DeviceOutcome runModelCase(const Device& device, const io::CaseFile& file, const CaseOptions& options);

}  // namespace saccade::check
