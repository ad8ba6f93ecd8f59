// SPDX-License-Identifier: Apache-2.0
#include "check/attention_sample.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "io/special_values.hpp"

namespace saccade::check {

namespace {

using io::DType;
using io::Shape;
using io::TensorData;

// Streams of random numbers apart from those of the values: a change to one leaves the others alone.
constexpr std::uint64_t kHiddenStream = std::uint64_t{1} << 48;
constexpr std::uint64_t kPageStream = std::uint64_t{2} << 48;

Shape broadcastShape(const AttentionSpec& spec, const Broadcast& full) {
  Shape shape = {spec.batch, spec.numHeadsQ, spec.seqlenQ, spec.seqlenK};
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    shape[axis] = full[axis] ? shape[axis] : 1;
  }
  return shape;
}

// [B,Hkv,blocks,1], each full or 1; packed, B is 1.
Shape scaleShape(const AttentionSpec& spec, const ScaleAxes& full) {
  const std::int64_t blocks = full[2] ? (spec.seqlenK + spec.scaleBlock - 1) / spec.scaleBlock : 1;
  return {full[0] && !spec.packed() ? spec.batch : 1, full[1] ? spec.numHeadsKv : 1, blocks, 1};
}

TensorData randomMask(const Shape& shape, Random& random) {
  const double attended = random.pick({0.0, 0.2, 0.5, 0.8, 0.95, 0.95});
  std::vector<std::byte> bytes(static_cast<std::size_t>(io::elementCount(shape)));
  for (std::byte& byte : bytes) {
    byte = random.chance(attended) ? static_cast<std::byte>(1 + random.below(255)) : std::byte{0};
  }
  return TensorData(DType::U8, shape, std::move(bytes));
}

// Small values, some keys hidden by -inf, and in some problems large negative ones, as padding is often
// expressed.
AttentionValues::Source randomBias(const Shape& shape, DType dtype, Random& random) {
  AttentionValues::Source bias{.shape = shape, .values = {}};
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

AttentionValues::Source randomSource(Shape shape, bool shared, Random& random) {
  if (shared) {
    shape[0] = std::min<std::int64_t>(shape[0], 1);
    shape[1] = std::min<std::int64_t>(shape[1], 1);
  }
  const auto count = static_cast<std::size_t>(io::elementCount(shape));
  return {.shape = std::move(shape), .values = random.normals(count)};
}

// Around `size`, some negative.
AttentionValues::Source randomScales(const Shape& shape, double size, Random& random) {
  AttentionValues::Source scales{.shape = shape, .values = random.normals(static_cast<std::size_t>(io::elementCount(shape)))};
  for (double& value : scales.values) {
    value = random.pick({size, size, size, -size}) * std::exp(value / 2);
  }
  return scales;
}

// What quantising values with a scale of `size` stores. An integer has no NaN.
void quantise(AttentionValues::Source& source, DType dtype, double size) {
  for (double& value : source.values) {
    value /= size;
    if (dtype == DType::I8) {
      value = std::isnan(value) ? 127 : std::nearbyint(std::clamp(value, -128.0, 127.0));
    }
  }
}

// A scale of normally distributed values that uses most of what the dtype can hold, or reaches its subnormal numbers.
double usualScale(DType dtype, Random& random) { return dtype == DType::I8 ? 1.0 / 32 : random.pick({1.0 / 64, 8.0}); }

TensorData randomSlopes(const AttentionSpec& spec, Random& random) {
  const Shape shape = {spec.alibi == Slopes::PerHead ? 1 : spec.batch, spec.numHeadsQ};
  std::vector<double> slopes(static_cast<std::size_t>(io::elementCount(shape)));
  for (double& slope : slopes) {
    slope = random.pick({0.0, 0.004, 0.0625, 0.5, -0.02});
  }
  return TensorData::fromDoubles(DType::F32, shape, slopes);
}

// NaN in something visible reaches what sees it, and nothing else.
void addVisibleNan(AttentionValues& values, Random& random) {
  AttentionValues::Source* source = random.pick({&values.q, &values.k, &values.v});
  if (!source->values.empty()) {
    source->values[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(source->values.size())))] = kNan;
  }
}

// [B,H,T,D] in full; packed [T,H,D].
TensorData fullSize(const AttentionValues::Source& source, const Shape& shape, bool packed, DType dtype) {
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(io::elementCount(shape)));
  const auto addRow = [&](std::int64_t b, std::int64_t h, std::int64_t t) {
    for (std::int64_t c = 0; c < shape[3]; ++c) {
      values.push_back(source.values[source.index(b, h, t, c)]);
    }
  };
  const std::int64_t outer = packed ? shape[2] : shape[1], inner = packed ? shape[1] : shape[2];
  for (std::int64_t b = 0; b < shape[0]; ++b) {
    for (std::int64_t x = 0; x < outer; ++x) {
      for (std::int64_t y = 0; y < inner; ++y) {
        packed ? addRow(b, y, x) : addRow(b, x, y);
      }
    }
  }
  return TensorData::fromDoubles(dtype, packed ? Shape{shape[2], shape[1], shape[3]} : shape, values);
}

