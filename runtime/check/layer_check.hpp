// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "check/check.hpp"
#include "check/device_tensors.hpp"
#include "check/random.hpp"

namespace saccade::check {

// Which random problem: its values follow from all three.
struct LayerProblem {
  std::uint64_t seed = 0, index = 0;
  std::int64_t sizeLimit =
      std::numeric_limits<std::int64_t>::max();  // no size is larger: what shrinking changes
};

// A random problem of one of the layers around attention: one output `out`, compared with the scalar path in
// double precision. The tolerance follows from what the scalar path gives in plain fp32.
class LayerCheck : public Check {
 public:
  LayerCheck(const std::string& prefix, const LayerProblem& problem, SaccadeOperator op);

  std::string description() const final { return description_; }
  std::string family() const final { return family_; }
  // The same problem with smaller sizes, "matmul/17@8": no size larger than 8.
  std::optional<Smaller> shrink(const Device& device, const std::string& kernel) final;

 protected:
  // Records the operator on inputs and an output made from `tensors`; returns the output.
  virtual Tensor record(Stream& stream, DeviceTensors& tensors, const std::string& kernel) const = 0;
  virtual std::vector<double> exactResult() const = 0;
  virtual std::vector<float> plainResult() const = 0;
  // The size of the values that are added up, of which fp32 sums lose a part in about 10^7. F32 only: a
  // 16-bit result is dominated by its rounding.
  virtual double magnitude() const = 0;
  // One entry per element of out: not 0 where only zero passes; empty: nowhere.
  virtual std::vector<std::uint8_t> mustBeZero() const { return {}; }

  // At most the problem's limit.
  std::int64_t limited(std::int64_t size) const { return std::min(size, problem_.sizeLimit); }
  // At and around the edges of tiles, and small ones; limited.
  std::int64_t randomSize();

  void describe(const std::string& text) { description_ += (description_.empty() ? "" : " ") + text; }

  // For the constructors of derived classes. What a driver compiles a pipeline for comes from the first:
  // consecutive problems share it, because compiling takes longer than running.
  Random pipelineRandom_;
  Random random_;
  io::DType dtype_;  // of all tensors

 private:
  Outcome compute(const Device& device, const std::string& kernel) final;

  struct Expectation {
    std::vector<double> values;
    reference::TensorTolerance tolerance;
  };
  const Expectation& expectation();

  LayerProblem problem_;
  std::string prefix_, family_, description_;
  std::optional<Expectation> expectation_;
};

Layout randomLayout(Random& random);

io::TensorData randomTensor(Random& random, io::DType dtype, const io::Shape& shape, double deviation = 1,
                            double mean = 0);

// The values as the scalar path wants them.
template <typename Real>
std::vector<Real> values(const io::TensorData& data);
template <>
inline std::vector<double> values<double>(const io::TensorData& data) {
  return data.toDoubles();
}
template <>
inline std::vector<float> values<float>(const io::TensorData& data) {
  return data.toFloats();
}

std::unique_ptr<Check> matmulSweepCheck(const LayerProblem& problem);
std::unique_ptr<Check> layerNormSweepCheck(const LayerProblem& problem);
std::unique_ptr<Check> softmaxSweepCheck(const LayerProblem& problem);
std::unique_ptr<Check> activationSweepCheck(const LayerProblem& problem);
std::unique_ptr<Check> patchEmbedSweepCheck(const LayerProblem& problem);

}  // namespace saccade::check
