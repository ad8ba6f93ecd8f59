// SPDX-License-Identifier: Apache-2.0
#include "attention_call.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include "check/attention_options.hpp"
#include "check/device_case.hpp"
#include "check/dtype.hpp"
#include "io/special_values.hpp"
#include "reference/attention.hpp"
#include "reference/exact_zeros.hpp"
#include "reference/tolerance.hpp"

namespace saccade::conformance {

io::TensorData randomTensor(io::DType dtype, const io::Shape& shape, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<std::size_t>(io::elementCount(shape)));
  std::generate(values.begin(), values.end(), [&] { return normal(random); });
  return io::TensorData::fromFloats(dtype, shape, values);
}

io::TensorData randomStored(io::DType dtype, const io::Shape& shape, unsigned seed, float scale) {
  std::vector<float> values = randomTensor(io::DType::F32, shape, seed).toFloats();
  for (float& value : values) {
    value /= scale;
    if (dtype == io::DType::I8) value = std::nearbyint(std::clamp(value, -128.0f, 127.0f));
  }
  return io::TensorData::fromFloats(dtype, shape, values);
}

io::TensorData randomScales(const io::Shape& shape, unsigned seed, float scale) {
  return changed(randomTensor(io::DType::F32, shape, seed), [&](std::vector<float>& values) {
    for (float& value : values) value = scale * std::exp(value / 2);
  });
}

io::TensorData randomMask(const io::Shape& shape, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> values(static_cast<std::size_t>(io::elementCount(shape)));
  std::generate(values.begin(), values.end(), [&] { return static_cast<float>(random() & 1u); });
  return io::TensorData::fromFloats(io::DType::U8, shape, values);
}

io::TensorData constantTensor(io::DType dtype, const io::Shape& shape, float value) {
  return io::TensorData::fromFloats(
      dtype, shape, std::vector<float>(static_cast<std::size_t>(io::elementCount(shape)), value));
}

io::TensorData tensorOf(io::DType dtype, const io::Shape& shape, const Formula& value) {
  std::vector<float> values;
  values.reserve(static_cast<std::size_t>(io::elementCount(shape)));
  for (std::int64_t a = 0; a < shape[0]; ++a) {
    for (std::int64_t b = 0; b < shape[1]; ++b) {
      for (std::int64_t c = 0; c < shape[2]; ++c) {
        for (std::int64_t d = 0; d < shape[3]; ++d) values.push_back(value(a, b, c, d));
      }
    }
  }
  return io::TensorData::fromFloats(dtype, shape, values);
}

AttentionCall randomCall(const AttentionSizes& s, const Variant& variant, unsigned seed) {
  AttentionCall call;
  call.kernel = variant.kernel;
  io::AttentionCase& values = call.values;
  values.batch = s.batch;
  values.numHeadsQ = s.headsQ;
  values.numHeadsKv = s.headsKv;
  values.seqlenQ = s.seqlenQ;
  values.seqlenK = s.seqlenK;
  values.headDimQk = s.headDimQk;
  values.headDimV = s.headDimV;
  values.q = randomTensor(variant.dtype, {s.batch, s.headsQ, s.seqlenQ, s.headDimQk}, 3 * seed);
  values.k = randomTensor(variant.dtype, {s.batch, s.headsKv, s.seqlenK, s.headDimQk}, 3 * seed + 1);
  values.v = randomTensor(variant.dtype, {s.batch, s.headsKv, s.seqlenK, s.headDimV}, 3 * seed + 2);
  return call;
}

void packSequences(AttentionCall& call, std::vector<std::int32_t> queries, std::vector<std::int32_t> keys) {
  io::AttentionCase& values = call.values;
  // [1,H,T,D] to [T,H,D]
  const auto tokensFirst = [](const io::TensorData& tensor) {
    const std::int64_t heads = tensor.shape()[1], tokens = tensor.shape()[2], channels = tensor.shape()[3];
    const std::vector<float> from = tensor.toFloats();
    std::vector<float> to(from.size());
    for (std::int64_t h = 0; h < heads; ++h) {
      for (std::int64_t t = 0; t < tokens; ++t)
        std::copy_n(from.begin() + (h * tokens + t) * channels, channels,
                    to.begin() + (t * heads + h) * channels);
    }
    return io::TensorData::fromFloats(tensor.dtype(), {tokens, heads, channels}, to);
  };
  values.q = tokensFirst(values.q);
  values.k = tokensFirst(values.k);
  values.v = tokensFirst(values.v);
  values.packed = true;
  values.batch = static_cast<std::int64_t>(queries.size()) - 1;
  values.cuSeqlensQ = std::move(queries);
  values.cuSeqlensK = std::move(keys);
}

