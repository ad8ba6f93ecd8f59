// SPDX-License-Identifier: Apache-2.0
// What validation refuses, and that the refusal names the field, its value and what is allowed.
#include <cstring>
#include <functional>

#include "attention/host_values.hpp"
#include "attention/plan.hpp"
#include "core_test.hpp"
#include "fake_devices.hpp"
#include "io/special_values.hpp"

namespace saccade::test {
namespace {

// What a C host may write into an enumeration.
template <class Enum>
void setEnum(Enum& field, int value) {
  static_assert(sizeof field == sizeof value);
  std::memcpy(&field, &value, sizeof field);
}

struct BadInput {
  const char* name;
  std::function<void(SaccadeAttentionDesc&)> spoil;
  const char* field;
  std::vector<const char*> mentions;  // the value and what is allowed
  SaccadeStatus status = SACCADE_ERROR_INVALID_ARGUMENT;
};

class AttentionRefusal : public testing::TestWithParam<BadInput> {};

TEST_P(AttentionRefusal, NamesFieldValueAndLimit) {
  SaccadeAttentionDesc desc = attentionDesc();
  GetParam().spoil(desc);
  const auto refusal = refusalOf([&] { core::planAttention(cpuFacts(), core::validateAttention(desc), ""); });
  ASSERT_TRUE(refusal) << "was accepted";
  EXPECT_EQ(refusal->status, GetParam().status);
  EXPECT_EQ(refusal->field, GetParam().field);
  for (const char* text : GetParam().mentions) EXPECT_PRED_FORMAT2(testing::IsSubstring, text, refusal->text);
  EXPECT_LT(refusal->field.size(), sizeof SaccadeMessage::field);
  EXPECT_LT(refusal->text.size(), sizeof SaccadeMessage::text);
}

std::string badInputName(const testing::TestParamInfo<BadInput>& info) { return info.param.name; }

const BadInput kBadShapes[] = {
    {"head_dim_0",
     [](auto& d) { d.q.sizes[3] = d.k.sizes[3] = 0; },
     "head_dim_qk",
     {"is 0", "between 1 and 256"}},
    {"head_dim_257",
     [](auto& d) { d.q.sizes[3] = d.k.sizes[3] = 257; },
     "head_dim_qk",
     {"is 257", "between 1 and 256"}},
    {"head_dim_v_0", [](auto& d) { d.v.sizes[3] = 0; }, "head_dim_v", {"is 0", "between 1 and 256"}},
    {"head_dim_v_257", [](auto& d) { d.v.sizes[3] = 257; }, "head_dim_v", {"is 257", "between 1 and 256"}},
    {"negative_head_dim", [](auto& d) { d.q.sizes[3] = -1; }, "head_dim_qk", {"is -1"}},
    {"heads_not_divisible",
     [](auto& d) { d.q.sizes[1] = 7; },
     "num_heads_kv",
     {"num_heads_q is 7", "num_heads_kv is 3", "multiple"}},
    {"fewer_query_heads_than_key_heads",
     [](auto& d) { d.q.sizes[1] = 1; },
     "num_heads_kv",
     {"num_heads_q is 1"}},
    {"no_key_heads", [](auto& d) { d.k.sizes[1] = d.v.sizes[1] = 0; }, "num_heads_kv", {"num_heads_kv is 0"}},
    {"negative_batch", [](auto& d) { d.q.sizes[0] = -2; }, "q.sizes", {"q.sizes[0]", "-2"}},
    {"negative_seqlen", [](auto& d) { d.k.sizes[2] = -7; }, "k.sizes", {"k.sizes[2]", "-7"}},
    {"keys_of_another_head_dim",
     [](auto& d) { d.k.sizes[3] = 8; },
     "k.sizes",
     {"[2, 3, 7, 8]", "[2, 3, 7, 16]"}},
    {"keys_of_another_batch",
     [](auto& d) { d.k.sizes[0] = 1; },
     "k.sizes",
     {"[1, 3, 7, 16]", "[2, 3, 7, 16]"}},
    {"fewer_values_than_keys",
     [](auto& d) { d.v.sizes[2] = 6; },
     "v.sizes",
     {"[2, 3, 6, 24]", "[2, 3, 7, 24]"}},
    {"values_of_other_heads",
     [](auto& d) { d.v.sizes[1] = 1; },
     "v.sizes",
     {"[2, 1, 7, 24]", "[2, 3, 7, 24]"}},
    {"output_of_another_shape",
     [](auto& d) { d.out = tensorDesc(SACCADE_DTYPE_F32, {2, 6, 5, 16}); },
     "out.sizes",
     {"[2, 6, 5, 16]", "[2, 6, 5, 24]"}},
    {"lse_of_another_shape",
     [](auto& d) { d.lse = tensorDesc(SACCADE_DTYPE_F32, {2, 6, 1, 5}); },
     "lse.sizes",
     {"[2, 6, 1, 5]", "[2, 6, 5, 1]"}},
    {"probs_of_another_shape",
     [](auto& d) { d.probs = tensorDesc(SACCADE_DTYPE_F32, {2, 3, 5, 7}); },
     "probs.sizes",
     {"[2, 3, 5, 7]", "[2, 6, 5, 7]"}},
    {"mask_that_does_not_broadcast",
     [](auto& d) { d.mask = tensorDesc(SACCADE_DTYPE_U8, {2, 3, 5, 7}); },
     "mask.sizes",
     {"mask.sizes[1] is 3", "6 or 1"}},
    {"bias_that_does_not_broadcast",
     [](auto& d) { d.bias = tensorDesc(SACCADE_DTYPE_F32, {1, 6, 5, 8}); },
     "bias.sizes",
     {"bias.sizes[3] is 8", "7 or 1"}},
};
INSTANTIATE_TEST_SUITE_P(Of, AttentionRefusal, testing::ValuesIn(kBadShapes), badInputName);

const BadInput kBadStrides[] = {
    {"negative_stride",
     [](auto& d) {
       d.k.strides[2] = -16;
       d.k.strides[3] = 1;
     },
     "k.strides",
     {"k.strides[2]", "-16"}},
    {"last_axis_not_contiguous",
     [](auto& d) { d.v = tensorDesc(SACCADE_DTYPE_F32, {2, 3, 7, 24}, {504, 168, 1, 7}); },
     "v.strides",
     {"v.strides[3] is 7", "stride 1"}},
    {"broadcast_last_axis", [](auto& d) { d.q.strides[2] = 16; }, "q.strides", {"q.strides[3] is 0"}},
    {"overlapping_output_rows",
     [](auto& d) { d.out = tensorDesc(SACCADE_DTYPE_F32, {2, 6, 5, 24}, {720, 120, 23, 1}); },
     "out.strides",
     {"out.strides[2] is 23", "span 24", "must not overlap"}},
    {"broadcast_output",
     [](auto& d) { d.out = tensorDesc(SACCADE_DTYPE_F32, {2, 6, 5, 24}, {0, 120, 24, 1}); },
     "out.strides",
     {"out.strides[0] is 0", "must not overlap"}},
    {"interleaved_output_heads",
     [](auto& d) { d.out = tensorDesc(SACCADE_DTYPE_F32, {2, 6, 5, 24}, {720, 24, 24, 1}); },
     "out.strides",
     {"24", "must not overlap"}},
    {"overlapping_lse",
     [](auto& d) { d.lse = tensorDesc(SACCADE_DTYPE_F32, {2, 6, 5, 1}, {30, 4, 1, 1}); },
     "lse.strides",
     {"lse.strides[1] is 4", "span 5"}},
    {"overlapping_probs",
     [](auto& d) { d.probs = tensorDesc(SACCADE_DTYPE_F32, {2, 6, 5, 7}, {210, 35, 6, 1}); },
     "probs.strides",
     {"probs.strides[2] is 6", "span 7"}},
    {"stride_over_2_to_32",
     [](auto& d) {
       d.q.strides[0] = int64_t{1} << 32;
       d.q.strides[3] = 1;
     },
     "q.strides",
     {"q.strides[0]", "4294967296"}},
};
INSTANTIATE_TEST_SUITE_P(OfStrides, AttentionRefusal, testing::ValuesIn(kBadStrides), badInputName);

const BadInput kBadDtypes[] = {
    {"unknown_dtype",
     [](auto& d) { setEnum(d.q.dtype, 99); },
     "q.dtype",
     {"99", "unknown", "f32, f16, bf16"}},
    {"no_dtype", [](auto& d) { d.v.dtype = SACCADE_DTYPE_NONE; }, "v.dtype", {"required"}},
    {"integer_queries", [](auto& d) { d.q.dtype = SACCADE_DTYPE_I32; }, "q.dtype", {"i32", "f32, f16, bf16"}},
    {"keys_of_another_dtype",
     [](auto& d) { d.k.dtype = SACCADE_DTYPE_F16; },
     "k.dtype",
     {"f16", "allowed: f32"}},
    {"output_of_another_dtype",
     [](auto& d) { d.out.dtype = SACCADE_DTYPE_F16; },
     "out.dtype",
     {"f16", "allowed: f32"}},
    {"lse_in_half_precision",
     [](auto& d) { d.lse.dtype = SACCADE_DTYPE_F16; },
     "lse.dtype",
     {"f16", "allowed: f32"}},
    {"probs_of_another_dtype",
     [](auto& d) { d.probs.dtype = SACCADE_DTYPE_BF16; },
     "probs.dtype",
     {"bf16", "allowed: f32"}},
    {"float_mask",
     [](auto& d) { d.mask = tensorDesc(SACCADE_DTYPE_F32, {1, 1, 5, 7}); },
     "mask.dtype",
     {"f32", "allowed: u8"}},
    {"boolean_bias",
     [](auto& d) { d.bias = tensorDesc(SACCADE_DTYPE_U8, {1, 1, 5, 7}); },
     "bias.dtype",
     {"u8", "f32, f16, bf16"}},
};
INSTANTIATE_TEST_SUITE_P(OfDtypes, AttentionRefusal, testing::ValuesIn(kBadDtypes), badInputName);

const BadInput kBadQuantisation[] = {
    {"quantised_queries", [](auto& d) { d.q.dtype = SACCADE_DTYPE_I8; }, "q.dtype", {"i8", "f32, f16, bf16"}},
    {"quantised_output", [](auto& d) { d.out.dtype = SACCADE_DTYPE_F8E4M3; }, "out.dtype", {"f8e4m3", "allowed: f32"}},
    {"keys_and_values_of_two_formats",
     [](auto& d) { quantise(d, SACCADE_DTYPE_I8), d.v.dtype = SACCADE_DTYPE_F8E4M3; },
     "v.dtype",
     {"f8e4m3", "allowed: i8"}},
    {"keys_alone", [](auto& d) { quantise(d, SACCADE_DTYPE_I8), d.v.dtype = SACCADE_DTYPE_F32; }, "v.dtype", {"f32", "allowed: i8"}},
    {"values_alone", [](auto& d) { d.v.dtype = SACCADE_DTYPE_F8E4M3; }, "v.dtype", {"f8e4m3", "allowed: f32"}},
    {"unsigned_keys", [](auto& d) { d.k.dtype = SACCADE_DTYPE_U8; }, "k.dtype", {"u8", "f32, f8e4m3, i8"}},
    {"scale_of_plain_keys", [](auto& d) { quantise(d, SACCADE_DTYPE_F32); }, "k_scale", {"k and v are f32", "f8e4m3 and i8"}},
    {"scale_of_plain_values",
     [](auto& d) { quantise(d, SACCADE_DTYPE_F32), d.kScale = {}; },
     "v_scale",
     {"k and v are f32", "f8e4m3 and i8"}},
    {"scale_in_half_precision",
     [](auto& d) { quantise(d, SACCADE_DTYPE_I8), d.kScale.dtype = SACCADE_DTYPE_F16; },
     "k_scale.dtype",
     {"f16", "allowed: f32"}},
    {"too_few_blocks",
     [](auto& d) { quantise(d, SACCADE_DTYPE_I8), d.scaleBlock = 3; },
     "k_scale.sizes",
     {"k_scale.sizes[2] is 2", "must be 3 or 1"}},
    {"blocks_without_their_size",
     [](auto& d) { quantise(d, SACCADE_DTYPE_I8), d.scaleBlock = 0; },
     "k_scale.sizes",
     {"k_scale.sizes[2] is 2", "must be 1 or 1"}},
    {"a_scale_per_channel",
     [](auto& d) { quantise(d, SACCADE_DTYPE_I8), d.vScale.sizes[3] = 24; },
     "v_scale.sizes",
     {"v_scale.sizes[3] is 24", "must be 1 or 1"}},
    {"scales_of_query_heads",
     [](auto& d) { quantise(d, SACCADE_DTYPE_I8), d.k.sizes[1] = d.v.sizes[1] = 2; },
     "k_scale.sizes",
     {"k_scale.sizes[1] is 3", "must be 2 or 1"}},
    {"block_without_scales",
     [](auto& d) { quantise(d, SACCADE_DTYPE_I8), d.kScale = d.vScale = {}; },
     "scale_block",
     {"is 4", "k_scale nor v_scale", "leave it at 0"}},
    {"block_beyond_every_sequence",
     [](auto& d) { quantise(d, SACCADE_DTYPE_I8), d.scaleBlock = 1u << 30; },
     "scale_block",
     {"1073741824", "at most 1073741823"}},
};
INSTANTIATE_TEST_SUITE_P(OfQuantisedKeys, AttentionRefusal, testing::ValuesIn(kBadQuantisation), badInputName);

TEST(AttentionScales, BelongToPagesWhereThereArePages) {
  SaccadeAttentionDesc desc = attentionDesc();
  quantise(desc, SACCADE_DTYPE_I8);
  for (SaccadeTensorDesc* tensor : {&desc.k, &desc.v}) tensor->sizes[0] = 9, tensor->sizes[2] = 4;
  desc.blockTable = tensorDesc(SACCADE_DTYPE_I32, {1, 1, 2, 5});
  desc.kScale = tensorDesc(SACCADE_DTYPE_F32, {9, 3, 1, 1});
  desc.vScale = tensorDesc(SACCADE_DTYPE_F32, {1, 1, 1, 1});
  const core::AttentionProblem problem = core::validateAttention(desc);
  EXPECT_EQ(problem.kScale.strides[0], 3u);
  EXPECT_EQ(problem.vScale.strides[0], 0u);
  desc.kScale.sizes[0] = 2;  // batch entries
  const auto refusal = refusalOf([&] { core::validateAttention(desc); });
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->field, "k_scale.sizes");
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "must be 9 or 1", refusal->text);
}

