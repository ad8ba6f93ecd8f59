// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bench_workload.hpp"

// What an AttentionShape means: which keys a row sees, and how much work that is.

namespace saccade::tool {

std::string shapeText(const AttentionShape& shape);  // "B1 H32/8 Tq1 Tk4096 D128 causal left 255"

std::int64_t lengthQ(const AttentionShape& shape, std::int64_t b);
std::int64_t lengthK(const AttentionShape& shape, std::int64_t b);

// Keys [begin, end) that query row i of batch entry b sees; empty for a row of padding.
struct VisibleKeys {
  std::int64_t begin = 0, end = 0;
  std::int64_t count() const { return end - begin; }
};
VisibleKeys visibleKeys(const AttentionShape& shape, std::int64_t b, std::int64_t i);

// By the usual convention: 2 (Dqk + Dv) per pair of a query and a key, all of them counted, half of them with a
// causal mask; with a window, the visible ones.
double conventionalFlops(const AttentionShape& shape);
// 2 (Dqk + Dv) per visible pair.
double usefulFlops(const AttentionShape& shape);

// The bytes of q, k, v, their scales and out.
std::uint64_t tensorBytes(const AttentionShape& shape, io::DType dtype);

}  // namespace saccade::tool
