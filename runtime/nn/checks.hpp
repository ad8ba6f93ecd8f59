// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <saccade/nn.hpp>

namespace saccade::nn {

// Throws Error InvalidArgument for `field` with its value and what is allowed.
[[noreturn]] void refuse(const std::string& field, const std::string& value, const std::string& allowed);

std::string shapeText(const Shape& shape);  // "[2,197,768]"

// Throw Error InvalidArgument naming `field` unless the tensor is there and has that shape; a size of -1 fits
// every size.
void requireShape(const Tensor& tensor, const std::string& field, const Shape& shape);
void requireLinear(const Linear& linear, const std::string& field, std::int64_t outputs, std::int64_t inputs);

}  // namespace saccade::nn