void setScale(SaccadeAttentionDesc& desc, float scale) {
  desc.hasSoftmaxScale = VK_TRUE;
  desc.softmaxScale = scale;
}

const BadInput kBadScales[] = {
    {"softmax_scale_nan", [](auto& d) { setScale(d, kNan); }, "softmax_scale", {"nan", "finite"}},
    {"softmax_scale_infinite", [](auto& d) { setScale(d, -kInfinity); }, "softmax_scale", {"-inf", "finite"}},
    {"temperature_negative", [](auto& d) { d.temperature = -1; }, "temperature", {"is -1", "finite and > 0"}},
    {"temperature_zero", [](auto& d) { d.temperature = 0; }, "temperature", {"is 0", "finite and > 0"}},
    {"temperature_nan", [](auto& d) { d.temperature = kNan; }, "temperature", {"nan", "finite and > 0"}},
    {"temperature_infinite",
     [](auto& d) { d.temperature = kInfinity; },
     "temperature",
     {"inf", "finite and > 0"}},
    {"scale_over_temperature_overflows",
     [](auto& d) {
       setScale(d, 1e30f);
       d.temperature = 1e-20f;
     },
     "temperature",
     {"1e-20", "overflows"}},
};
INSTANTIATE_TEST_SUITE_P(OfScales, AttentionRefusal, testing::ValuesIn(kBadScales), badInputName);