// Everything of a problem that is no value.
io::AttentionCase problemOf(const AttentionSpec& spec) {
  io::AttentionCase problem;
  problem.packed = spec.packed();
  problem.batch = spec.batch;
  problem.numHeadsQ = spec.numHeadsQ;
  problem.numHeadsKv = spec.numHeadsKv;
  problem.seqlenQ = spec.seqlenQ;
  problem.seqlenK = spec.seqlenK;
  problem.headDimQk = spec.headDimQk;
  problem.headDimV = spec.headDimV;
  problem.seqlensQ = spec.seqlensQ;
  problem.seqlensK = spec.seqlensK;
  problem.cuSeqlensQ = spec.cuSeqlensQ;
  problem.cuSeqlensK = spec.cuSeqlensK;
  problem.causal = spec.causal;
  problem.windowLeft = spec.windowLeft;
  problem.windowRight = spec.windowRight;
  if (spec.softmaxScale) {
    problem.softmaxScale = *spec.softmaxScale;
  }
  problem.temperature = spec.temperature;
  problem.softcap = spec.softcap;
  problem.scaleBlock = spec.scaleBlock;
  return problem;
}

// Pages in a random order, some of the pool unused. Entries past the keys of a sequence must never be read:
// they are outside the pool.
PageTable randomPages(const AttentionSpec& spec, const io::AttentionCase& problem, Random& random) {
  PageTable table{.pageSize = spec.pageSize, .maxPages = 0, .poolPages = 0, .entries = {}};
  if (spec.pageSize == 0) {
    return table;
  }
  const auto pagesFor = [&](std::int64_t keys) { return (keys + spec.pageSize - 1) / spec.pageSize; };
  const std::vector<std::int64_t> lengths = keyLengths(problem);
  std::int64_t used = 0;
  for (const std::int64_t length : lengths) {
    used += pagesFor(length);
    table.maxPages = std::max(table.maxPages, pagesFor(length));
  }
  table.maxPages = spec.packed() ? table.maxPages + random.below(3) : spec.seqlenK / spec.pageSize;
  table.poolPages = used + 1 + random.below(4);
  std::vector<std::int32_t> order(static_cast<std::size_t>(table.poolPages));
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(i)))]);
  }
  std::size_t next = 0;
  for (const std::int64_t length : lengths) {
    for (std::int64_t page = 0; page < table.maxPages; ++page) {
      table.entries.push_back(
          page < pagesFor(length)
              ? order[next++]
              : random.pick({-1, -7, static_cast<std::int32_t>(table.poolPages), 1 << 30}));
    }
  }
  return table;
}

Broadcast broadcastOf(const Shape& shape) {
  return {shape[0] != 1, shape[1] != 1, shape[2] != 1, shape[3] != 1};
}

}  // namespace

std::size_t AttentionValues::Source::index(std::int64_t b, std::int64_t h, std::int64_t t,
                                           std::int64_t c) const {
  std::int64_t flat = shape[0] == 1 ? 0 : b;
  flat = flat * shape[1] + (shape[1] == 1 ? 0 : h);
  flat = flat * shape[2] + (shape[2] == 1 ? 0 : t);
  return static_cast<std::size_t>(flat * shape[3] + (shape[3] == 1 ? 0 : c));
}

std::vector<std::int64_t> keyLengths(const io::AttentionCase& problem) {
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(problem.batch), problem.seqlenK);
  for (std::size_t b = 0; b < lengths.size(); ++b) {
    if (problem.packed) {
      lengths[b] = (*problem.cuSeqlensK)[b + 1] - (*problem.cuSeqlensK)[b];
    } else if (problem.seqlensK) {
      lengths[b] = std::clamp<std::int64_t>((*problem.seqlensK)[b], 0, problem.seqlenK);
    }
  }
  return lengths;
}

