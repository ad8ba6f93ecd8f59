// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include <saccade/nn.hpp>

#include "bench_workload.hpp"
#include "check/dtype.hpp"
#include "nn/vit_load.hpp"
#include "reference/vit.hpp"

namespace saccade::tool {

namespace {

constexpr std::int64_t kImageSize = 224;
constexpr std::int64_t kPatchSize = 16;
constexpr std::int64_t kPictureChannels = 3;
constexpr std::int64_t kClasses = 1000;
constexpr std::int64_t kMlpRatio = 4;

// Random weights whose size keeps activations of the size of their inputs.
class WeightMaker {
 public:
  explicit WeightMaker(io::DType dtype) : dtype_(dtype) {}

  io::LinearWeights linear(std::int64_t outputs, std::int64_t inputs) {
    return {randomTensor(dtype_, {outputs, inputs}, ++seed_, std::sqrt(3.0 / static_cast<double>(inputs))),
            random({outputs})};
  }
  io::NormWeights norm(std::int64_t channels) {
    return {io::TensorData::fromFloats(dtype_, {channels},
                                       std::vector<float>(static_cast<std::size_t>(channels), 1.0f)),
            random({channels})};
  }
  io::TensorData random(const io::Shape& shape) { return randomTensor(dtype_, shape, ++seed_, 0.1); }

 private:
  io::DType dtype_;
  std::uint64_t seed_ = 100;
};

io::VitWeights randomVit(const VitShape& s, io::DType dtype) {
  io::VitWeights vit;
  vit.config = {.embedDim = s.embedDim,
                .depth = s.depth,
                .numHeads = s.heads,
                .mlpDim = kMlpRatio * s.embedDim,
                .inChannels = kPictureChannels,
                .patchSize = kPatchSize,
                .gridSize = kImageSize / kPatchSize,
                .numClasses = kClasses};
  WeightMaker make(dtype);
  const std::int64_t e = s.embedDim, patches = vit.config.gridSize * vit.config.gridSize;
  const io::LinearWeights patch = make.linear(e, kPictureChannels * kPatchSize * kPatchSize);
  vit.patch = {io::TensorData(dtype, {e, kPictureChannels, kPatchSize, kPatchSize},
                              {patch.weight.bytes().begin(), patch.weight.bytes().end()}),
               patch.bias};
  vit.classToken = make.random({e});
  vit.positions = make.random({1 + patches, e});
  for (std::int64_t i = 0; i < s.depth; ++i) {
    vit.blocks.push_back({.norm1 = make.norm(e),
                          .qkv = make.linear(3 * e, e),
                          .proj = make.linear(e, e),
                          .scale1 = {},
                          .norm2 = make.norm(e),
                          .fc1 = make.linear(vit.config.mlpDim, e),
                          .fc2 = make.linear(e, vit.config.mlpDim),
                          .scale2 = {}});
  }
  vit.norm = make.norm(e);
  vit.head = make.linear(kClasses, e);
  return vit;
}

double parameters(const VitShape& s) {
  const auto e = static_cast<double>(s.embedDim);
  return static_cast<double>(s.depth) * (4 + 2 * kMlpRatio) * e * e +
         e * kPictureChannels * kPatchSize * kPatchSize + e * kClasses;
}

class VitWorkload final : public Workload {
 public:
  VitWorkload(const Device& device, const VitShape& shape, io::DType dtype)
      : Workload("vit", shape.name,
                 fmt::format("B{} {}x{} E{} depth {} H{}", shape.batch, kImageSize, kImageSize,
                             shape.embedDim, shape.depth, shape.heads)),
        s_(shape),
        dtype_(dtype),
        weights_(randomVit(shape, dtype)),
        images_(randomTensor(dtype, {shape.batch, kPictureChannels, kImageSize, kImageSize}, 1)),
        vit_(nn::uploadVit(device, weights_, check::deviceDtype(dtype))),
        workspace_(device),
        deviceImages_(Tensor::fromBytes(device, check::deviceDtype(dtype), images_.shape(), images_.bytes())),
        logits_(Tensor::empty(device, check::deviceDtype(dtype), {shape.batch, kClasses})) {
    // Which kernel the attention of the blocks gets; what else runs is the planner's business.
    const TensorDesc heads{.dtype = check::deviceDtype(dtype),
                           .sizes = {s_.batch, s_.heads, tokens(), s_.embedDim / s_.heads}};
    attentionKernel_ = device.plan(AttentionDesc{.q = heads, .k = heads, .v = heads})->info().kernel;
  }

  void record(Stream& stream) override {
    vit_.forward(stream, workspace_, deviceImages_, {.logits = logits_});
  }
  std::string kernel() const override { return attentionKernel_; }

  // Products of all tokens with all weights (the head: of one token), and both products of attention.
  double flops() const override {
    const auto e = static_cast<double>(s_.embedDim), t = static_cast<double>(tokens()),
               depth = static_cast<double>(s_.depth);
    const double blocks = depth * ((4 + 2 * kMlpRatio) * e * e * t + 2 * t * t * e);
    const double patches = (t - 1) * e * kPictureChannels * kPatchSize * kPatchSize;
    return 2 * static_cast<double>(s_.batch) * (blocks + patches + e * kClasses);
  }
  double bytes() const override {
    const double elements = parameters(s_) +
                            static_cast<double>(s_.batch) * (kPictureChannels * kImageSize * kImageSize + kClasses);
    return elements * static_cast<double>(io::dtypeSize(dtype_));
  }

  Accuracy check() const override {
    const std::vector<double> logits = check::download(logits_, {s_.batch, kClasses}).toDoubles();
    const std::size_t pixels = kPictureChannels * kImageSize * kImageSize;
    std::vector<double> images = images_.toDoubles();
    images.resize(pixels);  // the first picture
    const auto expected =
        reference::vitForward<double>(weights_, images,
                                      {.size = {1, kPictureChannels, kImageSize, kImageSize}, .probsBlock = {}})
            .logits;
    Accuracy accuracy{.sample = "first picture"};
    double largest = 1;
    for (std::size_t i = 0; i < kClasses; ++i) {
      const double error = std::abs(logits[i] - expected[i]);
      accuracy.error = std::isnan(error) ? error : std::max(accuracy.error, error);
      largest = std::max(largest, std::abs(expected[i]));
    }
    // A whole model has no bound by formula: a thousandth of the largest logit in fp32, and as many units in
    // the last place of a 16-bit type as 12 blocks round to.
    accuracy.allowed = largest * (dtype_ == io::DType::F32 ? 1e-3 : 32 * io::unitInLastPlace(dtype_, 0.5));
    accuracy.passed = accuracy.error <= accuracy.allowed;
    return accuracy;
  }

 private:
  static std::int64_t tokens() { return 1 + (kImageSize / kPatchSize) * (kImageSize / kPatchSize); }

  VitShape s_;
  io::DType dtype_;
  io::VitWeights weights_;
  io::TensorData images_;
  nn::Vit vit_;
  nn::Workspace workspace_;
  Tensor deviceImages_, logits_;
  std::string attentionKernel_;
};

}  // namespace

void requireWorkload(const Device&, const VitShape&, io::DType) {}

std::unique_ptr<Workload> makeWorkload(const Device& device, const VitShape& shape, io::DType dtype) {
  return std::make_unique<VitWorkload>(device, shape, dtype);
}

}  // namespace saccade::tool
