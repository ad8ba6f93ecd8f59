// SPDX-License-Identifier: Apache-2.0
// What a plan tells the attention kernels. Read by GLSL and C++ alike, so only 32-bit members stand here.
// Strides are in elements.
#ifndef SACCADE_ATTENTION_PARAMS_H_
#define SACCADE_ATTENTION_PARAMS_H_

// Specialisation constants, by constant_id.
#define SPEC_LOCAL_SIZE 0    // invocations per work-group
#define SPEC_HEAD_DIM_QK 1
#define SPEC_HEAD_DIM_V 2
#define SPEC_CAUSAL 3        // SaccadeCausal
#define SPEC_HAS_KEYS 4      // 0: seqlen_k is 0, K and V are never touched
#define SPEC_MASK 5          // 1: boolean mask
#define SPEC_BIAS 6          // 0: none; else SaccadeDtype: 1 fp32, 2 fp16, 3 bf16
#define SPEC_SEQLENS_Q 7
#define SPEC_SEQLENS_K 8
#define SPEC_LSE 9           // 1: write the log-sum-exp
#define SPEC_KEYS 10         // keys per step
#define SPEC_CHANNELS 11     // scalar_tiled: channels staged at a time

// Order of push.buffers.
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

struct AttentionParams {
  uint numHeadsQ;
  uint headsPerGroup;  // num_heads_q / num_heads_kv
  uint seqlenQ;
  uint seqlenK;
  uint rowBlocks;      // blocks of query rows per head
  float scale;         // softmax_scale / temperature
  uint qStrideB, qStrideH, qStrideT;
  uint kStrideB, kStrideH, kStrideT;
  uint vStrideB, vStrideH, vStrideT;
  uint outStrideB, outStrideH, outStrideT;
  uint lseStrideB, lseStrideH, lseStrideT;
  uint probsStrideB, probsStrideH, probsStrideT;
  uint maskStrideB, maskStrideH, maskStrideQ, maskStrideK;
  uint biasStrideB, biasStrideH, biasStrideQ, biasStrideK;
};

#endif  // SACCADE_ATTENTION_PARAMS_H_
