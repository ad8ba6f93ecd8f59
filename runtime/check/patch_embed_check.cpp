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

class PatchEmbedCheck final : public LayerCheck {
 public:
  explicit PatchEmbedCheck(const LayerProblem& problem)
      : LayerCheck("patch_embed", problem, SACCADE_OPERATOR_PATCH_EMBED) {
    patch_ = limited(random_.pick<std::int64_t>({1, 2, 4, 7, 14, 16}));
    size_ = {.batch = limited(1 + random_.below(2)),
             .channels = limited(random_.pick<std::int64_t>({1, 3})),
             .height = patch_ * limited(1 + random_.below(5)),
             .width = patch_ * limited(1 + random_.below(5))};
    embedDim_ = randomSize();
    patches_ = size_.height / patch_ * (size_.width / patch_);
    image_ = randomTensor(random_, dtype_, {size_.batch, size_.channels, size_.height, size_.width});
    weight_ = randomTensor(random_, dtype_, {embedDim_, size_.channels, patch_, patch_},
                           1 / std::sqrt(static_cast<double>(size_.channels * patch_ * patch_)));
    if (pipelineRandom_.chance(0.7)) {
      bias_ = randomTensor(random_, dtype_, {embedDim_});
    }
    if (pipelineRandom_.chance(0.5)) {
      positions_ = randomTensor(random_, dtype_, {1, 1, patches_, embedDim_});
    }
    imageLayout_ = random_.pick({Layout::Contiguous, Layout::PaddedRows, Layout::CacheSlice});
    // The room before the patches is what a class token needs.
    outLayout_ = random_.pick({Layout::Contiguous, Layout::CacheSlice});
    describe(fmt::format("image {} {}, patch {}, E {}, out {}{}{}", io::shapeText(image_.shape()),
                         layoutName(imageLayout_), patch_, embedDim_, layoutName(outLayout_),
                         bias_ ? ", bias" : "", positions_ ? ", residual" : ""));
  }

 private:
  Tensor record(Stream& stream, DeviceTensors& tensors, const std::string& kernel) const override {
    const Tensor image = tensors.input("image", image_, imageLayout_);
    const Tensor weight = tensors.input("weight", weight_);
    const Tensor out =
        tensors.output("out", deviceDtype(dtype_), {size_.batch, 1, patches_, embedDim_}, outLayout_);
    PatchEmbedOptions options{.kernel = kernel};
    if (bias_) {
      options.bias = tensors.input("bias", *bias_);
    }
    if (positions_) {
      options.residual = tensors.input("residual", *positions_);
    }
    stream.patchEmbed(image, weight, out, options);
    return out;
  }

  std::vector<double> exactResult() const override {
    return evaluate<double>(values<double>(image_), values<double>(weight_));
  }
  std::vector<float> plainResult() const override {
    return evaluate<float>(values<float>(image_), values<float>(weight_));
  }
  double magnitude() const override {
    std::vector<double> image = image_.toDoubles(), weight = weight_.toDoubles();
    for (std::vector<double>* numbers : {&image, &weight}) {
      std::transform(numbers->begin(), numbers->end(), numbers->begin(),
                     [](double x) { return std::abs(x); });
    }
    double largest = 0;
    for (const double sum : evaluate<double>(image, weight)) {
      largest = std::max(largest, std::abs(sum));
    }
    return largest;
  }

  template <typename Real>
  std::vector<Real> evaluate(const std::vector<Real>& image, const std::vector<Real>& weight) const {
    const std::vector<Real> bias = bias_ ? values<Real>(*bias_) : std::vector<Real>{};
    std::vector<Real> result = reference::patchEmbed<Real>(image, weight, bias, size_, patch_, embedDim_);
    if (positions_) {
      const std::vector<Real> positions = values<Real>(*positions_);
      for (std::size_t i = 0; i < result.size(); ++i) {
        result[i] += positions[i % positions.size()];
      }
    }
    return result;
  }

  std::int64_t patch_ = 1, embedDim_ = 1, patches_ = 1;
  reference::ImageSize size_;
  io::TensorData image_, weight_;
  std::optional<io::TensorData> bias_, positions_;
  Layout imageLayout_ = Layout::Contiguous, outLayout_ = Layout::Contiguous;
};

}  // namespace

std::unique_ptr<Check> patchEmbedSweepCheck(const LayerProblem& problem) {
  return std::make_unique<PatchEmbedCheck>(problem);
}

}  // namespace saccade::check
