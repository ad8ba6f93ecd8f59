// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>

#include "io/case_file.hpp"
#include "io/safetensors.hpp"
#include "program.hpp"
#include "reference/compare.hpp"
#include "unit/temporary_folder.hpp"

namespace saccade::test {
namespace {

std::string littleEndian(std::uint64_t value) {
  std::string bytes;
  for (int shift = 0; shift < 64; shift += 8) {
    bytes += static_cast<char>(value >> shift & 0xff);
  }
  return bytes;
}

class Run : public testing::Test {
 protected:
  ProgramResult run(const std::filesystem::path& input, const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {"run", input.string(), "-o", output.string()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return saccade(arguments);
  }

  void expectRefused(const std::filesystem::path& input, const std::string& reason,
                     const std::vector<std::string>& more = {}) {
    const ProgramResult result = run(input, more);
    EXPECT_EQ(result.exitCode, 2) << input << result.err;
    EXPECT_TRUE(contains(result.err, reason));
    EXPECT_FALSE(std::filesystem::exists(output)) << input;
  }

  // A copy of a golden case with some of its metadata changed.
  std::filesystem::path changed(const std::string& name, const io::Metadata& changes) {
    io::Safetensors file = io::readSafetensors(goldenCase(name));
    for (const auto& [key, value] : changes) {
      file.metadata[key] = value;
    }
    const std::filesystem::path path = folder / "changed.safetensors";
    io::writeSafetensors(path, file.tensors, file.metadata);
    return path;
  }

  TemporaryFolder folder;
  std::filesystem::path output = folder / "out.safetensors";
};

TEST_F(Run, WritesEveryExpectedTensorWithinItsTolerance) {
  for (const char* name :
       {"plain_f32", "plain_f16", "plain_bf16", "mask_empty_row", "gelu_tanh", "layer_norm",
        "matmul_bias_odd", "patch_embed_3x28x28_p7", "mha_separate_cross", "vit_small"}) {
    const ProgramResult result = run(goldenCase(name));
    ASSERT_EQ(result.exitCode, 0) << name << result.err;
    const io::Safetensors file = io::readSafetensors(output);
    const reference::CaseComparison comparison =
        reference::compareCase(io::readCaseFile(goldenCase(name)), file.tensors, io::PRounding::Fp32);
    EXPECT_TRUE(comparison.passed()) << name;
    EXPECT_EQ(file.metadata.at("p_rounding"), "fp32");
    EXPECT_FALSE(file.metadata.at("device").empty());
    EXPECT_FALSE(file.metadata.at("kernel").empty());
  }
}

TEST_F(Run, ResultsHaveTheInputsDtypeUnlessF32IsAsked) {
  ASSERT_EQ(run(goldenCase("plain_f16")).exitCode, 0);
  const io::TensorData half = io::readSafetensors(output).tensor("out");
  EXPECT_EQ(half.dtype(), io::DType::F16);
  ASSERT_EQ(run(goldenCase("plain_f16"), {"--out-dtype", "f32"}).exitCode, 0);
  const io::TensorData single = io::readSafetensors(output).tensor("out");
  EXPECT_EQ(single.dtype(), io::DType::F32);
  EXPECT_EQ(single.toDoubles(), half.toDoubles());
}

TEST_F(Run, UsesTheKernelThatIsAskedFor) {
  for (const char* kernel : {"scalar_rows", "scalar_tiled"}) {
    ASSERT_EQ(run(goldenCase("plain_f32"), {"--kernel", kernel}).exitCode, 0);
    EXPECT_EQ(io::readSafetensors(output).metadata.at("kernel"), kernel);
  }
  std::filesystem::remove(output);
  expectRefused(goldenCase("plain_f32"), "warp_speed", {"--kernel", "warp_speed"});
  expectRefused(goldenCase("gelu_exact"), "scalar_rows", {"--kernel", "scalar_rows"});
}

TEST_F(Run, RefusesRulesThatThisVersionDoesNotCompute) {
  expectRefused(goldenCase("sigmoid_masked"), "normalizer");
  expectRefused(goldenCase("grad_full"), "attention_backward");
  expectRefused(goldenCase("real/dinov2s_astronaut"), "--weights");
}

TEST_F(Run, RefusesCasesWithWhatItDoesNotKnow) {
  expectRefused(changed("plain_f32", {{"flux", "1"}}), "flux");
  expectRefused(changed("plain_f32", {{"op", "divination"}}), "divination");
  expectRefused(changed("plain_f32", {{"causal", "maybe"}}), "causal");
  expectRefused(changed("plain_f32", {{"softmax_scale", "nan"}}), "softmax_scale");
  expectRefused(changed("plain_f32", {{"temperature", "-2"}}), "temperature");
  expectRefused(changed("plain_f32", {{"format", "other"}}), "format");
}

TEST_F(Run, RefusesFilesThatAreDamaged) {
  const std::string good = contentOf(goldenCase("plain_f32"));
  expectRefused(folder / "missing.safetensors", "missing.safetensors");
  expectRefused(folder.file("empty", ""), "empty");
  expectRefused(folder.file("short", good.substr(0, 5)), "short");
  expectRefused(folder.file("truncated", good.substr(0, good.size() - 100)), "truncated");
  expectRefused(folder.file("text", "this is no case file at all, whatever its name says"), "text");
  expectRefused(folder.file("huge_header", littleEndian(10'000'000'000) + good.substr(8)), "huge_header");
  const std::string header = R"({"q":{"dtype":"F32","shape":[50000,50000],"data_offsets":[0,10000000000]}})";
  expectRefused(folder.file("huge_tensor", littleEndian(header.size()) + header + "1234"), "huge_tensor");
  expectRefused(folder.path(), "");
}

TEST_F(Run, LengthsLongerThanTheKeysAreRefusedByBatchEntry) {
  io::Safetensors file = io::readSafetensors(goldenCase("causal_lengths_offset"));
  const double lengths[] = {4, 9};
  file.tensors["seqlens_k"] = io::TensorData::fromDoubles(io::DType::I32, {2}, lengths);
  io::writeSafetensors(folder / "long.safetensors", file.tensors, file.metadata);
  expectRefused(folder / "long.safetensors", "seqlens_k[1]");
}

TEST_F(Run, LeavesNothingHalfWritten) {
  output = folder / "no/such/folder/out.safetensors";
  expectRefused(goldenCase("plain_f32"), "out.safetensors");
  output = folder.path();
  EXPECT_EQ(run(goldenCase("plain_f32")).exitCode, 2);
  EXPECT_EQ(folder.countFiles(), 0u);
}

TEST_F(Run, ARefusalKeepsTheFileThatWasThere) {
  folder.file("out.safetensors", "precious");
  EXPECT_EQ(run(goldenCase("sigmoid_masked")).exitCode, 2);
  EXPECT_EQ(contentOf(output), "precious");
  EXPECT_EQ(run(goldenCase("plain_f32")).exitCode, 0);
  EXPECT_EQ(io::readSafetensors(output).metadata.at("name"), "plain_f32");
  EXPECT_EQ(folder.countFiles(), 1u);
}

}  // namespace
}  // namespace saccade::test
