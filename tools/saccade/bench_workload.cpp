// SPDX-License-Identifier: Apache-2.0
#include "bench_workload.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace saccade::tool {

io::TensorData randomTensor(io::DType dtype, const io::Shape& shape, std::uint64_t seed, double width) {
  std::vector<float> values(static_cast<std::size_t>(io::elementCount(shape)));
  std::uint64_t state = seed + 1;
  for (float& value : values) {
    // SplitMix64 (Steele, Lea and Flood 2014): quick enough for the weights of whole models.
    std::uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    value = static_cast<float>((static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-52 - 1) * width);
  }
  return io::TensorData::fromFloats(dtype, shape, values);
}

std::vector<std::int64_t> sampledIndices(std::int64_t total, std::int64_t count) {
  std::vector<std::int64_t> indices;
  for (std::int64_t i = 0; i < std::min(total, count); ++i) {
    indices.push_back(total <= count ? i : i * (total - 1) / (count - 1));
  }
  return indices;
}

std::string sampleText(const std::vector<std::int64_t>& rows) {
  return fmt::format("{} sampled row{}", rows.size(), rows.size() == 1 ? "" : "s");
}

}  // namespace saccade::tool
