// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "io/attention_case.hpp"

namespace saccade::reference {

using io::Causal;
using io::Normalizer;

// A view of a four-dimensional array: batch, head, token or query, channel or key. Strides are in elements
// and may be 0 (broadcast). No data: the tensor is absent.
template <typename Value>
struct View4 {
  const Value* data = nullptr;
  std::array<std::int64_t, 4> strides{};

  Value at(std::int64_t b, std::int64_t h, std::int64_t t, std::int64_t c) const {
    return row(b, h, t)[c * strides[3]];
  }

  // The first of the values along the last dimension; they lie strides[3] apart.
  const Value* row(std::int64_t b, std::int64_t h, std::int64_t t) const {
    return data + b * strides[0] + h * strides[1] + t * strides[2];
  }
};

// The strides of a row-major array of that shape, 0 along sizes of 1.
std::array<std::int64_t, 4> broadcastStrides(const std::array<std::int64_t, 4>& shape);

// One attention call on values as they are stored, widened to double; quantised keys and values are multiplied by their scales
// there. The memory belongs to the caller.
struct AttentionProblem {
  std::int64_t batch = 0;  // with cuSeqlens: the number of sequences
  std::int64_t numHeadsQ = 0;
  std::int64_t numHeadsKv = 0;  // divides numHeadsQ
  std::int64_t seqlenQ = 0;     // with cuSeqlens: tokens of all sequences together
  std::int64_t seqlenK = 0;
  std::int64_t headDimQk = 0;
  std::int64_t headDimV = 0;

  View4<double> q;           // [B,Hq,Tq,Dk]
  View4<double> k;           // [B,Hkv,Tk,Dk]
  View4<double> v;           // [B,Hkv,Tk,Dv]
  View4<double> bias;        // optional, [B,Hq,Tq,Tk]
  View4<std::uint8_t> mask;  // optional, [B,Hq,Tq,Tk], non-zero = attend

  std::span<const std::int32_t> seqlensQ, seqlensK;  // optional, [B]
  std::span<const std::int32_t> cuSeqlensQ,
      cuSeqlensK;  // optional, [B+1]: packed sequences, batch strides unused

  std::span<const double> alibiSlopes;  // optional, [Hq] or [B,Hq]
  std::int64_t alibiBatchStride = 0;    // 0 or Hq
  std::span<const double> sink;         // optional, [Hq]

  Causal causal = Causal::None;
  std::int64_t windowLeft = -1;  // -1: unbounded
  std::int64_t windowRight = -1;
  std::optional<double> softmaxScale;  // absent: 1/sqrt(headDimQk)
  double temperature = 1;
  double softcap = 0;  // 0: none
  Normalizer normalizer = Normalizer::Softmax;
  double sigmoidBias = 0;

  bool packed() const { return !cuSeqlensQ.empty(); }
  std::int64_t kvHead(std::int64_t headQ) const { return headQ * numHeadsKv / numHeadsQ; }
  // softmax_scale with its default, divided by the temperature.
  double scale() const;
};

// A problem together with the memory it looks at. It can be moved, not copied.
struct OwnedProblem {
  std::vector<double> q, k, v, bias, alibiSlopes, sink;
  std::vector<std::uint8_t> mask;
  std::vector<std::int32_t> seqlensQ, seqlensK, cuSeqlensQ, cuSeqlensK;
  AttentionProblem problem;

  OwnedProblem() = default;
  OwnedProblem(OwnedProblem&&) = default;
  OwnedProblem& operator=(OwnedProblem&&) = default;
};

OwnedProblem problemFromCase(const io::AttentionCase& attentionCase);

// One sequence of a packed problem as a problem of its own (batch 1, not packed).
struct Sequence {
  AttentionProblem problem;
  std::int64_t firstQuery = 0;  // its first row in the packed tensors
  std::int64_t firstKey = 0;
};

std::vector<Sequence> splitSequences(const AttentionProblem& packed);

}  // namespace saccade::reference
