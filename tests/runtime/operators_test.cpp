// SPDX-License-Identifier: Apache-2.0
// That streams hand tensors to the operators as they are: the operators' arithmetic is tested elsewhere.
#include <cmath>
#include <limits>

#include "test_device.hpp"

namespace saccade {
namespace {

using Values = std::vector<float>;

class Operators : public DeviceTest {
 protected:
  Operators() : stream(device) {}

  // A query of zeros makes every visible key equally important: rows of the output are means of values.
  Tensor zeroQuery(std::int64_t rows) { return Tensor::zeros(device, Dtype::F32, {1, 1, rows, 2}); }

  Stream stream;
  const Values values = {1, 2, 3, 4, 8, 9};  // three keys of two channels
};

TEST_F(Operators, AttentionAveragesTheVisibleValues) {
  const Tensor key = Tensor::zeros(device, Dtype::F32, {1, 1, 3, 2});
  const Tensor value = Tensor::from(device, Dtype::F32, {1, 1, 3, 2}, values);
  const Tensor out = attention(device, zeroQuery(3), key, value, {.causal = Causal::BottomRight});
  const Values result = out.download();
  const Values expected = {1, 2, 2, 3, 4, 5};
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(result[i], expected[i], 1e-5f) << i;
}

TEST_F(Operators, AttentionTakesViewsOfPackedProjections) {
  // [B, T, 3, H, D] as the fused projection of a transformer leaves it.
  const Tensor packed = Tensor::zeros(device, Dtype::F32, {1, 3, 3, 1, 2}, {.guard = true});
  const auto part = [&](std::int64_t index) { return packed.select(2, index).transpose(1, 2); };
  part(2).upload(values);
  const Tensor out = Tensor::empty(device, Dtype::F32, {1, 3, 1, 2}, {.guard = true});
  stream.attention(part(0), part(1), part(2), out.transpose(1, 2));
  stream.wait();
  for (float value : out.slice(3, 0, 1).download()) EXPECT_NEAR(value, 4.0f, 1e-5f);
  for (float value : out.slice(3, 1, 2).download()) EXPECT_NEAR(value, 5.0f, 1e-5f);
  EXPECT_TRUE(out.guardsIntact());
  EXPECT_TRUE(packed.guardsIntact());
}

TEST_F(Operators, AttentionWritesLseAndWeightsWhereAskedFor) {
  const Tensor key = Tensor::zeros(device, Dtype::F32, {1, 1, 3, 2});
  const Tensor value = Tensor::from(device, Dtype::F32, {1, 1, 3, 2}, values);
  const Tensor lse = Tensor::empty(device, Dtype::F32, {1, 1, 2}, {.guard = true});
  const Tensor probs = Tensor::empty(device, Dtype::F32, {1, 1, 2, 3}, {.guard = true});
  attention(device, zeroQuery(2), key, value, {.lse = lse, .probs = probs});
  for (float value_ : lse.download()) EXPECT_NEAR(value_, std::log(3.0f), 1e-5f);
  for (float value_ : probs.download()) EXPECT_NEAR(value_, 1.0f / 3.0f, 1e-5f);
  EXPECT_TRUE(lse.guardsIntact());
  EXPECT_TRUE(probs.guardsIntact());
}

TEST_F(Operators, AttentionObeysMaskBiasAndLengths) {
  const Tensor key = Tensor::zeros(device, Dtype::F32, {1, 1, 3, 2});
  const Tensor value = Tensor::from(device, Dtype::F32, {1, 1, 3, 2}, values);
  const std::byte seen[] = {std::byte{0}, std::byte{1}, std::byte{0}};
  const Values masked = attention(device, zeroQuery(1), key, value,
                                  {.mask = Tensor::fromBytes(device, Dtype::U8, {1, 3}, seen)})
                            .download();
  EXPECT_NEAR(masked[0], 3.0f, 1e-5f);
  const float hidden = -std::numeric_limits<float>::infinity();
  const Values biased =
      attention(device, zeroQuery(1), key, value,
                {.bias = Tensor::from(device, Dtype::F32, {1, 3}, Values{hidden, hidden, 0})})
          .download();
  EXPECT_NEAR(biased[0], 8.0f, 1e-5f);
  const std::int32_t lengths[] = {2};
  const Tensor lengthsTensor = Tensor::fromInts(device, {1}, lengths);
  const Values shortened =
      attention(device, zeroQuery(1), key, value, {.seqlensK = lengthsTensor, .hostSeqlensK = {2}})
          .download();
  EXPECT_NEAR(shortened[0], 2.0f, 1e-5f);
}

TEST_F(Operators, AttentionRunsInTheDtypesOfItsTensors) {
  for (Dtype dtype : {Dtype::F16, Dtype::BF16}) {
    const Tensor zeros = Tensor::zeros(device, dtype, {1, 1, 3, 2});
    const Tensor value = Tensor::from(device, dtype, {1, 1, 3, 2}, values);
    const Tensor out = attention(device, zeros, zeros, value);
    EXPECT_EQ(out.dtype(), dtype);
    for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(out.download()[i], i % 2 == 0 ? 4.0f : 5.0f, 0.04f);
  }
}

TEST_F(Operators, AnOperatorWaitsForTheOneWhoseResultItReads) {
  const Tensor zeros = Tensor::zeros(device, Dtype::F32, {1, 1, 128, 16});
  const Tensor ones = Tensor::full(device, Dtype::F32, {1, 1, 128, 16}, 1.0f);
  const Tensor a = Tensor::empty(device, Dtype::F32, {1, 1, 128, 16});
  const Tensor b = Tensor::empty(device, Dtype::F32, {1, 1, 128, 16});
  stream.attention(zeros, zeros, ones, a);
  for (int i = 0; i < 4; ++i) {
    stream.attention(zeros, zeros, a, b);
    stream.copy(a, b);
  }
  stream.fill(ones, 9.0f);
  stream.wait();
  for (float value : b.download()) ASSERT_NEAR(value, 1.0f, 1e-4f);
}

TEST_F(Operators, MatmulAddsBiasAndResidualAroundTheActivation) {
  const Tensor a = Tensor::from(device, Dtype::F32, {2, 3}, Values{1, 0, 0, 0, 1, 1});
  const Tensor weight =
      Tensor::from(device, Dtype::F32, {3, 2}, Values{1, 2, 3, 4, 5, 6});  // stored as [K, N]
  const Tensor bias = Tensor::from(device, Dtype::F32, {2}, Values{10, 20});
  const Tensor residual = Tensor::from(device, Dtype::F32, {2, 2}, Values{100, 200, 300, 400});
  EXPECT_EQ(matmul(device, a, weight.transpose(0, 1)).download(), (Values{1, 2, 8, 10}));
  EXPECT_EQ(matmul(device, a, weight.transpose(0, 1), {.bias = bias, .residual = residual}).download(),
            (Values{111, 222, 318, 430}));
  const Values activated =
      matmul(device, a, weight.transpose(0, 1), {.residual = residual, .activation = Activation::Gelu})
          .download();
  EXPECT_NEAR(activated[0], 100.0f + 0.84134475f, 1e-4f) << "the residual is added after the activation";
}

TEST_F(Operators, MatmulOfBatchesSharesAWeight) {
  const Tensor a = Tensor::from(device, Dtype::F32, {2, 1, 2}, Values{1, 2, 3, 4});
  const Tensor weight = Tensor::from(device, Dtype::F32, {2, 2}, Values{1, 0, 1, 1});
  EXPECT_EQ(matmul(device, a, weight).download(), (Values{1, 3, 3, 7}));
}

TEST_F(Operators, LayerNormTakesWeightAndBias) {
  const Tensor x = Tensor::from(device, Dtype::F32, {2, 2}, Values{-1, 1, 3, 7});
  const Tensor weight = Tensor::from(device, Dtype::F32, {2}, Values{2, 3});
  const Tensor bias = Tensor::from(device, Dtype::F32, {2}, Values{10, 20});
  const Values plain = layerNorm(device, x, {.epsilon = 0.0f}).download();
  const Values scaled = layerNorm(device, x, {.weight = weight, .bias = bias, .epsilon = 0.0f}).download();
  for (std::size_t row = 0; row < 2; ++row) {
    EXPECT_NEAR(plain[2 * row], -1.0f, 1e-5f);
    EXPECT_NEAR(plain[2 * row + 1], 1.0f, 1e-5f);
    EXPECT_NEAR(scaled[2 * row], 8.0f, 1e-5f);
    EXPECT_NEAR(scaled[2 * row + 1], 23.0f, 1e-5f);
  }
}

TEST_F(Operators, SoftmaxAndGelu) {
  const Tensor x = Tensor::from(device, Dtype::F32, {2, 2}, Values{0, 0, 5, 5});
  for (float value : softmax(device, x).download()) EXPECT_NEAR(value, 0.5f, 1e-6f);
  EXPECT_NEAR(gelu(device, x).download()[2], 5.0f, 1e-4f);
  const Tensor tanhInput = Tensor::full(device, Dtype::F32, {3}, 1.0f);
  EXPECT_NEAR(gelu(device, tanhInput).download()[2], 0.84134475f, 1e-5f);
  EXPECT_NEAR(gelu(device, tanhInput, Activation::GeluTanh).download()[2], 0.84119199f, 1e-5f);
}

TEST_F(Operators, PatchEmbedReadsPatchesRowByRow) {
  const Tensor image = Tensor::from(device, Dtype::F32, {1, 1, 2, 4}, counting(8));  // two patches of 2 x 2
  const Tensor weight = Tensor::from(device, Dtype::F32, {2, 1, 2, 2}, Values{1, 1, 1, 1, 1, 0, 0, 0});
  const Tensor bias = Tensor::from(device, Dtype::F32, {2}, Values{0, 100});
  const Tensor position = Tensor::from(device, Dtype::F32, {2, 2}, Values{0, 0, 1000, 1000});
  const Tensor out = patchEmbed(device, image, weight, {.bias = bias, .residual = position});
  EXPECT_EQ(out.shape(), (Shape{1, 1, 2, 2}));
  EXPECT_EQ(out.download(), (Values{10, 100, 1018, 1102}));
}

TEST_F(Operators, PatchEmbedLeavesRoomForAClassToken) {
  const Tensor image = Tensor::full(device, Dtype::F32, {2, 1, 2, 2}, 1.0f);
  const Tensor weight = Tensor::full(device, Dtype::F32, {1, 1, 1, 1}, 2.0f);
  const Tensor tokens = Tensor::zeros(device, Dtype::F32, {2, 5, 1}, {.guard = true});
  stream.patchEmbed(image, weight, tokens.slice(1, 1, 5));
  stream.wait();
  EXPECT_EQ(tokens.download(), (Values{0, 2, 2, 2, 2, 0, 2, 2, 2, 2}));
  EXPECT_TRUE(tokens.guardsIntact());
}

TEST_F(Operators, ChainsOfOperatorsSeeEachOthersResults) {
  const Tensor x = Tensor::full(device, Dtype::F32, {4, 8}, 1.0f);
  const Tensor identity = Tensor::zeros(device, Dtype::F32, {8, 8});
  stream.fill(identity.asStrided({8}, {9}), 1.0f);
  const Tensor a = Tensor::empty(device, Dtype::F32, {4, 8});
  const Tensor b = Tensor::empty(device, Dtype::F32, {4, 8});
  stream.matmul(x, identity, a, {.residual = x});
  stream.matmul(a, identity, b, {.residual = a});
  stream.matmul(b, identity, a, {.residual = b});
  stream.softmax(a, b);
  stream.wait();
  EXPECT_EQ(a.download(), Values(32, 8.0f));
  EXPECT_EQ(b.download(), Values(32, 0.125f));
}

TEST_F(Operators, ReturnThePlanThatRan) {
  const Tensor zeros = Tensor::zeros(device, Dtype::F32, {1, 1, 3, 2});
  const Tensor out = Tensor::empty(device, Dtype::F32, {1, 1, 3, 2});
  const PlanPtr plan = stream.attention(zeros, zeros, zeros, out);
  EXPECT_EQ(plan->info().op, SACCADE_OPERATOR_ATTENTION);
  EXPECT_FALSE(std::string(plan->info().kernel).empty());
  EXPECT_EQ(device.plan(describeAttention(zeros, zeros, zeros, out)).get(), plan.get());
}

TEST_F(Operators, PeakMemoryOfAttentionDoesNotGrowWithTheSquareOfTheTokens) {
  const Shape shape = {1, 1, 512, 16};
  const Tensor zeros = Tensor::zeros(device, Dtype::F32, shape);
  const Tensor out = Tensor::empty(device, Dtype::F32, shape);
  const std::uint64_t before = device.memory().currentBytes;
  device.resetPeakMemory();
  stream.attention(zeros, zeros, zeros, out);
  stream.wait();
  EXPECT_LT(device.memory().peakBytes - before, std::uint64_t{512} * 512 * sizeof(float) / 4);
}

// One-token sequences over one-token pages: row i sees key i alone, which the block table finds.
TEST_F(Operators, AttentionTakesPackedSequencesAndPagedKeys) {
  const Tensor q = Tensor::zeros(device, Dtype::F32, {1, 1, 3, 2});
  const Tensor pages = Tensor::from(device, Dtype::F32, {4, 1, 1, 2}, counting(8));
  const Tensor out = Tensor::empty(device, Dtype::F32, {1, 1, 3, 2}, {.guard = true});
  const std::vector<std::int32_t> offsets = {0, 1, 2, 3}, table = {3, 0, 2};
  const Tensor deviceOffsets = Tensor::fromInts(device, {4}, offsets);
  stream.attention(q, pages, pages, out,
                   {.cuSeqlensQ = deviceOffsets,
                    .cuSeqlensK = deviceOffsets,
                    .blockTable = Tensor::fromInts(device, {3, 1}, table),
                    .hostCuSeqlensQ = offsets,
                    .hostCuSeqlensK = offsets,
                    .hostBlockTable = table});
  stream.wait();
  const Values v = counting(8);
  EXPECT_EQ(out.download(), (Values{v[6], v[7], v[0], v[1], v[4], v[5]}));
  EXPECT_TRUE(out.guardsIntact());
}

TEST_F(Operators, RefuseOffsetsAndTablesThatDoNotFit) {
  const Tensor zeros = Tensor::zeros(device, Dtype::F32, {1, 1, 3, 2});
  const Tensor out = Tensor::empty(device, Dtype::F32, {1, 1, 3, 2});
  const std::vector<std::int32_t> three = {0, 1, 3}, two = {0, 3}, page = {1};
  const Tensor offsets = Tensor::fromInts(device, {3}, three);
  const auto refuses = [&](const AttentionOptions& options, const char* text) {
    const std::string message =
        refusal(Status::InvalidArgument, [&] { stream.attention(zeros, zeros, zeros, out, options); });
    EXPECT_TRUE(contains(message, text)) << message;
  };
  refuses({.cuSeqlensQ = offsets}, "cu_seqlens_k is absent");
  refuses({.cuSeqlensQ = offsets, .cuSeqlensK = Tensor::fromInts(device, {2}, two)}, "cu_seqlens_k has shape [2]");
  refuses({.cuSeqlensQ = offsets, .cuSeqlensK = offsets, .hostCuSeqlensK = {0, 3}}, "has 2 entries, but must have 3");
  refuses({.cuSeqlensQ = offsets, .cuSeqlensK = offsets, .hostCuSeqlensK = {0, 2, 1}}, "cu_seqlens_k[2] is 1");
  refuses({.blockTable = Tensor::fromInts(device, {1, 1}, page), .hostBlockTable = {1}}, "block_table[0][0] is 1");
}

TEST_F(Operators, RefuseWhatTheyCannotRunAndStayUsable) {
  const Tensor zeros = Tensor::zeros(device, Dtype::F32, {1, 1, 3, 2});
  const Tensor out = Tensor::empty(device, Dtype::F32, {1, 1, 3, 2});
  EXPECT_TRUE(
      contains(refusal(Status::InvalidArgument, [&] { stream.attention(Tensor(), zeros, zeros, out); }),
               "q is absent"));
  EXPECT_TRUE(contains(
      refusal(Status::Unsupported, [&] { stream.attention(zeros, zeros, zeros, out, {.dropout = 0.5f}); }),
      "dropout"));
  EXPECT_TRUE(contains(refusal(Status::InvalidArgument,
                               [&] { stream.attention(zeros, zeros, zeros, out, {.seqlensK = zeros}); }),
                       "seqlens_k"));
  const std::int32_t lengths[] = {4};
  EXPECT_TRUE(contains(refusal(Status::InvalidArgument,
                               [&] {
                                 stream.attention(zeros, zeros, zeros, out,
                                                  {.seqlensK = Tensor::fromInts(device, {1}, lengths),
                                                   .hostSeqlensK = {4}});
                               }),
                       "seqlens_k"));
  refusal(Status::InvalidArgument, [&] { stream.attention(zeros, zeros, zeros, out.expand({2, 1, 3, 2})); });
  stream.attention(zeros, zeros, Tensor::full(device, Dtype::F32, {1, 1, 3, 2}, 2.0f), out);
  stream.wait();
  for (float value : out.download()) EXPECT_NEAR(value, 2.0f, 1e-5f);
}

}  // namespace
}  // namespace saccade
