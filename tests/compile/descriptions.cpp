// SPDX-License-Identifier: Apache-2.0
#include "descriptions.hpp"

namespace saccade::compile {
namespace {

constexpr Dtype kDtypes[] = {Dtype::F32, Dtype::F16, Dtype::BF16};

// Sizes are no part of a pipeline; there are enough keys for the tiles.
constexpr std::int64_t kBatch = 2, kHeadsQ = 4, kHeadsKv = 2, kSeqlen = 256, kPageSize = 16;

AttentionDesc attention(const std::string& kernel, Dtype dtype, std::int64_t headDim) {
  return {.q = {dtype, {kBatch, kHeadsQ, kSeqlen, headDim}},
          .k = {dtype, {kBatch, kHeadsKv, kSeqlen, headDim}},
          .v = {dtype, {kBatch, kHeadsKv, kSeqlen, headDim}},
          .kernel = kernel};
}

// Everything that hides keys, changes scores or is written; but for packed sequences and pages.
AttentionDesc everything(const AttentionDesc& plain) {
  AttentionDesc desc = plain;
  desc.causal = Causal::BottomRight;
  desc.windowLeft = 64;
  desc.windowRight = 8;
  desc.mask = {Dtype::U8, {kBatch, 1, kSeqlen, kSeqlen}};
  desc.bias = {plain.q.dtype, {kBatch, 1, kSeqlen, kSeqlen}};
  desc.alibiSlopes = {Dtype::F32, {1, 1, 1, kHeadsQ}};
  desc.sink = {Dtype::F32, {1, 1, 1, kHeadsQ}};
  desc.softcap = 30;
  desc.seqlensQ = desc.seqlensK = true;
  desc.lse = {Dtype::F32, {kBatch, kHeadsQ, kSeqlen, 1}};
  desc.probs = {plain.q.dtype, {kBatch, kHeadsQ, kSeqlen, kSeqlen}};
  return desc;
}

AttentionDesc paged(const AttentionDesc& unpaged) {
  AttentionDesc desc = unpaged;
  desc.k.sizes = {40, kHeadsKv, kPageSize, unpaged.k.sizes[3]};
  desc.v.sizes = {40, kHeadsKv, kPageSize, unpaged.v.sizes[3]};
  desc.blockTable = {Dtype::I32, {1, 1, unpaged.sequences.value_or(kBatch), kSeqlen / kPageSize}};
  desc.causal = Causal::BottomRight;
  return desc;
}

AttentionDesc packed(const AttentionDesc& plain) {
  AttentionDesc desc = plain;
  desc.sequences = 3;
  desc.q.sizes[0] = desc.k.sizes[0] = desc.v.sizes[0] = 1;
  desc.causal = Causal::BottomRight;
  desc.windowLeft = 64;
  desc.alibiSlopes = {Dtype::F32, {1, 1, 3, kHeadsQ}};
  desc.sink = {Dtype::F32, {1, 1, 1, kHeadsQ}};
  desc.lse = {Dtype::F32, {1, kHeadsQ, kSeqlen, 1}};
  return desc;
}

// A kernel that this device would not choose itself, with the most code: some take the driver seconds each.
void addOtherAttention(std::vector<Description>& all, const std::string& kernel, Dtype dtype) {
  all.emplace_back(everything(attention(kernel, dtype, 64)));
  all.emplace_back(paged(packed(attention(kernel, dtype, 128))));
}

// The two extremes of code size, and what real models run.
void addChosenAttention(std::vector<Description>& all, const std::string& kernel, Dtype dtype) {
  for (const std::int64_t headDim : {64, 128}) {
    const AttentionDesc plain = attention(kernel, dtype, headDim);
    all.emplace_back(plain);
    all.emplace_back(everything(plain));
    all.emplace_back(paged(packed(plain)));
  }
  const AttentionDesc plain = attention(kernel, dtype, 64);
  AttentionDesc causal = plain;  // a language model in training
  causal.causal = Causal::BottomRight;
  causal.lse = {Dtype::F32, {kBatch, kHeadsQ, kSeqlen, 1}};
  all.emplace_back(causal);

  AttentionDesc padded = plain;  // an encoder with its padding
  padded.mask = {Dtype::U8, {kBatch, 1, 1, kSeqlen}};
  all.emplace_back(padded);

  AttentionDesc capped = plain;
  capped.causal = Causal::TopLeft;
  capped.windowLeft = 64;
  capped.softcap = 30;
  all.emplace_back(capped);

  AttentionDesc cached = paged(attention(kernel, dtype, 128));
  cached.seqlensK = true;
  all.emplace_back(cached);
  all.emplace_back(packed(plain));
}

// The kernel that the device's plans of attention take when none is asked for.
std::string chosenKernel(const Context& context) {
  return context.plan(attention("", Dtype::F32, 64)).info().kernel;
}

// Small and big tiles, every layout of a and b, every epilogue.
void addMatmul(std::vector<Description>& all, const std::string& kernel, Dtype dtype) {
  const MatmulDesc small{.a = {dtype, {1, 1, 50, 64}}, .b = {dtype, {1, 1, 40, 64}}, .kernel = kernel};
  all.emplace_back(small);

  MatmulDesc big{.a = {dtype, {1, 1, 2048, 256}}, .b = {dtype, {1, 1, 1024, 256}}, .kernel = kernel};
  big.bias = {dtype, {1, 1, 1, 1024}};
  big.residual = {dtype, {1, 1, 2048, 1024}};
  big.activation = Activation::Gelu;
  all.emplace_back(big);

  MatmulDesc across = big;
  across.a.strides = {2048 * 256, 2048 * 256, 1, 2048};
  across.b.strides = {1024 * 256, 1024 * 256, 1, 1024};
  across.activation = Activation::GeluTanh;
  all.emplace_back(across);

  MatmulDesc scattered = small;
  scattered.a.strides = {6400, 6400, 128, 2};
  scattered.b.strides = {5120, 5120, 128, 2};
  all.emplace_back(scattered);
}

void addRows(std::vector<Description>& all, SaccadeOperator op, Dtype dtype) {
  for (const std::int64_t columns : {384, 768}) {
    const TensorDesc x{dtype, {1, 1, 200, columns}}, row{dtype, {1, 1, 1, columns}};
    switch (op) {
      case SACCADE_OPERATOR_LAYER_NORM:
        all.emplace_back(LayerNormDesc{.x = x});
        all.emplace_back(LayerNormDesc{.x = x, .weight = row, .bias = row});
        break;
      case SACCADE_OPERATOR_SOFTMAX: all.emplace_back(SoftmaxDesc{.x = x}); break;
      case SACCADE_OPERATOR_ACTIVATION:
        all.emplace_back(ActivationDesc{.x = x, .activation = Activation::Gelu});
        all.emplace_back(ActivationDesc{.x = x, .activation = Activation::GeluTanh});
        break;
      default: break;
    }
  }
}

}  // namespace

std::vector<Description> descriptions(const Context& context) {
  const std::string chosen = chosenKernel(context);
  std::vector<Description> all;
  for (const Dtype dtype : kDtypes) {
    for (const KernelInfo& kernel : context.kernels()) {
      if (kernel.supported != VK_TRUE || kernel.selectable != VK_TRUE) continue;
      switch (kernel.op) {
        case SACCADE_OPERATOR_ATTENTION:
          (chosen == kernel.name ? addChosenAttention : addOtherAttention)(all, kernel.name, dtype);
          break;
        case SACCADE_OPERATOR_MATMUL: addMatmul(all, kernel.name, dtype); break;
        default: addRows(all, kernel.op, dtype); break;
      }
    }
    all.emplace_back(PatchEmbedDesc{.image = {dtype, {1, 3, 56, 56}}, .weight = {dtype, {64, 3, 14, 14}}, .patchSize = 14});
  }
  return all;
}

}  // namespace saccade::compile
