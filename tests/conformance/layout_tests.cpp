// SPDX-License-Identifier: Apache-2.0
// Strides change where elements lie and nothing else: every layout gives the bits of the contiguous run.
#include "attention_call.hpp"
#include "check/dtype.hpp"

namespace saccade::conformance {
namespace {

constexpr std::int64_t kOddHeadDim = 20;  // not a multiple of 8, and 40 bytes in half precision

AttentionCall plainCall(const Variant& variant, std::int64_t headsQ, std::int64_t headsKv,
                        std::int64_t seqlenQ, std::int64_t seqlenK) {
  AttentionCall call = randomCall({.batch = 3,
                                   .headsQ = headsQ,
                                   .headsKv = headsKv,
                                   .seqlenQ = seqlenQ,
                                   .seqlenK = seqlenK,
                                   .headDimQk = kOddHeadDim,
                                   .headDimV = kOddHeadDim},
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
      Tensor::empty(device, check::deviceDtype(variant.dtype), {3, 37, 3, 3, kOddHeadDim}, {.guard = true});
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

}  // namespace

void registerLayoutTests(const Device& device) {
  for (const Variant& variant : attentionVariants(device)) {
    registerTest("attention_layouts",
                 testName("bshd_padded_rows_and_cache_slices_equal_contiguous", variant, kOddHeadDim),
                 [=] { layoutsAgree(device, variant); });
    registerTest("attention_layouts", testName("packed_qkv_equals_contiguous", variant, kOddHeadDim),
                 [=] { packedQkvAgrees(device, variant); });
  }
}

}  // namespace saccade::conformance
