// SPDX-License-Identifier: Apache-2.0
#include "standalone/convert.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "io/e4m3.hpp"
#include "io/half.hpp"
#include "text/formatted.hpp"

namespace saccade::runtime {
namespace {

template <typename Element, typename Convert>
std::vector<std::byte> encodeAs(std::span<const float> values, Convert convert) {
  std::vector<std::byte> bytes(values.size() * sizeof(Element));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Element element = convert(values[i]);
    std::memcpy(bytes.data() + i * sizeof(Element), &element, sizeof(Element));
  }
  return bytes;
}

template <typename Element, typename Convert>
std::vector<float> decodeAs(std::span<const std::byte> bytes, Convert convert) {
  std::vector<float> values(bytes.size() / sizeof(Element));
  for (std::size_t i = 0; i < values.size(); ++i) {
    Element element;
    std::memcpy(&element, bytes.data() + i * sizeof(Element), sizeof(Element));
    values[i] = convert(element);
  }
  return values;
}

template <typename Integer>
Integer exactly(float value) {
  const double wide = value;
  if (!(wide >= std::numeric_limits<Integer>::min() && wide <= std::numeric_limits<Integer>::max()) ||
      std::trunc(wide) != wide) {
    throw Error(Status::InvalidArgument, "values",
                formatted("values holds {}, but this dtype holds only integers from {} to {}", value,
                          static_cast<std::int64_t>(std::numeric_limits<Integer>::min()),
                          static_cast<std::int64_t>(std::numeric_limits<Integer>::max())));
  }
  return static_cast<Integer>(wide);
}

// What quantising wants: the nearest integer, the even one of two, within the range.
std::int8_t nearestInt8(float value) {
  if (std::isnan(value)) return exactly<std::int8_t>(value);
  return static_cast<std::int8_t>(std::nearbyint(std::clamp(value, -128.0f, 127.0f)));
}

[[noreturn]] void refuse(Dtype dtype) {
  throw Error(Status::InvalidArgument, "dtype",
              formatted("dtype is {}, but a tensor of values needs F32, F16, BF16, U8, I32, F8E4M3 or I8",
                        static_cast<int>(dtype)));
}

}  // namespace

std::vector<std::byte> encode(Dtype dtype, std::span<const float> values) {
  switch (dtype) {
    case Dtype::F32: return encodeAs<float>(values, [](float value) { return value; });
    case Dtype::F16: return encodeAs<std::uint16_t>(values, io::floatToHalf);
    case Dtype::BF16: return encodeAs<std::uint16_t>(values, io::floatToBfloat16);
    case Dtype::U8: return encodeAs<std::uint8_t>(values, exactly<std::uint8_t>);
    case Dtype::I32: return encodeAs<std::int32_t>(values, exactly<std::int32_t>);
    case Dtype::F8E4M3: return encodeAs<std::uint8_t>(values, io::floatToE4m3);
    case Dtype::I8: return encodeAs<std::int8_t>(values, nearestInt8);
    case Dtype::None: break;
  }
  refuse(dtype);
}

std::vector<float> decode(Dtype dtype, std::span<const std::byte> bytes) {
  switch (dtype) {
    case Dtype::F32: return decodeAs<float>(bytes, [](float value) { return value; });
    case Dtype::F16: return decodeAs<std::uint16_t>(bytes, io::halfToFloat);
    case Dtype::BF16: return decodeAs<std::uint16_t>(bytes, io::bfloat16ToFloat);
    case Dtype::U8:
      return decodeAs<std::uint8_t>(bytes, [](std::uint8_t value) { return static_cast<float>(value); });
    case Dtype::I32:
      return decodeAs<std::int32_t>(bytes, [](std::int32_t value) { return static_cast<float>(value); });
    case Dtype::F8E4M3: return decodeAs<std::uint8_t>(bytes, io::e4m3ToFloat);
    case Dtype::I8:
      return decodeAs<std::int8_t>(bytes, [](std::int8_t value) { return static_cast<float>(value); });
    case Dtype::None: break;
  }
  refuse(dtype);
}

std::uint32_t patternWord(Dtype dtype, float value) {
  const std::vector<std::byte> element = encode(dtype, {&value, 1});
  std::uint32_t word = 0;
  for (std::size_t i = 0; i < sizeof word; i += element.size()) {
    std::memcpy(reinterpret_cast<std::byte*>(&word) + i, element.data(), element.size());
  }
  return word;
}

}  // namespace saccade::runtime