const BadInput kBadEnumerations[] = {
    {"struct_size_0",
     [](auto& d) { d.structSize = 0; },
     "structSize",
     {"is 0", "saccadeAttentionDescDefault"}},
    {"struct_size_of_another_version",
     [](auto& d) { d.structSize += 8; },
     "structSize",
     {"saccadeAttentionDescDefault"}},
    {"unknown_causal",
     [](auto& d) { setEnum(d.causal, 3); },
     "causal",
     {"is 3", "none, bottom_right or top_left"}},
    {"unknown_normalizer", [](auto& d) { setEnum(d.normalizer, 99); }, "normalizer", {"is 99"}},
    {"unknown_kernel",
     [](auto& d) { d.kernel = "fast"; },
     "kernel",
     {"\"fast\"", "scalar_rows, scalar_tiled"}},
    {"kernel_of_no_choice",
     [](auto& d) { d.kernel = "weights"; },
     "kernel",
     {"\"weights\"", "scalar_rows, scalar_tiled"}},
};
INSTANTIATE_TEST_SUITE_P(OfEnumerations, AttentionRefusal, testing::ValuesIn(kBadEnumerations), badInputName);

const BadInput kLaterRules[] = {
    {"dropout",
     [](auto& d) { d.dropout = 0.5f; },
     "dropout",
     {"is 0.5", "leave it at 0"},
     SACCADE_ERROR_UNSUPPORTED},
    {"sigmoid",
     [](auto& d) { d.normalizer = SACCADE_NORMALIZER_SIGMOID; },
     "normalizer",
     {"sigmoid", "softmax"},
     SACCADE_ERROR_UNSUPPORTED},
    {"relu",
     [](auto& d) { d.normalizer = SACCADE_NORMALIZER_RELU; },
     "normalizer",
     {"relu", "softmax"},
     SACCADE_ERROR_UNSUPPORTED},
    {"dropout_negative", [](auto& d) { d.dropout = -0.1f; }, "dropout", {"is -0.1", "below 1"}},
    {"dropout_1", [](auto& d) { d.dropout = 1; }, "dropout", {"is 1", "below 1"}},
    {"dropout_nan", [](auto& d) { d.dropout = kNan; }, "dropout", {"nan"}},
};
INSTANTIATE_TEST_SUITE_P(OfLaterRules, AttentionRefusal, testing::ValuesIn(kLaterRules), badInputName);

