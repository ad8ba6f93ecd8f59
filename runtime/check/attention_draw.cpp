// SPDX-License-Identifier: Apache-2.0
#include "check/attention_draw.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <optional>

namespace saccade::check {

namespace {

using io::DType;

constexpr std::int64_t kDrawnWorkLimit =
    1'500'000;  // multiply-adds of one problem; the scalar path computes each six times

constexpr std::uint64_t kSpecsPerFamily = 8;
// Streams of random numbers that no problem uses for its values.
constexpr std::uint64_t kFamilyStreams = std::uint64_t{3} << 48;
constexpr std::uint64_t kSizeStreams = std::uint64_t{4} << 48;

// Edges of tiles (8, 16, 32, 64, 128) and their neighbours, and small ones.
std::int64_t randomTokens(Random& random) {
  if (random.chance(0.03)) {
    return 0;
  }
  return random.chance(0.6) ? random.pick<std::int64_t>({1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65,
                                                         127, 128, 129, 256, 257})
                            : 1 + random.below(100);
}

// Those that every sweep holds are small: what is compiled for large ones takes seconds, and the built-in
// shapes have them.
std::int64_t randomHeadDim(bool isFirst, Random& random) {
  if (isFirst) {
    return random.pick<std::int64_t>({1, 3, 4, 8, 15, 20, 33, 40, 64});
  }
  return random.chance(0.7)
             ? kShapeHeadDims[random.below(static_cast<std::int64_t>(std::size(kShapeHeadDims)))]
             : 1 + random.below(256);
}

// What a driver compiles a pipeline for.
struct Family {
  DType dtype = DType::F32, biasDtype = DType::F32;
  std::int64_t headDimQk = 1, headDimV = 1;
  io::Causal causal = io::Causal::None;
  bool windowLeft = false, windowRight = false, softcap = false, mask = false, bias = false, alibi = false,
       sink = false, seqlensQ = false, seqlensK = false, packed = false, lse = false, probs = false;
  std::int64_t pageSize = 0;
  std::optional<DType> kvDtype;
  std::int64_t scaleBlock = 0;
};

// Not 1, 2 or 3: those would be on in packed families alone, or together there alone.
constexpr std::uint64_t kFirstColumn = 4;
constexpr std::uint64_t kArrayRows = 16;

Family familyOf(std::uint64_t seed, std::uint64_t index) {
  static constexpr DType kDtypes[] = {DType::F32, DType::F16, DType::BF16};
  static constexpr io::Causal kCausals[] = {io::Causal::None, io::Causal::BottomRight, io::Causal::TopLeft,
                                            io::Causal::BottomRight, io::Causal::None};
  const std::uint64_t number = index / kSpecsPerFamily;
  Random random(seed, kFamilyStreams + number);
  Family family;
  family.dtype = kDtypes[number % std::size(kDtypes)];
  family.biasDtype = random.pick({DType::F32, DType::F16, DType::BF16});
  family.headDimQk = randomHeadDim(number < kArrayRows, random);
  family.headDimV = random.chance(0.5) ? family.headDimQk : randomHeadDim(number < kArrayRows, random);
  family.causal = kCausals[number % std::size(kCausals)];
  // The first families take options from the rows of an orthogonal array (Rao 1947): each is on in half of
  // them, and every two are together in a quarter. Each column is a parity of bits of the family's number.
  std::uint64_t column = kFirstColumn;
  const auto has = [&](double probability) {
    const bool parity = std::popcount(number & column++) % 2 == 1;
    const bool drawn = random.chance(probability);
    return number < kArrayRows ? parity : drawn;
  };
  family.windowLeft = has(0.25);
  family.windowRight = has(0.25);
  family.softcap = has(0.3);
  family.alibi = has(0.3);
  family.sink = has(0.3);
  family.pageSize = has(0.3) ? random.pick<std::int64_t>({1, 3, 7, 16, 32, 64}) : 0;
  family.lse = has(0.7);
  family.mask = has(0.35);
  family.bias = has(0.35);
  family.seqlensQ = has(0.35);
  family.seqlensK = has(0.45);
  family.probs = has(0.3);
  family.packed = number % 4 == 3;
  if (family.packed) {
    family.mask = family.bias = family.seqlensQ = family.seqlensK = family.probs = false;
  }
  if (random.chance(0.35)) {
    family.kvDtype = random.pick({DType::F8_E4M3, DType::I8});
    family.scaleBlock = family.pageSize == 0 ? random.pick<std::int64_t>({0, 1, 16, 64})
                        : family.packed      ? random.pick<std::int64_t>({0, 1})
                                             : random.pick<std::int64_t>({0, 1, family.pageSize});
  }
  return family;
}

void drawSizes(AttentionSpec& spec, Random& random) {
  spec.batch = random.chance(0.02) ? 0 : 1 + random.below(3);
  spec.numHeadsKv = 1 + random.below(3);
  spec.numHeadsQ = spec.numHeadsKv * random.pick<std::int64_t>({1, 1, 2, 3, 5, 6, 8, 12});
  spec.seqlenQ = random.chance(0.15) ? 1 : randomTokens(random);
  spec.seqlenK = random.chance(0.4) ? spec.seqlenQ : randomTokens(random);
  while (workOf(spec) > kDrawnWorkLimit) {
    if (spec.batch > 1) {
      --spec.batch;
    } else if (spec.numHeadsKv > 1) {
      spec.numHeadsQ -= spec.numHeadsQ / spec.numHeadsKv;
      --spec.numHeadsKv;
    } else {
      std::int64_t& longer = spec.seqlenQ > spec.seqlenK ? spec.seqlenQ : spec.seqlenK;
      longer = longer / 2 + 1;
    }
  }
}

// Lengths around the edges; some outside the tensor, which a device clamps.
std::vector<std::int32_t> randomLengths(std::int64_t batch, std::int64_t tokens, bool mayLeave,
                                        Random& random) {
  std::vector<std::int32_t> lengths;
  for (std::int64_t b = 0; b < batch; ++b) {
    std::int64_t length = random.chance(0.2) ? 0 : random.chance(0.2) ? tokens : random.below(tokens + 1);
    if (mayLeave && random.chance(0.3)) {
      length = random.chance(0.5) ? -3 : tokens + 5;
    }
    lengths.push_back(static_cast<std::int32_t>(length));
  }
  return lengths;
}

// Rising from 0 to `used`, with empty sequences here and there.
std::vector<std::int32_t> randomOffsets(std::int64_t sequences, std::int64_t used, Random& random) {
  std::vector<std::int32_t> offsets = {0};
  for (std::int64_t b = 1; b < sequences; ++b) {
    offsets.push_back(random.chance(0.3) ? offsets[static_cast<std::size_t>(random.below(b))]
                                         : static_cast<std::int32_t>(random.below(used + 1)));
  }
  offsets.push_back(static_cast<std::int32_t>(used));
  std::sort(offsets.begin(), offsets.end());
  return offsets;
}

Broadcast randomBroadcast(Random& random) {
  Broadcast full;
  for (bool& axis : full) {
    axis = random.chance(0.6);
  }
  return full;
}

void drawLayouts(AttentionSpec& spec, Random& random) {
  const auto layout = [&] {
    return random.pick({Layout::Contiguous, Layout::TokensFirst, Layout::PaddedRows, Layout::CacheSlice});
  };
  AttentionLayout& where = spec.layout;
  where.q = layout();
  where.k = layout();
  where.v = layout();
  where.out = layout();
  where.keysFirst = (spec.mask || spec.bias) && random.chance(0.3);
  const bool oneHeadDim = spec.headDimQk == spec.headDimV;
  if (spec.pageSize > 0) {
    where.packing = oneHeadDim && random.chance(0.5) ? Packing::InterleavedKv : Packing::Separate;
  } else if (oneHeadDim && spec.seqlenQ == spec.seqlenK && random.chance(0.5)) {
    where.packing = Packing::Qkv;
  } else if (random.chance(0.1)) {
    where.packing = Packing::SharedKv;
  }
}

void drawScales(AttentionSpec& spec, const Family& family, Random& random) {
  spec.kvDtype = family.kvDtype;
  spec.layout.packing = spec.layout.packing == Packing::Qkv ? Packing::Separate : spec.layout.packing;
  for (std::optional<ScaleAxes>* scale : {&spec.kScale, &spec.vScale}) {
    // A family's pipelines depend on whether there are scales.
    if (family.scaleBlock != 0 || family.lse) {
      *scale = {random.chance(0.6), random.chance(0.6), family.scaleBlock != 0 && random.chance(0.8)};
    }
  }
  spec.scaleBlock = spec.kScale ? family.scaleBlock : 0;
}

// Scores stay of the size for which fp32 tolerances are meant.
void drawNumbers(AttentionSpec& spec, const Family& family, Random& random) {
  if (random.chance(0.4)) {
    const double width = std::sqrt(static_cast<double>(spec.headDimQk));
    spec.softmaxScale = static_cast<float>(random.pick({0.0, -0.7, 0.3, 1.5}) / width);
  }
  spec.temperature = random.pick({1.0f, 1.0f, 1.0f, 0.75f, 4.0f});
  spec.softcap = family.softcap ? random.pick({0.5f, 2.0f, 30.0f}) : 0;
  spec.causal = family.causal;
  const auto distance = [&](bool given) {
    return given ? random.pick<std::int64_t>({0, 0, 1, 3, 8, 15, 16, 17, 64, spec.seqlenK + 3}) : -1;
  };
  spec.windowLeft = distance(family.windowLeft);
  spec.windowRight = distance(family.windowRight);
}

}  // namespace

void addLengths(AttentionSpec& spec, bool q, bool k, Random& random) {
  spec.layout.hostLengths = random.chance(0.5);
  if (q) {
    spec.seqlensQ = randomLengths(spec.batch, spec.seqlenQ, !spec.layout.hostLengths, random);
  }
  if (k) {
    spec.seqlensK = randomLengths(spec.batch, spec.seqlenK, !spec.layout.hostLengths, random);
  }
}

void addPacking(AttentionSpec& spec, Random& random) {
  spec.batch = std::max<std::int64_t>(spec.batch, 1) + random.below(3);
  spec.layout.hostLengths = random.chance(0.5);
  const bool tail = random.chance(0.5);
  const std::int64_t usedQ =
      tail ? std::max<std::int64_t>(spec.seqlenQ - 1 - random.below(4), 0) : spec.seqlenQ;
  const std::int64_t usedK =
      tail ? std::max<std::int64_t>(spec.seqlenK - 1 - random.below(4), 0) : spec.seqlenK;
  spec.cuSeqlensQ = randomOffsets(spec.batch, usedQ, random);
  spec.cuSeqlensK = randomOffsets(spec.batch, usedK, random);
}

void addPages(AttentionSpec& spec, std::int64_t pageSize) {
  spec.pageSize = pageSize;
  if (!spec.packed()) {
    spec.seqlenK = (spec.seqlenK + pageSize - 1) / pageSize * pageSize;
  }
}

AttentionSpec drawSpec(std::uint64_t seed, std::uint64_t index) {
  const Family family = familyOf(seed, index);
  Random random(seed, kSizeStreams + index);
  AttentionSpec spec;
  spec.data = index;
  spec.dtype = family.dtype;
  spec.headDimQk = family.headDimQk;
  spec.headDimV = family.headDimV;
  drawSizes(spec, random);
  if (family.packed) {
    addPacking(spec, random);
  }
  if (family.pageSize > 0) {
    spec.seqlenK = std::max<std::int64_t>(spec.seqlenK, 1);
    addPages(spec, family.pageSize);
  }
  if (!family.packed) {
    addLengths(spec, family.seqlensQ, family.seqlensK, random);
  }
  if (family.mask) {
    spec.mask = randomBroadcast(random);
  }
  if (family.bias) {
    spec.bias = randomBroadcast(random);
    spec.biasDtype = family.biasDtype;
  }
  spec.alibi = !family.alibi ? Slopes::None : random.pick({Slopes::PerHead, Slopes::PerBatchAndHead});
  spec.sink = family.sink;
  spec.lse = family.lse;
  spec.probs = family.probs;
  drawNumbers(spec, family, random);
  drawLayouts(spec, random);
  spec.hidden = random.chance(0.7) ? Hidden::Nan : Hidden::Ordinary;
  spec.visibleNan = random.chance(0.1);
  if (family.kvDtype) {
    drawScales(spec, family, random);
  }
  return spec;
}

}  // namespace saccade::check
