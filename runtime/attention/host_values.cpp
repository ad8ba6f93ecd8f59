// SPDX-License-Identifier: Apache-2.0
#include "attention/host_values.hpp"

#include "api/message.hpp"
#include "attention/problem.hpp"

namespace saccade::core {
namespace {

void checkLengths(const int32_t* lengths, uint32_t batch, uint32_t limit, const char* field, const char* limitName) {
  for (uint32_t b = 0; b < batch; b++) {
    if (lengths[b] < 0 || static_cast<uint32_t>(lengths[b]) > limit) {
      refuse(field, "{}[{}] is {}; it must be between 0 and {}, which is {}", field, b, lengths[b], limitName, limit);
    }
  }
}

void checkRising(const int32_t* offsets, uint32_t sequences, const char* field) {
  if (offsets[0] != 0) refuse(field, "{}[0] is {}; it must be 0", field, offsets[0]);
  for (uint32_t b = 0; b < sequences; b++) {
    if (offsets[b + 1] < offsets[b]) {
      refuse(field, "{}[{}] is {}, less than the {} before it; the offsets must not decrease", field, b + 1, offsets[b + 1],
             offsets[b]);
    }
  }
}

void checkTotal(const int32_t* offsets, uint32_t sequences, uint32_t tokens, const char* field, const char* tensor) {
  if (static_cast<uint32_t>(offsets[sequences]) > tokens) {
    refuse(field, "{}[{}] is {}, but {} has only {} tokens", field, sequences, offsets[sequences], tensor, tokens);
  }
}

// Of pages, only the length of each sequence is limited.
void checkPagedSequences(const int32_t* offsets, const HostValueLimits& limits) {
  for (uint32_t b = 0; b < limits.batch; b++) {
    const uint32_t length = static_cast<uint32_t>(offsets[b + 1]) - static_cast<uint32_t>(offsets[b]);
    if (length > limits.seqlenK) {
      refuse("cu_seqlens_k", "cu_seqlens_k[{}] - cu_seqlens_k[{}] is {} keys, but {} pages of {} hold only {}", b + 1, b, length,
             limits.maxPages, limits.pageSize, limits.seqlenK);
    }
  }
}

void checkBlockTable(const HostValueLimits& limits, const SaccadeAttentionBuffers& buffers) {
  const int32_t* lengths = limits.hasSeqlensK ? buffers.hostSeqlensK : nullptr;
  const int32_t* offsets = limits.hasCuSeqlens ? buffers.hostCuSeqlensK : nullptr;
  // Entries past the length may hold anything, so without it nothing can be said.
  if ((limits.hasSeqlensK && lengths == nullptr) || (limits.hasCuSeqlens && offsets == nullptr)) return;
  for (uint32_t b = 0; b < limits.batch; b++) {
    const int32_t length = lengths   ? lengths[b]
                           : offsets ? offsets[b + 1] - offsets[b]
                                     : static_cast<int32_t>(limits.seqlenK);
    const uint32_t used = (static_cast<uint32_t>(length) + limits.pageSize - 1) / limits.pageSize;
    for (uint32_t i = 0; i < used; i++) {
      const int32_t page = buffers.hostBlockTable[size_t{b} * limits.maxPages + i];
      if (page < 0 || static_cast<uint32_t>(page) >= limits.pages) {
        refuse("block_table", "block_table[{}][{}] is {}; it must be a page from 0 to {}", b, i, page, limits.pages - 1);
      }
    }
  }
}

}  // namespace

HostValueLimits hostValueLimits(const AttentionProblem& p) {
  return {p.batch,   p.hasSeqlensQ,  p.hasSeqlensK,     p.packed,         p.seqlenQ,
          p.seqlenK, p.paging.pages, p.paging.pageSize, p.paging.maxPages};
}

void checkHostValues(const HostValueLimits& limits, const SaccadeAttentionBuffers& buffers) {
  if (limits.hasSeqlensQ && buffers.hostSeqlensQ) {
    checkLengths(buffers.hostSeqlensQ, limits.batch, limits.seqlenQ, "seqlens_q", "seqlen_q");
  }
  if (limits.hasSeqlensK && buffers.hostSeqlensK) {
    checkLengths(buffers.hostSeqlensK, limits.batch, limits.seqlenK, "seqlens_k", "seqlen_k");
  }
  if (limits.hasCuSeqlens && buffers.hostCuSeqlensQ) {
    checkRising(buffers.hostCuSeqlensQ, limits.batch, "cu_seqlens_q");
    checkTotal(buffers.hostCuSeqlensQ, limits.batch, limits.seqlenQ, "cu_seqlens_q", "q");
  }
  if (limits.hasCuSeqlens && buffers.hostCuSeqlensK) {
    checkRising(buffers.hostCuSeqlensK, limits.batch, "cu_seqlens_k");
    if (limits.pageSize > 0) {
      checkPagedSequences(buffers.hostCuSeqlensK, limits);
    } else {
      checkTotal(buffers.hostCuSeqlensK, limits.batch, limits.seqlenK, "cu_seqlens_k", "k");
    }
  }
  if (limits.pageSize > 0 && buffers.hostBlockTable) checkBlockTable(limits, buffers);
}

}  // namespace saccade::core