// Fields of windows, caps, packed sequences and pages.
SaccadeAttentionDesc packedDesc() {
  SaccadeAttentionDesc desc = attentionDesc({.batch = 1});
  desc.hasCuSeqlens = VK_TRUE;
  desc.numSequences = 2;
  return desc;
}

SaccadeAttentionDesc pagedDesc() {
  SaccadeAttentionDesc desc = attentionDesc();
  desc.k = tensorDesc(SACCADE_DTYPE_F32, {9, 3, 4, 16});
  desc.v = tensorDesc(SACCADE_DTYPE_F32, {9, 3, 4, 24});
  desc.blockTable = tensorDesc(SACCADE_DTYPE_I32, {1, 1, 2, 5});
  return desc;
}

const BadInput kBadOptions[] = {
    {"window_left_below_minus_1", [](auto& d) { d.windowLeft = -2; }, "window_left", {"is -2", "-1"}},
    {"window_right_below_minus_1", [](auto& d) { d.windowRight = -7; }, "window_right", {"is -7", "-1"}},
    {"softcap_negative", [](auto& d) { d.softcap = -1; }, "softcap", {"is -1", "finite and > 0"}},
    {"softcap_nan", [](auto& d) { d.softcap = kNan; }, "softcap", {"nan"}},
    {"softcap_infinite", [](auto& d) { d.softcap = kInfinity; }, "softcap", {"inf", "finite and > 0"}},
    {"alibi_slopes_of_another_dtype",
     [](auto& d) { d.alibiSlopes = tensorDesc(SACCADE_DTYPE_F16, {1, 1, 1, 6}); },
     "alibi_slopes.dtype",
     {"f16", "f32"}},
    {"alibi_slopes_of_too_few_heads",
     [](auto& d) { d.alibiSlopes = tensorDesc(SACCADE_DTYPE_F32, {1, 1, 1, 3}); },
     "alibi_slopes.sizes",
     {"[1, 1, 1, 3]", "[1, 1, 1, 6]"}},
    {"alibi_slopes_of_too_many_entries",
     [](auto& d) { d.alibiSlopes = tensorDesc(SACCADE_DTYPE_F32, {1, 1, 3, 6}); },
     "alibi_slopes.sizes",
     {"[1, 1, 3, 6]", "[1, 1, 2, 6]"}},
    {"sink_per_key_value_head",
     [](auto& d) { d.sink = tensorDesc(SACCADE_DTYPE_F32, {1, 1, 1, 3}); },
     "sink.sizes",
     {"[1, 1, 1, 3]", "[1, 1, 1, 6]"}},
    {"sequences_that_are_not_packed", [](auto& d) { d.numSequences = 2; }, "num_sequences", {"is 2", "hasCuSeqlens"}},
    {"packed_batch_of_2",
     [](auto& d) { d = packedDesc(), d.q.sizes[0] = 2; },
     "q.sizes",
     {"q.sizes[0] is 2", "packed"}},
    {"packed_keys_in_a_batch_of_2",
     [](auto& d) { d = packedDesc(), d.k.sizes[0] = 2; },
     "k.sizes",
     {"[2, 3, 7, 16]", "[1, 3, 7, 16]"}},
    {"packed_with_lengths_of_queries",
     [](auto& d) { d = packedDesc(), d.hasSeqlensQ = VK_TRUE; },
     "seqlens_q",
     {"together with cu_seqlens"}},
    {"packed_with_lengths_of_keys",
     [](auto& d) { d = packedDesc(), d.hasSeqlensK = VK_TRUE; },
     "seqlens_k",
     {"together with cu_seqlens"}},
    {"packed_with_a_mask",
     [](auto& d) { d = packedDesc(), d.mask = tensorDesc(SACCADE_DTYPE_U8, {1, 1, 5, 7}); },
     "mask",
     {"together with cu_seqlens"}},
    {"packed_with_a_bias",
     [](auto& d) { d = packedDesc(), d.bias = tensorDesc(SACCADE_DTYPE_F32, {1, 1, 5, 7}); },
     "bias",
     {"together with cu_seqlens"}},
    {"packed_with_weights",
     [](auto& d) { d = packedDesc(), d.probs.dtype = SACCADE_DTYPE_F32; },
     "probs",
     {"together with cu_seqlens"}},
    {"block_table_of_another_dtype",
     [](auto& d) { d = pagedDesc(), d.blockTable.dtype = SACCADE_DTYPE_U8; },
     "block_table.dtype",
     {"u8", "i32"}},
    {"block_table_of_too_few_entries",
     [](auto& d) { d = pagedDesc(), d.blockTable.sizes[2] = 1; },
     "block_table.sizes",
     {"[1, 1, 1, 5]", "[1, 1, 2, 5]"}},
    {"no_page_at_all",
     [](auto& d) { d = pagedDesc(), d.k.sizes[0] = 0, d.v.sizes[0] = 0; },
     "k.sizes",
     {"k.sizes[0] is 0", "at least one page"}},
    {"pages_of_v_unlike_those_of_k",
     [](auto& d) { d = pagedDesc(), d.v.sizes[2] = 8; },
     "v.sizes",
     {"[9, 3, 8, 24]", "[9, 3, 4, 24]"}},
    {"more_keys_than_can_be_counted",
     [](auto& d) { d = pagedDesc(), d.blockTable.sizes[3] = int64_t{1} << 28; },
     "block_table",
     {"268435456 pages of 4", "1073741823"}},
};
INSTANTIATE_TEST_SUITE_P(OfOptions, AttentionRefusal, testing::ValuesIn(kBadOptions), badInputName);

