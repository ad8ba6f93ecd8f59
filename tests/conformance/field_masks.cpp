// SPDX-License-Identifier: Apache-2.0
// Which mask element belongs to which pair, in every form of broadcast; and finite biases that mean to hide.

#include "field_cases.hpp"
#include "io/special_values.hpp"

namespace saccade::conformance {
namespace {

void theMaskArrives(const Device& device, const Variant& variant) {
  AttentionCall call = randomCall({.seqlenQ = 4, .seqlenK = 4}, variant);
  const AttentionResults unmasked = execute(device, call);
  call.values.mask = tensorOf(io::DType::U8, {1, 1, 4, 4}, [](auto, auto, auto, auto j) { return j != 3; });
  const AttentionResults masked = execute(device, call);
  expectRight(call, masked);
  EXPECT_FALSE(sameBits(masked.out, unmasked.out)) << "the mask changed nothing";
  call.values.v = withRows(call.values.v, -1, 3, 4, kNan);
  expectSameBits(execute(device, call), masked, "NaN in the hidden value");
}

void aBiasPerEntry(const Device& device, const Variant& variant) {
  AttentionCall call =
      randomCall({.batch = 2, .headsQ = 4, .headsKv = 4, .seqlenQ = 8, .seqlenK = 8}, variant);
  call.values.bias = tensorOf(variant.dtype, {2, 1, 8, 8}, [](auto b, auto, auto i, auto j) {
    return b == 0 && i >= 4 && j < 4 ? -kInfinity : 0.0f;
  });
  checkCall(device, call);
}

// Three blocks of tokens that see only themselves; rows between the second and the third see nothing.
void aBlockDiagonalMask(const Device& device, const Variant& variant) {
  AttentionCall call = randomCall({.headsQ = 2, .headsKv = 2, .seqlenQ = 600, .seqlenK = 600}, variant);
  const auto blockOf = [](std::int64_t token) {
    return token < 128 ? 0 : token < 256 ? 1 : token < 384 ? 2 : token < 543 ? -1 : 3;
  };
  call.values.mask = tensorOf(io::DType::U8, {1, 1, 600, 600}, [&](auto, auto, auto i, auto j) {
    return blockOf(i) >= 0 && blockOf(i) == blockOf(j);
  });
  const AttentionResults results = execute(device, call);
  expectRight(call, results);
  // The third block alone.
  AttentionCall alone = randomCall({.headsQ = 2, .headsKv = 2, .seqlenQ = 128, .seqlenK = 128}, variant);
  const auto cut = [](const io::TensorData& tensor) {
    const std::vector<float> values = tensor.toFloats();
    return tensorOf(tensor.dtype(), {1, 2, 128, 16}, [&](auto, auto h, auto t, auto d) {
      return values[static_cast<std::size_t>((h * 600 + 256 + t) * 16 + d)];
    });
  };
  alone.values.q = cut(call.values.q);
  alone.values.k = cut(call.values.k);
  alone.values.v = cut(call.values.v);
  expectRight(alone, {cut(results.out), execute(device, alone).lse, {}}, "the third block alone");
}

// `mask` per broadcast: random, of the given shape.
void aMaskOf(const Device& device, const Variant& variant, const AttentionSizes& sizes,
             const io::Shape& shape) {
  AttentionCall call = randomCall(sizes, variant);
  call.values.mask = randomMask(shape, 9);
  checkCall(device, call, "mask " + io::shapeText(shape));
}

void aBiasOf(const Device& device, const Variant& variant, const AttentionSizes& sizes,
             const io::Shape& shape) {
  AttentionCall call = randomCall(sizes, variant);
  call.values.bias = randomTensor(variant.dtype, shape, 9);
  checkCall(device, call, "bias " + io::shapeText(shape));
}

void lengthsHideKeys(const Device& device, const Variant& variant) {
  AttentionCall call =
      randomCall({.batch = 8, .headsQ = 4, .headsKv = 4, .seqlenQ = 128, .seqlenK = 128}, variant);
  const std::vector<std::int32_t> lengths{24, 125, 53, 28, 77, 96, 13, 114};
  call.values.seqlensK = lengths;
  const AttentionResults results = execute(device, call);
  expectRight(call, results);
  AttentionCall padded = call;
  for (std::size_t b = 0; b < lengths.size(); ++b) {
    for (io::TensorData* tensor : {&padded.values.k, &padded.values.v})
      *tensor = withRows(*tensor, static_cast<std::int64_t>(b), lengths[b], 128, kNan);
  }
  expectSameBits(execute(device, padded), results, "NaN past the lengths");
}

// Padding as a bias of -10000 under a causal mask. Row 0 sees one key, whose bias is the same for all it
// sees: weight 1.
void paddingByMinus10000(const Device& device, const Variant& variant) {
  const bool visible[] = {false, true, true, false, false, true, false};
  AttentionCall call = randomCall(
      {.headsQ = 13, .headsKv = 13, .seqlenQ = 7, .seqlenK = 7, .headDimQk = 37, .headDimV = 37}, variant);
  call.values.causal = io::Causal::BottomRight;
  call.values.bias = tensorOf(variant.dtype, {1, 1, 1, 7},
                              [&](auto, auto, auto, auto j) { return visible[j] ? 0.0f : -1e4f; });
  call.probs = true;
  const AttentionResults results = execute(device, call);
  expectRight(call, results);
  for (std::size_t row = 0; row < 13 * 7; ++row) {
    for (std::size_t j = 0; j < 7; ++j) {
      const double weight = results.probs.at(row * 7 + j);
      if (row % 7 == 0) {
        EXPECT_EQ(weight, j == 0 ? 1 : 0) << "row 0 key " << j;
      } else if (!visible[j]) {
        EXPECT_EQ(weight, 0) << "row " << row % 7 << " key " << j;
      }
    }
  }
}

// Equal scores of -20 and a bias of the lowest half on every key: the bias cancels.
void theLowestHalfOnEveryKey(const Device& device, const Variant& variant) {
  AttentionCall call = randomCall({.seqlenQ = 3, .seqlenK = 9}, variant);
  call.values.q = constantTensor(variant.dtype, call.values.q.shape(), 5);
  call.values.k = constantTensor(variant.dtype, call.values.k.shape(), -1);
  call.values.bias = tensorOf(variant.dtype, {1, 1, 3, 9},
                              [](auto, auto, auto i, auto) { return i == 0 ? -65504.0f : 0.0f; });
  const AttentionResults results = execute(device, call);
  expectRight(call, results);
  for (std::size_t d = 0; d < 16; ++d)
    EXPECT_EQ(results.out.at(d), results.out.at(16 + d)) << "channel " << d;
}

// Two planes of the lowest value: as one bias they would add up to -inf; given as a mask and a bias they do
// not.
void twoPlanesOfTheLowestValue(const Device& device, const Variant& variant) {
  AttentionCall call = randomCall({.seqlenQ = 4, .seqlenK = 8}, variant);
  call.values.v =
      tensorOf(variant.dtype, {1, 1, 8, 16}, [](auto, auto, auto j, auto) { return static_cast<float>(j); });
  call.values.bias = constantTensor(variant.dtype, {1, 1, 4, 8}, -3.3895314e38f);
  call.values.mask = tensorOf(io::DType::U8, {1, 1, 1, 8}, [](auto, auto, auto, auto j) { return j < 4; });
  for (const double value : execute(device, call).out.toDoubles())
    ASSERT_EQ(value, 1.5) << "not the mean of the visible values";
}

// A bias meant to hide keys, wider than the storage type.
void aBiasThatMeansToHide(const Device& device, const Variant& variant, float bias) {
  for (const io::DType dtype : {kF32, variant.dtype}) {
    AttentionCall call = randomCall({.seqlenQ = 8, .seqlenK = 8}, variant);
    call.values.bias =
        tensorOf(dtype, {1, 1, 8, 8}, [&](auto, auto, auto i, auto j) { return j > i ? bias : 0.0f; });
    const AttentionResults results = execute(device, call);
    expectRight(call, results, shortName(dtype));
    AttentionCall causal = call;
    causal.values.bias.reset();
    causal.values.causal = io::Causal::BottomRight;
    expectRight(causal, results, "as a causal mask");
  }
}

}  // namespace

void registerMaskCases(const Device& device) {
  fieldCase(device, {50}, "a_mask_arrives_and_hides", {kF32}, theMaskArrives);
  fieldCase(device, {52}, "a_bias_per_entry_for_all_heads", {kF32}, aBiasPerEntry);
  fieldCase(device, {53}, "a_block_diagonal_mask", {kBf16}, aBlockDiagonalMask);
  fieldCase(device, {55}, "one_mask_for_all_heads", {kF32}, [](const Device& d, const Variant& variant) {
    aMaskOf(d, variant, {.headsQ = 4, .headsKv = 4, .seqlenQ = 5, .seqlenK = 9}, {1, 1, 5, 9});
  });
  fieldCase(device, {56}, "a_bias_per_entry_with_grouped_heads", {kF32},
            [](const Device& d, const Variant& variant) {
              aBiasOf(d, variant, {.batch = 2, .headsQ = 8, .headsKv = 2, .seqlenQ = 4, .seqlenK = 8},
                      {2, 1, 4, 8});
            });
  fieldCase(device, {58}, "a_mask_per_entry_with_40_heads_of_8", {kF16},
            [](const Device& d, const Variant& variant) {
              aMaskOf(d, variant, {.batch = 2, .headsQ = 40, .headsKv = 8, .seqlenQ = 16, .seqlenK = 16},
                      {2, 1, 16, 16});
            });
  fieldCase(device, {59}, "masks_and_biases_broadcast", {kF32}, [](const Device& d, const Variant& variant) {
    const AttentionSizes sizes{.batch = 3, .headsQ = 2, .headsKv = 2, .seqlenQ = 9, .seqlenK = 9};
    for (const io::Shape& shape : {io::Shape{1, 1, 9, 9}, {3, 1, 1, 9}}) {
      aMaskOf(d, variant, sizes, shape);
      aBiasOf(d, variant, sizes, shape);
    }
  });
  fieldCase(device, {61}, "a_mask_for_every_entry_and_head", {kF32},
            [](const Device& d, const Variant& variant) {
              aMaskOf(d, variant, {.batch = 2, .headsQ = 4, .headsKv = 2, .seqlenQ = 5, .seqlenK = 7},
                      {2, 4, 5, 7});
            });
  fieldCase(device, {62}, "one_mask_row_for_4096_queries", {kF16},
            [](const Device& d, const Variant& variant) {
              aMaskOf(d, variant, {.seqlenQ = 4096, .seqlenK = 77}, {1, 1, 1, 77});
            });
  fieldCase(device, {64}, "key_lengths_per_entry", {kBf16}, lengthsHideKeys);
  fieldCase(device, {65}, "one_bias_for_all_entries_and_heads", {kF16},
            [](const Device& d, const Variant& variant) {
              aBiasOf(d, variant, {.batch = 2, .headsQ = 8, .headsKv = 8, .seqlenQ = 9, .seqlenK = 9},
                      {1, 1, 9, 9});
            });
  fieldCase(device, {67}, "padding_by_minus_10000_and_causal", {kF32}, paddingByMinus10000);
  fieldCase(device, {68}, "the_lowest_half_on_every_key", {kF16}, theLowestHalfOnEveryKey);
  fieldCase(device, {70}, "two_planes_of_the_lowest_value", {kBf16}, twoPlanesOfTheLowestValue);
  fieldCase(device, {71}, "a_bias_of_minus_1e10", {kF16},
            [](const Device& d, const Variant& variant) { aBiasThatMeansToHide(d, variant, -1e10f); });
  fieldCase(device, {73}, "a_bias_of_minus_1e9", {kF16},
            [](const Device& d, const Variant& variant) { aBiasThatMeansToHide(d, variant, -1e9f); });
}

}  // namespace saccade::conformance
