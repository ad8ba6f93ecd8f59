// SPDX-License-Identifier: Apache-2.0
#include "io/case_file.hpp"
#include "nn_test.hpp"
#include "reference/mha.hpp"
#include "reference/tolerance.hpp"

namespace saccade::nn {
namespace {

// A module with random weights, on the device and on the scalar path.
struct Modules {
  MultiheadAttention onDevice;
  reference::Mha<double> inDouble;
  reference::Mha<float> inFloat;
};

struct Sizes {
  std::int64_t embedDim = 24, keyDim = 24, headDim = 8, headDimV = 8;
  std::int64_t numHeads = 3, numHeadsKv = 3;
  Causal causal = Causal::None;
  bool fused = true;
};

template <typename Real>
reference::Linear<Real> scalarLinear(const std::vector<float>& weight, const std::vector<float>& bias,
                                     std::int64_t outputs, std::int64_t inputs) {
  return {{weight.begin(), weight.end()}, {bias.begin(), bias.end()}, outputs, inputs};
}

template <typename Real>
reference::Mha<Real> scalarModule(const std::vector<reference::Linear<Real>>& parts, const Sizes& sizes) {
  const auto causal = sizes.causal == Causal::BottomRight ? reference::Causal::BottomRight : reference::Causal::None;
  return {parts[0], parts[1], parts[2], parts[3], sizes.numHeads, sizes.numHeadsKv, causal};
}

Modules randomModules(const Device& device, const Sizes& sizes) {
  const std::int64_t shapes[4][2] = {{sizes.numHeads * sizes.headDim, sizes.embedDim},
                                     {sizes.numHeadsKv * sizes.headDim, sizes.keyDim},
                                     {sizes.numHeadsKv * sizes.headDimV, sizes.keyDim},
                                     {sizes.embedDim, sizes.numHeads * sizes.headDimV}};
  std::vector<reference::Linear<double>> inDouble;
  std::vector<reference::Linear<float>> inFloat;
  std::vector<Linear> separate;
  std::vector<float> fusedWeight, fusedBias;
  for (std::uint32_t part = 0; part < 4; ++part) {
    const auto [outputs, inputs] = shapes[part];
    const std::vector<float> weight = randomValues(static_cast<std::size_t>(outputs * inputs), 10 + part, 0.4f);
    const std::vector<float> bias = randomValues(static_cast<std::size_t>(outputs), 20 + part);
    inDouble.push_back(scalarLinear<double>(weight, bias, outputs, inputs));
    inFloat.push_back(scalarLinear<float>(weight, bias, outputs, inputs));
    separate.push_back({Tensor::from(device, Dtype::F32, {outputs, inputs}, weight),
                        Tensor::from(device, Dtype::F32, {outputs}, bias)});
    if (part < 3) {
      fusedWeight.insert(fusedWeight.end(), weight.begin(), weight.end());
      fusedBias.insert(fusedBias.end(), bias.begin(), bias.end());
    }
  }
  const auto rows = static_cast<std::int64_t>(fusedBias.size());
  MultiheadAttention module =
      sizes.fused
          ? MultiheadAttention::fused({Tensor::from(device, Dtype::F32, {rows, sizes.embedDim}, fusedWeight),
                                       Tensor::from(device, Dtype::F32, {rows}, fusedBias)},
                                      separate[3], sizes.numHeads, sizes.numHeadsKv)
          : MultiheadAttention::separate(separate[0], separate[1], separate[2], separate[3], sizes.numHeads,
                                         sizes.numHeadsKv);
  return {std::move(module), scalarModule(inDouble, sizes), scalarModule(inFloat, sizes)};
}

class MultiheadAttentionOnKernel : public NnTestOfKernel {
 protected:
  // Runs a random module on x [2, seqlenQ, embedDim] and, unless seqlenK is 0, y [2, seqlenK, keyDim], and
  // compares.
  void compare(const Sizes& sizes, std::int64_t seqlenQ, std::int64_t seqlenK,
               const std::vector<std::uint8_t>& padding = {}) {
    const Modules modules = randomModules(device, sizes);
    const std::vector<float> x = randomValues(static_cast<std::size_t>(2 * seqlenQ * sizes.embedDim), 1);
    const std::vector<float> y = randomValues(static_cast<std::size_t>(2 * seqlenK * sizes.keyDim), 2);
    const std::vector<float>& keys = seqlenK == 0 ? x : y;
    const std::int64_t keyCount = seqlenK == 0 ? seqlenQ : seqlenK;

    MultiheadAttentionOptions options{.causal = sizes.causal};
    if (seqlenK != 0) {
      options.keysFrom = Tensor::from(device, Dtype::F32, {2, seqlenK, sizes.keyDim}, y);
    }
    if (!padding.empty()) {
      options.keyPaddingMask =
          Tensor::fromBytes(device, Dtype::U8, {2, keyCount}, std::as_bytes(std::span(padding)));
    }
    options.probs = Tensor::empty(device, Dtype::F32, {2, sizes.numHeads, seqlenQ, keyCount}, {.guard = true});
    const Tensor out = Tensor::empty(device, Dtype::F32, {2, seqlenQ, sizes.embedDim}, {.guard = true});
    modules.onDevice.forward(stream, workspace, Tensor::from(device, Dtype::F32, {2, seqlenQ, sizes.embedDim}, x), out,
                             options);
    stream.wait();

    const std::vector<double> xs(x.begin(), x.end()), ys(keys.begin(), keys.end());
    const reference::MhaSize size{2, seqlenQ, keyCount};
    const auto expected =
        reference::multiHeadAttention<double>(modules.inDouble, xs, ys, size, padding, reference::Probs::Store);
    const auto plain =
        reference::multiHeadAttention<float>(modules.inFloat, x, keys, size, padding, reference::Probs::Store);
    const std::vector<std::vector<double>> plainOut = {{plain.out.begin(), plain.out.end()}};
    expectNear("out", out, {2, seqlenQ, sizes.embedDim}, expected.out,
               reference::toleranceFromPlain(io::DType::F32, expected.out, plainOut,
                                             reference::largestMagnitude(expected.out)));
    expectNear("probs", options.probs, {2, sizes.numHeads, seqlenQ, keyCount}, expected.probs, {.absolute = 2e-6});
    EXPECT_TRUE(out.guardsIntact());
    EXPECT_TRUE(options.probs.guardsIntact());
  }

