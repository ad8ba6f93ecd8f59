// SPDX-License-Identifier: Apache-2.0
// The attention problem: a description after validation. Every size, stride and default is filled in.
#pragma once

#include <string>

#include "plan/tensor.hpp"

namespace saccade::core {

// Where the keys and values of a call lie.
struct Paging {
  uint32_t pages = 0;
  uint32_t pageSize = 0;  // 0: contiguous
  uint32_t maxPages = 0;  // per batch entry
};

struct AttentionProblem {
  uint32_t batch = 0;  // packed: sequences
  uint32_t numHeadsQ = 0, numHeadsKv = 0;
  uint32_t seqlenQ = 0;  // packed: rows of all sequences together
  uint32_t seqlenK = 0;  // packed: keys of all sequences together; paged: maxPages * pageSize
  uint32_t headDimQk = 0, headDimV = 0;
  Tensor q, k, v, out;
  Tensor lse, probs, mask, bias;  // absent: !present(). mask and bias are broadcast: stride 0 where the size was 1
  Tensor alibiSlopes, sink, blockTable;  // absent: !present()
  Tensor kScale, vScale;  // absent: !present(); broadcast as mask and bias are
  uint32_t scaleBlock = 0;  // tokens that share a scale; 0: all
  bool hasSeqlensQ = false, hasSeqlensK = false;
  bool packed = false;
  Paging paging;
  bool topLeft = false;             // row i is aligned with key i, and not with key i + seqlen_k - seqlen_q
  int64_t windowLeft = -1;          // -1: unbounded
  int64_t windowRight = -1;         // the same; a causal mask is 0
  float scale = 0;                  // softmax_scale / temperature
  float softcap = 0;                // 0: off
  std::string kernel;

  bool quantised() const { return k.dtype == SACCADE_DTYPE_F8E4M3 || k.dtype == SACCADE_DTYPE_I8; }
  bool paged() const { return blockTable.present(); }
  // Nothing to write: a successful no-op.
  bool empty() const { return out.elements() == 0; }
};

// Refuses what semantics or this version rules out; names the field.
AttentionProblem validateAttention(const SaccadeAttentionDesc& desc);

}  // namespace saccade::core
