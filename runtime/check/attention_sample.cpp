// SPDX-License-Identifier: Apache-2.0
#include "check/attention_sample.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

namespace saccade::check {

namespace {

using io::DType;
using io::Shape;
using io::TensorData;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Multiply-adds of one problem: the scalar path computes each six times.
constexpr std::int64_t kWorkLimit = 1'500'000;

// Edges of tiles (8, 16, 32, 64, 128) and their neighbours, and small ones.
std::int64_t randomTokens(Random& random) {
  if (random.chance(0.03)) {
    return 0;
  }
  return random.chance(0.6) ? random.pick<std::int64_t>({1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65,
                                                         127, 128, 129, 256, 257})
                            : 1 + random.below(100);
}

// What a driver compiles a pipeline for. Consecutive samples share it, because compiling takes longer than
// running.
struct Family {
  DType dtype = DType::F32;
  DType biasDtype = DType::F32;
  std::int64_t headDimQk = 0, headDimV = 0;
  io::Causal causal = io::Causal::None;
  bool mask = false, bias = false, seqlensQ = false, seqlensK = false, lse = false, probs = false;
};

constexpr std::uint64_t kSamplesPerFamily = 8;
// Streams of random numbers that no sample uses.
constexpr std::uint64_t kFamilyStreams = std::uint64_t{1} << 48;

std::int64_t randomHeadDim(Random& random) {
  return random.chance(0.7) ? random.pick<std::int64_t>({1, 2, 3, 4, 8, 16, 32, 33, 63, 64, 65, 80, 96})
                            : 1 + random.below(256);
}

Family familyOf(std::uint64_t seed, std::uint64_t index) {
  // The first families hold what no sweep should lack, however short.
  static constexpr std::int64_t kFirstHeadDims[] = {64, 8, 33, 3, 128, 16, 1, 40, 65, 32, 256, 20};
  static constexpr DType kDtypes[] = {DType::F32, DType::F16, DType::BF16};
  static constexpr io::Causal kCausals[] = {io::Causal::None, io::Causal::BottomRight, io::Causal::None,
                                            io::Causal::TopLeft};
  const std::uint64_t number = index / kSamplesPerFamily;
  const bool isFirst = number < std::size(kFirstHeadDims);
  Random random(seed, kFamilyStreams + number);
  const auto has = [&](bool first, double probability) {
    return isFirst ? first : random.chance(probability);
  };
  Family family;
  family.dtype = kDtypes[(number + number / 3) % std::size(kDtypes)];
  family.biasDtype = random.pick({DType::F32, DType::F16, DType::BF16});
  family.headDimQk = isFirst ? kFirstHeadDims[number] : randomHeadDim(random);
  family.headDimV = random.chance(0.6) ? family.headDimQk : randomHeadDim(random);
  family.causal = kCausals[isFirst ? number % std::size(kCausals) : random.bits() % std::size(kCausals)];
  family.mask = has(number % 2 == 1, 0.35);
  family.bias = has(number % 3 == 1, 0.35);
  family.seqlensQ = has(number % 5 == 2, 0.3);
  family.seqlensK = has(number % 4 >= 2, 0.4);
  family.lse = has(number % 4 != 3, 0.7);
  family.probs = has(number % 3 == 2, 0.35);
  return family;
}

void chooseSizes(io::AttentionCase& problem, const Family& family, Random& random) {
  problem.batch = random.chance(0.02) ? 0 : 1 + random.below(3);
  problem.numHeadsKv = 1 + random.below(3);
  problem.numHeadsQ = problem.numHeadsKv * random.pick<std::int64_t>({1, 1, 2, 3, 4});
  problem.seqlenQ = random.chance(0.15) ? 1 : randomTokens(random);
  problem.seqlenK = random.chance(0.4) ? problem.seqlenQ : randomTokens(random);
  problem.headDimQk = family.headDimQk;
  problem.headDimV = family.headDimV;
  const auto work = [&] {
    return problem.batch * problem.numHeadsQ * problem.seqlenQ * problem.seqlenK *
           (problem.headDimQk + problem.headDimV);
  };
  while (work() > kWorkLimit) {
    if (problem.batch > 1) {
      --problem.batch;
    } else if (problem.numHeadsKv > 1) {
      problem.numHeadsQ -= problem.numHeadsQ / problem.numHeadsKv;
      --problem.numHeadsKv;
    } else {
      std::int64_t& longer = problem.seqlenQ > problem.seqlenK ? problem.seqlenQ : problem.seqlenK;
      longer = longer / 2 + 1;
    }
  }
}

void chooseLayouts(AttentionSample& sample, Random& random) {
  const io::AttentionCase& problem = sample.problem;
  const auto layout = [&] {
    return random.pick({Layout::Contiguous, Layout::TokensFirst, Layout::PaddedRows, Layout::CacheSlice});
  };
  sample.q = layout();
  sample.k = layout();
  sample.v = layout();
  sample.out = layout();
  const bool canPack = problem.seqlenQ == problem.seqlenK && problem.headDimQk == problem.headDimV;
  if (canPack && random.chance(0.5)) {
    sample.packing = Packing::Qkv;
  } else if (random.chance(0.1)) {
    sample.packing = Packing::SharedKv;
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

Shape broadcastShape(const io::AttentionCase& problem, Random& random) {
  Shape shape = {problem.batch, problem.numHeadsQ, problem.seqlenQ, problem.seqlenK};
  for (std::int64_t& size : shape) {
    size = random.chance(0.4) ? 1 : size;
  }
  return shape;
}

TensorData randomMask(const io::AttentionCase& problem, Random& random) {
  const Shape shape = broadcastShape(problem, random);
  const double attended = random.pick({0.0, 0.2, 0.5, 0.95, 1.0});
  std::vector<std::byte> bytes(static_cast<std::size_t>(io::elementCount(shape)));
  for (std::byte& byte : bytes) {
    byte = random.chance(attended) ? static_cast<std::byte>(1 + random.below(255)) : std::byte{0};
  }
  return TensorData(DType::U8, shape, std::move(bytes));
}

// Small values, some keys hidden by -inf, and in some problems large negative ones, as padding is often
// expressed.
AttentionValues::Source randomBias(const io::AttentionCase& problem, DType dtype, Random& random) {
  AttentionValues::Source bias{.shape = broadcastShape(problem, random), .values = {}};
  bias.values = random.normals(static_cast<std::size_t>(io::elementCount(bias.shape)), 2);
  const double hidden = random.pick({0.0, 0.1, 0.6});
  const double large = random.pick({0.0, 0.0, 0.2});
  const double lowest = dtype == DType::F16 ? -65504.0 : dtype == DType::BF16 ? -0x1.fep127 : -0x1.fffffep127;
  const double padding =
      dtype == DType::F16 ? random.pick({-1e4, lowest}) : random.pick({-1e4, -1e9, lowest});
  for (double& value : bias.values) {
    value = random.chance(hidden) ? -kInfinity : random.chance(large) ? padding : value;
  }
  return bias;
}

void chooseOptions(AttentionSample& sample, const Family& family, Random& random) {
  io::AttentionCase& problem = sample.problem;
  problem.causal = family.causal;
  if (random.chance(0.4)) {
    // Scores stay of the size for which fp32 tolerances are meant.
    const double width = std::sqrt(static_cast<double>(problem.headDimQk));
    problem.softmaxScale = static_cast<float>(random.pick({0.0, -0.7, 0.3, 1.5}) / width);
  }
  problem.temperature = random.pick({1.0, 1.0, 1.0, 0.75, 4.0});
  sample.hostLengths = random.chance(0.5);
  if (family.seqlensQ) {
    problem.seqlensQ = randomLengths(problem.batch, problem.seqlenQ, !sample.hostLengths, random);
  }
  if (family.seqlensK) {
    problem.seqlensK = randomLengths(problem.batch, problem.seqlenK, !sample.hostLengths, random);
  }
  if (family.mask) {
    problem.mask = randomMask(problem, random);
  }
  sample.keysFirst = random.chance(0.3);
  sample.lse = family.lse;
  sample.probs = family.probs;
}

AttentionValues::Source randomSource(Shape shape, bool shared, Random& random) {
  if (shared) {
    shape[0] = std::min<std::int64_t>(shape[0], 1);
    shape[1] = 1;
  }
  const auto count = static_cast<std::size_t>(io::elementCount(shape));
  return {.shape = std::move(shape), .values = random.normals(count)};
}

// NaN in something visible reaches what sees it, and nothing else.
void addVisibleNan(AttentionValues& values, Random& random) {
  AttentionValues::Source* source = random.pick({&values.q, &values.k, &values.v});
  if (!source->values.empty()) {
    source->values[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(source->values.size())))] =
        std::numeric_limits<double>::quiet_NaN();
  }
}

TensorData fullSize(const AttentionValues::Source& source, const Shape& shape, DType dtype) {
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(io::elementCount(shape)));
  for (std::int64_t b = 0; b < shape[0]; ++b) {
    for (std::int64_t h = 0; h < shape[1]; ++h) {
      for (std::int64_t t = 0; t < shape[2]; ++t) {
        for (std::int64_t c = 0; c < shape[3]; ++c) {
          values.push_back(source.values[source.index(b, h, t, c)]);
        }
      }
    }
  }
  return TensorData::fromDoubles(dtype, shape, values);
}

std::string describe(const AttentionSample& sample) {
  const io::AttentionCase& p = sample.problem;
  std::string text =
      fmt::format("{} B{} Hq{} Hkv{} Tq{} Tk{} Dqk{} Dv{}", io::dtypeName(p.q.dtype()), p.batch, p.numHeadsQ,
                  p.numHeadsKv, p.seqlenQ, p.seqlenK, p.headDimQk, p.headDimV);
  const auto add = [&text]<typename... Values>(fmt::format_string<Values...> format, Values&&... values) {
    text += ' ' + fmt::format(format, std::forward<Values>(values)...);
  };
  if (p.causal != io::Causal::None) {
    add("causal {}", p.causal == io::Causal::BottomRight ? "bottom_right" : "top_left");
  }
  if (p.softmaxScale) {
    add("scale {:.4g}", *p.softmaxScale);
  }
  if (p.temperature != 1) {
    add("temperature {}", p.temperature);
  }
  if (p.mask) {
    add("mask {}", io::shapeText(p.mask->shape()));
  }
  if (p.bias) {
    add("bias {} {}", io::dtypeName(p.bias->dtype()), io::shapeText(p.bias->shape()));
  }
  if ((p.mask || p.bias) && sample.keysFirst) {
    add("{}", "stored keys first");
  }
  for (const auto& [name, lengths] : {std::pair("seqlens_q", &p.seqlensQ), {"seqlens_k", &p.seqlensK}}) {
    if (*lengths) {
      add("{}{}", name, io::shapeText(Shape((*lengths)->begin(), (*lengths)->end())));
    }
  }
  if (sample.lse || sample.probs) {
    add("with{}{}", sample.lse ? " lse" : "", sample.probs ? " probs" : "");
  }
  if (sample.packing == Packing::Qkv) {
    add("packed qkv, out {}", layoutName(sample.out));
  } else {
    add("q {}, k {}, v {}, out {}{}", layoutName(sample.q), layoutName(sample.k), layoutName(sample.v),
        layoutName(sample.out), sample.packing == Packing::SharedKv ? ", one k and v for all" : "");
  }
  return text;
}

}  // namespace

