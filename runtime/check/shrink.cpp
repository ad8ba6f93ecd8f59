// SPDX-License-Identifier: Apache-2.0
#include "check/shrink.hpp"

#include <algorithm>
#include <vector>

namespace saccade::check {

namespace {

using Lengths = std::optional<std::vector<std::int32_t>>;

void limitEntries(Lengths& lengths, std::size_t count, std::int64_t highest) {
  if (lengths) {
    lengths->resize(std::min(lengths->size(), count));
    for (std::int32_t& length : *lengths) {
      length = static_cast<std::int32_t>(std::min<std::int64_t>(length, highest));
    }
  }
}

// Makes what depends on sizes fit them again.
AttentionSpec fitted(AttentionSpec spec) {
  if (spec.pageSize > 0 && !spec.packed()) {
    spec.seqlenK -= spec.seqlenK % spec.pageSize;
  }
  const auto batch = static_cast<std::size_t>(spec.batch);
  limitEntries(spec.seqlensQ, batch, spec.seqlenQ);
  limitEntries(spec.seqlensK, batch, spec.seqlenK);
  limitEntries(spec.cuSeqlensQ, batch + 1, spec.seqlenQ);
  limitEntries(spec.cuSeqlensK, batch + 1, spec.seqlenK);
  return spec;
}

// Smaller values to try, the smallest first.
std::vector<std::int64_t> smallerThan(std::int64_t size, std::int64_t least, std::int64_t step = 1) {
  std::vector<std::int64_t> sizes;
  for (const std::int64_t candidate : {least, size / 4, size / 2, size * 3 / 4, size - step}) {
    const std::int64_t whole = candidate - candidate % step;
    if (whole >= least && whole < size && (sizes.empty() || sizes.back() < whole)) {
      sizes.push_back(whole);
    }
  }
  return sizes;
}

class Candidates {
 public:
  explicit Candidates(const AttentionSpec& from) : from_(from) {}

  std::vector<AttentionSpec> sizes() {
    specs_.clear();
    size(&AttentionSpec::batch, 1);
    heads();
    const std::int64_t page = std::max<std::int64_t>(from_.packed() ? 1 : from_.pageSize, 1);
    if (from_.seqlenQ == from_.seqlenK) {
      for (const std::int64_t tokens : smallerThan(from_.seqlenQ, 1)) {
        add([&](AttentionSpec& s) { s.seqlenQ = s.seqlenK = tokens; });
      }
    }
    size(&AttentionSpec::seqlenQ, 1);
    size(&AttentionSpec::seqlenK, page, page);
    lengths();
    return std::move(specs_);
  }

