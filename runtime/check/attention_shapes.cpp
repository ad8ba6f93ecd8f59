// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <set>
#include <utility>

#include "check/attention_draw.hpp"

namespace saccade::check {

namespace {

constexpr std::size_t kHeadDims = std::size(kShapeHeadDims), kGroups = std::size(kShapeGroups),
                      kTokens = std::size(kShapeTokens);
constexpr std::int64_t kShapeWorkLimit = 2'500'000;  // multiply-adds of one problem
constexpr std::int64_t kThoroughWorkLimit =
    40'000'000;  // enough for 257 x 257 tokens, head dim 256, one head

// Options that decide how a kernel walks its tiles, one set per pipeline.
constexpr std::size_t kOptionSets = 16;
void addOptions(AttentionSpec& spec, std::size_t set, Random& random) {
  switch (set % kOptionSets) {
    case 0: break;
    case 1: spec.causal = io::Causal::BottomRight; break;
    case 2:
      spec.causal = io::Causal::TopLeft;
      spec.lse = true;
      break;
    case 3:
      spec.windowLeft = random.pick<std::int64_t>({0, 5, 16, 40});
      spec.windowRight = random.pick<std::int64_t>({0, 0, 7, 33});
      break;
    case 4:
      spec.mask = Broadcast{false, true, true, true};
      spec.lse = true;
      break;
    case 5: spec.bias = Broadcast{true, false, true, true}; break;
    case 6:
      addLengths(spec, false, true, random);
      spec.lse = true;
      break;
    case 7:
      spec.sink = true;
      spec.alibi = Slopes::PerHead;
      break;
    case 8:
      addPacking(spec, random);
      spec.causal = io::Causal::BottomRight;
      break;
    case 9:
      addPages(spec, 16);
      addLengths(spec, false, true, random);
      break;
    case 10:
      spec.softcap = 4;
      spec.lse = true;
      break;
    case 11:
      addLengths(spec, true, true, random);
      spec.causal = io::Causal::BottomRight;
      break;
    case 12:
      addPacking(spec, random);
      addPages(spec, 3);
      break;
    case 13:
      spec.probs = true;
      spec.mask = Broadcast{true, false, false, true};
      break;
    case 14:
      spec.kvDtype = io::DType::I8;
      spec.kScale = spec.vScale = ScaleAxes{true, true, true};
      spec.scaleBlock = 16;
      spec.causal = io::Causal::BottomRight;
      break;
    case 15:
      spec.kvDtype = io::DType::F8_E4M3;
      spec.kScale = spec.vScale = ScaleAxes{false, true, false};
      spec.lse = true;
      break;
    default: break;
  }
}

struct Choice {
  std::size_t headDim = 0, group = 0;
};

std::int64_t workOf(std::size_t tq, std::size_t tk, const Choice& choice) {
  return kShapeTokens[tq] * kShapeTokens[tk] * 2 * kShapeHeadDims[choice.headDim] *
         kShapeGroups[choice.group];
}

// Picks, for one pair of token counts after the other, the head dim and group that bring the most new pairs
// of values.
class PairCover {
 public:
  Choice choose(std::size_t tq, std::size_t tk, std::int64_t workLimit) {
    Choice best;
    int bestScore = std::numeric_limits<int>::min();
    for (Choice choice; choice.headDim < kHeadDims; ++choice.headDim) {
      for (choice.group = 0; choice.group < kGroups; ++choice.group) {
        if (workOf(tq, tk, choice) > workLimit) {
          continue;
        }
        const int score = 100 * newPairs(tq, tk, choice) - used_[choice.headDim];
        if (score > bestScore) {
          best = choice;
          bestScore = score;
        }
      }
    }
    for (const auto& pair : pairsOf(tq, tk, best)) {
      seen_.insert(pair);
    }
    ++used_[best.headDim];
    return best;
  }

 private:
  using Pair = std::array<std::size_t, 3>;  // which two axes, and their values

