// SPDX-License-Identifier: Apache-2.0
// Keys and values of 8 bits with scales: every code, every shape of the scales, and what scales that are NaN may do.
#include <cmath>
#include <optional>
#include <set>

#include "attention_call.hpp"
#include "io/special_values.hpp"

namespace saccade::conformance {
namespace {

// By the definition of the formats, not by the library's conversion.
float valueOf(io::DType stored, int code) {
  if (stored == io::DType::I8) return static_cast<float>(code < 128 ? code : code - 256);
  const int exponent = (code >> 3) & 15, mantissa = code & 7;
  if (exponent == 15 && mantissa == 7) return kNan;
  const double magnitude = exponent == 0 ? std::ldexp(mantissa, -9) : std::ldexp(8 + mantissa, exponent - 10);
  return static_cast<float>((code & 0x80) != 0 ? -magnitude : magnitude);
}

// Codes 64 b .. 64 b + 63 in the one key of batch entry b; as keys, NaN is replaced by 0.
io::TensorData allCodes(io::DType stored, bool keys) {
  std::vector<std::byte> codes;
  for (int code = 0; code < 256; ++code) codes.push_back(static_cast<std::byte>(keys && std::isnan(valueOf(stored, code)) ? 0 : code));
  return {stored, {4, 1, 1, 64}, std::move(codes)};
}

// One key per batch entry: out is its value. Row i of q has a single 1, in channel i: the score is that channel of the key.
void everyCode(const Device& device, const Variant& variant, io::DType stored) {
  AttentionCall call = randomCall({.batch = 4, .seqlenQ = 64, .seqlenK = 1, .headDimQk = 64, .headDimV = 64}, variant);
  call.values.q = tensorOf(variant.dtype, {4, 1, 64, 64}, [](auto, auto, auto i, auto c) { return i == c ? 1.0f : 0.0f; });
  call.values.k = allCodes(stored, true);
  call.values.v = allCodes(stored, false);
  call.values.softmaxScale = 1.0;
  const AttentionResults results = execute(device, call);
  for (int code = 0; code < 256; ++code) {
    const float value = valueOf(stored, code);
    const auto first = static_cast<std::size_t>(code / 64 * 64);
    for (std::size_t row = first; row < first + 64; ++row) {
      const auto out = static_cast<float>(results.out.at(row * 64 + static_cast<std::size_t>(code % 64)));
      ASSERT_TRUE(std::isnan(value) ? std::isnan(out) : out == value) << "code " << code << " as a value is " << out;
    }
    const auto lse = static_cast<float>(results.lse.at(static_cast<std::size_t>(code)));
    ASSERT_EQ(lse, std::isnan(value) ? 0 : value) << "code " << code << " in a key";
  }
}

struct Scaling {
  const char* name;
  io::DType stored;
  AttentionSizes sizes;
  io::Shape kScale, vScale;  // empty: absent
  std::int64_t scaleBlock = 0;
  std::int64_t pageSize = 0;
  std::function<void(AttentionCall&)> change = [](AttentionCall&) {};
  bool everyDtype = false;  // else f16 alone
};

const AttentionSizes kUsual{.batch = 2, .headsQ = 4, .headsKv = 2, .seqlenQ = 21, .seqlenK = 45, .headDimQk = 16, .headDimV = 24};
const AttentionSizes kOdd{.batch = 2, .headsQ = 4, .headsKv = 2, .seqlenQ = 9, .seqlenK = 45, .headDimQk = 19, .headDimV = 7};
const AttentionSizes kDecode{.batch = 1, .headsQ = 8, .headsKv = 2, .seqlenQ = 1, .seqlenK = 1100, .headDimQk = 16, .headDimV = 16};
const AttentionSizes kPages{.batch = 2, .headsQ = 4, .headsKv = 2, .seqlenQ = 5, .seqlenK = 48, .headDimQk = 16, .headDimV = 16};

void maskCausally(AttentionCall& call) {
  call.values.causal = io::Causal::BottomRight;
  call.values.mask = randomMask({2, 1, 21, 45}, 31);
  call.probs = true;
}

const Scaling kScalings[] = {
    {.name = "f8_without_scales", .stored = io::DType::F8_E4M3, .sizes = kUsual, .kScale = {}, .vScale = {}, .everyDtype = true},
    {.name = "i8_without_scales", .stored = io::DType::I8, .sizes = kUsual, .kScale = {}, .vScale = {}, .everyDtype = true},
    {.name = "f8_per_head", .stored = io::DType::F8_E4M3, .sizes = kUsual, .kScale = {1, 2, 1, 1}, .vScale = {1, 2, 1, 1}, .everyDtype = true},
    {.name = "i8_per_block", .stored = io::DType::I8, .sizes = kUsual, .kScale = {2, 2, 3, 1}, .vScale = {2, 2, 3, 1}, .scaleBlock = 16,
     .change = maskCausally, .everyDtype = true},
    {.name = "f8_per_token", .stored = io::DType::F8_E4M3, .sizes = kUsual, .kScale = {2, 2, 45, 1}, .vScale = {1, 1, 45, 1}, .scaleBlock = 1},
    {.name = "i8_keys_alone", .stored = io::DType::I8, .sizes = kUsual, .kScale = {2, 1, 1, 1}, .vScale = {}},
    {.name = "f8_values_alone", .stored = io::DType::F8_E4M3, .sizes = kUsual, .kScale = {}, .vScale = {1, 1, 1, 1}},
    {.name = "i8_blocks_of_keys_and_one_of_values", .stored = io::DType::I8, .sizes = kUsual, .kScale = {1, 2, 12, 1}, .vScale = {1, 2, 1, 1},
     .scaleBlock = 4},
    {.name = "i8_odd_head_dims", .stored = io::DType::I8, .sizes = kOdd, .kScale = {2, 2, 3, 1}, .vScale = {2, 2, 3, 1}, .scaleBlock = 16,
     .change = [](AttentionCall& call) { call.probs = true; }, .everyDtype = true},
    {.name = "f8_odd_head_dims", .stored = io::DType::F8_E4M3, .sizes = kOdd, .kScale = {1, 2, 1, 1}, .vScale = {1, 2, 1, 1}},
    {.name = "f8_padded_rows", .stored = io::DType::F8_E4M3, .sizes = kUsual, .kScale = {1, 2, 1, 1}, .vScale = {1, 2, 1, 1},
     .change = [](AttentionCall& call) { call.layout = check::Layout::PaddedRows; }},
    {.name = "i8_tokens_first", .stored = io::DType::I8, .sizes = kUsual, .kScale = {2, 2, 3, 1}, .vScale = {2, 2, 3, 1}, .scaleBlock = 16,
     .change = [](AttentionCall& call) { call.layout = check::Layout::TokensFirst; }},
    {.name = "i8_decode", .stored = io::DType::I8, .sizes = kDecode, .kScale = {1, 2, 18, 1}, .vScale = {1, 2, 18, 1}, .scaleBlock = 64},
    {.name = "f8_decode", .stored = io::DType::F8_E4M3, .sizes = kDecode, .kScale = {1, 2, 1, 1}, .vScale = {1, 2, 1, 1}},
    {.name = "i8_pages", .stored = io::DType::I8, .sizes = kPages, .kScale = {2, 2, 12, 1}, .vScale = {2, 2, 12, 1}, .scaleBlock = 4,
     .pageSize = 16, .change = [](AttentionCall& call) { call.values.seqlensK = {41, 16}; }},
    {.name = "f8_pages_per_head", .stored = io::DType::F8_E4M3, .sizes = kPages, .kScale = {1, 2, 1, 1}, .vScale = {1, 1, 1, 1}, .pageSize = 16},
    {.name = "f8_packed", .stored = io::DType::F8_E4M3,
     .sizes = {.batch = 1, .headsQ = 4, .headsKv = 2, .seqlenQ = 20, .seqlenK = 45, .headDimQk = 16, .headDimV = 16},
     .kScale = {1, 2, 3, 1}, .vScale = {1, 2, 3, 1}, .scaleBlock = 16,  // of the packed tokens: a block may hold two sequences
     .change = [](AttentionCall& call) { packSequences(call, {0, 7, 7, 19}, {0, 11, 30, 45}); }},
    {.name = "i8_packed_pages", .stored = io::DType::I8,
     .sizes = {.batch = 1, .headsQ = 4, .headsKv = 2, .seqlenQ = 20, .seqlenK = 45, .headDimQk = 16, .headDimV = 16},
     .kScale = {1, 2, 45, 1}, .vScale = {1, 2, 1, 1}, .scaleBlock = 1, .pageSize = 16,
     .change = [](AttentionCall& call) { packSequences(call, {0, 7, 7, 19}, {0, 11, 30, 45}); }},
};

float usualScale(io::DType stored) { return stored == io::DType::I8 ? 1.0f / 32 : 1.0f / 16; }

AttentionCall callOf(const Scaling& scaling, const Variant& variant) {
  AttentionCall call = randomCall(scaling.sizes, variant);
  io::AttentionCase& values = call.values;
  const AttentionSizes& s = scaling.sizes;
  values.k = randomStored(scaling.stored, {s.batch, s.headsKv, s.seqlenK, s.headDimQk}, 41, scaling.kScale.empty() ? 1 : usualScale(scaling.stored));
  values.v = randomStored(scaling.stored, {s.batch, s.headsKv, s.seqlenK, s.headDimV}, 42, scaling.vScale.empty() ? 1 : usualScale(scaling.stored));
  values.scaleBlock = scaling.scaleBlock;
  if (!scaling.kScale.empty()) values.kScale = randomScales(scaling.kScale, 43, usualScale(scaling.stored));
  if (!scaling.vScale.empty()) values.vScale = randomScales(scaling.vScale, 44, usualScale(scaling.stored));
  call.pageSize = scaling.pageSize;
  scaling.change(call);
  return call;
}

// scaleBlock 0: each page has a scale of its own, shared by its tokens.
void onePageOneScale(const Device& device, const Variant& variant) {
  AttentionCall call = callOf({.name = "", .stored = io::DType::I8, .sizes = kPages, .kScale = {2, 2, 3, 1}, .vScale = {2, 2, 3, 1},
                               .scaleBlock = 16, .pageSize = 16}, variant);
  PreparedCall prepared = prepare(device, call);
  ASSERT_EQ(prepared.options.kScale.size(2), 1);
  prepared.options.scaleBlock = 0;
  expectRight(call, execute(device, prepared));
}

// A block longer than what is left of a page: its scales are those of the page's own blocks, of which the last is shorter.
void blocksBeginAnewInEveryPage(const Device& device, const Variant& variant) {
  AttentionCall call = callOf({.name = "", .stored = io::DType::F8_E4M3, .sizes = kPages, .kScale = {2, 2, 48, 1}, .vScale = {2, 2, 48, 1},
                               .scaleBlock = 1, .pageSize = 16}, variant);
  // The scalar path has a scale per token; here tokens 0..11 and 12..15 of a page share theirs.
  const auto shared = [](const io::TensorData& scales) {
    return changed(scales, [](std::vector<float>& values) {
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = values[i - i % 16 + i % 16 / 12 * 12];
    });
  };
  call.values.kScale = shared(*call.values.kScale);
  call.values.vScale = shared(*call.values.vScale);
  PreparedCall prepared = prepare(device, call);
  const auto firsts = [&](const Tensor& perToken) {  // [pages, Hkv, 16, 1] to [pages, Hkv, 2, 1]
    return perToken.asStrided({perToken.size(0), 2, 2, 1}, {32, 16, 12, 1});
  };
  prepared.options.kScale = firsts(prepared.options.kScale);
  prepared.options.vScale = firsts(prepared.options.vScale);
  prepared.options.scaleBlock = 12;
  expectRight(call, execute(device, prepared));
}

// Blocks 1 and 2 of head 0 are past the length of entry 0, and hidden from its rows.
void hiddenScalesHaveNoInfluence(const Device& device, const Variant& variant) {
  AttentionCall call = callOf({.name = "", .stored = io::DType::F8_E4M3, .sizes = kUsual, .kScale = {2, 2, 3, 1}, .vScale = {2, 2, 3, 1},
                               .scaleBlock = 16}, variant);
  call.values.seqlensK = {16, 45};
  call.probs = true;
  const AttentionResults before = execute(device, call);
  expectRight(call, before);
  const auto spoil = [](const io::TensorData& scales) {
    return changed(scales, [](std::vector<float>& values) {
      values[1] = kNan;
      values[2] = kInfinity;
      values[4] = -kInfinity;
      values[5] = kNan;
    });
  };
  call.values.kScale = spoil(*call.values.kScale);
  call.values.vScale = spoil(*call.values.vScale);
  expectSameBits(execute(device, call), before, "NaN in scales of hidden keys");
}

// Of the causal rows those that see key 32 or a later one see block 2; its scale is not finite.
void scalesThatAreNotFiniteCountAsNan(const Device& device, const Variant& variant) {
  for (const float bad : {kNan, kInfinity, -kInfinity}) {
    for (const bool ofKeys : {true, false}) {
      AttentionCall call = callOf({.name = "", .stored = io::DType::I8, .sizes = kUsual, .kScale = {2, 2, 3, 1}, .vScale = {2, 2, 3, 1},
                                   .scaleBlock = 16}, variant);
      call.values.causal = io::Causal::BottomRight;
      std::optional<io::TensorData>& scales = ofKeys ? call.values.kScale : call.values.vScale;
      scales = changed(*scales, [&](std::vector<float>& values) { values[2] = bad; });
      const AttentionResults results = execute(device, call);
      expectRight(call, results);
      // Entry 0, query heads 0 and 1; row i sees keys up to i + 24.
      for (std::size_t row = 0; row < 21; ++row) {
        const bool seesBlock = row + 24 >= 32;
        EXPECT_EQ(std::isnan(results.out.at(row * 24)), seesBlock) << "row " << row << ", scale " << bad;
        EXPECT_EQ(std::isnan(results.lse.at(row)), seesBlock && ofKeys) << "row " << row << ", scale " << bad;
      }
    }
  }
}

// A kernel that leaves quantised keys to others says so; the rest is tested.
bool takesQuantised(const Device& device, const std::string& kernel) {
  const TensorDesc q{.dtype = Dtype::F16, .sizes = {1, 1, 1, 16}}, k{.dtype = Dtype::I8, .sizes = {1, 1, 1, 16}};
  try {
    device.plan(AttentionDesc{.q = q, .k = k, .v = k, .kernel = kernel});
    return true;
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::Unsupported) << error.what();
    EXPECT_EQ(error.field(), "kernel") << error.what();
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "quantised", error.what());
    return false;
  }
}

