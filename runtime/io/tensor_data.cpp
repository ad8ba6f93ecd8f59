// SPDX-License-Identifier: Apache-2.0
#include "io/tensor_data.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <utility>

#include "io/e4m3.hpp"
#include "io/half.hpp"
#include "text/formatted.hpp"

namespace saccade::io {

namespace {

struct DTypeFacts {
  DType dtype;
  std::string_view name;
  std::size_t size;
};

constexpr DTypeFacts kDTypes[] = {
    {DType::F64, "F64", 8}, {DType::F32, "F32", 4}, {DType::F16, "F16", 2}, {DType::BF16, "BF16", 2},
    {DType::I64, "I64", 8}, {DType::I32, "I32", 4}, {DType::U8, "U8", 1},   {DType::F8_E4M3, "F8_E4M3", 1},
    {DType::I8, "I8", 1},
};

const DTypeFacts& facts(DType dtype) { return kDTypes[static_cast<std::size_t>(dtype)]; }

template <typename T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <typename T>
void store(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

double loadAsDouble(DType dtype, const std::byte* from) {
  switch (dtype) {
    case DType::F64: return load<double>(from);
    case DType::F32: return double{load<float>(from)};
    case DType::F16: return double{halfToFloat(load<std::uint16_t>(from))};
    case DType::BF16: return double{bfloat16ToFloat(load<std::uint16_t>(from))};
    case DType::I64: return static_cast<double>(load<std::int64_t>(from));
    case DType::I32: return static_cast<double>(load<std::int32_t>(from));
    case DType::U8: return static_cast<double>(load<std::uint8_t>(from));
    case DType::F8_E4M3: return double{e4m3ToFloat(load<std::uint8_t>(from))};
    case DType::I8: return static_cast<double>(load<std::int8_t>(from));
  }
  throw std::invalid_argument("unknown dtype");
}

template <typename Integer>
Integer toInteger(DType dtype, double value) {
  // The upper bound is exclusive because the largest int64 is not a double.
  const double low = static_cast<double>(std::numeric_limits<Integer>::min());
  const double high = std::ldexp(1.0, std::numeric_limits<Integer>::digits);
  if (!(value >= low && value < high) || value != std::trunc(value)) {
    throw std::invalid_argument(formatted("{} is not a value of dtype {}", value, dtypeName(dtype)));
  }
  return static_cast<Integer>(value);
}

void storeFromDouble(DType dtype, std::byte* to, double value) {
  switch (dtype) {
    case DType::F64: return store(to, value);
    case DType::F32: return store(to, static_cast<float>(value));
    case DType::F16: return store(to, doubleToHalf(value));
    case DType::BF16: return store(to, doubleToBfloat16(value));
    case DType::I64: return store(to, toInteger<std::int64_t>(dtype, value));
    case DType::I32: return store(to, toInteger<std::int32_t>(dtype, value));
    case DType::U8: return store(to, toInteger<std::uint8_t>(dtype, value));
    case DType::F8_E4M3: return store(to, doubleToE4m3(value));
    case DType::I8: return store(to, toInteger<std::int8_t>(dtype, value));
  }
}

void requireByteCount(DType dtype, const Shape& shape, std::size_t byteCount) {
  const std::size_t needed = static_cast<std::size_t>(elementCount(shape)) * dtypeSize(dtype);
  if (byteCount != needed) {
    throw std::invalid_argument(formatted("a {} tensor of shape {} has {} bytes, not {}", dtypeName(dtype),
                                          shapeText(shape), needed, byteCount));
  }
}

template <typename Real>
TensorData fromValues(DType dtype, Shape shape, std::span<const Real> values) {
  std::vector<std::byte> bytes(values.size() * dtypeSize(dtype));
  for (std::size_t i = 0; i < values.size(); ++i) {
    storeFromDouble(dtype, bytes.data() + i * dtypeSize(dtype), static_cast<double>(values[i]));
  }
  return TensorData(dtype, std::move(shape), std::move(bytes));
}

}  // namespace

std::size_t dtypeSize(DType dtype) { return facts(dtype).size; }

std::string_view dtypeName(DType dtype) { return facts(dtype).name; }

std::optional<DType> dtypeFromName(std::string_view name) {
  for (const DTypeFacts& entry : kDTypes) {
    if (entry.name == name) {
      return entry.dtype;
    }
  }
  return std::nullopt;
}

double roundedTo(DType dtype, double value) {
  std::byte bytes[sizeof(double)];
  storeFromDouble(dtype, bytes, value);
  return loadAsDouble(dtype, bytes);
}

double unitInLastPlace(DType dtype, double magnitude) {
  struct Format {
    int mantissaBits;
    int lowestExponent;
  };
  Format format{};
  switch (dtype) {
    case DType::F64: format = {52, -1022}; break;
    case DType::F32: format = {23, -126}; break;
    case DType::F16: format = {10, -14}; break;
    case DType::BF16: format = {7, -126}; break;
    case DType::F8_E4M3: format = {3, -6}; break;
    default:
      throw std::invalid_argument(formatted("dtype {} has no unit in the last place", dtypeName(dtype)));
  }
  const int exponent = magnitude == 0 ? format.lowestExponent : std::ilogb(magnitude);
  return std::ldexp(1.0, std::max(exponent, format.lowestExponent) - format.mantissaBits);
}

std::int64_t elementCount(const Shape& shape) {
  if (std::ranges::find(shape, 0) != shape.end()) {
    return 0;  // the product of the other sizes may be beyond int64
  }
  std::int64_t count = 1;
  for (const std::int64_t size : shape) {
    count *= size;
  }
  return count;
}

std::string shapeText(const Shape& shape) { return formatted("[{}]", joined(shape, ",")); }

Shape unflatten(std::size_t flatIndex, const Shape& shape) {
  Shape index(shape.size());
  auto rest = static_cast<std::int64_t>(flatIndex);
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    index[axis] = rest % shape[axis];
    rest /= shape[axis];
  }
  return index;
}

TensorData::TensorData(DType dtype, Shape shape, std::vector<std::byte> bytes)
    : dtype_(dtype), shape_(std::move(shape)) {
  requireByteCount(dtype_, shape_, bytes.size());
  const auto owned = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  bytes_ = *owned;
  owner_ = owned;
}

TensorData::TensorData(DType dtype, Shape shape, std::span<const std::byte> bytes,
                       std::shared_ptr<const void> owner)
    : dtype_(dtype), shape_(std::move(shape)), owner_(std::move(owner)), bytes_(bytes) {
  requireByteCount(dtype_, shape_, bytes.size());
}

TensorData TensorData::fromDoubles(DType dtype, Shape shape, std::span<const double> values) {
  return fromValues(dtype, std::move(shape), values);
}

TensorData TensorData::fromFloats(DType dtype, Shape shape, std::span<const float> values) {
  return fromValues(dtype, std::move(shape), values);
}

double TensorData::at(std::size_t flatIndex) const {
  return loadAsDouble(dtype_, bytes_.data() + flatIndex * dtypeSize(dtype_));
}

std::vector<double> TensorData::toDoubles() const {
  std::vector<double> values(elementCount());
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = at(i);
  }
  return values;
}

