// SPDX-License-Identifier: Apache-2.0
#include "attention_description.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

namespace saccade::fuzz {

namespace {

using Sizes = std::array<std::int64_t, 4>;

// Where the input has ended the provider gives the lower bound: then nothing is given that may be absent.
bool oneIn(FuzzedDataProvider& provider, int count) { return provider.ConsumeIntegralInRange(1, count) == count; }

struct AttentionSizes {
  std::int64_t batch, headsKv, headsQ, seqlenQ, seqlenK, headDimQk, headDimV;
};

AttentionSizes pickSizes(FuzzedDataProvider& provider) {
  constexpr std::int64_t headDims[] = {4, 8, 1, 3, 16, 33};
  AttentionSizes sizes{};
  sizes.batch = oneIn(provider, 10) ? 0 : provider.ConsumeIntegralInRange(1, 3);
  sizes.headsKv = provider.ConsumeIntegralInRange(1, 3);
  sizes.headsQ = sizes.headsKv * provider.ConsumeIntegralInRange(1, 3);
  sizes.seqlenQ = oneIn(provider, 10) ? 0 : provider.ConsumeIntegralInRange(1, 9);
  sizes.seqlenK = oneIn(provider, 10) ? 0 : provider.ConsumeIntegralInRange(1, 40);
  sizes.headDimQk = provider.PickValueInArray(headDims);
  sizes.headDimV = provider.ConsumeBool() ? sizes.headDimQk : provider.PickValueInArray(headDims);
  return sizes;
}

// Row-major, or strides of its own: axes 0 to 2 in any order with gaps between them, and for an input perhaps a
// broadcast. `free`: the last axis may be anywhere, too.
SaccadeTensorDesc tensor(FuzzedDataProvider& provider, SaccadeDtype dtype, const Sizes& sizes, bool input,
                         bool free = false) {
  SaccadeTensorDesc desc{};
  desc.dtype = dtype;
  std::copy(sizes.begin(), sizes.end(), desc.sizes);
  if (provider.ConsumeBool()) {
    return desc;
  }
  std::array<std::size_t, 4> order{3, 2, 1, 0};
  const std::size_t first = free ? 0 : 1;
  for (std::size_t n = 3; n > first; n--) {
    std::swap(order[n], order[provider.ConsumeIntegralInRange<std::size_t>(first, n)]);
  }
  std::int64_t next = 1;
  for (const std::size_t axis : order) {
    desc.strides[axis] = next;
    next = next * std::max<std::int64_t>(sizes[axis], 1) + provider.ConsumeIntegralInRange(0, 2);
  }
  if (input && oneIn(provider, 8)) {
    desc.strides[provider.ConsumeIntegralInRange<std::size_t>(0, free ? 3 : 2)] = 0;
  }
  return desc;
}

SaccadeTensorDesc broadcastTensor(FuzzedDataProvider& provider, SaccadeDtype dtype, Sizes sizes) {
  const int full = provider.ConsumeIntegralInRange(0, 15);
  for (std::size_t axis = 0; axis < 4; axis++) {
    if (((full >> axis) & 1) == 0) {
      sizes[axis] = 1;
    }
  }
  return tensor(provider, dtype, sizes, true, true);
}

float pickFloat(FuzzedDataProvider& provider) {
  constexpr float values[] = {0, 1, -1, 0.5f, 2, 1e30f, -1e30f, 1e-30f, 1e-45f, std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()};
  return provider.ConsumeBool() ? provider.PickValueInArray(values) : provider.ConsumeFloatingPoint<float>();
}

// Of values that C++ allows the enumeration to have; saccade.h reserves room up to 2^31 - 1.
template <class Enumeration>
Enumeration pickEnumeration(FuzzedDataProvider& provider) {
  return static_cast<Enumeration>(provider.ConsumeBool() ? provider.ConsumeIntegralInRange(0, 8)
                                                         : provider.ConsumeIntegralInRange(0, 0x7fffffff));
}

// Of a tensor [pages or entries, heads, tokens, channels]; any axis may broadcast.
SaccadeTensorDesc scales(FuzzedDataProvider& provider, const SaccadeTensorDesc& scaled, std::uint32_t block) {
  const std::int64_t blocks = block == 0 ? 1 : (scaled.sizes[2] + block - 1) / block;
  return broadcastTensor(provider, SACCADE_DTYPE_F32, {scaled.sizes[0], scaled.sizes[1], blocks, 1});
}

void quantise(SaccadeAttentionDesc& desc, FuzzedDataProvider& provider) {
  desc.k.dtype = desc.v.dtype = provider.ConsumeBool() ? SACCADE_DTYPE_I8 : SACCADE_DTYPE_F8E4M3;
  const auto block = provider.PickValueInArray<std::uint32_t>({0, 1, 3, 4, 16, 100});
  if (provider.ConsumeBool()) {
    desc.kScale = scales(provider, desc.k, block);
    desc.scaleBlock = block;
  }
  if (provider.ConsumeBool()) {
    desc.vScale = scales(provider, desc.v, block);
    desc.scaleBlock = block;
  }
}

void addOptions(SaccadeAttentionDesc& desc, FuzzedDataProvider& provider) {
  desc.causal = static_cast<SaccadeCausal>(provider.ConsumeIntegralInRange(0, 2));
  desc.windowLeft = provider.ConsumeBool() ? -1 : provider.ConsumeIntegralInRange(0, 12);
  desc.windowRight = provider.ConsumeBool() ? -1 : provider.ConsumeIntegralInRange(0, 12);
  desc.hasSoftmaxScale = provider.ConsumeBool();
  desc.softmaxScale = static_cast<float>(provider.ConsumeIntegralInRange(-8, 8)) / 8;
  desc.temperature = provider.ConsumeBool() ? 1.0f : 0.5f;
  desc.softcap = oneIn(provider, 4) ? 2.0f : 0.0f;
}

}  // namespace

std::int64_t pickInteger(FuzzedDataProvider& provider) {
  constexpr std::int64_t k1 = 1;
  constexpr std::int64_t values[] = {0, 1, 2, 3, 5, 8, 16, -1, -2, 255, 256, 257, 65535, 65536, (k1 << 30) - 1, k1 << 30, (k1 << 31) - 1, k1 << 31, (k1 << 32) - 1, k1 << 32, k1 << 62, std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()};
  return !oneIn(provider, 4) ? provider.PickValueInArray(values)
                                                    : provider.ConsumeIntegral<std::int64_t>();
}

SaccadeAttentionDesc describeLegalAttention(FuzzedDataProvider& provider) {
  const AttentionSizes s = pickSizes(provider);
  const bool packed = oneIn(provider, 4);
  const bool paged = oneIn(provider, 4);
  constexpr SaccadeDtype floats[] = {SACCADE_DTYPE_F32, SACCADE_DTYPE_F16, SACCADE_DTYPE_BF16};
  const SaccadeDtype dtype = provider.PickValueInArray(floats);
  const std::int64_t entries = packed ? 1 : s.batch;
  const std::int64_t pageSize = provider.PickValueInArray<std::int64_t>({1, 4, 16});
  const std::int64_t maxPages = (s.seqlenK + pageSize - 1) / pageSize;
  const std::int64_t seqlenK = paged ? maxPages * pageSize : s.seqlenK;
  const std::int64_t pools = paged ? provider.ConsumeIntegralInRange(1, 5) : entries;
  const std::int64_t tokens = paged ? pageSize : seqlenK;

  SaccadeAttentionDesc desc = saccadeAttentionDescDefault();
  desc.q = tensor(provider, dtype, {entries, s.headsQ, s.seqlenQ, s.headDimQk}, true);
  desc.k = tensor(provider, dtype, {pools, s.headsKv, tokens, s.headDimQk}, true);
  desc.v = tensor(provider, dtype, {pools, s.headsKv, tokens, s.headDimV}, true);
  desc.out = tensor(provider, dtype, {entries, s.headsQ, s.seqlenQ, s.headDimV}, false);
  if (provider.ConsumeBool()) {
    desc.lse = tensor(provider, SACCADE_DTYPE_F32, {entries, s.headsQ, s.seqlenQ, 1}, false);
  }
  if (paged) {
    desc.blockTable = tensor(provider, SACCADE_DTYPE_I32, {1, 1, s.batch, maxPages}, true);
  }
  if (packed) {
    desc.hasCuSeqlens = VK_TRUE;
    desc.numSequences = static_cast<std::uint32_t>(s.batch);
  } else {
    const Sizes scores{s.batch, s.headsQ, s.seqlenQ, seqlenK};
    if (oneIn(provider, 4)) {
      desc.probs = tensor(provider, dtype, scores, false);
    }
    if (oneIn(provider, 3)) {
      desc.mask = broadcastTensor(provider, SACCADE_DTYPE_U8, scores);
    }
    if (oneIn(provider, 3)) {
      desc.bias = broadcastTensor(provider, provider.PickValueInArray(floats), scores);
    }
    desc.hasSeqlensQ = oneIn(provider, 3);
    desc.hasSeqlensK = oneIn(provider, 3);
  }
  if (oneIn(provider, 4)) {
    desc.alibiSlopes = tensor(provider, SACCADE_DTYPE_F32, {1, 1, provider.ConsumeBool() ? 1 : s.batch, s.headsQ}, true);
  }
  if (oneIn(provider, 4)) {
    desc.sink = tensor(provider, SACCADE_DTYPE_F32, {1, 1, 1, s.headsQ}, true);
  }
  addOptions(desc, provider);
  if (oneIn(provider, 3)) {
    quantise(desc, provider);
  }
  return desc;
}

void disturb(SaccadeAttentionDesc& desc, FuzzedDataProvider& provider) {
  SaccadeTensorDesc* const tensors[] = {&desc.q,    &desc.k,    &desc.v,           &desc.out,  &desc.lse,       &desc.probs,
                                        &desc.mask, &desc.bias, &desc.alibiSlopes, &desc.sink, &desc.blockTable,
                                        &desc.kScale, &desc.vScale};
  constexpr const char* kernels[] = {nullptr, "", "scalar_rows", "scalar_tiled", "weights", "fast", "matmul_rows"};
  const auto axis = [&] { return provider.ConsumeIntegralInRange<std::size_t>(0, 3); };
  switch (provider.ConsumeIntegralInRange(0, 19)) {
    case 0: case 1: case 2: case 3: provider.PickValueInArray(tensors)->sizes[axis()] = pickInteger(provider); break;
    case 4: case 5: case 6: provider.PickValueInArray(tensors)->strides[axis()] = pickInteger(provider); break;
    case 7: provider.PickValueInArray(tensors)->dtype = pickEnumeration<SaccadeDtype>(provider); break;
    case 8: desc.causal = pickEnumeration<SaccadeCausal>(provider); break;
    case 9: desc.windowLeft = pickInteger(provider); break;
    case 10: desc.windowRight = pickInteger(provider); break;
    case 11: desc.softmaxScale = pickFloat(provider); desc.hasSoftmaxScale = VK_TRUE; break;
    case 12: desc.temperature = pickFloat(provider); break;
    case 13: desc.softcap = pickFloat(provider); break;
    case 14: desc.numSequences = static_cast<std::uint32_t>(pickInteger(provider)); break;
    case 15: desc.hasCuSeqlens ^= VK_TRUE; break;
    case 16: desc.kernel = provider.PickValueInArray(kernels); break;
    case 18: desc.scaleBlock = static_cast<std::uint32_t>(pickInteger(provider)); break;
    case 17: desc.normalizer = pickEnumeration<SaccadeNormalizer>(provider); break;
    default: desc.dropout = pickFloat(provider); break;
  }
}

}  // namespace saccade::fuzz
