// SPDX-License-Identifier: Apache-2.0
// Strides change where elements lie and nothing else: every layout gives the bits of the contiguous run.
#include "attention_call.hpp"
#include "check/dtype.hpp"

namespace saccade::conformance {
namespace {

constexpr std::int64_t kHeadDim = 20;  // not a multiple of 8, and 40 bytes in half precision

AttentionCall plainCall(const Variant& variant, std::int64_t headsQ, std::int64_t headsKv,
                        std::int64_t seqlenQ, std::int64_t seqlenK) {
  AttentionCall call = randomCall({.batch = 3,
                                   .headsQ = headsQ,
                                   .headsKv = headsKv,
                                   .seqlenQ = seqlenQ,
                                   .seqlenK = seqlenK,
                                   .headDimQk = kHeadDim,
                                   .headDimV = kHeadDim},
                                  variant);
  call.values.causal = io::Causal::BottomRight;
  return call;
}

void layoutsAgree(const Device& device, const Variant& variant) {
  for (const auto& [seqlenQ, seqlenK] : {std::pair{33, 65}, {1, 79}, {8, 9}, {3, 3}}) {
    AttentionCall call = plainCall(variant, 4, 2, seqlenQ, seqlenK);
    const AttentionResults expected = execute(device, call);
    expectRight(call, expected);
    for (const check::Layout layout :
         {check::Layout::TokensFirst, check::Layout::PaddedRows, check::Layout::CacheSlice}) {
      call.layout = layout;
      expectSameBits(execute(device, call), expected, check::layoutName(layout));
    }
  }
}

// Q, K and V as one matrix product leaves them: [B, T, 3, H, D].
void packedQkvAgrees(const Device& device, const Variant& variant) {
  const AttentionCall call = plainCall(variant, 3, 3, 37, 37);
  const AttentionResults expected = execute(device, call);
  PreparedCall prepared = prepare(device, call);
  const Tensor qkv =
      Tensor::empty(device, check::deviceDtype(variant.dtype), {3, 37, 3, 3, kHeadDim}, {.guard = true});
  const auto part = [&](std::int64_t index, const io::TensorData& values) {
    const Tensor view = qkv.select(2, index).transpose(1, 2);
    view.uploadBytes(values.bytes());
    return view;
  };
  prepared.q = part(0, call.values.q);
  prepared.k = part(1, call.values.k);
  prepared.v = part(2, call.values.v);
  prepared.tensors.watch("qkv", qkv, {qkv});
  expectSameBits(execute(device, prepared), expected, "packed QKV");
}

// One K and one V for all batch entries, or for all heads, without copies.
void broadcastAgrees(const Device& device, const Variant& variant, bool overBatch) {
  AttentionCall call = plainCall(variant, 4, 4, 16, 33);
  const io::Shape single = overBatch ? io::Shape{1, 4, 33, kHeadDim} : io::Shape{3, 1, 33, kHeadDim};
  const io::Shape full = {3, 4, 33, kHeadDim};
  const io::TensorData k = randomTensor(variant.dtype, single, 11),
                       v = randomTensor(variant.dtype, single, 12);
  const auto repeated = [&](const io::TensorData& data) {
    const std::vector<float> values = data.toFloats();
    const std::size_t perHead = 33 * kHeadDim;
    std::vector<float> all;
    for (std::size_t b = 0; b < 3; ++b) {
      for (std::size_t h = 0; h < 4; ++h) {
        const auto first = values.begin() + static_cast<std::ptrdiff_t>((overBatch ? h : b) * perHead);
        all.insert(all.end(), first, first + static_cast<std::ptrdiff_t>(perHead));
      }
    }
    return io::TensorData::fromFloats(data.dtype(), full, all);
  };
  call.values.k = repeated(k);
  call.values.v = repeated(v);
  const AttentionResults expected = execute(device, call);
  PreparedCall prepared = prepare(device, call);
  prepared.k = prepared.tensors.input("one k", k).expand(full);
  prepared.v = prepared.tensors.input("one v", v).expand(full);
  expectSameBits(execute(device, prepared), expected, "broadcast K and V");
}

// A mask as a slice of a wider one, and one that is stored transposed.
void maskStridesAgree(const Device& device, const Variant& variant) {
  AttentionCall call = plainCall(variant, 2, 2, 17, 43);
  call.values.mask = randomMask({3, 1, 17, 43}, 5);
  const AttentionResults expected = execute(device, call);
  expectRight(call, expected);

  PreparedCall sliced = prepare(device, call);
  sliced.options.mask = sliced.tensors.input("wide mask", *call.values.mask, check::Layout::PaddedRows);
  expectSameBits(execute(device, sliced), expected, "slice of a wider mask");

  PreparedCall transposed = prepare(device, call);
  const Tensor memory = Tensor::empty(device, Dtype::U8, {3, 1, 43, 17}, {.guard = true});
  transposed.options.mask = memory.transpose(2, 3);
  transposed.options.mask.uploadBytes(call.values.mask->bytes());
  expectSameBits(execute(device, transposed), expected, "transposed mask");
}

}  // namespace

void registerLayoutTests(const Device& device) {
  for (const Variant& variant : attentionVariants(device)) {
    registerTest("attention_layouts",
                 testName("bshd_padded_rows_and_cache_slices_equal_contiguous", variant, kHeadDim),
                 [=] { layoutsAgree(device, variant); });
    registerTest("attention_layouts", testName("packed_qkv_equals_contiguous", variant, kHeadDim),
                 [=] { packedQkvAgrees(device, variant); });
    registerTest("attention_layouts", testName("keys_shared_by_the_batch_equal_copies", variant, kHeadDim),
                 [=] { broadcastAgrees(device, variant, true); });
    registerTest("attention_layouts", testName("keys_shared_by_the_heads_equal_copies", variant, kHeadDim),
                 [=] { broadcastAgrees(device, variant, false); });
    registerTest("attention_layouts", testName("masks_of_any_pitch_equal_contiguous", variant, kHeadDim),
                 [=] { maskStridesAgree(device, variant); });
  }
}

}  // namespace saccade::conformance
