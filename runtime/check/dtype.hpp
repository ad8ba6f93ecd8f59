// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <saccade/runtime.hpp>

#include "io/tensor_data.hpp"

namespace saccade::check {

// The device's dtype for a file's, and back. Throw Error InvalidArgument: the device has no such dtype (F64,
// I64), or None.
Dtype deviceDtype(io::DType dtype);
io::DType hostDtype(Dtype dtype);

// The elements of a tensor, in the given shape (which has as many).
io::TensorData download(const Tensor& tensor, const io::Shape& shape);

}  // namespace saccade::check
