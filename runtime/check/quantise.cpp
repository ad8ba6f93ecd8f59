// SPDX-License-Identifier: Apache-2.0
#include "check/quantise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "io/file_error.hpp"

namespace saccade::check {

Quantised quantise(const io::TensorData& values, io::DType dtype, std::int64_t block) {
  const io::Shape& shape = values.shape();
  const bool packed = shape.size() == 3;
  const std::int64_t batch = packed ? 1 : shape[0], heads = shape[1], tokens = packed ? shape[0] : shape[2], channels = shape.back();
  const std::int64_t length = block == 0 ? std::max<std::int64_t>(tokens, 1) : block;
  const std::int64_t blocks = block == 0 ? 1 : (tokens + block - 1) / block;
  const double largest = dtype == io::DType::I8 ? 127 : 448;
  std::vector<double> numbers = values.toDoubles();
  std::vector<double> scales(static_cast<std::size_t>(batch * heads * blocks), 0.0);
  const auto forEach = [&](const auto& visit) {
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const std::int64_t row = static_cast<std::int64_t>(i) / channels;
      const std::int64_t token = packed ? row / heads : row % tokens;
      const std::int64_t head = packed ? row % heads : row / tokens;  // of all batch entries
      visit(numbers[i], scales[static_cast<std::size_t>(head * blocks + token / length)]);
    }
  };
  forEach([](double number, double& scale) { scale = std::isfinite(number) ? std::max(scale, std::abs(number)) : scale; });
  // In fp32, as it will be multiplied.
  for (double& scale : scales) scale = scale == 0 ? 1 : static_cast<double>(static_cast<float>(scale / largest));
  forEach([&](double& number, double scale) {
    number /= scale;
    if (dtype == io::DType::I8) number = std::isnan(number) ? 0 : std::nearbyint(std::clamp(number, -127.0, 127.0));
  });
  return {io::TensorData::fromDoubles(dtype, shape, numbers), io::TensorData::fromDoubles(io::DType::F32, {batch, heads, blocks, 1}, scales)};
}

io::CaseFile quantised(const io::CaseFile& file, io::DType dtype, std::int64_t block) {
  if (file.op != "attention") {
    throw io::FileError(file.path, "operator", file.op, "only attention has keys and values to quantise");
  }
  io::CaseFile result = file;
  for (const char* name : {"k", "v"}) {
    const io::TensorData& tensor = file.requireInput(name);
    if (tensor.rank() != 3 && tensor.rank() != 4) {
      throw io::FileError(file.path, fmt::format("shape of tensor '{}'", name), io::shapeText(tensor.shape()),
                          "it must have 3 or 4 axes");
    }
    Quantised quantised = quantise(tensor, dtype, block);
    result.inputs[name] = std::move(quantised.stored);
    result.inputs[std::string(name) + "_scale"] = std::move(quantised.scales);
  }
  result.metadata["scale_block"] = std::to_string(block);
  return result;
}

}  // namespace saccade::check
