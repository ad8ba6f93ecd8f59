// SPDX-License-Identifier: Apache-2.0
// More work-groups than one axis of a dispatch may have.
#include <chrono>
#include <cstdlib>
#include <iostream>

#include "field_cases.hpp"

namespace saccade::conformance {
namespace {

constexpr std::int64_t kDim = 4;

// One batch entry per work-group. Only some have a key, next to the place where a dispatch may end and every
// 1000 elsewhere: the others take no time even where work-groups are slow, and their output is 0.
void manyEntries(const Device& device, const Variant& variant) {
  constexpr std::int64_t kBatch = 66000;
  AttentionCall call = randomCall({.batch = kBatch, .headDimQk = kDim, .headDimV = kDim}, variant);
  std::vector<std::int32_t> lengths(kBatch);
  for (std::int64_t b = 0; b < kBatch; ++b) {
    const bool atAnEnd = b < 5 || b >= kBatch - 5 || std::abs(b - 65535) < 5;
    lengths[static_cast<std::size_t>(b)] = atAnEnd || b % 1000 == 0;
  }
  call.values.seqlensK = lengths;
  const AttentionResults results = execute(device, call);
  for (std::size_t i = 0; i < results.out.elementCount(); ++i) {
    // A single key has weight 1.
    ASSERT_EQ(results.out.at(i), lengths[i / kDim] == 0 ? 0 : call.values.v.at(i)) << "entry " << i / kDim;
  }
}

// Each head has a single key, whose weight is 1; or none, and its output is 0.
void checkHeads(const Device& device, const Variant& variant, std::int64_t heads, bool withKeys) {
  const AttentionCall call = randomCall(
      {.headsQ = heads, .headsKv = heads, .seqlenK = withKeys ? 1 : 0, .headDimQk = kDim, .headDimV = kDim},
      variant);
  const AttentionResults results = execute(device, call);
  for (std::size_t i = 0; i < results.out.elementCount(); ++i)
    ASSERT_EQ(results.out.at(i), withKeys ? call.values.v.at(i) : 0) << "head " << i / kDim;
}

// Sizes in the wrong order: one token of 66000 heads. Without keys where work-groups with keys would take
// longer than two seconds.
void manyHeads(const Device& device, const Variant& variant) {
  checkHeads(device, variant, 1, true);  // compiles the pipeline
  const auto start = std::chrono::steady_clock::now();
  checkHeads(device, variant, 1000, true);
  const std::chrono::duration<double> duration = std::chrono::steady_clock::now() - start;
  const bool fast = duration.count() * 66 < 2;
  if (!fast) std::cout << "    slow work-groups: 66000 heads without keys\n";
  checkHeads(device, variant, 66000, fast);
}

void oneQueryOfHeadDim256(const Device& device, const Variant& variant) {
  AttentionCall call = randomCall(
      {.headsQ = 4, .headsKv = 2, .seqlenQ = 1, .seqlenK = 300, .headDimQk = 256, .headDimV = 256}, variant);
  call.values.causal = io::Causal::BottomRight;
  checkCall(device, call);
}

}  // namespace

void registerGridCases(const Device& device) {
  fieldCase(device, {170, 172, 176}, "66000_batch_entries", {kF32}, manyEntries);
  fieldCase(device, {173}, "66000_heads_of_one_token", {kF32}, manyHeads);
  fieldCase(device, {178}, "one_query_of_head_dim_256", {kF16}, oneQueryOfHeadDim256);
}

}  // namespace saccade::conformance
