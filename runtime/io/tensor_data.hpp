// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace saccade::io {

enum class DType { F64, F32, F16, BF16, I64, I32, U8, F8_E4M3, I8 };

// Bytes per element.
std::size_t dtypeSize(DType dtype);

// The name the safetensors format uses: "F64", "F32", "F16", "BF16", "I64", "I32", "U8", "F8_E4M3", "I8".
std::string_view dtypeName(DType dtype);
std::optional<DType> dtypeFromName(std::string_view name);

// `value` rounded once, to nearest even, to what `dtype` can hold, and widened again. Floating-point dtypes
// only.
double roundedTo(DType dtype, double value);

// The distance between |magnitude| and the next larger value of the floating-point `dtype` (the smallest
// subnormal at 0). `magnitude` must be finite.
double unitInLastPlace(DType dtype, double magnitude);

// Sizes from the outermost dimension to the innermost; a size may be 0; an empty shape is a scalar.
using Shape = std::vector<std::int64_t>;

std::int64_t elementCount(const Shape& shape);
std::string shapeText(const Shape& shape);  // "[2,3,64]"

// The multi-dimensional index of element `flatIndex` of a row-major tensor.
Shape unflatten(std::size_t flatIndex, const Shape& shape);

// A tensor in host memory, row-major and contiguous. It either owns its bytes or keeps alive what owns them
// (a mapped file). Copies share the bytes, which are never changed after construction: any number of threads
// may read one.
class TensorData {
 public:
  TensorData() = default;  // F32, shape [0]

  // Takes bytes over. Throws std::invalid_argument unless `bytes` has exactly the size that dtype and shape
  // need.
  TensorData(DType dtype, Shape shape, std::vector<std::byte> bytes);

  // Looks at bytes that `owner` keeps alive; they need no alignment. Throws as above.
  TensorData(DType dtype, Shape shape, std::span<const std::byte> bytes, std::shared_ptr<const void> owner);

  // Values in row-major order, rounded once to nearest even for floating-point dtypes; F8_E4M3 saturates. Integer dtypes throw
  // std::invalid_argument where a value is not an integer or out of range, as does a wrong number of values.
  static TensorData fromDoubles(DType dtype, Shape shape, std::span<const double> values);
  static TensorData fromFloats(DType dtype, Shape shape, std::span<const float> values);

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  std::size_t rank() const { return shape_.size(); }
  std::size_t elementCount() const { return bytes_.size() / dtypeSize(dtype_); }
  std::span<const std::byte> bytes() const { return bytes_; }

  // Element `flatIndex` in row-major order. Every dtype but I64 beyond 2^53 is exact in a double.
  double at(std::size_t flatIndex) const;
  std::vector<double> toDoubles() const;
  std::vector<float> toFloats() const;  // F64 is rounded
  std::vector<std::uint8_t> toBytes()
      const;  // of a U8 tensor; throws std::invalid_argument for another dtype
  std::vector<std::int32_t> toInt32s() const;  // throws std::out_of_range for a value that is no int32

  // The same bytes under another shape with as many elements; throws std::invalid_argument if it has more or
  // fewer.
  TensorData reshaped(Shape shape) const;

  // The same values in another dtype, rounded as fromDoubles does; shares the bytes if the dtype is the same.
  TensorData converted(DType dtype) const;

 private:
  DType dtype_ = DType::F32;
  Shape shape_ = {0};
  std::shared_ptr<const void> owner_;
  std::span<const std::byte> bytes_;
};

}  // namespace saccade::io
