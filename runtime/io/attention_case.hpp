// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "io/case_file.hpp"

namespace saccade::io {

enum class Causal { None, BottomRight, TopLeft };
enum class Normalizer { Softmax, Sigmoid, Relu };

// One attention call as a case file describes it, shapes checked: what `attention`, `attention_backward` and
// `linear_attention` cases have in common. Tensors share the case file's bytes.
//
// Shapes: q [B,Hq,Tq,Dk], k [B,Hkv,Tk,Dk], v [B,Hkv,Tk,Dv]; packed: q [totalQ,Hq,Dk], k [totalK,Hkv,Dk],
// v [totalK,Hkv,Dv]. k and v may both be F8_E4M3 or I8; axis 2 of their scales counts blocks of tokens, in packed tensors too.
struct AttentionCase {
  bool packed = false;
  std::int64_t batch = 0;  // packed: the number of sequences
  std::int64_t numHeadsQ = 0;
  std::int64_t numHeadsKv = 0;
  std::int64_t seqlenQ = 0;  // packed: totalQ
  std::int64_t seqlenK = 0;  // packed: totalK
  std::int64_t headDimQk = 0;
  std::int64_t headDimV = 0;

  TensorData q, k, v;
  std::optional<TensorData> kScale, vScale;                     // [B|1, Hkv|1, blocks|1, 1]; packed: B is 1
  std::int64_t scaleBlock = 0;                                  // tokens that share a scale; 0: all
  std::optional<TensorData> bias;                               // [B|1, Hq|1, Tq|1, Tk|1]
  std::optional<TensorData> mask;                               // the same, U8, non-zero = attend
  std::optional<TensorData> alibiSlopes;                        // [B|1, Hq]
  std::optional<TensorData> sink;                               // [Hq]
  std::optional<std::vector<std::int32_t>> seqlensQ, seqlensK;  // [B], within 0..Tq and 0..Tk
  std::optional<std::vector<std::int32_t>> cuSeqlensQ,
      cuSeqlensK;  // [B+1], rising, from 0 to at most the total

  Causal causal = Causal::None;
  std::int64_t windowLeft = -1;  // -1: unbounded
  std::int64_t windowRight = -1;
  std::optional<double> softmaxScale;  // absent: 1/sqrt(headDimQk)
  double temperature = 1;
  double softcap = 0;  // 0: none
  Normalizer normalizer = Normalizer::Softmax;
  double sigmoidBias = 0;
};

// The metadata key `causal` of any case; None if it is absent.
Causal causalOf(const CaseFile& file);

// Reads and checks a case whose `unknown` is empty and whose operator is one of the three above. Throws
// FileError naming the tensor or key that does not fit the others.
AttentionCase readAttentionCase(const CaseFile& file);

}  // namespace saccade::io
