// SPDX-License-Identifier: Apache-2.0
#include "bench_attention_shape.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace saccade::tool {

namespace {

double flopsPerPair(const AttentionShape& s) { return 2.0 * static_cast<double>(s.headDim + s.headDimV); }

bool hasWindow(const AttentionShape& s) { return s.windowLeft >= 0 || s.windowRight >= 0; }

double visiblePairs(const AttentionShape& s) {
  double pairs = 0;
  for (std::int64_t b = 0; b < s.batch; ++b) {
    for (std::int64_t i = 0; i < s.seqlenQ; ++i) {
      pairs += static_cast<double>(visibleKeys(s, b, i).count());
    }
  }
  return pairs;
}

}  // namespace

std::string shapeText(const AttentionShape& s) {
  std::string text = fmt::format("B{} H{}", s.batch, s.heads);
  if (s.headsKv != s.heads) {
    text += fmt::format("/{}", s.headsKv);
  }
  text += s.seqlenQ == s.seqlenK ? fmt::format(" T{}", s.seqlenQ)
                                 : fmt::format(" Tq{} Tk{}", s.seqlenQ, s.seqlenK);
  text += s.headDim == s.headDimV ? fmt::format(" D{}", s.headDim)
                                  : fmt::format(" Dqk{} Dv{}", s.headDim, s.headDimV);
  if (s.causal != Causal::None) {
    text += s.causal == Causal::TopLeft ? " causal top_left" : " causal";
  }
  if (s.windowLeft >= 0) text += fmt::format(" left {}", s.windowLeft);
  if (s.windowRight >= 0) text += fmt::format(" right {}", s.windowRight);
  if (s.kvDtype) text += fmt::format(" kv {}/{}", io::dtypeName(*s.kvDtype), s.scaleBlock);
  return text + (s.lengths.empty() ? "" : " lengths");
}

std::int64_t lengthK(const AttentionShape& s, std::int64_t b) {
  return s.lengths.empty() ? s.seqlenK : s.lengths[static_cast<std::size_t>(b)];
}

std::int64_t lengthQ(const AttentionShape& s, std::int64_t b) {
  return s.lengths.empty() || s.seqlenQ != s.seqlenK ? s.seqlenQ : s.lengths[static_cast<std::size_t>(b)];
}

VisibleKeys visibleKeys(const AttentionShape& s, std::int64_t b, std::int64_t i) {
  const std::int64_t keys = lengthK(s, b), queries = lengthQ(s, b);
  if (i >= queries) {
    return {};
  }
  const std::int64_t position = i + (s.causal == Causal::TopLeft ? 0 : keys - queries);
  VisibleKeys visible{0, keys};
  if (s.causal != Causal::None) visible.end = std::min(visible.end, position + 1);
  if (s.windowRight >= 0) visible.end = std::min(visible.end, position + s.windowRight + 1);
  if (s.windowLeft >= 0) visible.begin = std::max(visible.begin, position - s.windowLeft);
  visible.end = std::max(visible.end, visible.begin);
  return visible;
}

double conventionalFlops(const AttentionShape& s) {
  const double heads = static_cast<double>(s.heads) * flopsPerPair(s);
  if (hasWindow(s)) {
    return heads * visiblePairs(s);
  }
  const double all =
      static_cast<double>(s.batch) * static_cast<double>(s.seqlenQ) * static_cast<double>(s.seqlenK);
  return heads * (s.causal == Causal::None ? all : all / 2);
}

double usefulFlops(const AttentionShape& s) {
  return static_cast<double>(s.heads) * flopsPerPair(s) * visiblePairs(s);
}

std::uint64_t tensorBytes(const AttentionShape& s, io::DType dtype) {
  const std::int64_t queries = s.batch * s.heads * s.seqlenQ, keys = s.batch * s.headsKv * s.seqlenK;
  const std::int64_t channels = s.headDim + s.headDimV;
  const std::int64_t blocks = s.scaleBlock == 0 ? 1 : (s.seqlenK + s.scaleBlock - 1) / s.scaleBlock;
  const std::size_t scales = s.kvDtype ? static_cast<std::size_t>(2 * s.batch * s.headsKv * blocks) * sizeof(float) : 0;
  return static_cast<std::uint64_t>(queries * channels) * io::dtypeSize(dtype) +
         static_cast<std::uint64_t>(keys * channels) * io::dtypeSize(s.kvDtype.value_or(dtype)) + scales;
}

}  // namespace saccade::tool
