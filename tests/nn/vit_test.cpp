// SPDX-License-Identifier: Apache-2.0
#include "nn/vit_load.hpp"

#include "io/case_file.hpp"
#include "nn_test.hpp"
#include "reference/tolerance.hpp"
#include "reference/vit.hpp"
#include "small_model.hpp"

namespace saccade::nn {
namespace {

io::VitWeights smallWeights() {
  const io::Safetensors file = smallDinov2();
  return io::vitWeightsFrom(file.path, file.tensors, file.metadata);
}

// Everything that a forward can compute, in tensors whose surroundings are watched.
VitOutputs allOutputs(const Vit& vit, std::int64_t batch, std::int64_t tokens) {
  const VitConfig& config = vit.config();
  const Device device = testDevice();
  const auto empty = [&](const Shape& shape) { return Tensor::empty(device, Dtype::F32, shape, {.guard = true}); };
  VitOutputs outputs{.features = empty({batch, config.embedDim}),
                     .tokens = empty({batch, tokens, config.embedDim}),
                     .classAttention = empty({batch, config.numHeads, tokens}),
                     .states = empty({config.depth + 1, batch, tokens, config.embedDim})};
  if (config.numClasses > 0) {
    outputs.logits = empty({batch, config.numClasses});
  }
  for (std::int64_t block = 0; block < config.depth; ++block) {
    outputs.probs[block] = empty({batch, config.numHeads, tokens, tokens});
  }
  return outputs;
}

class VitOnKernel : public NnTestOfKernel {};

TEST_P(VitOnKernel, GivesTheGoldenLogitsAndAttentionWeights) {
  const io::CaseFile file = io::readCaseFile(std::filesystem::path(SACCADE_TEST_CASES) / "vit_small.safetensors");
  io::TensorMap tensors = file.inputs;
  tensors.erase("images");
  const Vit vit = uploadVit(device, io::vitWeightsFrom(file.path, tensors, file.metadata));
  const io::TensorData& data = file.requireInput("images");
  const Tensor images = Tensor::fromBytes(device, Dtype::F32, data.shape(), data.bytes());
  const Tensor logits = Tensor::empty(device, Dtype::F32, {4, 10}, {.guard = true});
  const Tensor probs = Tensor::empty(device, Dtype::F32, {4, 3, 50, 50}, {.guard = true});
  vit.forward(stream, workspace, images, {.logits = logits, .probs = {{0, probs}}});
  stream.wait();
  const auto comparison = reference::compareCase(
      file, {{"logits", downloaded(logits, {4, 10})}, {"probs_layer0", downloaded(probs, {4, 3, 50, 50})}},
      io::PRounding::Fp32);
  EXPECT_TRUE(comparison.passed());
  for (const auto& tensor : comparison.tensors) {
    EXPECT_TRUE(tensor.passed) << tensor.reason;
    RecordProperty(tensor.tensor + "_error_by_tolerance", std::to_string(tensor.ratio));
  }
  EXPECT_TRUE(logits.guardsIntact());
  EXPECT_TRUE(probs.guardsIntact());
}

SACCADE_FOR_EVERY_KERNEL(VitOnKernel);

class VitModule : public NnTest {
 protected:
  Tensor randomImages(std::int64_t batch, std::int64_t height, std::int64_t width) {
    return Tensor::from(device, Dtype::F32, {batch, 3, height, width},
                        randomValues(static_cast<std::size_t>(batch * 3 * height * width), 9));
  }

