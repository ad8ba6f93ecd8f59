// SPDX-License-Identifier: Apache-2.0
// Sizes at which others broke: more than 2^16 rows or keys, and memory that must grow with the sequence and
// not with its square.
#include <chrono>
#include <iostream>

#include "field_cases.hpp"

namespace saccade::conformance {
namespace {

void manyQueries(const Device& device, const Variant& variant) {
  checkCall(device, randomCall({.seqlenQ = 65537, .seqlenK = 5, .headDimQk = 4, .headDimV = 4}, variant));
}

// Values around 10, so that every lost or doubled key shows; a mask row that leaves the last 1000 keys.
void manyKeys(const Device& device, const Variant& variant) {
  constexpr std::int64_t kKeys = 65537;
  AttentionCall call = randomCall({.seqlenQ = 3, .seqlenK = kKeys}, variant);
  call.values.v = changed(call.values.v, [](std::vector<float>& values) {
    for (float& value : values) value += 10;
  });
  checkCall(device, call, "all keys");
  call.values.mask = changed(randomMask({1, 1, 1, kKeys}, 1), [&](std::vector<float>& mask) {
    for (std::size_t j = 0; j < mask.size(); ++j) mask[j] = static_cast<std::int64_t>(j) >= kKeys - 1000;
  });
  checkCall(device, call, "the last 1000 keys");
}

struct LongRun {
  double seconds = 0;
  std::uint64_t extraBytes = 0;  // beyond inputs and outputs
};

// Runs once and checks 16 rows, evenly spread over the sequence, against the scalar path.
LongRun runLong(const Device& device, const std::string& kernel, std::int64_t seqlen) {
  const AttentionCall call = randomCall(
      {.seqlenQ = seqlen, .seqlenK = seqlen, .headDimQk = 64, .headDimV = 64}, {kernel, io::DType::F32});
  PreparedCall prepared = prepare(device, call);
  device.waitIdle();
  Device handle = device;
  handle.resetPeakMemory();
  const std::uint64_t before = device.memory().peakBytes;
  const auto start = std::chrono::steady_clock::now();
  Stream stream(device);
  stream.attention(prepared.q, prepared.k, prepared.v, prepared.out, prepared.options);
  stream.wait();
  const std::chrono::duration<double> duration = std::chrono::steady_clock::now() - start;
  const LongRun run{duration.count(), device.memory().peakBytes - before};

  constexpr std::int64_t kSamples = 16;
  const AttentionResults all = downloadResults(prepared);
  AttentionCall sample = call;
  sample.values.seqlenQ = kSamples;
  const auto rowsOf = [&](const io::TensorData& tensor, std::int64_t width, io::Shape shape) {
    const std::vector<float> values = tensor.toFloats();
    std::vector<float> rows;
    for (std::int64_t i = 0; i < kSamples; ++i) {
      const auto row = values.begin() + (i * (seqlen - 1) / (kSamples - 1)) * width;
      rows.insert(rows.end(), row, row + width);
    }
    return io::TensorData::fromFloats(io::DType::F32, std::move(shape), rows);
  };
  sample.values.q = rowsOf(call.values.q, 64, {1, 1, kSamples, 64});
  expectRight(sample, {rowsOf(all.out, 64, {1, 1, kSamples, 64}), rowsOf(all.lse, 1, {1, 1, kSamples}), {}},
              "sampled rows");
  return run;
}

// 16,384 tokens where the device takes less than half a minute for them (68 GFLOP), else 1,024.
void memoryIsLinear(const Device& device, const std::string& kernel) {
  runLong(device, kernel, 128);  // compiles the pipeline
  const LongRun shortRun = runLong(device, kernel, 512);
  const bool fast = shortRun.seconds * 1024 < 30;
  const std::int64_t seqlen = fast ? 16384 : 1024;
  if (!fast) std::cout << "    a slow device: " << seqlen << " tokens instead of 16384\n";
  const LongRun longRun = runLong(device, kernel, seqlen);
  // The scores alone would be a gigabyte (4 MiB with 1,024 tokens).
  EXPECT_LT(longRun.extraBytes, std::uint64_t{fast ? 64u : 1u} << 20);
}

// None, but for the copies of K and V that widened_rows is about.
void planNeedsLinearScratch(const Device& device, const std::string& kernel) {
  const auto scratchOf = [&](std::int64_t seqlen) {
    const TensorDesc tensor{.dtype = Dtype::F32, .sizes = {1, 1, seqlen, 64}};
    return device.plan(AttentionDesc{.q = tensor, .k = tensor, .v = tensor, .kernel = kernel})
        ->info()
        .scratchBytes;
  };
  const std::uint64_t perToken = kernel == "widened_rows" ? 2 * 64 * sizeof(float) : 0;
  EXPECT_EQ(scratchOf(16384), 16384 * perToken);
  EXPECT_EQ(scratchOf(1 << 24), (1 << 24) * perToken);
}

}  // namespace

void registerScaleTests(const Device& device) {
  const auto add = [&](const std::string& name, std::function<void()> body) {
    registerTest("attention_scale", name, std::move(body));
  };
  fieldCase(device, {80}, "memory_and_error_do_not_grow_with_the_square_of_the_sequence", {kF32},
            [](const Device& d, const Variant& variant) { memoryIsLinear(d, variant.kernel); });
  for (const Variant& variant : attentionVariants(device)) {
    if (variant.dtype == io::DType::BF16) continue;
    add(testName("more_than_65535_keys", variant, 16), [=] { manyKeys(device, variant); });
    if (variant.dtype != io::DType::F32) continue;
    add(testName("more_than_65535_queries", variant, 4), [=] { manyQueries(device, variant); });
    add(testName("scratch_linear_in_the_sequence", variant, 64),
        [=] { planNeedsLinearScratch(device, variant.kernel); });
  }
}

}  // namespace saccade::conformance
