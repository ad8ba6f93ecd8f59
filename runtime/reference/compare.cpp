// SPDX-License-Identifier: Apache-2.0
#include "reference/compare.hpp"

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

#include "io/special_values.hpp"

namespace saccade::reference {

namespace {

struct Element {
  double expected = 0;
  double got = 0;
  double error = 0;
  double allowed = 0;

  // Not a number and the wrong infinity count as infinitely wrong.
  double ratio() const {
    if (error == 0) {
      return 0;
    }
    return allowed > 0 ? error / allowed : kInfinity;
  }
  bool passes() const { return error <= allowed; }
};

Element compareElement(double got, double expected, io::DType dtype, const TensorTolerance& tolerance,
                       bool mustBeZero) {
  Element element{expected, got, 0, 0};
  if (tolerance.exact) {
    element.expected = expected = io::roundedTo(dtype, expected);
  }
  if (std::isnan(expected) || std::isnan(got)) {
    element.error = std::isnan(expected) && std::isnan(got) ? 0 : kInfinity;
  } else if (std::isinf(expected) || std::isinf(got)) {
    element.error = expected == got ? 0 : kInfinity;
  } else {
    element.error = std::abs(got - expected);
    if (!tolerance.exact && !mustBeZero) {
      element.allowed = std::max(tolerance.absolute, tolerance.relative * std::abs(expected));
    }
  }
  return element;
}

std::string describe(const TensorComparison& comparison, bool mustBeZero) {
  std::string text = fmt::format("{}{} is {:.9g}, expected {:.9g}", comparison.tensor,
                                 io::shapeText(comparison.worstIndex), comparison.got, comparison.expected);
  if (mustBeZero) {
    text += " exactly (nothing is visible there)";
  } else if (std::isfinite(comparison.error)) {
    text += fmt::format(": error {:.3g}, allowed {:.3g}", comparison.error, comparison.allowed);
  }
  return text + fmt::format("; {} of {} elements fail", comparison.failed, comparison.compared);
}

}  // namespace

TensorComparison compareTensor(const std::string& name, const io::TensorData& result,
                               const io::TensorData& expected, const TensorTolerance& tolerance,
                               std::span<const std::uint8_t> mustBeZero) {
  TensorComparison comparison;
  comparison.tensor = name;
  if (result.shape() != expected.shape()) {
    comparison.ratio = comparison.error = kInfinity;
    comparison.reason = fmt::format("{} has shape {}, expected {}", name, io::shapeText(result.shape()),
                                    io::shapeText(expected.shape()));
    return comparison;
  }
  if (!mustBeZero.empty() && mustBeZero.size() != expected.elementCount()) {
    throw std::invalid_argument(fmt::format("{} entries of mustBeZero for {} elements of {}",
                                            mustBeZero.size(), expected.elementCount(), name));
  }
  comparison.compared = expected.elementCount();
  bool worstMustBeZero = false;
  for (std::size_t i = 0; i < comparison.compared; ++i) {
    const bool zero = !mustBeZero.empty() && mustBeZero[i] != 0;
    const Element element = compareElement(result.at(i), expected.at(i), result.dtype(), tolerance, zero);
    comparison.failed += element.passes() ? 0 : 1;
    if (i == 0 || element.ratio() > comparison.ratio) {
      comparison.worstIndex = io::unflatten(i, expected.shape());
      comparison.expected = element.expected;
      comparison.got = element.got;
      comparison.error = element.error;
      comparison.allowed = element.allowed;
      comparison.ratio = element.ratio();
      worstMustBeZero = zero;
    }
  }
  comparison.passed = comparison.failed == 0;
  if (!comparison.passed) {
    comparison.reason = describe(comparison, worstMustBeZero);
  }
  return comparison;
}

bool CaseComparison::passed() const {
  bool all = missing.empty() && !tensors.empty();
  for (const TensorComparison& tensor : tensors) {
    all = all && tensor.passed;
  }
  return all;
}

const TensorComparison* CaseComparison::worst() const {
  const TensorComparison* worst = nullptr;
  for (const TensorComparison& tensor : tensors) {
    if (worst == nullptr || tensor.ratio > worst->ratio || (worst->passed && !tensor.passed)) {
      worst = &tensor;
    }
  }
  return worst;
}

}  // namespace saccade::reference
