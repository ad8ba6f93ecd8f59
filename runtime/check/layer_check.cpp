// SPDX-License-Identifier: Apache-2.0
#include "check/layer_check.hpp"

#include <fmt/format.h>

#include "check/dtype.hpp"
#include "check/sweep.hpp"
#include "reference/tolerance.hpp"

namespace saccade::check {

namespace {

constexpr std::uint64_t kProblemsPerPipeline = 5;
constexpr std::uint64_t kPipelineStreams = std::uint64_t{1} << 48;

// Attention takes the first streams of random numbers; each other operator begins at a far one of its own.
std::uint64_t streamOf(SaccadeOperator op, std::uint64_t index) {
  return (static_cast<std::uint64_t>(op) << 56) + index;
}

std::string nameOf(const std::string& prefix, const LayerProblem& problem) {
  const bool isLimited = problem.sizeLimit != LayerProblem{}.sizeLimit;
  return fmt::format("{}/{}{}", prefix, problem.index,
                     isLimited ? fmt::format("@{}", problem.sizeLimit) : "");
}

}  // namespace

LayerCheck::LayerCheck(const std::string& prefix, const LayerProblem& problem, SaccadeOperator op)
    : Check(nameOf(prefix, problem), "sweep", op),
      pipelineRandom_(problem.seed, streamOf(op, kPipelineStreams + problem.index / kProblemsPerPipeline)),
      random_(problem.seed, streamOf(op, problem.index)),
      dtype_(pipelineRandom_.pick({io::DType::F32, io::DType::F32, io::DType::F16, io::DType::BF16})),
      problem_(problem),
      prefix_(prefix),
      family_(fmt::format("{} {}", prefix, problem.index / kProblemsPerPipeline)) {
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

std::optional<Smaller> LayerCheck::shrink(const Device& device, const std::string& kernel) {
  unsigned tries = 0;
  for (const std::int64_t limit : {1, 2, 3, 4, 8, 16, 17, 32, 33, 64, 65, 128}) {
    const std::unique_ptr<Check> smaller =
        limit < problem_.sizeLimit
            ? sweepCheck(problem_.seed, nameOf(prefix_, {problem_.seed, problem_.index, limit}))
            : nullptr;
    if (!smaller || smaller->description() == description_) {
      return std::nullopt;
    }
    ++tries;
    Outcome outcome = smaller->run(device, kernel);
    if (outcome.state == State::Failed) {
      return Smaller{smaller->description(), smaller->only(), std::move(outcome), tries};
    }
  }
  return std::nullopt;
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

std::int64_t LayerCheck::randomSize() {
  return limited(random_.chance(0.6) ? random_.pick<std::int64_t>(
                                           {1, 2, 3, 4, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129})
                                     : 1 + random_.below(150));
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
