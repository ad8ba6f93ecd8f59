// SPDX-License-Identifier: Apache-2.0
#include "nn/checks.hpp"
#include "text/formatted.hpp"

#include <algorithm>

namespace saccade::nn {

namespace {

bool fits(const Shape& shape, const Shape& wanted) {
  return std::ranges::equal(shape, wanted,
                            [](std::int64_t size, std::int64_t want) { return want == -1 || size == want; });
}

}  // namespace

void refuse(const std::string& field, const std::string& value, const std::string& allowed) {
  throw Error(Status::InvalidArgument, field, formatted("{} is {}, but {}", field, value, allowed));
}

std::string shapeText(const Shape& shape) { return formatted("[{}]", joined(shape, ",")); }

void requireShape(const Tensor& tensor, const std::string& field, const Shape& shape) {
  if (!tensor) {
    refuse(field, "absent", formatted("a tensor {} is needed", shapeText(shape)));
  }
  if (!fits(tensor.shape(), shape)) {
    refuse(field, shapeText(tensor.shape()), formatted("its shape must be {} (-1: any size)", shapeText(shape)));
  }
}

void requireLinear(const Linear& linear, const std::string& field, std::int64_t outputs, std::int64_t inputs) {
  requireShape(linear.weight, field + ".weight", {outputs, inputs});
  if (linear.bias) {
    requireShape(linear.bias, field + ".bias", {linear.weight.size(0)});
  }
}

}  // namespace saccade::nn
