// SPDX-License-Identifier: Apache-2.0
// The log-sum-exp, and parts of the keys that are computed apart and merged with it.
#include <cmath>

#include "field_cases.hpp"
#include "io/special_values.hpp"

namespace saccade::conformance {
namespace {

// Keys [begin, end) of a call, and the same part of its bias.
AttentionCall withKeys(const AttentionCall& call, std::int64_t begin, std::int64_t end) {
  AttentionCall part = call;
  const auto cut = [&](const io::TensorData& tensor, int axis) {
    const io::Shape& full = tensor.shape();
    io::Shape shape = full;
    shape[static_cast<std::size_t>(axis)] = end - begin;
    const std::vector<float> values = tensor.toFloats();
    return tensorOf(tensor.dtype(), shape, [&](auto b, auto h, auto t, auto d) {
      if (axis == 2) t += begin;
      else d += begin;
      return values[static_cast<std::size_t>(((b * full[1] + h) * full[2] + t) * full[3] + d)];
    });
  };
  part.values.seqlenK = end - begin;
  part.values.k = cut(call.values.k, 2);
  part.values.v = cut(call.values.v, 2);
  if (call.values.bias) part.values.bias = cut(*call.values.bias, 3);
  return part;
}

// What the two parts of the keys give together. An empty part changes nothing.
AttentionResults merged(const AttentionResults& a, const AttentionResults& b) {
  std::vector<double> out(a.out.elementCount()), lse(a.lse.elementCount());
  const std::size_t width = out.size() / lse.size();
  for (std::size_t row = 0; row < lse.size(); ++row) {
    const double x = a.lse.at(row), y = b.lse.at(row), largest = std::max(x, y);
    lse[row] =
        largest == -kInfinity ? largest : largest + std::log(std::exp(x - largest) + std::exp(y - largest));
    for (std::size_t d = row * width; d < (row + 1) * width; ++d)
      out[d] = largest == -kInfinity
                   ? 0
                   : a.out.at(d) * std::exp(x - lse[row]) + b.out.at(d) * std::exp(y - lse[row]);
  }
  return {io::TensorData::fromDoubles(a.out.dtype(), a.out.shape(), out),
          io::TensorData::fromDoubles(kF32, a.lse.shape(), lse),
          {}};
}

void partsMerge(const Device& device, const AttentionCall& call, std::int64_t split) {
  const AttentionResults whole = execute(device, call);
  expectRight(call, whole);
  expectRight(call,
              merged(execute(device, withKeys(call, 0, split)),
                     execute(device, withKeys(call, split, call.values.seqlenK))),
              "merged at key " + std::to_string(split));
}

// Row 1 sees nothing in either part.
void emptyRowsMerge(const Device& device, const Variant& variant) {
  AttentionCall call = randomCall({.seqlenQ = 3, .seqlenK = 8}, variant);
  call.values.bias = tensorOf(kF32, {1, 1, 3, 8}, [](auto, auto, auto i, auto j) {
    return i == 1 || (i == 2 && j < 3) ? static_cast<float>(-kInfinity) : 0.0f;
  });
  partsMerge(device, call, 3);
}

void theLseIsThatOfScaledScores(const Device& device, const Variant& variant) {
  const AttentionCall call = randomCall({.seqlenQ = 3, .seqlenK = 3}, variant);
  const AttentionResults results = execute(device, call);
  expectRight(call, results);
  for (std::size_t i = 0; i < 3; ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      double dot = 0;
      for (std::size_t d = 0; d < 16; ++d) dot += call.values.q.at(i * 16 + d) * call.values.k.at(j * 16 + d);
      sum += std::exp(dot / 4);
    }
    EXPECT_NEAR(results.lse.at(i), std::log(sum), 1e-5) << "row " << i;
  }
}

// The lse goes where its strides say: rows before heads.
void theLseIsStrided(const Device& device, const Variant& variant) {
  const AttentionCall call =
      randomCall({.batch = 2, .headsQ = 5, .headsKv = 5, .seqlenQ = 3, .seqlenK = 40}, variant);
  const AttentionResults expected = execute(device, call);
  PreparedCall prepared = prepare(device, call);
  const Tensor memory = Tensor::empty(device, Dtype::F32, {2, 3, 7}, {.guard = true});
  prepared.options.lse = memory.slice(2, 1, 6).transpose(1, 2);
  prepared.tensors.watch("lse", memory, {prepared.options.lse});
  expectSameBits(execute(device, prepared), expected, "lse with strides");
  partsMerge(device, call, 17);
}

}  // namespace

void registerLseCases(const Device& device) {
  fieldCase(device, {209}, "rows_that_are_empty_in_both_parts", {kF32}, emptyRowsMerge);
  fieldCase(device, {211}, "parts_of_3_and_5_keys_merge", {kF32},
            [](const Device& d, const Variant& variant) {
              const AttentionCall call =
                  randomCall({.headsQ = 2, .headsKv = 2, .seqlenQ = 5, .seqlenK = 8}, variant);
              for (const std::int64_t split : {0, 3, 8}) partsMerge(d, call, split);
            });
  fieldCase(device, {212}, "lse_is_that_of_scaled_scores", {kF32}, theLseIsThatOfScaledScores);
  fieldCase(device, {214}, "lse_of_one_row_past_a_tile", {kF16}, [](const Device& d, const Variant& variant) {
    checkCall(d, randomCall({.headsQ = 8, .headsKv = 1, .seqlenQ = 65, .seqlenK = 65}, variant));
  });
  fieldCase(device, {215}, "lse_lies_where_its_strides_say", {kF32}, theLseIsStrided);
}

}  // namespace saccade::conformance