void someKernelsTakeQuantisedKeys(const Device& device) {
  std::set<std::string> taking;
  for (const std::string& kernel : kernelChoices(device, SACCADE_OPERATOR_ATTENTION)) {
    if (takesQuantised(device, kernel)) taking.insert(kernel);
  }
  for (const char* kernel : {"scalar_rows", "flash_decode", "split_kv", "widened_rows"}) EXPECT_TRUE(taking.contains(kernel)) << kernel;
}

}  // namespace

void registerQuantisedTests(const Device& device) {
  registerTest("attention_quantised", "some_kernels_take_quantised_keys", [=] { someKernelsTakeQuantisedKeys(device); });
  for (const Variant& variant : attentionVariants(device)) {
    const auto add = [&](const std::string& name, std::int64_t headDim, const std::function<void()>& body) {
      registerTest("attention_quantised", testName(name, variant, headDim), [=] {
        if (takesQuantised(device, variant.kernel)) body();
      });
    };
    add("every_f8_code", 64, [=] { everyCode(device, variant, io::DType::F8_E4M3); });
    add("every_i8_code", 64, [=] { everyCode(device, variant, io::DType::I8); });
    for (const Scaling& scaling : kScalings) {
      if (variant.dtype != io::DType::F16 && !scaling.everyDtype) continue;
      add(scaling.name, scaling.sizes.headDimQk, [=] { checkCall(device, callOf(scaling, variant)); });
    }
    if (variant.dtype != io::DType::F32) continue;
    add("one_page_one_scale", 16, [=] { onePageOneScale(device, variant); });
    add("blocks_begin_anew_in_every_page", 16, [=] { blocksBeginAnewInEveryPage(device, variant); });
    add("hidden_scales_have_no_influence", 16, [=] { hiddenScalesHaveNoInfluence(device, variant); });
    add("scales_that_are_not_finite_count_as_nan", 16, [=] { scalesThatAreNotFiniteCountAsNan(device, variant); });
  }
}

}  // namespace saccade::conformance