  static std::array<Pair, 5> pairsOf(std::size_t tq, std::size_t tk, const Choice& c) {
    return {Pair{0, c.headDim, c.group}, Pair{1, c.headDim, tq}, Pair{2, c.headDim, tk}, Pair{3, c.group, tq},
            Pair{4, c.group, tk}};
  }
  int newPairs(std::size_t tq, std::size_t tk, const Choice& choice) const {
    int count = 0;
    for (const auto& pair : pairsOf(tq, tk, choice)) {
      count += seen_.contains(pair) ? 0 : 1;
    }
    return count;
  }

  std::set<Pair> seen_;
  std::array<int, kHeadDims> used_{};
};

AttentionSpec shapeSpec(std::size_t tq, std::size_t tk, const Choice& choice, std::size_t dtype,
                        std::size_t options, std::uint64_t number, std::int64_t workLimit) {
  static constexpr io::DType kDtypes[] = {io::DType::F32, io::DType::F16, io::DType::BF16};
  Random random(kShapeSeed, number);
  AttentionSpec spec;
  spec.data = number;
  spec.dtype = kDtypes[dtype % std::size(kDtypes)];
  spec.seqlenQ = kShapeTokens[tq];
  spec.seqlenK = kShapeTokens[tk];
  spec.headDimQk = kShapeHeadDims[choice.headDim];
  // Every third set of options has values of another size, but one that is in the list as well.
  spec.headDimV = options % 3 == 2 ? kShapeHeadDims[(choice.headDim + 5) % 9] : spec.headDimQk;
  spec.numHeadsKv = workOf(tq, tk, choice) * 2 <= workLimit ? 2 : 1;
  spec.numHeadsQ = spec.numHeadsKv * kShapeGroups[choice.group];
  spec.batch = workOf(tq, tk, choice) * 4 <= workLimit ? 2 : 1;
  addOptions(spec, options, random);
  spec.hidden = Hidden::Nan;
  return spec;
}

}  // namespace

std::vector<AttentionSpec> shapeSpecs(bool thorough) {
  std::vector<AttentionSpec> specs;
  if (thorough) {
    // Blocks of token pairs of one head dim share a dtype and a set of options, and with them their
    // pipelines.
    constexpr std::size_t kBlock = 36;
    for (std::size_t d = 0; d < kHeadDims; ++d) {
      for (std::size_t pair = 0; pair < kTokens * kTokens; ++pair) {
        // A step that has no common divisor with the number of pairs spreads large and small ones over the
        // blocks.
        const std::size_t mixed = pair * 127 % (kTokens * kTokens);
        const std::size_t tq = mixed / kTokens, tk = mixed % kTokens, block = pair / kBlock;
        Choice choice{d, (pair + d) % kGroups};
        while (workOf(tq, tk, choice) > kThoroughWorkLimit && choice.group > 0) {
          --choice.group;
        }
        specs.push_back(shapeSpec(tq, tk, choice, block, block + 5 * d, specs.size(), kShapeWorkLimit));
      }
    }
    return specs;
  }
  PairCover cover;
  std::array<std::vector<AttentionSpec>, kHeadDims> byHeadDim;
  for (std::size_t pair = 0; pair < kTokens * kTokens; ++pair) {
    const std::size_t tq = pair / kTokens, tk = pair % kTokens;
    const Choice choice = cover.choose(tq, tk, kShapeWorkLimit);
    // 16-bit kernels for most head dims above 128 take a CPU device many seconds to compile.
    const bool isLarge = kShapeHeadDims[choice.headDim] > 128;
    const std::size_t dtype = isLarge && kShapeHeadDims[choice.headDim] != 192 ? 0 : choice.headDim;
    byHeadDim[choice.headDim].push_back(shapeSpec(tq, tk, choice, dtype, choice.headDim, pair, kShapeWorkLimit));
  }
  for (auto& some : byHeadDim) {
    std::move(some.begin(), some.end(), std::back_inserter(specs));
  }
  return specs;
}

}  // namespace saccade::check