std::vector<float> TensorData::toFloats() const {
  std::vector<float> values(elementCount());
  if (dtype_ == DType::F32 && !values.empty()) {
    std::memcpy(values.data(), bytes_.data(), bytes_.size());
    return values;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(at(i));
  }
  return values;
}

std::vector<std::uint8_t> TensorData::toBytes() const {
  if (dtype_ != DType::U8) {
    throw std::invalid_argument(formatted("a U8 tensor was expected, not {}", dtypeName(dtype_)));
  }
  const auto* first = reinterpret_cast<const std::uint8_t*>(bytes_.data());
  return {first, first + bytes_.size()};
}

std::vector<std::int32_t> TensorData::toInt32s() const {
  std::vector<std::int32_t> values(elementCount());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double value = at(i);
    if (!(std::abs(value) <= 2147483647.0) || value != std::trunc(value)) {
      throw std::out_of_range(formatted("element {} is {}, which is no 32-bit integer", i, value));
    }
    values[i] = static_cast<std::int32_t>(value);
  }
  return values;
}

TensorData TensorData::reshaped(Shape shape) const {
  return TensorData(dtype_, std::move(shape), bytes_, owner_);
}

TensorData TensorData::converted(DType dtype) const {
  return dtype == dtype_ ? *this : fromDoubles(dtype, shape_, toDoubles());
}

}  // namespace saccade::io
