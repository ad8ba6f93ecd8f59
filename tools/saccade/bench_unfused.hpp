// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bench_workload.hpp"

// Attention as a matrix product, softmax and a matrix product, with all scores in memory: what flash attention is
// compared with. To keep the mask out of the comparison it costs next to nothing here: keys are stored in reverse,
// so that row i and key j of the mask depend on i + j alone, and the mask is a strided view of 2 T - 1 numbers.

namespace saccade::tool {

io::TensorData scaled(const io::TensorData& q);  // by 1/sqrt(head_dim)
io::TensorData reversedRows(const io::TensorData& tensor);  // the rows of each matrix, last one first

Shape scoresShape(const AttentionShape& shape);
std::uint64_t scoresBytes(const AttentionShape& shape, io::DType dtype);

// [1, 1, T, T]: 0 where a row sees the reversed key, -inf where not; absent where every row sees every key.
Tensor hiddenScores(const Device& device, const AttentionShape& shape);

// Throws Error or MemoryShortage where it cannot be computed.
void requireUnfused(const Device& device, const AttentionShape& shape, io::DType dtype);

}  // namespace saccade::tool
