// SPDX-License-Identifier: Apache-2.0
// Options in combination, with the weights and the log-sum-exp: they compose by intersection, and none is
// dropped.
#include <optional>

#include "attention_call.hpp"
#include "io/special_values.hpp"

namespace saccade::conformance {
namespace {

struct Combination {
  const char* name;
  io::Causal causal = io::Causal::None;
  io::Shape mask;  // empty: none
  io::Shape bias;
  io::DType biasType = io::DType::F32;
  bool seqlensQ = false, seqlensK = false;
  std::optional<double> softmaxScale = std::nullopt;
  double temperature = 1;
  bool lse = true;
  bool everyDtype = false;  // else f32 alone: the option has nothing to do with how elements are stored
};

const Combination kCombinations[] = {
    {.name = "no_option_and_no_lse", .lse = false, .everyDtype = true},
    {.name = "scale_and_temperature", .softmaxScale = -0.7, .temperature = 1.7},
    {.name = "scale_of_zero", .softmaxScale = 0.0},
    {.name = "causal_and_mask",
     .causal = io::Causal::BottomRight,
     .mask = {2, 4, 37, 45},
     .everyDtype = true},
    {.name = "mask_for_the_batch", .mask = {1, 1, 37, 45}},
    {.name = "mask_per_batch_entry", .mask = {2, 1, 37, 45}},
    {.name = "mask_per_head", .mask = {1, 4, 37, 45}},
    {.name = "mask_of_one_row", .mask = {1, 1, 1, 45}},
    {.name = "mask_of_one_column", .mask = {2, 1, 37, 1}},
    {.name = "bias_f32_for_the_batch", .bias = {1, 1, 37, 45}, .everyDtype = true},
    {.name = "bias_f16_per_head", .bias = {1, 4, 37, 45}, .biasType = io::DType::F16, .everyDtype = true},
    {.name = "bias_bf16_of_one_row", .bias = {2, 1, 1, 45}, .biasType = io::DType::BF16, .everyDtype = true},
    {.name = "causal_and_lengths_of_keys", .causal = io::Causal::BottomRight, .seqlensK = true},
    {.name = "causal_and_lengths_of_queries", .causal = io::Causal::BottomRight, .seqlensQ = true},
    {.name = "top_left_and_lengths", .causal = io::Causal::TopLeft, .seqlensQ = true, .seqlensK = true},
    {.name = "everything",
     .causal = io::Causal::BottomRight,
     .mask = {2, 1, 37, 45},
     .bias = {1, 4, 37, 45},
     .seqlensQ = true,
     .seqlensK = true,
     .softmaxScale = 0.5,
     .temperature = 0.8,
     .everyDtype = true},
};

AttentionCall callOf(const Combination& combination, const Variant& variant) {
  AttentionCall call =
      randomCall({.batch = 2, .headsQ = 4, .headsKv = 2, .seqlenQ = 37, .seqlenK = 45}, variant);
  io::AttentionCase& values = call.values;
  values.causal = combination.causal;
  if (!combination.mask.empty()) values.mask = randomMask(combination.mask, 21);
  if (!combination.bias.empty()) {
    // Ordinary biases, some that hide and some that nearly do.
    values.bias =
        changed(randomTensor(combination.biasType, combination.bias, 22), [&](std::vector<float>& bias) {
          for (std::size_t i = 0; i < bias.size(); i += 5) bias[i] = -kInfinity;
          for (std::size_t i = 1; i < bias.size(); i += 7) bias[i] = -1e4f;
        });
  }
  if (combination.seqlensQ) values.seqlensQ = {37, 18};
  if (combination.seqlensK) values.seqlensK = {29, 45};
  values.softmaxScale = combination.softmaxScale;
  values.temperature = combination.temperature;
  call.lse = combination.lse;
  call.probs = combination.lse;
  return call;
}

}  // namespace

void registerOptionTests(const Device& device) {
  for (const Variant& variant : attentionVariants(device)) {
    for (const Combination& combination : kCombinations) {
      if (variant.dtype != io::DType::F32 && !combination.everyDtype) continue;
      registerTest("attention_options", testName(combination.name, variant, kHeadDim),
                   [=] { checkCall(device, callOf(combination, variant)); });
    }
  }
}

}  // namespace saccade::conformance
