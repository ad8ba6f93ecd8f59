// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "check/attention_spec.hpp"
#include "check/random.hpp"
#include "io/attention_case.hpp"

namespace saccade::check {

// Which page of a pool holds which keys. A pool has shape [poolPages, heads, pageSize, head_dim].
struct PageTable {
  std::int64_t pageSize = 0;  // 0: k and v are not paged
  std::int64_t maxPages = 0;
  std::int64_t poolPages = 0;
  std::vector<std::int32_t> entries;  // [batch, maxPages]; outside the pool where no key lies
};

// An attention problem with its values, and how it is to be laid out on a device. The tensors of `problem`
// are contiguous and, but for mask and bias, of full size: what the scalar path takes, also where the device
// gets pages.
struct AttentionSample {
  io::AttentionCase problem;
  AttentionLayout layout;
  PageTable pages;
  bool lse = false;
  bool probs = false;
};

// The problem that a spec describes. Values follow from seed and spec alone.
AttentionSample makeSample(const AttentionSpec& spec, std::uint64_t seed);

// The spec of a problem that comes with its values: the same sizes and options, other values.
AttentionSpec specOf(const io::AttentionCase& problem, bool lse, bool probs);

// How many keys each sequence has, clamped to what there is: what a block table must have pages for.
std::vector<std::int64_t> keyLengths(const io::AttentionCase& problem);

// Calls `visit(b, h, i, j)` for every visible pair of row and key; packed, b is 0, and i and j count the
// tokens of all sequences. The values of q, k and v play no part.
using PairVisitor = std::function<void(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j)>;
void forEachVisiblePair(const io::AttentionCase& problem, const PairVisitor& visit);

// The values of the inputs before they are rounded to their dtype. A size of 1 stands for every index of its
// axis; packed, batch is 1.
struct AttentionValues {
  struct Source {
    io::Shape shape;  // [B,H,T,D] or [B,H,Tq,Tk], each size full or 1
    std::vector<double> values;

    std::size_t index(std::int64_t b, std::int64_t h, std::int64_t t, std::int64_t c) const;
  };
  Source q, k, v, bias;   // bias: no values if absent
  Source kScale, vScale;  // axis 2 counts blocks; no values if absent
};

// Puts NaN and infinities, or zeros, where the rules say that values have no influence: into keys and values
// that no row sees and scales of such alone, rows past their length, and biases of hidden keys. `problem` has its sizes, lengths, mask
// and bias.
void fillHidden(AttentionValues& values, const io::AttentionCase& problem, Hidden hidden, Random& random);

// Replaces large negative biases by small ones if a row sees none but such keys: fp32 sums lose the scores
// there.
void keepScoresVisible(AttentionValues& values, const io::AttentionCase& problem);

}  // namespace saccade::check