  // Compares everything that a forward computes with the scalar path, for pictures of that size.
  void compareAll(std::int64_t batch, std::int64_t height, std::int64_t width) {
    const io::VitWeights weights = smallWeights();
    const Vit vit = uploadVit(device, weights);
    const std::int64_t tokens = 1 + height / 4 * (width / 4);
    const VitOutputs outputs = allOutputs(vit, batch, tokens);
    const Tensor images = randomImages(batch, height, width);
    vit.forward(stream, workspace, images, outputs);
    stream.wait();

    const std::vector<float> pixels = images.download();
    const std::vector<double> inDouble(pixels.begin(), pixels.end());
    reference::VitInput input{.size = {batch, 3, height, width}, .probsBlock = 1};
    const auto expected = reference::vitForward<double>(weights, inDouble, input);
    const auto plain = reference::vitForward<float>(weights, pixels, input);
    const auto near = [](const std::string& name, const Tensor& result, const Shape& shape,
                         const std::vector<double>& wanted, const std::vector<float>& plainValues) {
      const std::vector<std::vector<double>> plainFp32 = {{plainValues.begin(), plainValues.end()}};
      expectNear(name, result, shape, wanted,
                 reference::toleranceFromPlain(io::DType::F32, wanted, plainFp32, reference::largestMagnitude(wanted)));
      EXPECT_TRUE(!result.guarded() || result.guardsIntact()) << name;
    };
    near("tokens", outputs.tokens, {batch, tokens, 24}, expected.tokens, plain.tokens);
    near("probs", outputs.probs.at(1), {batch, 3, tokens, tokens}, expected.probs, plain.probs);
    ASSERT_EQ(expected.states.size(), 3u);
    for (std::int64_t state = 0; state < 3; ++state) {
      const auto index = static_cast<std::size_t>(state);
      near("state" + std::to_string(state), outputs.states.select(0, state), {batch, tokens, 24},
           expected.states[index], plain.states[index]);
    }
    near("features", outputs.features, {batch, 24}, firstRows(expected.tokens, tokens, 24),
         firstRows(plain.tokens, tokens, 24));
    near("classAttention", outputs.classAttention, {batch, 3, tokens}, firstRows(expected.probs, tokens, tokens),
         firstRows(plain.probs, tokens, tokens));
    EXPECT_TRUE(outputs.states.guardsIntact());
  }

