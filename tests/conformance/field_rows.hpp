// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

namespace saccade::conformance {

// The rows of docs/field-cases.md by where they are tested. A test compares them with the tests that are
// registered and with the page.
std::span<const int> rowsOnDevices();        // here, on every kernel: field_cases.row_...
std::span<const int> rowsInPlanner();        // without a device: tests/core/limits_test.cpp
std::span<const int> rowsOfLaterFeatures();  // of features that this version does not have

}  // namespace saccade::conformance