// A zero size makes a call a no-op, not a way around the checks.
TEST(AttentionRefusal, ComesBeforeZeroSizes) {
  SaccadeAttentionDesc desc = attentionDesc({.batch = 0});
  desc.temperature = -1;
  EXPECT_TRUE(refusalOf([&] { core::validateAttention(desc); }));
}

// What checkHostValues refuses for a description.
std::optional<core::Refusal> hostRefusal(const SaccadeAttentionDesc& desc, const std::function<void(SaccadeAttentionBuffers&)>& fill) {
  SaccadeAttentionBuffers buffers = saccadeAttentionBuffersDefault();
  fill(buffers);
  const core::AttentionProblem problem = core::validateAttention(desc);
  return refusalOf([&] { core::checkHostValues(core::hostValueLimits(problem), buffers); });
}

void expectHostRefusal(const std::optional<core::Refusal>& refusal, const std::string& field, const std::string& text) {
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->field, field);
  EXPECT_PRED_FORMAT2(testing::IsSubstring, text, refusal->text);
}

SaccadeAttentionDesc paddedDesc() {
  SaccadeAttentionDesc desc = attentionDesc();
  desc.hasSeqlensQ = desc.hasSeqlensK = VK_TRUE;
  return desc;
}

TEST(HostLengths, WithinTheTensorAreAccepted) {
  const int32_t lengths[] = {0, 7};
  EXPECT_FALSE(hostRefusal(paddedDesc(), [&](auto& b) { b.hostSeqlensK = lengths; }));
}