 private:
  // Row 0 of each matrix [rows, width] in a row of them.
  template <typename Real>
  std::vector<Real> firstRows(const std::vector<Real>& values, std::int64_t rows, std::int64_t width) {
    std::vector<Real> first;
    for (auto matrix = values.begin(); matrix != values.end(); matrix += rows * width) {
      first.insert(first.end(), matrix, matrix + width);
    }
    return first;
  }
};

TEST_F(VitModule, AgreesWithTheScalarPathInEverythingThatItCanGive) { compareAll(2, 12, 12); }

TEST_F(VitModule, ResizesThePositionsForPicturesOfAnotherSize) { compareAll(1, 20, 28); }

TEST_F(VitModule, ShrinksThePositionsForSmallerPictures) { compareAll(2, 8, 4); }

TEST_F(VitModule, GivesTheSameWhateverElseIsAskedFor) {
  const Vit vit = uploadVit(device, smallWeights());
  const Tensor images = randomImages(2, 12, 12);
  const VitOutputs all = allOutputs(vit, 2, 10);
  const VitOutputs alone = allOutputs(vit, 2, 10);
  vit.forward(stream, workspace, images, all);
  vit.forward(stream, workspace, images, {.features = alone.features});
  vit.forward(stream, workspace, images, {.tokens = alone.tokens});
  vit.forward(stream, workspace, images, {.classAttention = alone.classAttention});
  stream.wait();
  EXPECT_EQ(alone.features.download(), all.features.download());
  EXPECT_EQ(alone.tokens.download(), all.tokens.download());
  EXPECT_EQ(alone.classAttention.download(), all.classAttention.download());
}

TEST_F(VitModule, AllocatesNothingInASecondForwardOfTheSameSize) {
  const Vit vit = uploadVit(device, smallWeights());
  const Tensor images = randomImages(2, 12, 12);
  const Tensor features = Tensor::empty(device, Dtype::F32, {2, 24});
  vit.forward(stream, workspace, images, {.features = features});
  stream.wait();
  device.resetPeakMemory();
  const std::uint64_t before = device.memory().currentBytes;
  vit.forward(stream, workspace, images, {.features = features});
  stream.wait();
  EXPECT_EQ(device.memory().peakBytes, before);
}

TEST_F(VitModule, ComputesInFp16AndBf16) {
  const io::VitWeights weights = smallWeights();
  const std::vector<float> pixels = randomImages(1, 12, 12).download();
  const std::vector<double> inDouble(pixels.begin(), pixels.end());
  const auto expected =
      reference::vitForward<double>(weights, inDouble, {.size = {1, 3, 12, 12}, .probsBlock = std::nullopt});
  for (const Dtype dtype : {Dtype::F16, Dtype::BF16}) {
    const Vit vit = uploadVit(device, weights, dtype);
    const Tensor tokens = Tensor::empty(device, dtype, {1, 10, 24});
    vit.forward(stream, workspace, Tensor::from(device, dtype, {1, 3, 12, 12}, pixels), {.tokens = tokens});
    stream.wait();
    // Two blocks of a dozen roundings each: a hundred half units in the last place of values around 1.
    const double unit = dtype == Dtype::F16 ? 1.0 / 1024 : 1.0 / 128;
    expectNear(dtype == Dtype::F16 ? "fp16" : "bf16", tokens, {1, 10, 24}, expected.tokens, {.absolute = 50 * unit});
  }
}

TEST_F(VitModule, RefusesPicturesThatAreNoMultipleOfThePatch) {
  const Vit vit = uploadVit(device, smallWeights());
  const std::string text = refusal([&] { vit.forward(stream, workspace, randomImages(1, 12, 10), {}); });
  EXPECT_NE(text.find("multiples of the patch size 4"), std::string::npos) << text;
}

TEST_F(VitModule, RefusesPicturesWithOtherChannels) {
  const Vit vit = uploadVit(device, smallWeights());
  const Tensor grey = Tensor::zeros(device, Dtype::F32, {1, 1, 12, 12});
  const std::string text = refusal([&] { vit.forward(stream, workspace, grey, {}); });
  EXPECT_NE(text.find("images is [1,1,12,12]"), std::string::npos) << text;
}

TEST_F(VitModule, RefusesOutputsOfAnotherShape) {
  const Vit vit = uploadVit(device, smallWeights());
  const Tensor wrong = Tensor::empty(device, Dtype::F32, {1, 9, 24});
  const std::string text = refusal([&] { vit.forward(stream, workspace, randomImages(1, 12, 12), {.tokens = wrong}); });
  EXPECT_NE(text.find("tokens is [1,9,24], but its shape must be [1,10,24]"), std::string::npos) << text;
}

TEST_F(VitModule, RefusesLogitsOfABackbone) {
  const Vit vit = uploadVit(device, smallWeights());
  const Tensor logits = Tensor::empty(device, Dtype::F32, {1, 10});
  const std::string text =
      refusal([&] { vit.forward(stream, workspace, randomImages(1, 12, 12), {.logits = logits}); });
  EXPECT_NE(text.find("this model has no head"), std::string::npos) << text;
}

TEST_F(VitModule, RefusesAttentionWeightsOfABlockThatIsNotThere) {
  const Vit vit = uploadVit(device, smallWeights());
  const Tensor probs = Tensor::empty(device, Dtype::F32, {1, 3, 10, 10});
  const std::string text =
      refusal([&] { vit.forward(stream, workspace, randomImages(1, 12, 12), {.probs = {{2, probs}}}); });
  EXPECT_NE(text.find("the model has blocks 0 .. 1"), std::string::npos) << text;
}

TEST_F(VitModule, RefusesAFileThatIsNotThere) {
  const std::string text = refusal([&] { Vit::load(device, "no/such/model.safetensors"); });
  EXPECT_NE(text.find("no/such/model.safetensors"), std::string::npos) << text;
}

}  // namespace
}  // namespace saccade::nn