  std::vector<AttentionSpec> options() {
    specs_.clear();
    // All of them at once: a fault of plain attention is then found in one step.
    add([](AttentionSpec& s) {
      s = {.dtype = s.dtype,
           .batch = s.batch,
           .numHeadsQ = s.numHeadsQ,
           .numHeadsKv = s.numHeadsKv,
           .seqlenQ = s.seqlenQ,
           .seqlenK = s.seqlenK,
           .headDimQk = s.headDimQk,
           .headDimV = s.headDimV,
           .causal = s.causal};
    });
    add([](AttentionSpec& s) { s.layout = AttentionLayout{.packing = s.layout.packing}; });
    add([](AttentionSpec& s) { s.layout = {}; });
    add([](AttentionSpec& s) { s.layout.packing = Packing::Separate; });
    for (Layout AttentionLayout::* layout :
         {&AttentionLayout::q, &AttentionLayout::k, &AttentionLayout::v, &AttentionLayout::out}) {
      add([&](AttentionSpec& s) { s.layout.*layout = Layout::Contiguous; });
    }
    add([](AttentionSpec& s) { s.layout.keysFirst = false; });
    add([](AttentionSpec& s) { s.layout.hostLengths = false; });
    add([](AttentionSpec& s) { s.visibleNan = false; });
    add([](AttentionSpec& s) { s.hidden = Hidden::Ordinary; });
    add([](AttentionSpec& s) { s.temperature = 1; });
    add([](AttentionSpec& s) { s.softmaxScale.reset(); });
    add([](AttentionSpec& s) { s.mask.reset(); });
    add([](AttentionSpec& s) { s.bias.reset(); });
    broadcasts();
    add([](AttentionSpec& s) { s.alibi = Slopes::None; });
    add([](AttentionSpec& s) { s.alibi = s.alibi == Slopes::None ? Slopes::None : Slopes::PerHead; });
    add([](AttentionSpec& s) { s.sink = false; });
    add([](AttentionSpec& s) { s.softcap = 0; });
    add([](AttentionSpec& s) { s.windowLeft = s.windowRight = -1; });
    add([](AttentionSpec& s) { s.windowLeft = -1; });
    add([](AttentionSpec& s) { s.windowRight = -1; });
    add([](AttentionSpec& s) { s.seqlensQ.reset(); });
    add([](AttentionSpec& s) { s.seqlensK.reset(); });
    add([](AttentionSpec& s) { s.causal = io::Causal::None; });
    add([](AttentionSpec& s) {
      s.pageSize = 0;
      s.layout.packing = s.layout.packing == Packing::InterleavedKv ? Packing::Separate : s.layout.packing;
    });
    add([](AttentionSpec& s) {
      if (s.packed()) {
        s.cuSeqlensQ.reset();
        s.cuSeqlensK.reset();
        s.batch = 1;
      }
    });
    add([](AttentionSpec& s) {
      s.kvDtype.reset();
      s.kScale.reset();
      s.vScale.reset();
      s.scaleBlock = 0;
    });
    add([](AttentionSpec& s) { s.kScale.reset(); });
    add([](AttentionSpec& s) { s.vScale.reset(); });
    add([](AttentionSpec& s) {
      for (std::optional<ScaleAxes>* scale : {&s.kScale, &s.vScale}) {
        if (*scale) *scale = ScaleAxes{};
      }
      s.scaleBlock = 0;
    });
    add([](AttentionSpec& s) { s.probs = false; });
    add([](AttentionSpec& s) { s.lse = false; });
    add([](AttentionSpec& s) { s.data = 0; });
    return std::move(specs_);
  }

  std::vector<AttentionSpec> headDims() {
    specs_.clear();
    if (from_.headDimQk == from_.headDimV) {
      for (const std::int64_t headDim : smallerThan(from_.headDimQk, 1)) {
        add([&](AttentionSpec& s) { s.headDimQk = s.headDimV = headDim; });
      }
    }
    size(&AttentionSpec::headDimQk, 1);
    size(&AttentionSpec::headDimV, 1);
    add([](AttentionSpec& s) { s.dtype = io::DType::F32; });
    return std::move(specs_);
  }

 private:
  template <typename Change>
  void add(Change change) {
    AttentionSpec spec = from_;
    change(spec);
    spec = fitted(std::move(spec));
    if (spec != from_ && specMistake(spec).empty()) {
      specs_.push_back(std::move(spec));
    }
  }

  void size(std::int64_t AttentionSpec::* field, std::int64_t least, std::int64_t step = 1) {
    for (const std::int64_t smaller : smallerThan(from_.*field, least, step)) {
      add([&](AttentionSpec& s) { s.*field = smaller; });
    }
  }

  // Fewer K/V heads with the same group, and smaller groups.
  void heads() {
    const std::int64_t group = from_.numHeadsKv > 0 ? from_.numHeadsQ / from_.numHeadsKv : 0;
    for (const std::int64_t headsKv : smallerThan(from_.numHeadsKv, 1)) {
      add([&](AttentionSpec& s) {
        s.numHeadsKv = headsKv;
        s.numHeadsQ = headsKv * group;
      });
    }
    for (const std::int64_t smaller : smallerThan(group, 1)) {
      add([&](AttentionSpec& s) { s.numHeadsQ = s.numHeadsKv * smaller; });
    }
  }

