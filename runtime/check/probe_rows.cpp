// SPDX-License-Identifier: Apache-2.0
#include "check/probe_rows.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "io/special_values.hpp"

namespace saccade::check {

ProbeRows::ProbeRows(const io::AttentionCase& problem)
    : packed_(problem.packed),
      batch_(problem.packed ? 1 : problem.batch),
      heads_(problem.numHeadsQ),
      queries_(problem.seqlenQ),
      rows_(static_cast<std::size_t>(batch_ * heads_ * queries_)),
      keys_(static_cast<std::size_t>(problem.seqlenK)),
      visible_(rows_ * keys_) {
  forEachVisiblePair(problem, [this](std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) {
    visible_[row(b, h, i) * keys_ + static_cast<std::size_t>(j)] = true;
  });
}

std::size_t ProbeRows::row(std::int64_t b, std::int64_t h, std::int64_t i) const {
  return static_cast<std::size_t>(packed_ ? i * heads_ + h : (b * heads_ + h) * queries_ + i);
}

std::size_t ProbeRows::lseIndex(std::int64_t b, std::int64_t h, std::int64_t i) const {
  return static_cast<std::size_t>((b * heads_ + h) * queries_ + i);
}

std::size_t ProbeRows::visibleKeys(std::size_t row) const {
  const auto first = visible_.begin() + static_cast<std::ptrdiff_t>(row * keys_);
  return static_cast<std::size_t>(std::count(first, first + static_cast<std::ptrdiff_t>(keys_), true));
}

reference::TensorComparison differing(const std::string& tensor, const io::TensorData& got, std::size_t index,
                                      double expected, const std::string& what) {
  reference::TensorComparison comparison;
  comparison.tensor = tensor;
  comparison.compared = got.elementCount();
  comparison.failed = 1;
  comparison.worstIndex = io::unflatten(index, got.shape());
  comparison.expected = expected;
  comparison.got = got.at(index);
  comparison.error = comparison.ratio = kInfinity;
  comparison.reason = fmt::format("{}{} is {:.9g}, expected {:.9g} exactly: {}", tensor,
                                  io::shapeText(comparison.worstIndex), comparison.got, expected, what);
  return comparison;
}

reference::TensorComparison compareBits(const std::string& tensor, const io::TensorData& got,
                                        const io::TensorData& expected, const std::string& what) {
  const std::size_t size = io::dtypeSize(got.dtype());
  const auto [mine, other] =
      std::mismatch(got.bytes().begin(), got.bytes().end(), expected.bytes().begin(), expected.bytes().end());
  if (got.shape() == expected.shape() && mine == got.bytes().end()) {
    reference::TensorComparison same;
    same.tensor = tensor;
    same.passed = true;
    same.compared = got.elementCount();
    return same;
  }
  const std::size_t index = static_cast<std::size_t>(mine - got.bytes().begin()) / size;
  return differing(tensor, got, index, expected.at(index), what);
}

std::vector<reference::TensorComparison> compareAllBits(const AttentionOutputs& got,
                                                        const AttentionOutputs& expected,
                                                        const std::string& what) {
  std::vector<reference::TensorComparison> tensors = {compareBits("out", got.out, expected.out, what)};
  if (expected.lse.elementCount() > 0) {
    tensors.push_back(compareBits("lse", got.lse, expected.lse, what));
  }
  if (expected.probs.elementCount() > 0) {
    tensors.push_back(compareBits("probs", got.probs, expected.probs, what));
  }
  return tensors;
}

}  // namespace saccade::check
