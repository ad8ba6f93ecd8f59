// SPDX-License-Identifier: Apache-2.0
// Where elements lie changes nothing: transposed, padded, cut from a cache, expanded, interleaved.
#include <algorithm>

#include "check/dtype.hpp"
#include "field_cases.hpp"

namespace saccade::conformance {
namespace {

using check::Layout;

// Tokens before heads in memory gives the bits of the contiguous run.
void tokensFirstEqualsContiguous(const Device& device, AttentionCall call) {
  const AttentionResults expected = execute(device, call);
  expectRight(call, expected);
  call.layout = Layout::TokensFirst;
  expectSameBits(execute(device, call), expected, "tokens before heads");
}

void aLastAxisThatIsNotContiguous(const Device& device, const Variant& variant) {
  const AttentionCall call = randomCall({.seqlenQ = 4, .seqlenK = 8}, variant);
  PreparedCall prepared = prepare(device, call);
  const Tensor memory = Tensor::empty(device, check::deviceDtype(variant.dtype), {1, 1, 16, 8});
  prepared.k = memory.transpose(2, 3);
  prepared.k.uploadBytes(call.values.k.bytes());
  try {
    execute(device, prepared);
    ADD_FAILURE() << "keys with a stride between channels were accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.field(), "k.strides") << error.what();
  }
}

void transposedInputsAndAFullMask(const Device& device, const Variant& variant) {
  AttentionCall call =
      randomCall({.batch = 4, .headsQ = 32, .headsKv = 8, .seqlenQ = 7, .seqlenK = 7}, variant);
  call.values.mask = constantTensor(io::DType::U8, {4, 1, 7, 7}, 1);
  tokensFirstEqualsContiguous(device, call);
}

// A mask whose batch and head axes lie the other way round in memory.
void aMaskWithSwappedAxes(const Device& device, const Variant& variant) {
  AttentionCall call =
      randomCall({.batch = 2, .headsQ = 4, .headsKv = 1, .seqlenQ = 3, .seqlenK = 3}, variant);
  call.layout = Layout::TokensFirst;
  call.values.mask = randomMask({2, 1, 3, 3}, 4);
  const AttentionResults expected = execute(device, call);
  expectRight(call, expected);
  PreparedCall prepared = prepare(device, call);
  prepared.options.mask =
      prepared.tensors.input("swapped mask", call.values.mask->reshaped({1, 2, 3, 3})).transpose(0, 1);
  expectSameBits(execute(device, prepared), expected, "mask with swapped axes");
}

// Keys and values are the first ones of a cache of 256 slots; the others hold NaN.
void viewsOfACache(const Device& device, const Variant& variant) {
  for (const std::int64_t batch : {1, 2, 4}) {
    for (const std::int64_t queries : {1, 8}) {
      for (const std::int64_t keys : {8, 9, 64, 79}) {
        for (const io::Causal causal : {io::Causal::None, io::Causal::BottomRight}) {
          AttentionCall call = randomCall(
              {.batch = batch, .headsQ = 2, .headsKv = 1, .seqlenQ = queries, .seqlenK = keys}, variant);
          call.values.causal = causal;
          PreparedCall prepared = prepare(device, call);
          for (const bool isKey : {true, false}) {
            const Tensor cache = Tensor::empty(device, check::deviceDtype(variant.dtype), {batch, 1, 256, 16},
                                               {.guard = true});
            Tensor& view = isKey ? prepared.k : prepared.v;
            view = cache.slice(2, 0, keys);
            view.uploadBytes((isKey ? call.values.k : call.values.v).bytes());
            prepared.tensors.watch("cache", cache, {view});
          }
          expectRight(call, execute(device, prepared), std::to_string(keys) + " keys of a cache");
        }
      }
    }
  }
}

void paddedQueryRows(const Device& device, const Variant& variant) {
  const AttentionCall call =
      randomCall({.batch = 2, .headsQ = 2, .headsKv = 2, .seqlenQ = 17, .seqlenK = 33}, variant);
  const AttentionResults expected = execute(device, call);
  PreparedCall prepared = prepare(device, call);
  prepared.q = prepared.tensors.input("padded q", call.values.q, Layout::PaddedRows);
  expectSameBits(execute(device, prepared), expected, "padded rows of q");
}

// q contiguous, keys and values with tokens before heads.
void inputsOfDifferentLayouts(const Device& device, const Variant& variant) {
  const AttentionCall call = randomCall({.headsQ = 28, .headsKv = 4, .seqlenQ = 32, .seqlenK = 32}, variant);
  const AttentionResults expected = execute(device, call);
  expectRight(call, expected);
  PreparedCall prepared = prepare(device, call);
  prepared.k = prepared.tensors.input("k, tokens first", call.values.k, Layout::TokensFirst);
  prepared.v = prepared.tensors.input("v, tokens first", call.values.v, Layout::TokensFirst);
  expectSameBits(execute(device, prepared), expected, "k and v in another layout than q");
}

// One K and one V for all batch entries, or for all heads, without copies.
void broadcastAgrees(const Device& device, const Variant& variant, bool overBatch) {
  AttentionCall call =
      randomCall({.batch = 4, .headsQ = 8, .headsKv = 8, .seqlenQ = 16, .seqlenK = 33}, variant);
  call.values.bias = randomTensor(variant.dtype, {1, 1, 16, 33}, 13);
  const io::Shape single = overBatch ? io::Shape{1, 8, 33, 16} : io::Shape{4, 1, 33, 16};
  const io::TensorData k = randomTensor(variant.dtype, single, 11),
                       v = randomTensor(variant.dtype, single, 12);
  const auto repeated = [&](const io::TensorData& data) {
    const std::vector<float> values = data.toFloats();
    return tensorOf(data.dtype(), {4, 8, 33, 16}, [&](auto b, auto h, auto t, auto d) {
      return values[static_cast<std::size_t>(((overBatch ? h : b) * 33 + t) * 16 + d)];
    });
  };
  call.values.k = repeated(k);
  call.values.v = repeated(v);
  const AttentionResults expected = execute(device, call);
  expectRight(call, expected);
  PreparedCall prepared = prepare(device, call);
  prepared.k = prepared.tensors.input("one k", k).expand({4, 8, 33, 16});
  prepared.v = prepared.tensors.input("one v", v).expand({4, 8, 33, 16});
  expectSameBits(execute(device, prepared), expected, "broadcast K and V");
}

// A cache [blocks, 2, 16 tokens, Hkv, D] that holds keys and values of a block side by side.
void interleavedPages(const Device& device, const Variant& variant) {
  constexpr std::int64_t kPage = 16, kHeads = 2, kPages = 8, kDim = 16;
  AttentionCall call =
      randomCall({.batch = 2, .headsQ = 4, .headsKv = kHeads, .seqlenQ = 3, .seqlenK = 48}, variant);
  call.values.seqlensK = {37, 48};
  call.pageSize = kPage;
  const AttentionResults expected = execute(device, call);
  expectRight(call, expected);
  PreparedCall prepared = prepare(device, call);
  // The pools of `prepared` are [pages, heads, tokens, channels].
  ASSERT_EQ(prepared.k.shape(), (Shape{kPages, kHeads, kPage, kDim}));
  const Tensor cache = Tensor::empty(device, check::deviceDtype(variant.dtype),
                                     {kPages, 2, kPage, kHeads, kDim}, {.guard = true});
  const auto place = [&](Tensor& pool, std::int64_t index) {
    const Tensor view = cache.select(1, index).transpose(1, 2);
    view.uploadBytes(pool.downloadBytes());
    pool = view;
  };
  place(prepared.k, 0);
  place(prepared.v, 1);
  expectSameBits(execute(device, prepared), expected, "keys and values in one cache");
}

// A mask as a slice of a wider one, and one that is stored transposed.
void maskStridesAgree(const Device& device, const Variant& variant) {
  AttentionCall call =
      randomCall({.batch = 3, .headsQ = 2, .headsKv = 2, .seqlenQ = 17, .seqlenK = 43}, variant);
  call.values.causal = io::Causal::BottomRight;
  call.values.mask = randomMask({3, 1, 17, 43}, 5);
  const AttentionResults expected = execute(device, call);
  expectRight(call, expected);
  for (const Layout layout : {Layout::PaddedRows, Layout::KeysFirst}) {
    PreparedCall prepared = prepare(device, call);
    prepared.options.mask = prepared.tensors.input("strided mask", *call.values.mask, layout);
    expectSameBits(execute(device, prepared), expected, check::layoutName(layout));
  }
}

// The output lies as its caller says, and a call that makes its own output keeps the storage type.
void outputsLieWhereTheCallerSays(const Device& device, const Variant& variant) {
  const AttentionCall call =
      randomCall({.batch = 2, .headsQ = 3, .headsKv = 3, .seqlenQ = 5, .seqlenK = 6}, variant);
  const AttentionResults expected = execute(device, call);
  expectRight(call, expected);
  PreparedCall prepared = prepare(device, call);
  const Tensor memory =
      Tensor::empty(device, check::deviceDtype(variant.dtype), {2, 5, 3, 16}, {.guard = true});
  prepared.out = memory.transpose(1, 2);
  expectSameBits(execute(device, prepared), expected, "tokens before heads");
  EXPECT_EQ(memory.shape(), (Shape{2, 5, 3, 16}));
  EXPECT_TRUE(memory.guardsIntact());
}

void outputsKeepTheStorageType(const Device& device, const Variant& variant) {
  const AttentionCall call =
      randomCall({.batch = 2, .headsQ = 3, .headsKv = 3, .seqlenQ = 5, .seqlenK = 6}, variant);
  PreparedCall prepared = prepare(device, call);
  prepared.options.lse = {};
  const Tensor out = attention(device, prepared.q, prepared.k, prepared.v, prepared.options);
  EXPECT_EQ(out.dtype(), check::deviceDtype(variant.dtype));
  EXPECT_EQ(out.shape(), (Shape{2, 3, 5, 16}));
  EXPECT_TRUE(out.isContiguous());
}

}  // namespace

void registerLayoutCases(const Device& device) {
  fieldCase(device, {95}, "keys_shared_by_the_batch_equal_copies", {kF32, kBf16},
            [](const Device& d, const Variant& variant) { broadcastAgrees(d, variant, true); });
  fieldCase(device, {121}, "three_tokens_in_84_entries_tokens_first", {kF32},
            [](const Device& d, const Variant& variant) {
              tokensFirstEqualsContiguous(
                  d,
                  randomCall({.batch = 84, .headsQ = 3, .headsKv = 3, .seqlenQ = 3, .seqlenK = 3}, variant));
            });
  fieldCase(device, {122}, "channels_that_are_not_contiguous_are_refused", {kF32},
            aLastAxisThatIsNotContiguous);
  fieldCase(device, {124}, "transposed_inputs_and_a_mask_of_ones", {kF32}, transposedInputsAndAFullMask);
  fieldCase(device, {125}, "a_mask_with_swapped_axes", {kF32}, aMaskWithSwappedAxes);
  fieldCase(device, {127}, "views_of_a_cache", {kF16}, viewsOfACache);
  fieldCase(device, {128}, "head_dim_256_tokens_first", {kF16}, [](const Device& d, const Variant& variant) {
    AttentionCall call = randomCall({.batch = 2,
                                     .headsQ = 4,
                                     .headsKv = 4,
                                     .seqlenQ = 33,
                                     .seqlenK = 65,
                                     .headDimQk = 256,
                                     .headDimV = 256},
                                    variant);
    call.values.causal = io::Causal::BottomRight;
    tokensFirstEqualsContiguous(d, call);
  });
  fieldCase(device, {131}, "pages_that_hold_keys_and_values", {kF16}, interleavedPages);
  fieldCase(device, {133}, "queries_with_padded_rows", {kF16}, paddedQueryRows);
  fieldCase(device, {134}, "transposed_half_precision", {kF16}, [](const Device& d, const Variant& variant) {
    for (const std::int64_t tokens : {1, 128})
      tokensFirstEqualsContiguous(
          d, randomCall({.batch = 2, .headsQ = 3, .headsKv = 3, .seqlenQ = tokens, .seqlenK = 128}, variant));
  });
  fieldCase(device, {136}, "queries_and_keys_of_different_layouts", {kBf16}, inputsOfDifferentLayouts);
  fieldCase(device, {137}, "keys_shared_by_the_heads_equal_copies", {kF32, kBf16},
            [](const Device& d, const Variant& variant) { broadcastAgrees(d, variant, false); });
  fieldCase(device, {139}, "masks_of_any_pitch_equal_contiguous", {kF32, kF16, kBf16}, maskStridesAgree);
  fieldCase(device, {241}, "the_output_has_the_type_of_the_input", {kF32, kF16, kBf16},
            outputsKeepTheStorageType);
  fieldCase(device, {244, 245}, "the_output_lies_where_its_strides_say", {kF16},
            outputsLieWhereTheCallerSays);
}

}  // namespace saccade::conformance