  // One sequence or batch entry less, whichever it is; shorter lengths.
  void lengths() {
    for (std::size_t b = 0; from_.batch > 1 && b < static_cast<std::size_t>(from_.batch); ++b) {
      add([&](AttentionSpec& s) {
        --s.batch;
        for (Lengths* list : {&s.seqlensQ, &s.seqlensK, &s.cuSeqlensQ, &s.cuSeqlensK}) {
          if (*list) {
            (*list)->erase((*list)->begin() + static_cast<std::ptrdiff_t>(b) + (s.packed() ? 1 : 0));
          }
        }
      });
    }
    for (Lengths AttentionSpec::* list : {&AttentionSpec::cuSeqlensQ, &AttentionSpec::cuSeqlensK}) {
      for (const std::int64_t last : smallerThan((from_.*list) ? (from_.*list)->back() : 0, 0)) {
        add([&](AttentionSpec& s) { limitEntries(s.*list, (s.*list)->size(), last); });
      }
    }
    for (Lengths AttentionSpec::* list : {&AttentionSpec::seqlensQ, &AttentionSpec::seqlensK}) {
      for (std::size_t b = 0; (from_.*list) && b < (from_.*list)->size(); ++b) {
        for (const std::int64_t smaller : smallerThan((*(from_.*list))[b], 0)) {
          add([&](AttentionSpec& s) { (*(s.*list))[b] = static_cast<std::int32_t>(smaller); });
        }
      }
    }
  }

  void broadcasts() {
    for (std::optional<Broadcast> AttentionSpec::* scores : {&AttentionSpec::mask, &AttentionSpec::bias}) {
      for (std::size_t axis = 0; (from_.*scores) && axis < 4; ++axis) {
        add([&](AttentionSpec& s) { (*(s.*scores))[axis] = false; });
      }
    }
  }

  AttentionSpec from_;
  std::vector<AttentionSpec> specs_;
};

class Search {
 public:
  Search(const AttentionSpec& failing, const std::function<bool(const AttentionSpec&)>& fails,
         const ShrinkLimits& limits)
      : best_{failing, 0},
        fails_(fails),
        limits_(limits),
        end_(std::chrono::steady_clock::now() + limits.time) {}

  std::optional<Shrunk> run() {
    for (bool again = true; again && !ended_;) {
      again = reduce(&Candidates::sizes);
      again = reduce(&Candidates::options) || again;
      again = reduce(&Candidates::headDims) || again;
    }
    return improved_ ? std::optional(best_) : std::nullopt;
  }

 private:
  // Takes the first candidate that fails, and asks again, until none does. True if one did.
  bool reduce(std::vector<AttentionSpec> (Candidates::*candidates)()) {
    bool any = false;
    while (takeOne((Candidates(best_.spec).*candidates)())) {
      any = true;
    }
    return any;
  }

  bool takeOne(std::vector<AttentionSpec> candidates) {
    for (AttentionSpec& candidate : candidates) {
      ended_ = ended_ || best_.tries >= limits_.tries || std::chrono::steady_clock::now() >= end_;
      if (ended_) {
        return false;
      }
      ++best_.tries;
      if (fails_(candidate)) {
        best_.spec = std::move(candidate);
        improved_ = true;
        return true;
      }
    }
    return false;
  }

  Shrunk best_;
  const std::function<bool(const AttentionSpec&)>& fails_;
  ShrinkLimits limits_;
  std::chrono::steady_clock::time_point end_;
  bool improved_ = false, ended_ = false;
};

}  // namespace

std::optional<Shrunk> shrinkSpec(const AttentionSpec& failing,
                                 const std::function<bool(const AttentionSpec&)>& fails,
                                 const ShrinkLimits& limits) {
  return Search(failing, fails, limits).run();
}

}  // namespace saccade::check
