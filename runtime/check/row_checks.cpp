// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <memory>

#include "check/dtype.hpp"
#include "check/layer_check.hpp"
#include "io/special_values.hpp"
#include "reference/ops.hpp"
#include "reference/tolerance.hpp"

// Operators on rows, or on single elements, of one tensor: layer norm, softmax, activations.

namespace saccade::check {

namespace {

class RowCheck : public LayerCheck {
 protected:
  RowCheck(const std::string& prefix, const LayerProblem& problem, SaccadeOperator op, double deviation,
           double mean)
      : LayerCheck(prefix, problem, op) {
    n_ = random_.chance(0.3) ? limited(random_.pick<std::int64_t>({255, 256, 257, 384, 768, 1023, 1025}))
                             : randomSize();
    x_ = randomTensor(
        random_, dtype_,
        {limited(1 + random_.below(2)), limited(1 + random_.below(3)), limited(1 + random_.below(20)), n_},
        deviation, mean);
    layout_ = randomLayout(random_);
    outLayout_ = randomLayout(random_);
    describe(
        fmt::format("{} {}, out {}", io::shapeText(x_.shape()), layoutName(layout_), layoutName(outLayout_)));
  }

  Tensor placeInput(DeviceTensors& tensors) const { return tensors.input("x", x_, layout_); }
  Tensor placeOutput(DeviceTensors& tensors) const {
    return tensors.output("out", deviceDtype(dtype_), x_.shape(), outLayout_);
  }
  std::int64_t rows() const { return static_cast<std::int64_t>(x_.elementCount()) / n_; }

  std::int64_t n_ = 0;
  io::TensorData x_;

 private:
  Layout layout_ = Layout::Contiguous, outLayout_ = Layout::Contiguous;
};

class LayerNormCheck final : public RowCheck {
 public:
  explicit LayerNormCheck(const LayerProblem& problem)
      : RowCheck("layer_norm", problem, SACCADE_OPERATOR_LAYER_NORM, 2, 0.5) {
    epsilon_ = random_.pick({1e-5f, 1e-6f, 1e-12f, 0.1f});
    if (pipelineRandom_.chance(0.7)) {
      weight_ = randomTensor(random_, dtype_, {n_}, 0.3, 1);
      bias_ = randomTensor(random_, dtype_, {n_});
    }
    describe(fmt::format("epsilon {}{}", epsilon_, weight_ ? ", weight and bias" : ""));
  }

 private:
  Tensor record(Stream& stream, DeviceTensors& tensors, const std::string& kernel) const override {
    const Tensor x = placeInput(tensors);
    const Tensor out = placeOutput(tensors);
    LayerNormOptions options{.epsilon = epsilon_, .kernel = kernel};
    if (weight_) {
      options.weight = tensors.input("weight", *weight_);
      options.bias = tensors.input("bias", *bias_);
    }
    stream.layerNorm(x, out, options);
    return out;
  }
  std::vector<double> exactResult() const override { return evaluate<double>(); }
  std::vector<float> plainResult() const override { return evaluate<float>(); }
  double magnitude() const override { return reference::largestMagnitude(exactResult()); }

  template <typename Real>
  std::vector<Real> evaluate() const {
    const std::vector<Real> weight = weight_ ? values<Real>(*weight_) : std::vector<Real>{};
    const std::vector<Real> bias = bias_ ? values<Real>(*bias_) : std::vector<Real>{};
    return reference::layerNorm<Real>(values<Real>(x_), weight, bias, rows(), n_,
                                      static_cast<double>(epsilon_));
  }

  float epsilon_ = 0;
  std::optional<io::TensorData> weight_, bias_;
};

class SoftmaxCheck final : public RowCheck {
 public:
  explicit SoftmaxCheck(const LayerProblem& problem)
      : RowCheck("softmax", problem, SACCADE_OPERATOR_SOFTMAX, 3, 0) {
    if (random_.chance(0.5)) {
      hideSome();
    }
  }

 private:
  // -inf in single elements and in whole rows; NaN in one row now and then.
  void hideSome() {
    std::vector<double> numbers = x_.toDoubles();
    const double hidden = random_.pick({0.1, 0.7});
    for (std::size_t row = 0; row < static_cast<std::size_t>(rows()); ++row) {
      const double share = random_.chance(0.2) ? 1 : hidden;
      for (std::size_t i = 0; i < static_cast<std::size_t>(n_); ++i) {
        double& number = numbers[row * static_cast<std::size_t>(n_) + i];
        number = random_.chance(share) ? -kInfinity : number;
      }
    }
    if (random_.chance(0.2)) {
      numbers[0] = kNan;
    }
    x_ = io::TensorData::fromDoubles(dtype_, x_.shape(), numbers);
    describe("with -inf");
  }

  Tensor record(Stream& stream, DeviceTensors& tensors, const std::string& kernel) const override {
    const Tensor out = placeOutput(tensors);
    stream.softmax(placeInput(tensors), out, {.kernel = kernel});
    return out;
  }
  std::vector<double> exactResult() const override {
    return reference::softmax<double>(x_.toDoubles(), rows(), n_);
  }
  std::vector<float> plainResult() const override {
    return reference::softmax<float>(x_.toFloats(), rows(), n_);
  }
  double magnitude() const override { return 1; }
  std::vector<std::uint8_t> mustBeZero() const override {
    std::vector<std::uint8_t> zeros;
    const std::vector<double> expected = exactResult();
    for (std::size_t i = 0; i < expected.size(); ++i) {
      zeros.push_back(x_.at(i) == -kInfinity && expected[i] == 0 ? 1 : 0);
    }
    return zeros;
  }
};

class ActivationCheck final : public RowCheck {
 public:
  explicit ActivationCheck(const LayerProblem& problem)
      : RowCheck("activation", problem, SACCADE_OPERATOR_ACTIVATION, 4, 0) {
    isTanh_ = pipelineRandom_.chance(0.5);
    describe(isTanh_ ? "gelu tanh" : "gelu");
  }

 private:
  Tensor record(Stream& stream, DeviceTensors& tensors, const std::string& kernel) const override {
    const Tensor out = placeOutput(tensors);
    stream.activation(placeInput(tensors), out,
                      {.activation = isTanh_ ? Activation::GeluTanh : Activation::Gelu, .kernel = kernel});
    return out;
  }
  reference::Gelu form() const { return isTanh_ ? reference::Gelu::Tanh : reference::Gelu::Exact; }
  std::vector<double> exactResult() const override { return reference::gelu<double>(x_.toDoubles(), form()); }
  std::vector<float> plainResult() const override { return reference::gelu<float>(x_.toFloats(), form()); }
  double magnitude() const override { return reference::largestMagnitude(x_.toDoubles()); }

  bool isTanh_ = false;
};

}  // namespace

std::unique_ptr<Check> layerNormSweepCheck(const LayerProblem& problem) {
  return std::make_unique<LayerNormCheck>(problem);
}

std::unique_ptr<Check> softmaxSweepCheck(const LayerProblem& problem) {
  return std::make_unique<SoftmaxCheck>(problem);
}

std::unique_ptr<Check> activationSweepCheck(const LayerProblem& problem) {
  return std::make_unique<ActivationCheck>(problem);
}

}  // namespace saccade::check