AttentionSample makeSample(const AttentionSpec& spec, std::uint64_t seed) {
  Random random(seed, spec.data), hiddenRandom(seed, kHiddenStream + spec.data),
      pageRandom(seed, kPageStream + spec.data);
  AttentionSample sample{
      .problem = problemOf(spec), .layout = spec.layout, .pages = {}, .lse = spec.lse, .probs = spec.probs};
  io::AttentionCase& problem = sample.problem;
  sample.pages = randomPages(spec, problem, pageRandom);
  if (spec.mask) {
    problem.mask = randomMask(broadcastShape(spec, *spec.mask), random);
  }
  if (spec.alibi != Slopes::None) {
    problem.alibiSlopes = randomSlopes(spec, random);
  }
  if (spec.sink) {
    problem.sink = TensorData::fromDoubles(DType::F32, {spec.numHeadsQ},
                                           random.normals(static_cast<std::size_t>(spec.numHeadsQ), 2));
  }
  const std::int64_t batch = spec.packed() ? 1 : spec.batch;
  const Shape q = {batch, spec.numHeadsQ, spec.seqlenQ, spec.headDimQk};
  const Shape k = {batch, spec.numHeadsKv, spec.seqlenK, spec.headDimQk};
  const Shape v = {batch, spec.numHeadsKv, spec.seqlenK, spec.headDimV};
  const bool shared = spec.layout.packing == Packing::SharedKv;
  AttentionValues values;
  values.q = randomSource(q, false, random);
  values.k = randomSource(k, shared, random);
  values.v = randomSource(v, shared, random);
  const auto setBias = [&] {
    problem.bias = TensorData::fromDoubles(spec.biasDtype, values.bias.shape, values.bias.values);
  };
  if (spec.bias) {
    values.bias = randomBias(broadcastShape(spec, *spec.bias), spec.biasDtype, random);
    setBias();
    keepScoresVisible(values, problem);
    setBias();
  }
  const DType keys = spec.kvDtype.value_or(spec.dtype);
  double kSize = 1, vSize = 1;
  if (spec.kScale) {
    kSize = usualScale(keys, random);
    values.kScale = randomScales(scaleShape(spec, *spec.kScale), kSize, random);
  }
  if (spec.vScale) {
    vSize = usualScale(keys, random);
    values.vScale = randomScales(scaleShape(spec, *spec.vScale), vSize, random);
  }
  fillHidden(values, problem, spec.hidden, hiddenRandom);
  if (spec.visibleNan) {
    addVisibleNan(values, random);
  }
  if (spec.kvDtype) {
    quantise(values.k, keys, kSize);
    quantise(values.v, keys, vSize);
  }
  problem.q = fullSize(values.q, q, spec.packed(), spec.dtype);
  problem.k = fullSize(values.k, k, spec.packed(), keys);
  problem.v = fullSize(values.v, v, spec.packed(), keys);
  if (spec.kScale) {
    problem.kScale = TensorData::fromDoubles(DType::F32, values.kScale.shape, values.kScale.values);
  }
  if (spec.vScale) {
    problem.vScale = TensorData::fromDoubles(DType::F32, values.vScale.shape, values.vScale.values);
  }
  if (spec.bias) {
    setBias();
  }
  return sample;
}

AttentionSpec specOf(const io::AttentionCase& problem, bool lse, bool probs) {
  AttentionSpec spec;
  spec.dtype = problem.q.dtype();
  spec.batch = problem.batch;
  spec.numHeadsQ = problem.numHeadsQ;
  spec.numHeadsKv = problem.numHeadsKv;
  spec.seqlenQ = problem.seqlenQ;
  spec.seqlenK = problem.seqlenK;
  spec.headDimQk = problem.headDimQk;
  spec.headDimV = problem.headDimV;
  spec.causal = problem.causal;
  spec.windowLeft = problem.windowLeft;
  spec.windowRight = problem.windowRight;
  if (problem.softmaxScale) {
    spec.softmaxScale = static_cast<float>(*problem.softmaxScale);
  }
  spec.temperature = static_cast<float>(problem.temperature);
  spec.softcap = static_cast<float>(problem.softcap);
  if (problem.mask) {
    spec.mask = broadcastOf(problem.mask->shape());
  }
  if (problem.bias) {
    spec.bias = broadcastOf(problem.bias->shape());
    spec.biasDtype = problem.bias->dtype();
  }
  if (problem.alibiSlopes) {
    spec.alibi = problem.alibiSlopes->shape()[0] == 1 ? Slopes::PerHead : Slopes::PerBatchAndHead;
  }
  spec.sink = problem.sink.has_value();
  spec.seqlensQ = problem.seqlensQ;
  spec.seqlensK = problem.seqlensK;
  spec.cuSeqlensQ = problem.cuSeqlensQ;
  spec.cuSeqlensK = problem.cuSeqlensK;
  if (problem.k.dtype() != problem.q.dtype()) {
    spec.kvDtype = problem.k.dtype();
    const auto axes = [](const TensorData& scales) {
      return ScaleAxes{scales.shape()[0] != 1, scales.shape()[1] != 1, scales.shape()[2] != 1};
    };
    spec.kScale = problem.kScale ? std::optional(axes(*problem.kScale)) : std::nullopt;
    spec.vScale = problem.vScale ? std::optional(axes(*problem.vScale)) : std::nullopt;
    spec.scaleBlock = problem.scaleBlock;
  }
  spec.lse = lse;
  spec.probs = probs;
  return spec;
}

}  // namespace saccade::check
