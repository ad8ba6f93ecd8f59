// SPDX-License-Identifier: Apache-2.0
#include "io/vit_weights.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "expect_file_error.hpp"
#include "io/case_file.hpp"

namespace saccade::io {
namespace {

// A tensor that counts up from `first`, so that a test can see which rows went where.
TensorData counting(const Shape& shape, double first = 0) {
  std::vector<double> values(static_cast<std::size_t>(elementCount(shape)));
  std::iota(values.begin(), values.end(), first);
  return TensorData::fromDoubles(DType::F32, shape, values);
}

void addLinear(TensorMap& tensors, const std::string& name, std::int64_t outputs, std::int64_t inputs,
               double first = 0) {
  tensors[name + "weight"] = counting({outputs, inputs}, first);
  tensors[name + "bias"] = counting({outputs}, first);
}

// One block, embed_dim 4, patches of 2 x 2 in one channel, positions for 3 x 3 patches, MLP of 6.
TensorMap dinov2Tensors(const std::string& prefix) {
  TensorMap tensors;
  tensors[prefix + "embeddings.cls_token"] = counting({1, 1, 4});
  tensors[prefix + "embeddings.mask_token"] = counting({1, 4});
  tensors[prefix + "embeddings.position_embeddings"] = counting({1, 10, 4});
  tensors[prefix + "embeddings.patch_embeddings.projection.weight"] = counting({4, 1, 2, 2});
  tensors[prefix + "embeddings.patch_embeddings.projection.bias"] = counting({4});
  const std::string block = prefix + "encoder.layer.0.";
  for (const char* norm : {"norm1.", "norm2."}) {
    tensors[block + norm + "weight"] = counting({4});
    tensors[block + norm + "bias"] = counting({4});
  }
  addLinear(tensors, block + "attention.attention.query.", 4, 4, 100);
  addLinear(tensors, block + "attention.attention.key.", 4, 4, 200);
  addLinear(tensors, block + "attention.attention.value.", 4, 4, 300);
  addLinear(tensors, block + "attention.output.dense.", 4, 4);
  addLinear(tensors, block + "mlp.fc1.", 6, 4);
  addLinear(tensors, block + "mlp.fc2.", 4, 6);
  tensors[block + "layer_scale1.lambda1"] = counting({4});
  tensors[block + "layer_scale2.lambda1"] = counting({4});
  tensors[prefix + "layernorm.weight"] = counting({4});
  tensors[prefix + "layernorm.bias"] = counting({4});
  return tensors;
}

class Dinov2Weights : public testing::Test {
 protected:
  VitWeights read() const { return vitWeightsFrom("model.safetensors", tensors_, metadata_); }

