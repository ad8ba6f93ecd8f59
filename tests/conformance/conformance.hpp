// SPDX-License-Identifier: Apache-2.0
// Tests that run on a device, once per kernel variant and dtype. They are registered when the device is
// known, so that a variant which the library gains is tested without a line changing here. Names read as a
// sentence: attention_causality.bottom_right/f16/D16/scalar_tiled.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <saccade/runtime.hpp>

#include "io/tensor_data.hpp"

namespace saccade::conformance {

constexpr std::int64_t kHeadDim = 16;  // of tests that are about something else

// One kernel of attention at one storage type.
struct Variant {
  std::string kernel;
  io::DType dtype;
};

// Every combination that the device supports.
std::vector<Variant> attentionVariants(const Device& device);
// The variants that a description of the operator may name and the device supports.
std::vector<std::string> kernelChoices(const Device& device, SaccadeOperator op);

const char* shortName(io::DType dtype);  // "f16"

// "what/f16/D16/scalar_tiled"
std::string testName(const std::string& what, const Variant& variant, std::int64_t headDim);

void registerTest(const char* suite, const std::string& name, std::function<void()> body);

// One function per file of tests.
void registerGuardTests(const Device& device);
void registerGoldenCases(const Device& device);
void registerVisibilityTests(const Device& device);
void registerLengthTests(const Device& device);
void registerValueTests(const Device& device);
void registerLayoutTests(const Device& device);
void registerShapeTests(const Device& device);
void registerTileTests(const Device& device);
void registerOptionTests(const Device& device);
void registerScaleTests(const Device& device);
void registerRecordingTests(const Device& device);
void registerRefusalTests(const Device& device);
void registerQuantisedTests(const Device& device);

}  // namespace saccade::conformance
