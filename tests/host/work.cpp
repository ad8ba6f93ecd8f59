// SPDX-License-Identifier: Apache-2.0
#include "work.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "io/half.hpp"
#include "reference/tolerance.hpp"

namespace saccade::host {
namespace {

using Sizes = std::array<int64_t, 4>;

Sizes queryShape(const WorkOptions& o) { return {o.batch, o.headsQ, o.seqlenQ, o.headDim}; }
Sizes keyShape(const WorkOptions& o) { return {o.batch, o.headsKv, o.seqlenK, o.headDim}; }
Sizes maskShape(const WorkOptions& o) { return {o.batch, 1, o.seqlenQ, o.seqlenK}; }

size_t elements(const Sizes& shape) { return static_cast<size_t>(shape[0] * shape[1] * shape[2] * shape[3]); }

SaccadeTensorDesc tensorOf(SaccadeDtype dtype, const Sizes& shape) {
  SaccadeTensorDesc desc{};
  desc.dtype = dtype;
  std::copy(shape.begin(), shape.end(), desc.sizes);
  return desc;
}

size_t elementBytes(SaccadeDtype dtype) { return dtype == SACCADE_DTYPE_F32 ? 4 : 2; }

io::DType storageOf(SaccadeDtype dtype) {
  if (dtype == SACCADE_DTYPE_F32) return io::DType::F32;
  return dtype == SACCADE_DTYPE_F16 ? io::DType::F16 : io::DType::BF16;
}

VkDeviceSize bytesOf(const WorkOptions& o, const Sizes& shape) { return elements(shape) * elementBytes(o.dtype); }

void fillInts(const Memory& memory, int64_t value, size_t count) {
  std::fill_n(memory.as<int32_t>(), count, static_cast<int32_t>(value));
}

}  // namespace

SaccadeAttentionDesc describe(const WorkOptions& options) {
  SaccadeAttentionDesc desc = saccadeAttentionDescDefault();
  desc.q = desc.out = tensorOf(options.dtype, queryShape(options));
  desc.k = desc.v = tensorOf(options.dtype, keyShape(options));
  if (options.mask) desc.mask = tensorOf(SACCADE_DTYPE_U8, maskShape(options));
  desc.causal = options.causal;
  desc.hasSeqlensQ = desc.hasSeqlensK = options.lengths;
  desc.hasCuSeqlens = options.sequences > 0;
  desc.numSequences = options.sequences;
  desc.kernel = options.kernel;
  return desc;
}

Work::Work(const Host& host, SaccadeContext context, const WorkOptions& given)
    : options(given),
      q(host, bytesOf(given, queryShape(given))),
      k(host, bytesOf(given, keyShape(given))),
      v(host, bytesOf(given, keyShape(given))),
      out(host, bytesOf(given, queryShape(given))),
      mask(host, elements(maskShape(given))),
      seqlensQ(host, static_cast<VkDeviceSize>(given.batch) * 4),
      seqlensK(host, static_cast<VkDeviceSize>(given.batch) * 4),
      cuSeqlensQ(host, (given.sequences + 1) * 4),
      cuSeqlensK(host, (given.sequences + 1) * 4),
      buffers(saccadeAttentionBuffersDefault()) {
  const SaccadeAttentionDesc desc = describe(options);
  SaccadeMessage message{};
  if (saccadeCreateAttentionPlan(context, &desc, &plan, &message) != SACCADE_OK) throw std::runtime_error(message.text);
  scratch = std::make_unique<Memory>(host, info().scratchBytes);
  buffers.q = q.range();
  buffers.k = k.range();
  buffers.v = v.range();
  buffers.out = out.range();
  buffers.mask = mask.range();
  buffers.seqlensQ = seqlensQ.range();
  buffers.seqlensK = seqlensK.range();
  buffers.cuSeqlensQ = cuSeqlensQ.range();
  buffers.cuSeqlensK = cuSeqlensK.range();
  buffers.scratch = scratch->range();
  fillInts(seqlensQ, options.seqlenQ, static_cast<size_t>(options.batch));
  fillInts(seqlensK, options.seqlenK, static_cast<size_t>(options.batch));
  fillInts(cuSeqlensQ, 0, options.sequences + 1);
  fillInts(cuSeqlensK, 0, options.sequences + 1);
  fill(1);
}

Work::~Work() { saccadeDestroyPlan(plan); }

SaccadePlanInfo Work::info() const {
  SaccadePlanInfo info{};
  saccadeGetPlanInfo(plan, &info);
  return info;
}

void Work::fill(const Memory& memory, unsigned seed) const {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> between(-1.0f, 1.0f);
  for (size_t i = 0; i < memory.size / elementBytes(options.dtype); i++) {
    const float value = between(random);
    if (options.dtype == SACCADE_DTYPE_F32) {
      memory.as<float>()[i] = value;
    } else {
      memory.as<uint16_t>()[i] = options.dtype == SACCADE_DTYPE_F16 ? io::floatToHalf(value) : io::floatToBfloat16(value);
    }
  }
}

void Work::fill(unsigned seed) {
  fill(q, 3 * seed);
  fill(k, 3 * seed + 1);
  fill(v, 3 * seed + 2);
  for (size_t i = 0; i < mask.size; i++) mask.as<uint8_t>()[i] = static_cast<uint8_t>((i * 7 + seed) % 5 < 3);
  std::memset(out.data, 0xff, out.size);
}

void Work::takeQueryFrom(const Work& other) {
  query_ = &other.out;
  buffers.q = query_->range();
}

std::vector<double> Work::valuesOf(const Memory& memory) const {
  std::vector<double> values(memory.size / elementBytes(options.dtype));
  for (size_t i = 0; i < values.size(); i++) {
    if (options.dtype == SACCADE_DTYPE_F32) {
      values[i] = memory.as<float>()[i];
    } else {
      const uint16_t bits = memory.as<uint16_t>()[i];
      values[i] = options.dtype == SACCADE_DTYPE_F16 ? io::halfToFloat(bits) : io::bfloat16ToFloat(bits);
    }
  }
  return values;
}

void Work::record(VkCommandBuffer commandBuffer) const {
  SaccadeMessage message{};
  EXPECT_EQ(saccadeCmdAttention(commandBuffer, plan, &buffers, &message), SACCADE_OK) << message.text;
}

void Work::expectRight(const std::string& what) const {
  reference::AttentionProblem problem;
  problem.batch = options.sequences > 0 ? options.sequences : options.batch;
  problem.numHeadsQ = options.headsQ;
  problem.numHeadsKv = options.headsKv;
  problem.seqlenQ = options.seqlenQ;
  problem.seqlenK = options.seqlenK;
  problem.headDimQk = problem.headDimV = options.headDim;
  const auto view = [](const std::vector<double>& data, const Sizes& shape) {
    return reference::View4<double>{data.data(), {shape[1] * shape[2] * shape[3], shape[2] * shape[3], shape[3], 1}};
  };
  const std::vector<double> queries = valuesOf(*query_), keys = valuesOf(k), values = valuesOf(v), results = valuesOf(out);
  problem.q = view(queries, queryShape(options));
  problem.k = view(keys, keyShape(options));
  problem.v = view(values, keyShape(options));
  problem.causal = static_cast<reference::Causal>(options.causal);
  if (options.mask) problem.mask = {mask.as<uint8_t>(), reference::broadcastStrides(maskShape(options))};
  const auto lengths = [](const Memory& memory, int64_t count) {
    return std::span<const int32_t>(memory.as<int32_t>(), static_cast<size_t>(count));
  };
  if (options.lengths) {
    problem.seqlensQ = lengths(seqlensQ, options.batch);
    problem.seqlensK = lengths(seqlensK, options.batch);
  }
  if (options.sequences > 0) {
    problem.cuSeqlensQ = lengths(cuSeqlensQ, options.sequences + 1);
    problem.cuSeqlensK = lengths(cuSeqlensK, options.sequences + 1);
  }
  const reference::AttentionResult expected = reference::attention(problem);
  const reference::TensorTolerance tolerance =
      reference::attentionTolerances(problem, storageOf(options.dtype), expected).out;
  ASSERT_EQ(expected.out.size(), results.size());
  for (size_t i = 0; i < expected.out.size(); i++) {
    // The scalar path gives packed results as [tokens, heads, channels].
    const size_t channels = static_cast<size_t>(options.headDim), heads = static_cast<size_t>(options.headsQ);
    const size_t head = i / channels % heads, token = i / channels / heads;
    const size_t index = options.sequences > 0
                             ? (head * static_cast<size_t>(options.seqlenQ) + token) * channels + i % channels : i;
    const double allowed = std::max(tolerance.absolute, tolerance.relative * std::abs(expected.out[i]));
    ASSERT_TRUE(std::abs(results[index] - expected.out[i]) <= allowed)
        << what << ": element " << index << " of out is " << results[index] << ", expected " << expected.out[i] << " +- " << allowed;
  }
}

}  // namespace saccade::host