TEST(HostLengths, ThatAreNotGivenAreNotChecked) {
  EXPECT_FALSE(hostRefusal(paddedDesc(), [](auto&) {}));
}

TEST(HostLengths, ThatThePlanDoesNotUseAreNotChecked) {
  const int32_t lengths[] = {-1, 99};
  EXPECT_FALSE(hostRefusal(attentionDesc(), [&](auto& b) { b.hostSeqlensQ = b.hostSeqlensK = lengths; }));
}

TEST(HostLengths, LongerThanTheTensorAreNamedWithTheirBatchEntry) {
  const int32_t lengths[] = {7, 8};
  expectHostRefusal(hostRefusal(paddedDesc(), [&](auto& b) { b.hostSeqlensK = lengths; }), "seqlens_k",
                    "seqlens_k[1] is 8; it must be between 0 and seqlen_k, which is 7");
}

TEST(HostLengths, BelowZeroAreNamedWithTheirBatchEntry) {
  const int32_t lengths[] = {-1, 0};
  expectHostRefusal(hostRefusal(paddedDesc(), [&](auto& b) { b.hostSeqlensQ = lengths; }), "seqlens_q", "seqlens_q[0] is -1");
}

TEST(HostOffsets, ThatRiseFromZeroToTheTokensAreAccepted) {
  const int32_t q[] = {0, 0, 5}, k[] = {0, 3, 6};
  EXPECT_FALSE(hostRefusal(packedDesc(), [&](auto& b) { b.hostCuSeqlensQ = q, b.hostCuSeqlensK = k; }));
}

