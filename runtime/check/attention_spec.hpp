// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "check/device_tensors.hpp"
#include "io/attention_case.hpp"

namespace saccade::check {

// How q, k and v share memory.
enum class Packing {
  Separate,
  Qkv,           // one tensor [B,T,Hq+2*Hkv,D], as a fused projection writes it
  SharedKv,      // k and v of batch entry 0 and head 0 serve all others: strides of 0
  InterleavedKv  // paged: one pool [pages,2,page_size,Hkv,D]
};

// Where the tensors of one call lie, and what the host is told.
struct AttentionLayout {
  Packing packing = Packing::Separate;
  Layout q = Layout::Contiguous, k = Layout::Contiguous, v = Layout::Contiguous, out = Layout::Contiguous;
  bool keysFirst = false;    // mask and bias lie in memory as [..,Tk,Tq]
  bool hostLengths = false;  // the host knows the lengths and the block table, too

  bool operator==(const AttentionLayout&) const = default;
};

// What stands where nothing that is visible depends on it: hidden keys and values, rows past their length,
// biases of hidden keys, entries of no sequence.
enum class Hidden { Ordinary, Nan, Zero };

// Which axes of a mask or bias are full (batch, head, query, key); the others have size 1.
using Broadcast = std::array<bool, 4>;

// The same of a scale of k or v: batch, head, block of tokens.
using ScaleAxes = std::array<bool, 3>;

enum class Slopes { None, PerHead, PerBatchAndHead };

// An attention problem in words: sizes and options, but no values, which follow from a seed. Sizes are those
// of io::AttentionCase: packed, batch counts sequences, and seqlenQ and seqlenK the tokens of all of them.
struct AttentionSpec {
  io::DType dtype = io::DType::F32;
  std::int64_t batch = 1, numHeadsQ = 1, numHeadsKv = 1, seqlenQ = 1, seqlenK = 1, headDimQk = 1,
               headDimV = 1;

  io::Causal causal = io::Causal::None;
  std::int64_t windowLeft = -1, windowRight = -1;
  std::optional<float> softmaxScale;
  float temperature = 1, softcap = 0;
  std::optional<Broadcast> mask, bias;
  io::DType biasDtype = io::DType::F32;
  Slopes alibi = Slopes::None;
  bool sink = false;
  std::optional<io::DType> kvDtype;          // F8_E4M3 or I8: k and v are quantised
  std::optional<ScaleAxes> kScale, vScale;
  std::int64_t scaleBlock = 0;               // tokens that share a scale; 0: all
  std::optional<std::vector<std::int32_t>> seqlensQ, seqlensK;      // [batch]
  std::optional<std::vector<std::int32_t>> cuSeqlensQ, cuSeqlensK;  // [batch + 1]: packed
  std::int64_t pageSize = 0;                                        // 0: k and v are not paged
  bool lse = false, probs = false;

  AttentionLayout layout;
  Hidden hidden = Hidden::Ordinary;
  bool visibleNan = false;  // one NaN in something visible
  std::uint64_t data = 0;   // other values with the same seed

  bool packed() const { return cuSeqlensQ.has_value(); }
  bool operator==(const AttentionSpec&) const = default;
};

// "f16,B1,Hq2,Hkv1,Tq3,Tk17,Dqk4,Dv4,causal,window=3:-1,lse": what --only takes and failures print. Options
// that are off are left out.
std::string formatSpec(const AttentionSpec& spec);

// The inverse. Throws std::invalid_argument naming the item that it does not know or that does not fit the
// others.
AttentionSpec parseSpec(std::string_view text);

// Why the parts of a spec do not fit each other, or "": e.g. packed sequences with a mask, a length list of
// the wrong size, more elements than a check should allocate.
std::string specMistake(const AttentionSpec& spec);

// Equal for specs that a driver compiles the same pipelines for.
std::string pipelineKey(const AttentionSpec& spec);

// Multiply-adds: what the scalar path's time grows with.
std::int64_t workOf(const AttentionSpec& spec);

}  // namespace saccade::check
