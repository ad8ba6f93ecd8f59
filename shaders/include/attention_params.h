// SPDX-License-Identifier: Apache-2.0
// What a plan tells the attention kernels. Read by GLSL and C++ alike, so only 32-bit members stand here.
// Strides are in elements.
#ifndef SACCADE_ATTENTION_PARAMS_H_
#define SACCADE_ATTENTION_PARAMS_H_

// Specialisation constants, by constant_id.
#define SPEC_LOCAL_SIZE 0    // invocations per work-group
#define SPEC_HEAD_DIM_QK 1
#define SPEC_HEAD_DIM_V 2
#define SPEC_TOP_LEFT 3      // 1: row i is aligned with key i; 0: with key i + seqlen_k - seqlen_q
#define SPEC_HAS_KEYS 4      // 0: there is no key at all, K and V are never touched
#define SPEC_MASK 5          // 1: boolean mask
#define SPEC_BIAS 6          // 0: none; else SaccadeDtype: 1 fp32, 2 fp16, 3 bf16
#define SPEC_SEQLENS_Q 7
#define SPEC_SEQLENS_K 8
#define SPEC_LSE 9           // 1: write the log-sum-exp
#define SPEC_KEYS 10         // keys per step
#define SPEC_CHANNELS 11     // scalar_tiled: channels staged at a time; combine: channels of a work-group
#define SPEC_WINDOW_LEFT 12  // 1: keys before the diagonal are bounded by windowLeft
#define SPEC_WINDOW_RIGHT 13 // 1: keys after it by windowRight; a causal mask is windowRight = 0
#define SPEC_SOFTCAP 14
#define SPEC_ALIBI 15
#define SPEC_SINK 16
#define SPEC_PACKED 17       // 1: sequences lie one after the other, BUFFER_CU_SEQLENS_* say where
#define SPEC_PAGE_SIZE 18    // tokens of a page of K and V; 0: contiguous
#define SPEC_FOLD 19         // query heads of one key/value head that a work-group takes together
#define SPEC_SPLIT 20        // 1: `splits` work-groups share the keys of a block of rows
#define SPEC_WIDENED 21      // 1: K and V are the copies in fp32 that the kernel `widen` made
#define SPEC_KV_DTYPE 22     // 0: K and V are of the kernel's dtype; else bytes, KV_E4M3 or KV_I8
#define SPEC_KV_WORDS 23     // 1: of bytes, four at a time may be read: rows lie at multiples of 4 bytes
#define SPEC_K_SCALE 24      // 1: bytes of K have scales
#define SPEC_V_SCALE 25
#define SPEC_SCALE_BLOCK 26  // tokens that share a scale; 0: all
#define SPEC_COLUMNS 27       // scalar_tiled: invocations that share query rows; scalar_lines: of a line; flash_decode: those that share a key
#define SPEC_ROWS_EACH 28     // scalar_tiled, flash_decode: query rows of an invocation
#define SPEC_SUBGROUP_ROWS 29 // 1: invocations that share rows, or a key, are neighbours in a subgroup
// Of kernels on matrix units, whose products are of M x K and K x N matrices:
#define SPEC_SUBGROUP 30     // invocations per subgroup
#define SPEC_MATRIX_M 31
#define SPEC_MATRIX_N 32
#define SPEC_MATRIX_K 33
#define SPEC_QUERY_TILES 34  // blocks of N query rows that a subgroup has
#define SPEC_KEY_TILES 35    // blocks of M keys per step of the softmax
#define SPEC_NATURAL 36      // 1: scores are scaled before the softmax sees them, for what is added to scores or caps them
#define SPEC_TILES 37        // which of its loops the kernel has
#define TILES_PLAIN 1        // over tiles that every row sees, whose scores are final as they are
#define TILES_CAREFUL 2      // over all others
#define SPEC_SHARED_Q 38     // 1: Q stays in shared memory, where registers are few
#define SPEC_ROLLED 39       // 1: loops over blocks of channels or keys stay loops: less code, fewer registers
#define SPEC_PARTIAL_ROWS 40 // rows of a block of partial results
#define SPEC_SHARERS 41      // flash_decode: neighbours that share the softmax of a step
#define SPEC_TEAM 42         // subgroups that share query rows. coopmat: each has a part of the keys' scores and of the channels of V; scalar_lines: of the keys
#define SPEC_COUNT 43

#define KV_E4M3 1
#define KV_I8 2

// Order of push.buffers. Lengths and cumulative lengths never come together.
#define BUFFER_Q 0
#define BUFFER_K 1
#define BUFFER_V 2
#define BUFFER_OUT 3
#define BUFFER_LSE 4
#define BUFFER_PROBS 5
#define BUFFER_MASK 6
#define BUFFER_BIAS 7
#define BUFFER_SEQLENS_Q 8
#define BUFFER_SEQLENS_K 9
#define BUFFER_CU_SEQLENS_Q BUFFER_SEQLENS_Q
#define BUFFER_CU_SEQLENS_K BUFFER_SEQLENS_K
#define BUFFER_ALIBI 10
#define BUFFER_SINK 11
#define BUFFER_BLOCK_TABLE 12
#define BUFFER_K_SCALE 13
#define BUFFER_V_SCALE BUFFER_PROBS  // who writes the weights reads no values
// Partial results of work-groups that share keys, written in place of `out` and read in place of K by the kernel that combines them.
#define BUFFER_PARTIAL_OUT BUFFER_OUT
#define BUFFER_PARTIAL_IN BUFFER_K

// Copies in fp32 lie in scratch memory, written in place of `out` and read in place of K and V.
#define BUFFER_WIDENED BUFFER_OUT
#define WIDEN_TOKENS 8  // of K or V, copied by a work-group

struct AttentionParams {
  uint headsPerGroup;  // num_heads_q / num_heads_kv
  uint headBlocks;     // blocks of query heads per batch entry: FOLD heads of one group each
  uint seqlenQ;        // of the tensors; packed: tokens of all sequences together
  uint seqlenK;        // the same; paged: max_pages * page_size
  uint rowBlocks;      // blocks of query rows per head; packed: slots for them, see blockOf
  uint splits;         // work-groups that share the keys of a block of rows
  uint numSequences;   // packed
  uint pages;          // paged: pages of K and V; a stride B is then that of pages
  uint widenedV;       // elements from the start of the copy of K to that of V
  int windowLeft, windowRight;
  float scale;         // softmax_scale / temperature
  float softcap;
  uint qStrideB, qStrideH, qStrideT;
  uint kStrideB, kStrideH, kStrideT;
  uint vStrideB, vStrideH, vStrideT;
  uint outStrideB, outStrideH, outStrideT;
  uint lseStrideB, lseStrideH, lseStrideT;
  uint probsStrideB, probsStrideH, probsStrideT;
  uint maskStrideB, maskStrideH, maskStrideQ, maskStrideK;
  uint biasStrideB, biasStrideH, biasStrideQ, biasStrideK;
  uint alibiStrideB;
  uint tableStrideB;   // of the block table
  uint kScaleStrideB, kScaleStrideH, kScaleStrideT;  // T counts blocks of tokens
  uint vScaleStrideB, vScaleStrideH, vScaleStrideT;
};

#endif  // SACCADE_ATTENTION_PARAMS_H_
