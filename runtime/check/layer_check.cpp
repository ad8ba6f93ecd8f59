// SPDX-License-Identifier: Apache-2.0
#include "check/layer_check.hpp"

#include <fmt/format.h>

#include "check/dtype.hpp"
#include "reference/tolerance.hpp"

namespace saccade::check {

namespace {

constexpr std::uint64_t kProblemsPerPipeline = 5;
constexpr std::uint64_t kPipelineStreams = std::uint64_t{1} << 48;

// Attention takes the first streams of random numbers; each other operator begins at a far one of its own.
std::uint64_t streamOf(SaccadeOperator op, std::uint64_t index) {
  return (static_cast<std::uint64_t>(op) << 56) + index;
}

}  // namespace

LayerCheck::LayerCheck(const std::string& prefix, std::uint64_t seed, std::uint64_t index, SaccadeOperator op)
    : Check(fmt::format("{}/{}", prefix, index), "sweep", op),
      pipelineRandom_(seed, streamOf(op, kPipelineStreams + index / kProblemsPerPipeline)),
      random_(seed, streamOf(op, index)),
      dtype_(pipelineRandom_.pick({io::DType::F32, io::DType::F32, io::DType::F16, io::DType::BF16})) {
  family_ = fmt::format("{} {}", prefix, index / kProblemsPerPipeline);
  describe(std::string(io::dtypeName(dtype_)));
}

Outcome LayerCheck::compute(const Device& device, const std::string& kernel) {
  DeviceTensors tensors(device);
  Stream stream(device);
  const Tensor out = record(stream, tensors, kernel);
  stream.wait();
  const Expectation& wanted = expectation();
  const std::vector<std::uint8_t> zeros = mustBeZero();
  return judge(
      {reference::compareTensor("out", download(out, out.shape()),
                                io::TensorData::fromDoubles(io::DType::F64, out.shape(), wanted.values),
                                wanted.tolerance, zeros)},
      tensors.overwritten());
}

const LayerCheck::Expectation& LayerCheck::expectation() {
  if (!expectation_) {
    Expectation wanted{.values = exactResult(), .tolerance = {}};
    const std::vector<float> plain = plainResult();
    const std::vector<double> plains[] = {std::vector<double>(plain.begin(), plain.end())};
    const double size = dtype_ == io::DType::F32 ? magnitude() : reference::largestMagnitude(wanted.values);
    wanted.tolerance = reference::toleranceFromPlain(dtype_, wanted.values, plains, size);
    expectation_ = std::move(wanted);
  }
  return *expectation_;
}

std::int64_t randomSize(Random& random) {
  return random.chance(0.6)
             ? random.pick<std::int64_t>({1, 2, 3, 4, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129})
             : 1 + random.below(150);
}

Layout randomLayout(Random& random) {
  return random.pick({Layout::Contiguous, Layout::TokensFirst, Layout::PaddedRows, Layout::CacheSlice});
}

io::TensorData randomTensor(Random& random, io::DType dtype, const io::Shape& shape, double deviation,
                            double mean) {
  std::vector<double> numbers = random.normals(static_cast<std::size_t>(io::elementCount(shape)), deviation);
  for (double& number : numbers) {
    number += mean;
  }
  return io::TensorData::fromDoubles(dtype, shape, numbers);
}

}  // namespace saccade::check
