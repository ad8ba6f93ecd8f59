// SPDX-License-Identifier: Apache-2.0
#include "nn_test.hpp"

namespace saccade::nn {
namespace {

class TransformerBlockModule : public NnTest {
 protected:
  Linear randomLinear(std::int64_t outputs, std::int64_t inputs, std::uint32_t seed) {
    const auto count = static_cast<std::size_t>(outputs * inputs);
    return {Tensor::from(device, Dtype::F32, {outputs, inputs}, randomValues(count, seed, 0.3f)),
            Tensor::from(device, Dtype::F32, {outputs}, randomValues(static_cast<std::size_t>(outputs), seed + 1))};
  }
  LayerNorm randomNorm(std::uint32_t seed) {
    return {Tensor::from(device, Dtype::F32, {16}, randomValues(16, seed)),
            Tensor::from(device, Dtype::F32, {16}, randomValues(16, seed + 1)), 1e-6f};
  }
  TransformerBlock randomBlock() {
    return {.norm1 = randomNorm(30),
            .attention = MultiheadAttention::fused(randomLinear(48, 16, 40), randomLinear(16, 16, 50), 2),
            .norm2 = randomNorm(60),
            .fc1 = randomLinear(32, 16, 70),
            .fc2 = randomLinear(16, 32, 80)};
  }
  Tensor randomTokens() { return Tensor::from(device, Dtype::F32, {2, 11, 16}, randomValues(2 * 11 * 16, 5)); }
};

TEST_F(TransformerBlockModule, GivesTheSameInPlaceAsIntoAnotherTensor) {
  const TransformerBlock block = randomBlock();
  const Tensor x = randomTokens();
  const Tensor out = Tensor::empty(device, Dtype::F32, x.shape());
  block.forward(stream, workspace, x, out);
  block.forward(stream, workspace, x, x);
  stream.wait();
  EXPECT_EQ(x.download(), out.download());
}

TEST_F(TransformerBlockModule, ComputesARangeOfTokensAsItComputesAll) {
  const TransformerBlock block = randomBlock();
  const Tensor x = randomTokens();
  const Tensor all = Tensor::empty(device, Dtype::F32, x.shape());
  const Tensor first = Tensor::empty(device, Dtype::F32, {2, 1, 16});
  block.forward(stream, workspace, x, all);
  block.forward(stream, workspace, x, first, {.queryEnd = 1});
  stream.wait();
  const std::vector<float> wanted = all.slice(1, 0, 1).download();
  expectNear("out", first, {2, 1, 16}, std::vector<double>(wanted.begin(), wanted.end()), {.absolute = 1e-5});
}

TEST_F(TransformerBlockModule, RefusesAResidual) {
  const Tensor x = randomTokens();
  const std::string text = refusal([&] { randomBlock().forward(stream, workspace, x, x, {.residual = x}); });
  EXPECT_NE(text.find("a block adds its own input"), std::string::npos) << text;
}

class WorkspaceMemory : public NnTest {};

TEST_F(WorkspaceMemory, IsUsedAgainForWhatIsNotLarger) {
  const Tensor first = workspace.tensor("x", Dtype::F32, {4, 8});
  const Tensor second = workspace.tensor("x", Dtype::F32, {5, 6});
  EXPECT_EQ(first.storage(), second.storage());
  EXPECT_EQ(second.shape(), (Shape{5, 6}));
  EXPECT_TRUE(second.isContiguous());
}

TEST_F(WorkspaceMemory, GrowsForWhatIsLargerAndKeepsNamesApart) {
  const Tensor small = workspace.tensor("x", Dtype::F32, {4});
  EXPECT_NE(small.storage(), workspace.tensor("y", Dtype::F32, {4}).storage());
  const Tensor large = workspace.tensor("x", Dtype::F32, {5});
  EXPECT_NE(small.storage(), large.storage());
  EXPECT_EQ(large.storage(), workspace.tensor("x", Dtype::F32, {2, 2}).storage());
}

TEST_F(WorkspaceMemory, HoldsNothingForATensorWithoutElements) {
  EXPECT_EQ(workspace.tensor("x", Dtype::F32, {0, 7}).shape(), (Shape{0, 7}));
}

}  // namespace
}  // namespace saccade::nn