io::TensorData changed(const io::TensorData& tensor, const std::function<void(std::vector<float>&)>& change) {
  std::vector<float> values = tensor.toFloats();
  change(values);
  return io::TensorData::fromFloats(tensor.dtype(), tensor.shape(), values);
}

io::TensorData withRows(const io::TensorData& tensor, std::int64_t b, std::int64_t begin, std::int64_t end,
                        float value) {
  const io::Shape& shape = tensor.shape();
  return changed(tensor, [&](std::vector<float>& values) {
    for (std::int64_t head = 0; head < shape[0] * shape[1]; ++head) {
      if (b >= 0 && head / shape[1] != b) continue;
      const auto first = values.begin() + head * shape[2] * shape[3];
      std::fill(first + begin * shape[3], first + end * shape[3], value);
    }
  });
}

namespace {

// An entry of a block table that no kernel may use.
constexpr std::int32_t kNoPage = 0x7f7f7f7f;

// Keys of batch entry or sequence b: where they begin along the tokens, and how many there are.
struct KeyRange {
  std::int64_t begin, count;
};

KeyRange keysOf(const io::AttentionCase& values, std::int64_t b) {
  const auto entry = static_cast<std::size_t>(b);
  if (values.packed) {
    const std::vector<std::int32_t>& cu = *values.cuSeqlensK;
    return {cu[entry], cu[entry + 1] - cu[entry]};
  }
  return {0, values.seqlensK ? (*values.seqlensK)[entry] : values.seqlenK};
}

// Page `column` of batch entry b: in descending order, behind a spare page and before another one.
std::int64_t pageOf(const io::AttentionCase& values, std::int64_t columns, std::int64_t b,
                    std::int64_t column) {
  return values.batch * columns - (b * columns + column);
}

// K or V in pages [pages, Hkv, page_size, D]; whatever belongs to no key is NaN.
io::TensorData pagesOf(const io::AttentionCase& values, const io::TensorData& tensor, std::int64_t pageSize,
                       std::int64_t columns) {
  const std::int64_t heads = values.numHeadsKv, channels = tensor.shape().back();
  const std::size_t rowBytes = static_cast<std::size_t>(channels) * io::dtypeSize(tensor.dtype());
  const io::Shape shape = {values.batch * columns + 2, heads, pageSize, channels};
  std::vector<std::byte> bytes(static_cast<std::size_t>(shape[0] * heads * pageSize) * rowBytes,
                               std::byte{0xff});
  for (std::int64_t b = 0; b < values.batch; ++b) {
    const KeyRange keys = keysOf(values, b);
    for (std::int64_t j = 0; j < keys.count; ++j) {
      for (std::int64_t h = 0; h < heads; ++h) {
        const std::int64_t from =
            values.packed ? (keys.begin + j) * heads + h : (b * heads + h) * values.seqlenK + j;
        const std::int64_t to =
            (pageOf(values, columns, b, j / pageSize) * heads + h) * pageSize + j % pageSize;
        std::ranges::copy(tensor.bytes().subspan(static_cast<std::size_t>(from) * rowBytes, rowBytes),
                          bytes.begin() + to * static_cast<std::ptrdiff_t>(rowBytes));
      }
    }
  }
  return {tensor.dtype(), shape, std::move(bytes)};
}

// Scales [B,Hkv,blocks,1] beside the pages; a scale that serves all entries and tokens stays as it is. Whatever belongs to no key
// is NaN.
io::TensorData scalesOfPages(const io::AttentionCase& values, const io::TensorData& scales, std::int64_t pageSize,
                             std::int64_t columns) {
  const io::Shape& shape = scales.shape();
  if (shape[0] == 1 && shape[2] == 1) return scales;
  const std::int64_t tokens = shape[2] == 1 ? pageSize : values.scaleBlock, blocks = (pageSize + tokens - 1) / tokens;
  const std::vector<float> from = scales.toFloats();
  const io::Shape pooled = {values.batch * columns + 2, shape[1], blocks, 1};
  std::vector<float> to(static_cast<std::size_t>(io::elementCount(pooled)), kNan);
  for (std::int64_t b = 0; b < values.batch; ++b) {
    const KeyRange keys = keysOf(values, b);
    for (std::int64_t j = 0; j < keys.count; ++j) {
      for (std::int64_t h = 0; h < shape[1]; ++h) {
        const std::int64_t block = shape[2] == 1 ? 0 : (keys.begin + j) / tokens;
        const std::int64_t page = pageOf(values, columns, b, j / pageSize);
        to[static_cast<std::size_t>((page * shape[1] + h) * blocks + j % pageSize / tokens)] =
            from[static_cast<std::size_t>(((shape[0] == 1 ? 0 : b) * shape[1] + h) * shape[2] + block)];
      }
    }
  }
  return io::TensorData::fromFloats(io::DType::F32, pooled, to);
}

void preparePages(PreparedCall& prepared, const AttentionCall& call) {
  const io::AttentionCase& values = call.values;
  std::int64_t columns = 1;
  for (std::int64_t b = 0; b < values.batch; ++b)
    columns = std::max(columns, (keysOf(values, b).count + call.pageSize - 1) / call.pageSize);
  std::vector<double> table;
  for (std::int64_t b = 0; b < values.batch; ++b) {
    for (std::int64_t column = 0; column < columns; ++column) {
      const bool used = column * call.pageSize < keysOf(values, b).count;
      table.push_back(used ? static_cast<double>(pageOf(values, columns, b, column)) : kNoPage);
    }
  }
  check::DeviceTensors& tensors = prepared.tensors;
  prepared.k = tensors.input("pages of k", pagesOf(values, values.k, call.pageSize, columns));
  prepared.v = tensors.input("pages of v", pagesOf(values, values.v, call.pageSize, columns));
  if (values.kScale) {
    prepared.options.kScale = tensors.input("k_scale", scalesOfPages(values, *values.kScale, call.pageSize, columns));
  }
  if (values.vScale) {
    prepared.options.vScale = tensors.input("v_scale", scalesOfPages(values, *values.vScale, call.pageSize, columns));
  }
  prepared.options.blockTable = tensors.input(
      "block table", io::TensorData::fromDoubles(io::DType::I32, {values.batch, columns}, table));
}

}  // namespace