TEST(HostOffsets, ThatDoNotStartAtZeroAreRefused) {
  const int32_t offsets[] = {1, 3, 5};
  expectHostRefusal(hostRefusal(packedDesc(), [&](auto& b) { b.hostCuSeqlensQ = offsets; }), "cu_seqlens_q",
                    "cu_seqlens_q[0] is 1; it must be 0");
}

TEST(HostOffsets, ThatDecreaseAreRefused) {
  const int32_t offsets[] = {0, 4, 3};
  expectHostRefusal(hostRefusal(packedDesc(), [&](auto& b) { b.hostCuSeqlensK = offsets; }), "cu_seqlens_k",
                    "cu_seqlens_k[2] is 3, less than the 4 before it");
}

TEST(HostOffsets, PastTheLastTokenAreRefused) {
  const int32_t offsets[] = {0, 4, 8};
  expectHostRefusal(hostRefusal(packedDesc(), [&](auto& b) { b.hostCuSeqlensK = offsets; }), "cu_seqlens_k",
                    "cu_seqlens_k[2] is 8, but k has only 7 tokens");
}

TEST(HostOffsets, OfPagedKeysLimitEachSequenceAndNotTheirSum) {
  SaccadeAttentionDesc desc = pagedDesc();
  desc.q.sizes[0] = 1;
  desc.hasCuSeqlens = VK_TRUE;
  desc.numSequences = 2;
  const int32_t longSum[] = {0, 20, 40}, longSequence[] = {0, 2, 23};
  EXPECT_FALSE(hostRefusal(desc, [&](auto& b) { b.hostCuSeqlensK = longSum; }));
  expectHostRefusal(hostRefusal(desc, [&](auto& b) { b.hostCuSeqlensK = longSequence; }), "cu_seqlens_k",
                    "cu_seqlens_k[2] - cu_seqlens_k[1] is 21 keys, but 5 pages of 4 hold only 20");
}

TEST(HostBlockTable, IsCheckedUpToTheLengths) {
  SaccadeAttentionDesc desc = pagedDesc();
  desc.hasSeqlensK = VK_TRUE;
  const int32_t lengths[] = {5, 8};
  const int32_t good[] = {8, 0, 99, -1, 99, 3, 3, 9, 9, 9}, bad[] = {8, 0, 99, -1, 99, 3, 9, 9, 9, 9};
  EXPECT_FALSE(hostRefusal(desc, [&](auto& b) { b.hostBlockTable = good, b.hostSeqlensK = lengths; }));
  expectHostRefusal(hostRefusal(desc, [&](auto& b) { b.hostBlockTable = bad, b.hostSeqlensK = lengths; }), "block_table",
                    "block_table[1][1] is 9; it must be a page from 0 to 8");
}

TEST(HostBlockTable, IsNotCheckedWhereOnlyTheDeviceKnowsTheLengths) {
  SaccadeAttentionDesc desc = pagedDesc();
  desc.hasSeqlensK = VK_TRUE;
  const int32_t table[10] = {99};
  EXPECT_FALSE(hostRefusal(desc, [&](auto& b) { b.hostBlockTable = table; }));
}

TEST(HostBlockTable, IsCheckedWhollyWithoutLengths) {
  const int32_t table[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, -1};
  expectHostRefusal(hostRefusal(pagedDesc(), [&](auto& b) { b.hostBlockTable = table; }), "block_table",
                    "block_table[1][4] is -1");
}

}  // namespace
}  // namespace saccade::test
