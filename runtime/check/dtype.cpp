// SPDX-License-Identifier: Apache-2.0
#include "check/dtype.hpp"

#include <fmt/format.h>

namespace saccade::check {

Dtype deviceDtype(io::DType dtype) {
  switch (dtype) {
    case io::DType::F32: return Dtype::F32;
    case io::DType::F16: return Dtype::F16;
    case io::DType::BF16: return Dtype::BF16;
    case io::DType::U8: return Dtype::U8;
    case io::DType::I32: return Dtype::I32;
    case io::DType::F8_E4M3: return Dtype::F8E4M3;
    case io::DType::I8: return Dtype::I8;
    case io::DType::F64:
    case io::DType::I64: break;
  }
  throw Error(
      Status::InvalidArgument, "dtype",
      fmt::format("{} cannot be stored on a device; allowed: F32, F16, BF16, U8, I32, F8_E4M3, I8", io::dtypeName(dtype)));
}

io::DType hostDtype(Dtype dtype) {
  switch (dtype) {
    case Dtype::F32: return io::DType::F32;
    case Dtype::F16: return io::DType::F16;
    case Dtype::BF16: return io::DType::BF16;
    case Dtype::U8: return io::DType::U8;
    case Dtype::I32: return io::DType::I32;
    case Dtype::F8E4M3: return io::DType::F8_E4M3;
    case Dtype::I8: return io::DType::I8;
    case Dtype::None: break;
  }
  throw Error(Status::InvalidArgument, "dtype", "an absent tensor has no elements");
}

io::TensorData download(const Tensor& tensor, const io::Shape& shape) {
  return io::TensorData(hostDtype(tensor.dtype()), shape, tensor.downloadBytes());
}

}  // namespace saccade::check
