// SPDX-License-Identifier: Apache-2.0
#include "attention_call.hpp"

#include <algorithm>
#include <random>

#include "check/attention_options.hpp"
#include "check/dtype.hpp"
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

io::TensorData randomMask(const io::Shape& shape, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> values(static_cast<std::size_t>(io::elementCount(shape)));
  std::generate(values.begin(), values.end(), [&] { return static_cast<float>(random() & 1u); });
  return io::TensorData::fromFloats(io::DType::U8, shape, values);
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

PreparedCall prepare(const Device& device, const AttentionCall& call) {
  const io::AttentionCase& values = call.values;
  PreparedCall prepared(device);
  check::DeviceTensors& tensors = prepared.tensors;
  prepared.q = tensors.input("q", values.q, call.layout);
  prepared.k = tensors.input("k", values.k, call.layout);
  prepared.v = tensors.input("v", values.v, call.layout);
  prepared.options = check::attentionOptions(values);
  prepared.options.kernel = call.kernel;
  if (values.mask) prepared.options.mask = tensors.input("mask", *values.mask);
  if (values.bias) prepared.options.bias = tensors.input("bias", *values.bias);
  const auto lengths = [&](const auto& given, const auto& onDevice) {
    const auto& used = onDevice ? onDevice : given;
    return used ? Tensor::fromInts(device, {values.batch}, *used, {.guard = true}) : Tensor{};
  };
  prepared.options.seqlensQ = lengths(values.seqlensQ, call.deviceSeqlensQ);
  prepared.options.seqlensK = lengths(values.seqlensK, call.deviceSeqlensK);

  prepared.rowShape = {values.batch, values.numHeadsQ, values.seqlenQ};
  prepared.outShape = prepared.probsShape = prepared.rowShape;
  prepared.outShape.push_back(values.headDimV);
  prepared.probsShape.push_back(values.seqlenK);
  const Dtype dtype = check::deviceDtype(values.q.dtype());
  prepared.out = tensors.output("out", dtype, prepared.outShape, call.layout);
  if (call.lse) prepared.options.lse = tensors.output("lse", Dtype::F32, prepared.rowShape);
  if (call.probs) prepared.options.probs = tensors.output("probs", dtype, prepared.probsShape);
  return prepared;
}

AttentionResults downloadResults(const PreparedCall& prepared) {
  AttentionResults results;
  results.out = check::download(prepared.out, prepared.outShape);
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
  compare("out", results.out, expected.out, tolerances.out, zeros.at("out"));
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
