// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "io/case_file.hpp"

// Comparing results with expected values, as section 4 of tests/cases/README.md says.

namespace saccade::reference {

// |result - expected| <= max(absolute, relative * |expected|).
struct TensorTolerance {
  double absolute = 0;
  double relative = 0;
  // The result must be the expected value rounded to the result's dtype, bit for bit apart from the sign of
  // zero.
  bool exact = false;
};

// The relative tolerance that every lse has beside its absolute one.
inline constexpr double kLseRelativeTolerance = 2e-6;

struct TensorComparison {
  std::string tensor;
  bool passed = false;
  std::size_t compared = 0;  // elements
  std::size_t failed = 0;    // elements out of tolerance
  // The element with the largest error / tolerance; all zero if nothing was compared.
  io::Shape worstIndex;
  double expected = 0;
  double got = 0;
  double error = 0;
  double allowed = 0;
  double ratio = 0;    // error / allowed; infinite where no tolerance applies and the values differ
  std::string reason;  // one sentence if it failed, else empty
};

// Compares element by element. Shapes must be equal; NaN is expected exactly where it stands, infinities with
// their sign. `mustBeZero`, if not empty, has one entry per element: where it is not 0, only zero passes,
// whatever the tolerance.
TensorComparison compareTensor(const std::string& name, const io::TensorData& result,
                               const io::TensorData& expected, const TensorTolerance& tolerance,
                               std::span<const std::uint8_t> mustBeZero = {});

struct CaseComparison {
  std::vector<TensorComparison> tensors;
  std::vector<std::string> missing;  // expected, but not among the results

  // Every expected tensor was compared, there was one at least, and all passed.
  bool passed() const;
  // The tensor with the largest ratio; nullptr if none was compared.
  const TensorComparison* worst() const;
};

// Compares the results of a case with what the file expects, with the file's own tolerances. A tolerance that
// the file does not give is computed from the inputs as tolerance.hpp says. `pRounding` is how the kernel
// kept its softmax weights. The case must have no `unknown` entries. Throws io::FileError if the file's
// tensors do not fit each other.
CaseComparison compareCase(const io::CaseFile& file, const io::TensorMap& results, io::PRounding pRounding);

}  // namespace saccade::reference