  // A golden case through the module.
  void runCase(const std::string& name) {
    const io::CaseFile file = io::readCaseFile(std::filesystem::path(SACCADE_TEST_CASES) / (name + ".safetensors"));
    const auto tensor = [&](const std::string& input, Dtype dtype = Dtype::F32) {
      const io::TensorData& data = file.requireInput(input);
      return Tensor::fromBytes(device, dtype, data.shape(), data.bytes());
    };
    const auto linear = [&](const std::string& part) {
      return Linear{tensor(part + "_weight"), tensor(part + "_bias")};
    };
    const std::int64_t heads = file.requireInteger("num_heads");
    const bool fused = file.input("in_proj_weight") != nullptr;
    const auto module =
        fused ? MultiheadAttention::fused(linear("in_proj"), linear("out_proj"), heads)
              : MultiheadAttention::separate(linear("q_proj"), linear("k_proj"), linear("v_proj"),
                                             linear("out_proj"), heads);
    const io::Shape shape = file.expected.at("out").shape();
    const io::Shape probsShape = file.expected.at("probs").shape();
    MultiheadAttentionOptions options;
    if (file.input("x_kv") != nullptr) {
      options.keysFrom = tensor("x_kv");
    }
    options.keyPaddingMask = tensor("key_padding_mask", Dtype::U8);
    options.probs = Tensor::empty(device, Dtype::F32, probsShape);
    const Tensor out = Tensor::empty(device, Dtype::F32, shape);
    module.forward(stream, workspace, tensor("x"), out, options);
    stream.wait();
    const auto comparison = reference::compareCase(
        file, {{"out", downloaded(out, shape)}, {"probs", downloaded(options.probs, probsShape)}}, io::PRounding::Fp32);
    EXPECT_TRUE(comparison.passed()) << comparison.worst()->reason;
  }
};

TEST_P(MultiheadAttentionOnKernel, GivesTheGoldenValuesOfFusedSelfAttention) { runCase("mha_fused_self"); }

TEST_P(MultiheadAttentionOnKernel, GivesTheGoldenValuesOfSeparateCrossAttention) { runCase("mha_separate_cross"); }

TEST_P(MultiheadAttentionOnKernel, AgreesWithTheScalarPathWithoutAnyOption) { compare({}, 37, 0); }

TEST_P(MultiheadAttentionOnKernel, AgreesWithTheScalarPathWhenCausalWithGroupedHeads) {
  compare({.embedDim = 20, .keyDim = 20, .headDim = 5, .headDimV = 5, .numHeads = 4, .numHeadsKv = 2,
           .causal = Causal::BottomRight}, 21, 0);
}

TEST_P(MultiheadAttentionOnKernel, TakesKeysFromOtherTokensWithOneFusedWeight) { compare({}, 6, 13); }

TEST_P(MultiheadAttentionOnKernel, TakesOtherWidthsOfKeysAndValues) {
  compare({.embedDim = 24, .keyDim = 10, .headDim = 6, .headDimV = 7, .numHeads = 4, .numHeadsKv = 2,
           .fused = false}, 9, 11);
}

TEST_P(MultiheadAttentionOnKernel, GivesTheBiasOfTheOutputProjectionWhereAllKeysArePadding) {
  compare({}, 4, 5, {1, 1, 0, 1, 0, 0, 0, 0, 0, 0});
}

SACCADE_FOR_EVERY_KERNEL(MultiheadAttentionOnKernel);

class MultiheadAttentionModule : public NnTest {
 protected:
  Linear linear(std::int64_t outputs, std::int64_t inputs) {
    return {Tensor::zeros(device, Dtype::F32, {outputs, inputs}), Tensor::zeros(device, Dtype::F32, {outputs})};
  }
};

TEST_F(MultiheadAttentionModule, ComputesARangeOfQueriesAsItComputesAll) {
  const Modules modules = randomModules(device, {});
  const Tensor x = Tensor::from(device, Dtype::F32, {2, 12, 24}, randomValues(2 * 12 * 24, 3));
  const Tensor all = Tensor::empty(device, Dtype::F32, {2, 12, 24});
  const Tensor some = Tensor::empty(device, Dtype::F32, {2, 3, 24});
  modules.onDevice.forward(stream, workspace, x, all, {.residual = x});
  modules.onDevice.forward(stream, workspace, x, some,
                           {.residual = x.slice(1, 4, 7), .queryBegin = 4, .queryEnd = 7});
  stream.wait();
  const std::vector<float> wanted = all.slice(1, 4, 7).download();
  expectNear("out", some, {2, 3, 24}, std::vector<double>(wanted.begin(), wanted.end()), {.absolute = 4e-6});
}

TEST_F(MultiheadAttentionModule, WorksWithoutBiases) {
  const Tensor identity = Tensor::from(device, Dtype::F32, {2, 2}, std::vector<float>{1, 0, 0, 1});
  const auto module = MultiheadAttention::separate({identity}, {identity}, {identity}, {identity}, 1);
  const Tensor x = Tensor::from(device, Dtype::F32, {1, 1, 2}, std::vector<float>{3, -4});
  const Tensor out = Tensor::empty(device, Dtype::F32, {1, 1, 2});
  module.forward(stream, workspace, x, out);
  stream.wait();
  EXPECT_EQ(out.download(), (std::vector<float>{3, -4}));
}

TEST_F(MultiheadAttentionModule, RefusesRowsThatAreNoMultipleOfTheHeads) {
  const std::string text = refusal([&] { MultiheadAttention::fused(linear(25, 8), linear(8, 8), 2); });
  EXPECT_NE(text.find("qkv.weight is [25,8], but its rows must be a multiple of 6"), std::string::npos) << text;
}

TEST_F(MultiheadAttentionModule, RefusesHeadsThatCannotBeGrouped) {
  const std::string text = refusal([&] { MultiheadAttention::fused(linear(24, 8), linear(8, 8), 4, 3); });
  EXPECT_NE(text.find("num_heads_kv is 3, but it must divide num_heads 4"), std::string::npos) << text;
}

TEST_F(MultiheadAttentionModule, RefusesAnOutputProjectionOfAnotherWidth) {
  const std::string text = refusal([&] { MultiheadAttention::fused(linear(24, 8), linear(8, 9), 2); });
  EXPECT_NE(text.find("out.weight is [8,9]"), std::string::npos) << text;
}

TEST_F(MultiheadAttentionModule, RefusesInputsOfAnotherWidthAndRecordsNothing) {
  const auto module = MultiheadAttention::fused(linear(24, 8), linear(8, 8), 2);
  const Tensor out = Tensor::empty(device, Dtype::F32, {1, 3, 8});
  const std::string text =
      refusal([&] { module.forward(stream, workspace, Tensor::zeros(device, Dtype::F32, {1, 3, 7}), out); });
  EXPECT_NE(text.find("x is [1,3,7]"), std::string::npos) << text;
}

TEST_F(MultiheadAttentionModule, RefusesAPaddingMaskBesideAMask) {
  const auto module = MultiheadAttention::fused(linear(24, 8), linear(8, 8), 2);
  const Tensor x = Tensor::zeros(device, Dtype::F32, {1, 3, 8});
  const Tensor mask = Tensor::zeros(device, Dtype::U8, {1, 3});
  const std::string text = refusal([&] {
    module.forward(stream, workspace, x, Tensor::empty(device, Dtype::F32, {1, 3, 8}),
                   {.keyPaddingMask = mask, .mask = mask});
  });
  EXPECT_NE(text.find("keyPaddingMask"), std::string::npos) << text;
}

TEST_F(MultiheadAttentionModule, ComputesTheLastQueriesOfACausalModuleAsItComputesAll) {
  const Modules modules = randomModules(device, {});
  const Tensor x = Tensor::from(device, Dtype::F32, {1, 9, 24}, randomValues(9 * 24, 4));
  const Tensor all = Tensor::empty(device, Dtype::F32, {1, 9, 24});
  const Tensor last = Tensor::empty(device, Dtype::F32, {1, 2, 24});
  modules.onDevice.forward(stream, workspace, x, all, {.causal = Causal::BottomRight});
  modules.onDevice.forward(stream, workspace, x, last, {.causal = Causal::BottomRight, .queryBegin = 7});
  stream.wait();
  const std::vector<float> wanted = all.slice(1, 7, 9).download();
  expectNear("out", last, {1, 2, 24}, std::vector<double>(wanted.begin(), wanted.end()), {.absolute = 4e-6});
}

TEST_F(MultiheadAttentionModule, RefusesACausalRangeThatWouldMoveTheDiagonal) {
  const auto module = MultiheadAttention::fused(linear(24, 8), linear(8, 8), 2);
  const Tensor x = Tensor::zeros(device, Dtype::F32, {1, 3, 8});
  const std::string text = refusal([&] {
    module.forward(stream, workspace, x, Tensor::empty(device, Dtype::F32, {1, 2, 8}),
                   {.causal = Causal::BottomRight, .queryEnd = 2});
  });
  EXPECT_NE(text.find("causal"), std::string::npos) << text;
}

TEST_F(MultiheadAttentionModule, RefusesARangeOfQueriesOutsideTheTokens) {
  const auto module = MultiheadAttention::fused(linear(24, 8), linear(8, 8), 2);
  const Tensor x = Tensor::zeros(device, Dtype::F32, {1, 3, 8});
  const std::string text = refusal([&] {
    module.forward(stream, workspace, x, Tensor::empty(device, Dtype::F32, {1, 2, 8}),
                   {.queryBegin = 2, .queryEnd = 4});
  });
  EXPECT_NE(text.find("2 .. 4"), std::string::npos) << text;
}

}  // namespace
}  // namespace saccade::nn
