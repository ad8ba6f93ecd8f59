// SPDX-License-Identifier: Apache-2.0
// Failures of other attention implementations, one test per reported failure: docs/field-cases.md lists them
// all. Tests carry the numbers of that page: field_cases.row_001_a_mask_with_an_empty_row/f32/scalar_rows.
#pragma once

#include <vector>

#include "attention_call.hpp"

namespace saccade::conformance {

using VariantTest = std::function<void(const Device&, const Variant&)>;

constexpr io::DType kF32 = io::DType::F32, kF16 = io::DType::F16, kBf16 = io::DType::BF16;

// Registers a test of these rows for every kernel, in each of these storage types.
void fieldCase(const Device& device, const std::vector<int>& rows, const std::string& name,
               const std::vector<io::DType>& dtypes, const VariantTest& test);
// All of them, and a test that no row of the page is without one. One function per kind of failure.
void registerFieldCases(const Device& device);
void registerEmptyRowCases(const Device& device);
void registerLeakCases(const Device& device);
void registerCausalCases(const Device& device);
void registerMaskCases(const Device& device);
void registerRangeCases(const Device& device);
void registerShapeCases(const Device& device);
void registerLayoutCases(const Device& device);
void registerBoundsCases(const Device& device);
void registerIndexCases(const Device& device);
void registerGridCases(const Device& device);
void registerHeadCases(const Device& device);
void registerScoreCases(const Device& device);
void registerLseCases(const Device& device);
void registerSequenceCases(const Device& device);
void registerRepeatCases(const Device& device);

}  // namespace saccade::conformance