PreparedCall prepare(const Device& device, const AttentionCall& call) {
  const io::AttentionCase& values = call.values;
  PreparedCall prepared(device);
  check::DeviceTensors& tensors = prepared.tensors;
  const auto input = [&](const char* name, const io::TensorData& data) {
    return values.packed ? tensors.input(name, data).transpose(0, 1) : tensors.input(name, data, call.layout);
  };
  prepared.options = check::attentionOptions(values);
  prepared.options.kernel = call.kernel;
  prepared.q = input("q", values.q);
  if (call.pageSize > 0) {
    preparePages(prepared, call);
  } else {
    prepared.k = input("k", values.k);
    prepared.v = input("v", values.v);
    if (values.kScale) prepared.options.kScale = tensors.input("k_scale", *values.kScale);
    if (values.vScale) prepared.options.vScale = tensors.input("v_scale", *values.vScale);
  }
  if (values.mask) prepared.options.mask = tensors.input("mask", *values.mask);
  if (values.bias) prepared.options.bias = tensors.input("bias", *values.bias);
  if (values.alibiSlopes) prepared.options.alibiSlopes = tensors.input("alibi slopes", *values.alibiSlopes);
  if (values.sink) prepared.options.sink = tensors.input("sink", *values.sink);
  const auto integers = [&](const char* name, const auto& given, const auto& onDevice) {
    const auto& used = onDevice ? onDevice : given;
    if (!used) return Tensor{};
    const std::vector<double> wide(used->begin(), used->end());
    return tensors.input(name, io::TensorData::fromDoubles(
                                   io::DType::I32, {static_cast<std::int64_t>(wide.size())}, wide));
  };
  if (values.packed) {
    prepared.options.cuSeqlensQ = integers("cu_seqlens_q", values.cuSeqlensQ, call.deviceSeqlensQ);
    prepared.options.cuSeqlensK = integers("cu_seqlens_k", values.cuSeqlensK, call.deviceSeqlensK);
  } else {
    prepared.options.seqlensQ = integers("seqlens_q", values.seqlensQ, call.deviceSeqlensQ);
    prepared.options.seqlensK = integers("seqlens_k", values.seqlensK, call.deviceSeqlensK);
  }

  const Dtype dtype = check::deviceDtype(values.q.dtype());
  if (values.packed) {
    prepared.packed = true;
    prepared.rowShape = {values.numHeadsQ, values.seqlenQ};
    prepared.outShape = {values.seqlenQ, values.numHeadsQ, values.headDimV};
    prepared.out = tensors.output("out", dtype, prepared.outShape).transpose(0, 1);
    if (call.lse) prepared.options.lse = tensors.output("lse", Dtype::F32, prepared.rowShape);
    return prepared;
  }
  prepared.rowShape = {values.batch, values.numHeadsQ, values.seqlenQ};
  prepared.outShape = prepared.probsShape = prepared.rowShape;
  prepared.outShape.push_back(values.headDimV);
  prepared.probsShape.push_back(values.seqlenK);
  prepared.out = tensors.output("out", dtype, prepared.outShape, call.layout);
  if (call.lse) prepared.options.lse = tensors.output("lse", Dtype::F32, prepared.rowShape);
  if (call.probs) prepared.options.probs = tensors.output("probs", dtype, prepared.probsShape);
  return prepared;
}