  TensorMap tensors_ = dinov2Tensors("backbone.");
  Metadata metadata_ = {{"num_heads", "2"}, {"epsilon", "1e-06"}, {"mean", "0.5"}, {"std", "0.25"}};
};

TEST_F(Dinov2Weights, TellTheirGeometry) {
  const VitConfig config = read().config;
  EXPECT_EQ(config.embedDim, 4);
  EXPECT_EQ(config.depth, 1);
  EXPECT_EQ(config.numHeads, 2);
  EXPECT_EQ(config.mlpDim, 6);
  EXPECT_EQ(config.inChannels, 1);
  EXPECT_EQ(config.patchSize, 2);
  EXPECT_EQ(config.gridSize, 3);
  EXPECT_EQ(config.numClasses, 0);
  EXPECT_EQ(config.epsilon, 1e-6);
  EXPECT_EQ(config.mean, std::vector{0.5});
  EXPECT_EQ(config.std, std::vector{0.25});
  EXPECT_TRUE(config.assumptions.empty()) << config.assumptions.front();
}

TEST_F(Dinov2Weights, HaveQueryKeyAndValueJoinedInThatOrder) {
  const VitBlockWeights block = read().blocks.front();
  EXPECT_EQ(block.qkv.weight.shape(), (Shape{12, 4}));
  EXPECT_EQ(block.qkv.weight.at(0), 100);
  EXPECT_EQ(block.qkv.weight.at(16), 200);
  EXPECT_EQ(block.qkv.weight.at(32), 300);
  EXPECT_EQ(block.qkv.bias.toDoubles(),
            (std::vector<double>{100, 101, 102, 103, 200, 201, 202, 203, 300, 301, 302, 303}));
  EXPECT_TRUE(block.scale1.has_value());
  EXPECT_FALSE(read().head.has_value());
}

TEST_F(Dinov2Weights, MayHaveAnotherPrefixOrNone) {
  for (const char* prefix : {"", "dinov2."}) {
    tensors_ = dinov2Tensors(prefix);
    EXPECT_EQ(read().config.embedDim, 4) << prefix;
  }
}

TEST_F(Dinov2Weights, SayWhatWasAssumedWhereTheFileIsSilent) {
  tensors_ = dinov2Tensors("");
  metadata_ = {{"num_heads", "2"}};
  EXPECT_EQ(read().config.assumptions.size(), 2u);  // epsilon, normalisation
}

TEST_F(Dinov2Weights, NameEachTensorThatIsMissing) {
  const TensorMap whole = tensors_;
  for (const auto& [name, tensor] : whole) {
    if (name.ends_with("mask_token")) {
      continue;  // only training needs it
    }
    tensors_.erase(name);
    // Without a class token nothing tells which family of files this is.
    expectFileError([&] { read(); }, {"model.safetensors", name.ends_with("cls_token") ? "cls_token" : name});
    tensors_ = whole;
  }
}

TEST_F(Dinov2Weights, NameEachTensorThatIsMisshapen) {
  const TensorMap whole = tensors_;
  metadata_.insert({{"embed_dim", "4"}, {"patch_size", "2"}, {"in_channels", "1"}, {"image_size", "6"},
                    {"mlp_ratio", "1.5"}, {"depth", "1"}});
  for (const auto& [name, tensor] : whole) {
    if (name.ends_with("mask_token")) {
      continue;
    }
    Shape shape = tensor.shape();
    shape.back() += 1;
    tensors_[name] = counting(shape);
    expectFileError([&] { read(); }, {name, shapeText(shape)});
    tensors_ = whole;
  }
}

TEST_F(Dinov2Weights, AreRefusedWithATensorThatHasNoPlaceInTheModel) {
  tensors_["backbone.embeddings.register_tokens"] = counting({1, 4, 4});
  expectFileError([&] { read(); }, {"backbone.embeddings.register_tokens"});
}

TEST_F(Dinov2Weights, MayStandBesideOtherPartsOfAFile) {
  tensors_["decoder.conv.weight"] = counting({2, 2});
  EXPECT_EQ(read().config.depth, 1);
}

TEST_F(Dinov2Weights, AreRefusedWithMetadataThatMakeNoSense) {
  const Metadata whole = metadata_;
  const std::pair<const char*, const char*> wrong[] = {
      {"num_heads", "3"}, {"num_heads", "0"},      {"num_heads", "two"},       {"num_heads", "1e300"},
      {"depth", "-1"},    {"epsilon", "0"},        {"approximate", "sigmoid"}, {"pool", "mean"},
      {"mean", "a"},      {"mean", "0.1,0.2,0.3"}, {"std", "0"},               {"image_size", "7"}};
  for (const auto& [key, value] : wrong) {
    metadata_[key] = value;
    expectFileError([&] { read(); }, {key});
    metadata_ = whole;
  }
}

TEST(TimmWeights, AreReadFromTheGoldenModel) {
  const CaseFile file = readCaseFile(SACCADE_TEST_CASES "/vit_small.safetensors");
  TensorMap tensors = file.inputs;
  tensors.erase("images");
  const VitWeights weights = vitWeightsFrom(file.path, tensors, file.metadata);
  EXPECT_EQ(weights.config.embedDim, 48);
  EXPECT_EQ(weights.config.depth, 2);
  EXPECT_EQ(weights.config.numHeads, 3);
  EXPECT_EQ(weights.config.gridSize, 7);
  EXPECT_EQ(weights.config.numClasses, 10);
  EXPECT_EQ(weights.blocks.size(), 2u);
  EXPECT_FALSE(weights.blocks[0].scale1.has_value());
  ASSERT_TRUE(weights.head.has_value());
  EXPECT_EQ(weights.head->weight.shape(), (Shape{10, 48}));
}

TEST(VitWeights, AreRefusedWhenTheFileHoldsNoVisionTransformer) {
  expectFileError([] { vitWeightsFrom("other.safetensors", {{"x", counting({1})}}, {}); },
                  {"other.safetensors", "cls_token"});
}

}  // namespace
}  // namespace saccade::io
