// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "check/device_tensors.hpp"
#include "check/random.hpp"
#include "io/attention_case.hpp"

namespace saccade::check {

// How q, k and v share memory.
enum class Packing {
  Separate,
  Qkv,       // one tensor [B,T,Hq+2*Hkv,D], as a fused projection writes it
  SharedKv,  // k and v of batch entry 0 and head 0 serve all others: strides of 0
};

// A random attention problem, and how it is to be laid out on a device. The tensors of `problem` are
// contiguous and, but for mask and bias, of full size: what the scalar path takes.
struct AttentionSample {
  io::AttentionCase problem;
  Packing packing = Packing::Separate;
  Layout q = Layout::Contiguous, k = Layout::Contiguous, v = Layout::Contiguous, out = Layout::Contiguous;
  bool keysFirst = false;  // mask and bias lie in memory as [..,Tk,Tq]
  bool lse = false;
  bool probs = false;
  bool hostLengths = false;  // tell the host the lengths, too
  std::string description;
};

// Sample `index` of the sweep with that seed.
AttentionSample attentionSample(std::uint64_t seed, std::uint64_t index);

// The values of the inputs before they are rounded to their dtype. A size of 1 stands for every index of its
// axis.
struct AttentionValues {
  struct Source {
    io::Shape shape;  // [B,H,T,D] or [B,H,Tq,Tk], each size full or 1
    std::vector<double> values;

    std::size_t index(std::int64_t b, std::int64_t h, std::int64_t t, std::int64_t c) const;
  };
  Source q, k, v, bias;  // bias: no values if absent
};

// Puts NaN and infinities where the rules say that they have no influence: into keys and values that no row
// sees, rows past their length, and biases of hidden keys. `problem` has its sizes, lengths, mask and bias.
void poisonHidden(AttentionValues& values, const io::AttentionCase& problem, Random& random);

// Replaces large negative biases by small ones if a row sees none but such keys: fp32 sums lose the scores
// there.
void keepScoresVisible(AttentionValues& values, const io::AttentionCase& problem);

}  // namespace saccade::check
