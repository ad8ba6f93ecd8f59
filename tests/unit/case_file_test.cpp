// SPDX-License-Identifier: Apache-2.0
#include "io/case_file.hpp"

#include <gtest/gtest.h>

#include "expect_file_error.hpp"
#include "golden_cases.hpp"
#include "io/attention_case.hpp"
#include "temporary_folder.hpp"

namespace saccade::io {
namespace {

TensorData zeros(DType dtype, const Shape& shape) {
  return TensorData::fromDoubles(dtype, shape,
                                 std::vector<double>(static_cast<std::size_t>(elementCount(shape))));
}

// A small attention case that tests change in one place.
class ChangedCase : public testing::Test {
 protected:
  CaseFile read() const {
    writeSafetensors(folder_ / "case.safetensors", tensors_, metadata_);
    return readCaseFile(folder_ / "case.safetensors");
  }

  TemporaryFolder folder_;
  Metadata metadata_ = {{"format", "saccade-case-1"}, {"name", "case"},           {"op", "attention"},
                        {"tolerance", "fp32"},        {"causal", "bottom_right"}, {"atol_out", "2e-06"}};
  TensorMap tensors_ = {{"q", zeros(DType::F32, {1, 4, 3, 8})},
                        {"k", zeros(DType::F32, {1, 2, 5, 8})},
                        {"v", zeros(DType::F32, {1, 2, 5, 6})},
                        {"out", zeros(DType::F64, {1, 4, 3, 6})}};
};

TEST_F(ChangedCase, IsReadIntoInputsAndExpectedValues) {
  const CaseFile file = read();
  EXPECT_EQ(file.name, "case");
  EXPECT_EQ(file.op, "attention");
  EXPECT_EQ(file.tolerance, CaseTolerance::Fp32);
  EXPECT_EQ(file.inputs.size(), 3u);
  EXPECT_EQ(file.expected.size(), 1u);
  EXPECT_TRUE(file.unknown.empty());
  EXPECT_EQ(file.number("atol_out"), 2e-6);
  EXPECT_EQ(file.number("atol_lse"), std::nullopt);
}

TEST_F(ChangedCase, MayExpectNothing) {
  tensors_.erase("out");
  EXPECT_TRUE(read().expected.empty());
}

TEST_F(ChangedCase, NamesWhatTheFormatDoesNotKnow) {
  metadata_["new_option"] = "1";
  metadata_["atol_dq"] = "1";
  metadata_["causal"] = "diagonal";
  tensors_["extra"] = zeros(DType::F32, {1});
  EXPECT_EQ(read().unknown,
            (std::vector<std::string>{"metadata key 'atol_dq'", "value 'diagonal' of metadata key 'causal'",
                                      "metadata key 'new_option'", "tensor 'extra'"}));
}

TEST_F(ChangedCase, NamesAnUnknownOperator) {
  metadata_["op"] = "fourier";
  EXPECT_EQ(read().unknown, (std::vector<std::string>{"operator 'fourier'"}));
}

TEST_F(ChangedCase, IsRefusedInAnotherFormat) {
  metadata_["format"] = "saccade-case-2";
  expectFileError([&] { read(); }, {"saccade-case-2", "saccade-case-1"});
}

TEST_F(ChangedCase, IsRefusedWithoutWhatEveryCaseHas) {
  for (const char* key : {"format", "name", "op", "tolerance"}) {
    const Metadata whole = metadata_;
    metadata_.erase(key);
    expectFileError([&] { read(); }, {key, "missing"});
    metadata_ = whole;
  }
}

TEST_F(ChangedCase, IsRefusedWithAnUnknownToleranceOrDtype) {
  metadata_["tolerance"] = "loose";
  expectFileError([&] { read(); }, {"'loose'"});
  metadata_["tolerance"] = "fp16";
  tensors_["q"] = zeros(DType::I32, {1, 4, 3, 8});
  expectFileError([&] { read(); }, {"'q'", "I32", "BF16"});
}

TEST_F(ChangedCase, RefusesMetadataThatIsNoNumber) {
  for (const char* text : {"", "x", "1x", " 1", "1e"}) {
    metadata_["softcap"] = text;
    expectFileError([&] { readAttentionCase(read()); }, {"'softcap'"});
  }
}

TEST_F(ChangedCase, RefusesSizesThatNoOperatorHas) {
  tensors_["q"] = zeros(DType::F32, {std::int64_t{1} << 40, 4, 0, 8});
  expectFileError([&] { read(); }, {"'q'", "[1099511627776,4,0,8]", "2147483647"});
}

TEST_F(ChangedCase, GivesTheAttentionCallItDescribes) {
  metadata_["window_left"] = "3";
  metadata_["softmax_scale"] = "-0.25";
  tensors_["seqlens_k"] = TensorData::fromDoubles(DType::I32, {1}, std::vector{4.0});
  const AttentionCase call = readAttentionCase(read());
  EXPECT_EQ(call.numHeadsQ, 4);
  EXPECT_EQ(call.numHeadsKv, 2);
  EXPECT_EQ(call.seqlenQ, 3);
  EXPECT_EQ(call.seqlenK, 5);
  EXPECT_EQ(call.headDimQk, 8);
  EXPECT_EQ(call.headDimV, 6);
  EXPECT_EQ(call.causal, Causal::BottomRight);
  EXPECT_EQ(call.windowLeft, 3);
  EXPECT_EQ(call.windowRight, -1);
  EXPECT_EQ(call.softmaxScale, -0.25);
  EXPECT_EQ(*call.seqlensK, (std::vector<std::int32_t>{4}));
  EXPECT_FALSE(call.seqlensQ.has_value());
}

TEST_F(ChangedCase, RefusesTensorsThatDoNotFitEachOther) {
  const TensorMap whole = tensors_;
  const std::pair<const char*, TensorData> misfits[] = {
      {"k", zeros(DType::F32, {1, 2, 5, 7})},      {"v", zeros(DType::F32, {1, 2, 4, 6})},
      {"q", zeros(DType::F32, {4, 3, 8})},         {"k", zeros(DType::F32, {2, 2, 5, 8})},
      {"v", zeros(DType::F16, {1, 2, 5, 6})},      {"mask", zeros(DType::U8, {1, 4, 3, 4})},
      {"bias", zeros(DType::F32, {1, 3, 5})},      {"sink", zeros(DType::F32, {2})},
      {"alibi_slopes", zeros(DType::F32, {1, 1})}, {"seqlens_q", zeros(DType::I32, {2})},
  };
  for (const auto& [name, tensor] : misfits) {
    tensors_[name] = tensor;
    expectFileError([&] { readAttentionCase(read()); }, {name});
    tensors_ = whole;
  }
}

TEST_F(ChangedCase, ReadsQuantisedKeysWithTheirScales) {
  tensors_["k"] = zeros(DType::I8, {1, 2, 5, 8});
  tensors_["v"] = zeros(DType::I8, {1, 2, 5, 6});
  tensors_["k_scale"] = zeros(DType::F32, {1, 2, 3, 1});
  tensors_["v_scale"] = zeros(DType::F32, {1, 1, 1, 1});
  metadata_["scale_block"] = "2";
  const AttentionCase call = readAttentionCase(read());
  EXPECT_EQ(call.k.dtype(), DType::I8);
  EXPECT_EQ(call.kScale->shape(), (Shape{1, 2, 3, 1}));
  EXPECT_EQ(call.vScale->shape(), (Shape{1, 1, 1, 1}));
  EXPECT_EQ(call.scaleBlock, 2);
}

TEST_F(ChangedCase, RefusesScalesThatDoNotFit) {
  tensors_["k_scale"] = zeros(DType::F32, {1, 2, 1, 1});
  expectFileError([&] { readAttentionCase(read()); }, {"k_scale", "F8_E4M3 or I8"});
  tensors_["k"] = zeros(DType::F8_E4M3, {1, 2, 5, 8});
  expectFileError([&] { readAttentionCase(read()); }, {"'v'", "that of 'k'"});
  tensors_["v"] = zeros(DType::F8_E4M3, {1, 2, 5, 6});
  EXPECT_NO_THROW(readAttentionCase(read()));
  tensors_["k_scale"] = zeros(DType::F32, {1, 2, 5, 1});
  expectFileError([&] { readAttentionCase(read()); }, {"k_scale", "[1,2,1,1]"});
  metadata_["scale_block"] = "-1";
  expectFileError([&] { readAttentionCase(read()); }, {"scale_block"});
}

TEST_F(ChangedCase, RefusesHeadsThatCannotBeGrouped) {
  tensors_["q"] = zeros(DType::F32, {1, 3, 3, 8});
  expectFileError([&] { readAttentionCase(read()); }, {"multiple of the 2 key/value heads"});
}

TEST_F(ChangedCase, RefusesLengthsOutsideTheTensorAndNamesTheEntry) {
  for (const double length : {-1.0, 6.0}) {
    tensors_["seqlens_k"] = TensorData::fromDoubles(DType::I32, {1}, std::vector{length});
    expectFileError([&] { readAttentionCase(read()); }, {"seqlens_k[0]", "from 0 to 5"});
  }
}

TEST_F(ChangedCase, RefusesOptionsOutsideTheirRange) {
  const Metadata whole = metadata_;
  const std::pair<const char*, const char*> wrong[] = {
      {"temperature", "0"}, {"temperature", "-1"}, {"temperature", "inf"},   {"softcap", "-1"},
      {"softcap", "inf"},   {"softcap", "nan"},    {"softmax_scale", "nan"}, {"window_left", "-2"}};
  for (const auto& [key, value] : wrong) {
    metadata_[key] = value;
    expectFileError([&] { readAttentionCase(read()); }, {key});
    metadata_ = whole;
  }
}

class PackedCase : public ChangedCase {
 protected:
  void SetUp() override {
    tensors_ = {{"q", zeros(DType::F32, {5, 4, 8})},
                {"k", zeros(DType::F32, {7, 2, 8})},
                {"v", zeros(DType::F32, {7, 2, 6})},
                {"cu_seqlens_q", offsets({0, 2, 5})},
                {"cu_seqlens_k", offsets({0, 7, 7})}};
  }
  static TensorData offsets(const std::vector<double>& values) {
    return TensorData::fromDoubles(DType::I32, {static_cast<std::int64_t>(values.size())}, values);
  }
};

TEST_F(PackedCase, CountsSequencesByItsOffsets) {
  const AttentionCase call = readAttentionCase(read());
  EXPECT_TRUE(call.packed);
  EXPECT_EQ(call.batch, 2);
  EXPECT_EQ(call.seqlenQ, 5);
  EXPECT_EQ(*call.cuSeqlensK, (std::vector<std::int32_t>{0, 7, 7}));
}

TEST_F(PackedCase, RefusesOffsetsThatFallStartLateOrRunPastTheEnd) {
  for (const std::vector<double>& wrong :
       {std::vector<double>{0, 3, 2}, {1, 2, 5}, {0, 2, 6}, {0, -1, 5}, {0, 5}}) {
    tensors_["cu_seqlens_q"] = offsets(wrong);
    EXPECT_THROW(readAttentionCase(read()), FileError) << testing::PrintToString(wrong);
  }
}

TEST_F(PackedCase, RefusesAMaskBesideIt) {
  tensors_["mask"] = zeros(DType::U8, {1, 1, 5, 7});
  expectFileError([&] { readAttentionCase(read()); }, {"'mask'"});
}

TEST(ResultFile, CarriesTheNameOfTheCaseAndHowItWasComputed) {
  const TemporaryFolder folder;
  CaseFile file;
  file.name = "plain_f16";
  file.op = "attention";
  writeResultFile(folder / "plain_f16.safetensors", file, {{"out", zeros(DType::F16, {1, 1, 2, 2})}},
                  {"scalar_rows", "llvmpipe", PRounding::Storage});
  const Safetensors read = readSafetensors(folder / "plain_f16.safetensors");
  EXPECT_EQ(read.metadata.at("name"), "plain_f16");
  EXPECT_EQ(read.metadata.at("kernel"), "scalar_rows");
  EXPECT_EQ(read.metadata.at("device"), "llvmpipe");
  EXPECT_EQ(read.metadata.at("p_rounding"), "storage");
  EXPECT_EQ(read.tensor("out").dtype(), DType::F16);
}

TEST(GoldenCases, HoldNothingThatTheFormatDoesNotKnow) {
  for (const auto& path : goldenCases()) {
    EXPECT_TRUE(readCaseFile(path).unknown.empty()) << path;
  }
}

}  // namespace
}  // namespace saccade::io
