// SPDX-License-Identifier: Apache-2.0
// Sequence lengths around every tile size, at every kind of head dim. The full product is thinned: each head
// dim meets every query length once, with changing key lengths, groups and alignments. A head dim keeps one
// set of features, so that the driver compiles one pipeline for all its shapes.
#include "attention_call.hpp"

namespace saccade::conformance {
namespace {

constexpr std::int64_t kLengths[] = {1, 2, 3, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129};

struct HeadDims {
  std::int64_t qk, v;
  io::Causal causal;
  // Drivers take seconds for a pipeline of wide heads, so each 16-bit type meets only some of them.
  bool f16 = true, bf16 = true;
};

constexpr HeadDims kHeadDims[] = {
    {1, 1, io::Causal::None},
    {4, 4, io::Causal::BottomRight},
    {8, 8, io::Causal::None},
    {20, 20, io::Causal::BottomRight},
    {40, 40, io::Causal::None},
    {59, 59, io::Causal::BottomRight},
    {64, 64, io::Causal::None},
    {64, 64, io::Causal::BottomRight},
    {72, 72, io::Causal::TopLeft, true, false},
    {80, 80, io::Causal::BottomRight, false, true},
    {96, 96, io::Causal::None},
    {128, 128, io::Causal::BottomRight, true, false},
    {160, 160, io::Causal::None, false, false},
    {192, 192, io::Causal::TopLeft, false, true},
    {256, 256, io::Causal::BottomRight, true, false},
    {192, 128, io::Causal::BottomRight, false, false},
    {37, 7, io::Causal::None},
    {3, 250, io::Causal::TopLeft, false, true},
};

struct Heads {
  std::int64_t q, kv;
};
constexpr Heads kHeads[] = {{1, 1}, {2, 1}, {3, 1}, {2, 2}, {5, 1}, {4, 2}};

void sweep(const Device& device, const Variant& variant, const HeadDims& dims) {
  const std::size_t lengths = std::size(kLengths);
  const std::int64_t widest = std::max(dims.qk, dims.v);
  for (std::size_t i = 0; i < lengths; ++i) {
    // A step that shares no factor with 15 takes all key lengths in turn; where it starts depends on the head
    // dim.
    const std::size_t key = (7 * i + static_cast<std::size_t>(widest)) % lengths;
    const Heads heads = widest > 96 ? Heads{2, 1}
                                    : kHeads[(i + static_cast<std::size_t>(widest)) % std::size(kHeads)];
    AttentionCall call = randomCall({.batch = 1 + static_cast<std::int64_t>(i % 2),
                                     .headsQ = heads.q,
                                     .headsKv = heads.kv,
                                     .seqlenQ = kLengths[i],
                                     .seqlenK = kLengths[key],
                                     .headDimQk = dims.qk,
                                     .headDimV = dims.v},
                                    variant, static_cast<unsigned>(i) + 1);
    call.values.causal = dims.causal;
    checkCall(device, call, "Tq" + std::to_string(kLengths[i]) + " Tk" + std::to_string(kLengths[key]));
    if (testing::Test::HasFailure()) return;
  }
}

const char* causalName(io::Causal causal) {
  switch (causal) {
    case io::Causal::BottomRight: return "causal_bottom_right";
    case io::Causal::TopLeft: return "causal_top_left";
    default: return "full";
  }
}

}  // namespace

void registerShapeTests(const Device& device) {
  for (const Variant& variant : attentionVariants(device)) {
    for (const HeadDims& dims : kHeadDims) {
      if ((variant.dtype == io::DType::F16 && !dims.f16) || (variant.dtype == io::DType::BF16 && !dims.bf16))
        continue;
      const std::string what = std::string(causalName(dims.causal)) +
                               (dims.qk == dims.v ? "" : "_with_values_of_" + std::to_string(dims.v));
      registerTest("attention", testName(what, variant, dims.qk), [=] { sweep(device, variant, dims); });
    }
  }
}

}  // namespace saccade::conformance
