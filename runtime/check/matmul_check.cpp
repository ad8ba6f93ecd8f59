// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "check/dtype.hpp"
#include "check/layer_check.hpp"
#include "reference/ops.hpp"

namespace saccade::check {

namespace {

constexpr std::int64_t kMatmulWorkLimit = 4'000'000;  // multiply-adds

template <typename Real>
std::vector<Real> activate(std::vector<Real> x, Activation activation) {
  switch (activation) {
    case Activation::None: return x;
    case Activation::Gelu: return reference::gelu<Real>(x, reference::Gelu::Exact);
    case Activation::GeluTanh: return reference::gelu<Real>(x, reference::Gelu::Tanh);
  }
  return x;
}

class MatmulCheck final : public LayerCheck {
 public:
  explicit MatmulCheck(const LayerProblem& problem) : LayerCheck("matmul", problem, SACCADE_OPERATOR_MATMUL) {
    batch_ = {limited(1 + random_.below(2)), limited(1 + random_.below(3))};
    m_ = randomSize();
    n_ = randomSize();
    k_ = random_.chance(0.03) ? 0 : randomSize();
    while (batch_[0] * batch_[1] * m_ * n_ * k_ > kMatmulWorkLimit) {
      m_ = m_ / 2 + 1;
    }
    const bool sharedWeight = random_.chance(0.5);
    const io::Shape weightBatch = sharedWeight ? io::Shape{1, 1} : batch_;
    isKn_ = pipelineRandom_.chance(0.4);
    a_ = randomTensor(random_, dtype_, {batch_[0], batch_[1], m_, k_});
    b_ = randomTensor(random_, dtype_, {weightBatch[0], weightBatch[1], n_, k_},
                      1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(k_, 1))));
    if (pipelineRandom_.chance(0.5)) {
      bias_ = randomTensor(random_, dtype_, {n_});
    }
    if (pipelineRandom_.chance(0.4)) {
      const bool perRow = random_.chance(0.5);
      residual_ = randomTensor(random_, dtype_,
                               {batch_[0], random_.chance(0.5) ? 1 : batch_[1], perRow ? m_ : 1, n_});
    }
    activation_ =
        pipelineRandom_.pick({Activation::None, Activation::None, Activation::Gelu, Activation::GeluTanh});
    aLayout_ = pipelineRandom_.chance(0.2) ? Layout::KeysFirst : randomLayout(random_);
    outLayout_ = randomLayout(random_);
    describe(fmt::format("{}x{} [{},{}] a {}, weight {} {}, out {}{}{}{}", batch_[0], batch_[1], m_, k_,
                         layoutName(aLayout_), isKn_ ? "kn" : "nk", io::shapeText(b_.shape()),
                         layoutName(outLayout_), bias_ ? ", bias" : "",
                         residual_ ? ", residual " + io::shapeText(residual_->shape()) : "",
                         activation_ == Activation::None   ? ""
                         : activation_ == Activation::Gelu ? ", gelu"
                                                           : ", gelu tanh"));
  }

 private:
  Tensor record(Stream& stream, DeviceTensors& tensors, const std::string& kernel) const override {
    const auto optional = [&](const std::string& name, const std::optional<io::TensorData>& data) {
      return data ? tensors.input(name, *data) : Tensor{};
    };
    const Tensor a = tensors.input("a", a_, aLayout_);
    const Tensor b = tensors.input("weight", b_, isKn_ ? Layout::KeysFirst : Layout::Contiguous);
    const Tensor out = tensors.output("out", deviceDtype(dtype_), {batch_[0], batch_[1], m_, n_}, outLayout_);
    stream.matmul(a, b, out,
                  {.bias = optional("bias", bias_),
                   .residual = optional("residual", residual_),
                   .activation = activation_,
                   .kernel = kernel});
    return out;
  }

  std::vector<double> exactResult() const override { return evaluate<double>(); }
  std::vector<float> plainResult() const override { return evaluate<float>(); }

  // The largest sum of magnitudes.
  double magnitude() const override {
    std::vector<double> a = a_.toDoubles(), b = b_.toDoubles(),
                        bias = bias_ ? bias_->toDoubles() : std::vector<double>{};
    for (std::vector<double>* numbers : {&a, &b, &bias}) {
      std::transform(numbers->begin(), numbers->end(), numbers->begin(),
                     [](double x) { return std::abs(x); });
    }
    double largest = 0;
    for (const double sum : product<double>(a, b, bias)) {
      largest = std::max(largest, sum);
    }
    return largest;
  }

  template <typename Real>
  std::vector<Real> product(const std::vector<Real>& a, const std::vector<Real>& b,
                            const std::vector<Real>& bias) const {
    std::vector<Real> result;
    const auto aSize = static_cast<std::size_t>(m_ * k_), bSize = static_cast<std::size_t>(n_ * k_);
    for (std::size_t matrix = 0; matrix < static_cast<std::size_t>(batch_[0] * batch_[1]); ++matrix) {
      const std::size_t bMatrix = b_.shape()[0] * b_.shape()[1] == 1 ? 0 : matrix;
      const std::vector<Real> one = reference::matmul<Real>(std::span(a).subspan(matrix * aSize, aSize),
                                                            std::span(b).subspan(bMatrix * bSize, bSize),
                                                            reference::WeightLayout::Nk, bias, m_, n_, k_);
      result.insert(result.end(), one.begin(), one.end());
    }
    return result;
  }

  template <typename Real>
  std::vector<Real> evaluate() const {
    std::vector<Real> result = activate(
        product<Real>(values<Real>(a_), values<Real>(b_), bias_ ? values<Real>(*bias_) : std::vector<Real>{}),
        activation_);
    if (!residual_) {
      return result;
    }
    const std::vector<Real> residual = values<Real>(*residual_);
    const io::Shape& shape = residual_->shape();
    for (std::size_t i = 0; i < result.size(); ++i) {
      io::Shape at = io::unflatten(i, {batch_[0], batch_[1], m_, n_});
      std::int64_t flat = 0;
      for (std::size_t axis = 0; axis < at.size(); ++axis) {
        flat = flat * shape[axis] + (shape[axis] == 1 ? 0 : at[axis]);
      }
      result[i] += residual[static_cast<std::size_t>(flat)];
    }
    return result;
  }

  io::Shape batch_;
  std::int64_t m_ = 0, n_ = 0, k_ = 0;
  io::TensorData a_, b_;
  std::optional<io::TensorData> bias_, residual_;
  Activation activation_ = Activation::None;
  bool isKn_ = false;
  Layout aLayout_ = Layout::Contiguous, outLayout_ = Layout::Contiguous;
};

}  // namespace

std::unique_ptr<Check> matmulSweepCheck(const LayerProblem& problem) {
  return std::make_unique<MatmulCheck>(problem);
}

}  // namespace saccade::check
