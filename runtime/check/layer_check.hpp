// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "check/check.hpp"
#include "check/device_tensors.hpp"
#include "check/random.hpp"

namespace saccade::check {

// A random problem of one of the layers around attention: one output `out`, compared with the scalar path in
// double precision. The tolerance follows from what the scalar path gives in plain fp32.
class LayerCheck : public Check {
 public:
  LayerCheck(const std::string& prefix, std::uint64_t seed, std::uint64_t index, SaccadeOperator op);

  std::string description() const final { return description_; }
  std::string family() const final { return family_; }

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

  std::string family_, description_;
  std::optional<Expectation> expectation_;
};

// Sizes at and around the edges of tiles, and small ones.
std::int64_t randomSize(Random& random);
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

std::unique_ptr<Check> matmulSweepCheck(std::uint64_t seed, std::uint64_t index);
std::unique_ptr<Check> layerNormSweepCheck(std::uint64_t seed, std::uint64_t index);
std::unique_ptr<Check> softmaxSweepCheck(std::uint64_t seed, std::uint64_t index);
std::unique_ptr<Check> activationSweepCheck(std::uint64_t seed, std::uint64_t index);
std::unique_ptr<Check> patchEmbedSweepCheck(std::uint64_t seed, std::uint64_t index);

}  // namespace saccade::check