AttentionResults downloadResults(const PreparedCall& prepared) {
  AttentionResults results;
  results.out =
      check::download(prepared.packed ? prepared.out.transpose(0, 1) : prepared.out, prepared.outShape);
  if (prepared.options.lse) results.lse = check::download(prepared.options.lse, prepared.rowShape);
  if (prepared.options.probs) results.probs = check::download(prepared.options.probs, prepared.probsShape);
  EXPECT_EQ(prepared.tensors.overwritten(), std::vector<std::string>{})
      << "was written outside of these tensors";
  return results;
}

AttentionResults execute(const Device& device, PreparedCall& prepared) {
  Stream stream(device);
  stream.attention(prepared.q, prepared.k, prepared.v, prepared.out, prepared.options);
  stream.wait();
  return downloadResults(prepared);
}

AttentionResults execute(const Device& device, const AttentionCall& call) {
  PreparedCall prepared = prepare(device, call);
  return execute(device, prepared);
}

void expectRight(const AttentionCall& call, const AttentionResults& results, const std::string& what) {
  const io::AttentionCase& values = call.values;
  const reference::OwnedProblem owned = reference::problemFromCase(values);
  const auto wanted = call.probs ? reference::Probs::Store : reference::Probs::Skip;
  const reference::AttentionResult expected = reference::attention(owned.problem, wanted);
  const io::DType dtype = values.q.dtype();
  const reference::AttentionTolerances tolerances =
      reference::attentionTolerances(owned.problem, dtype, expected);
  const reference::ZeroMasks zeros = reference::exactZeros(owned.problem);
  const auto compare =
      [&](const char* name, const io::TensorData& got, const std::vector<double>& wantedValues,
          const reference::TensorTolerance& tolerance, std::span<const std::uint8_t> mustBeZero) {
        const auto wantedTensor = io::TensorData::fromDoubles(io::DType::F64, got.shape(), wantedValues);
        const auto comparison = reference::compareTensor(name, got, wantedTensor, tolerance, mustBeZero);
        EXPECT_TRUE(comparison.passed) << what << (what.empty() ? "" : ": ") << comparison.reason;
      };
  const bool roundsWeights = check::weightRounding(call.kernel) == io::PRounding::Storage;
  compare("out", results.out, expected.out, roundsWeights ? tolerances.outRoundedP : tolerances.out, zeros.at("out"));
  if (call.lse) compare("lse", results.lse, expected.lse, tolerances.lse, {});
  if (call.probs) {
    reference::TensorTolerance rounded = tolerances.probs;
    if (dtype != io::DType::F32) rounded.absolute += io::unitInLastPlace(dtype, 0.5);  // half an ulp at 1
    compare("probs", results.probs, expected.probs, rounded, zeros.at("probs"));
  }
}

void checkCall(const Device& device, const AttentionCall& call, const std::string& what) {
  expectRight(call, execute(device, call), what);
}

bool sameBits(const io::TensorData& a, const io::TensorData& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() && std::ranges::equal(a.bytes(), b.bytes());
}

bool sameRow(const io::TensorData& a, const io::TensorData& b, std::int64_t row, std::int64_t width) {
  const std::size_t bytes = static_cast<std::size_t>(width) * io::dtypeSize(a.dtype());
  const std::size_t first = static_cast<std::size_t>(row) * bytes;
  return std::ranges::equal(a.bytes().subspan(first, bytes), b.bytes().subspan(first, bytes));
}

void expectSameBits(const AttentionResults& got, const AttentionResults& expected, const std::string& what) {
  EXPECT_TRUE(sameBits(got.out, expected.out)) << what << ": out differs";
  EXPECT_TRUE(sameBits(got.lse, expected.lse)) << what << ": lse differs";
  EXPECT_TRUE(sameBits(got.probs, expected.probs)) << what << ": probs differ";
}

}  // namespace saccade::conformance