std::size_t AttentionValues::Source::index(std::int64_t b, std::int64_t h, std::int64_t t,
                                           std::int64_t c) const {
  std::int64_t flat = shape[0] == 1 ? 0 : b;
  flat = flat * shape[1] + (shape[1] == 1 ? 0 : h);
  flat = flat * shape[2] + (shape[2] == 1 ? 0 : t);
  return static_cast<std::size_t>(flat * shape[3] + (shape[3] == 1 ? 0 : c));
}

AttentionSample attentionSample(std::uint64_t seed, std::uint64_t index) {
  const Family family = familyOf(seed, index);
  Random random(seed, index);
  AttentionSample sample;
  io::AttentionCase& problem = sample.problem;
  chooseSizes(problem, family, random);
  chooseLayouts(sample, random);
  chooseOptions(sample, family, random);

  const Shape q = {problem.batch, problem.numHeadsQ, problem.seqlenQ, problem.headDimQk};
  const Shape k = {problem.batch, problem.numHeadsKv, problem.seqlenK, problem.headDimQk};
  const Shape v = {problem.batch, problem.numHeadsKv, problem.seqlenK, problem.headDimV};
  const bool shared = sample.packing == Packing::SharedKv;
  AttentionValues values;
  values.q = randomSource(q, false, random);
  values.k = randomSource(k, shared, random);
  values.v = randomSource(v, shared, random);
  if (family.bias) {
    values.bias = randomBias(problem, family.biasDtype, random);
    problem.bias = TensorData::fromDoubles(family.biasDtype, values.bias.shape, values.bias.values);
    keepScoresVisible(values, problem);
    problem.bias = TensorData::fromDoubles(family.biasDtype, values.bias.shape, values.bias.values);
  }
  if (random.chance(0.6)) {
    poisonHidden(values, problem, random);
  }
  if (random.chance(0.1)) {
    addVisibleNan(values, random);
  }
  problem.q = fullSize(values.q, q, family.dtype);
  problem.k = fullSize(values.k, k, family.dtype);
  problem.v = fullSize(values.v, v, family.dtype);
  if (family.bias) {
    problem.bias = TensorData::fromDoubles(family.biasDtype, values.bias.shape, values.bias.values);
  }
  sample.description = describe(sample);
  return sample;
}

}  // namespace saccade::check
