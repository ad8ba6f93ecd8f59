// SPDX-License-Identifier: Apache-2.0
// Sizes that no test has the memory for: offsets near 2^31 and 2^32, grids longer than an axis, buffers
// larger than a binding. Numbers in names are rows of docs/field-cases.md.
#include <algorithm>
#include <cmath>

#include "attention/plan.hpp"
#include "core_test.hpp"
#include "fake_devices.hpp"
#include "step_params.hpp"

namespace saccade::test {
namespace {

using core::AttentionParams;

constexpr const char* kKernels[] = {"scalar_rows", "scalar_tiled"};

core::PlanDraft planOf(const core::DeviceFacts& facts, const SaccadeAttentionDesc& desc, const char* kernel) {
  SaccadeAttentionDesc named = desc;
  named.kernel = kernel;
  return core::planAttention(facts, core::validateAttention(named), "");
}

// The offset that a kernel forms for an element, in the 32 bits that it has, and without a limit.
struct Offset {
  uint32_t shader = 0;
  uint64_t exact = 0;
  void add(uint64_t index, uint32_t stride) {
    shader += static_cast<uint32_t>(index) * stride;
    exact += index * stride;
  }
};

// The last element of the tensor with these sizes and strides is where the kernels look for it.
void expectNoWrap(std::initializer_list<std::pair<uint64_t, uint32_t>> sizesAndStrides, uint64_t bytes,
                  uint32_t elementBytes, const std::string& what) {
  Offset offset;
  for (const auto& [size, stride] : sizesAndStrides) offset.add(size - 1, stride);
  EXPECT_EQ(offset.shader, offset.exact) << what << " wraps in 32 bits";
  EXPECT_EQ((offset.exact + 1) * elementBytes, bytes) << what;
}

SaccadeAttentionDesc oneHead(int64_t seqlenQ, int64_t seqlenK, int64_t headDim = 64,
                             SaccadeDtype dtype = SACCADE_DTYPE_F16) {
  return attentionDesc({.batch = 1,
                        .headsQ = 1,
                        .headsKv = 1,
                        .seqlenQ = seqlenQ,
                        .seqlenK = seqlenK,
                        .headDimQk = headDim,
                        .headDimV = headDim},
                       dtype);
}

// On every recorded device, with every kernel.
template <class Check>
void onEveryDevice(const SaccadeAttentionDesc& desc, Check check) {
  for (const FakeDevice& device : fakeDevices()) {
    for (const char* kernel : kKernels) {
      SCOPED_TRACE(device.name + " " + kernel);
      check(device.facts, planOf(device.facts, desc, kernel));
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST(Limits, Rows151And160And169MaskElementsJustAbove2To31AndBelow2To32) {
  for (const int64_t tokens : {46341, 46342, 65535}) {
    SaccadeAttentionDesc desc = oneHead(tokens, tokens);
    desc.mask = tensorDesc(SACCADE_DTYPE_U8, {1, 1, tokens, tokens});
    onEveryDevice(desc, [&](const auto&, const core::PlanDraft& plan) {
      const AttentionParams p = paramsOf(plan.steps.at(0));
      expectNoWrap({{p.seqlenQ, p.maskStrideQ}, {p.seqlenK, p.maskStrideK}},
                   plan.slots.at(core::kSlotMask).bytes, 1, "mask");
    });
  }
}

TEST(Limits, Rows151And169MaskOf2To32ElementsIsRefused) {
  SaccadeAttentionDesc desc = oneHead(65536, 65536);
  desc.mask = tensorDesc(SACCADE_DTYPE_U8, {1, 1, 65536, 65536});
  const auto refusal = refusalOf([&] { core::validateAttention(desc); });
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->field, "mask.sizes");
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "4294967295", refusal->text);
}

TEST(Limits, ScoresOfLongSequencesTakeNoMemory) {
  const SaccadeAttentionDesc descs[] = {oneHead(65536, 65536, 96, SACCADE_DTYPE_F32),
                                        attentionDesc({.batch = 2,
                                                       .headsQ = 32,
                                                       .headsKv = 32,
                                                       .seqlenQ = 4104,
                                                       .seqlenK = 4104,
                                                       .headDimQk = 128,
                                                       .headDimV = 128})};
  for (const SaccadeAttentionDesc& desc : descs)
    onEveryDevice(desc, [](const auto&, const core::PlanDraft& plan) { EXPECT_EQ(plan.scratchBytes(), 0u); });
}

TEST(Limits, Row157MillionsOfCausalKeys) {
  SaccadeAttentionDesc desc = oneHead(4300000, 4300000, 128, SACCADE_DTYPE_BF16);
  desc.causal = SACCADE_CAUSAL_BOTTOM_RIGHT;
  onEveryDevice(desc, [](const core::DeviceFacts& facts, const core::PlanDraft& plan) {
    const core::StepDraft& step = plan.steps.at(0);
    const AttentionParams p = paramsOf(step);
    EXPECT_EQ(step.groups, p.rowBlocks);
    EXPECT_GE(uint64_t{p.rowBlocks} * 128, 4300000u);
    EXPECT_GE(core::dispatchesFor(step.groups, facts.maxComputeWorkGroupCount[0]), 1u);
    EXPECT_NEAR(plan.flops, 2.0 * 4300000 * 4300000 * 128, 1e9);
    expectNoWrap({{p.seqlenK, p.kStrideT}, {128, 1}}, plan.slots.at(core::kSlotK).bytes, 2, "k");
  });
}

TEST(Limits, Row161BiasWithABatchStrideBeyond2To31) {
  // The batch stride of [B, 1, 12180, 12184] is 148 million elements: 28 entries fit, 32 do not.
  const auto descOf = [](int64_t batch) {
    SaccadeAttentionDesc desc = attentionDesc(
        {.batch = batch, .headsQ = 1, .headsKv = 1, .seqlenQ = 12180, .seqlenK = 12184}, SACCADE_DTYPE_F16);
    desc.bias = tensorDesc(SACCADE_DTYPE_F16, {batch, 1, 12180, 12184});
    return desc;
  };
  onEveryDevice(descOf(28), [](const auto&, const core::PlanDraft& plan) {
    const AttentionParams p = paramsOf(plan.steps.at(0));
    expectNoWrap({{28, p.biasStrideB}, {p.seqlenQ, p.biasStrideQ}, {p.seqlenK, p.biasStrideK}},
                 plan.slots.at(core::kSlotBias).bytes, 2, "bias");
  });
  const auto refusal = refusalOf([&] { core::validateAttention(descOf(32)); });
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->field, "bias.sizes");
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "[32, 1, 12180, 12184]", refusal->text);
}

TEST(Limits, Row163BatchStridesAbove2To31StayPositive) {
  // 128 heads of 128 channels at 131072 tokens: 2^31 elements from one entry to the next.
  SaccadeAttentionDesc desc = attentionDesc({.batch = 2,
                                             .headsQ = 128,
                                             .headsKv = 128,
                                             .seqlenQ = 1,
                                             .seqlenK = 131071,
                                             .headDimQk = 128,
                                             .headDimV = 128},
                                            SACCADE_DTYPE_F16);
  for (SaccadeTensorDesc* tensor : {&desc.k, &desc.v}) {
    const int64_t strides[] = {int64_t{1} << 31, 131072 * 128, 128, 1};
    std::copy(std::begin(strides), std::end(strides), tensor->strides);
  }
  onEveryDevice(desc, [](const auto&, const core::PlanDraft& plan) {
    const AttentionParams p = paramsOf(plan.steps.at(0));
    EXPECT_EQ(p.kStrideB, 2147483648u);
    expectNoWrap({{2, p.kStrideB}, {128, p.kStrideH}, {p.seqlenK, p.kStrideT}, {128, 1}},
                 plan.slots.at(core::kSlotK).bytes, 2, "k");
    expectNoWrap({{2, p.vStrideB}, {128, p.vStrideH}, {p.seqlenK, p.vStrideT}, {128, 1}},
                 plan.slots.at(core::kSlotV).bytes, 2, "v");
  });
}

TEST(Limits, Row164PoolsBeyond2And4Gigabytes) {
  for (const int64_t pages : {(int64_t{2} << 30) / 4096 + 100, (int64_t{4} << 30) / 4096 + 100}) {
    SaccadeAttentionDesc desc = oneHead(1, 16, 128);
    desc.k.sizes[0] = desc.v.sizes[0] = pages;
    desc.blockTable = tensorDesc(SACCADE_DTYPE_I32, {1, 1, 1, 8});
    onEveryDevice(desc, [&](const auto&, const core::PlanDraft& plan) {
      const AttentionParams p = paramsOf(plan.steps.at(0));
      EXPECT_EQ(p.pages, pages);
      expectNoWrap({{p.pages, p.kStrideB}, {16, p.kStrideT}, {128, 1}}, plan.slots.at(core::kSlotK).bytes, 2,
                   "k");
      EXPECT_EQ(plan.slots.at(core::kSlotK).bytes, static_cast<uint64_t>(pages) * 4096);
    });
  }
}

TEST(Limits, OutputsAndProbsNear2To32Elements) {
  SaccadeAttentionDesc desc = oneHead(65535, 65537, 8);
  desc.probs = tensorDesc(SACCADE_DTYPE_F16, {1, 1, 65535, 65537});
  desc.lse.dtype = SACCADE_DTYPE_F32;
  onEveryDevice(desc, [](const auto&, const core::PlanDraft& plan) {
    const AttentionParams p = paramsOf(plan.steps.at(0));
    expectNoWrap({{p.seqlenQ, p.probsStrideT}, {p.seqlenK, 1}}, plan.slots.at(core::kSlotProbs).bytes, 2,
                 "probs");
    EXPECT_EQ(plan.slots.at(core::kSlotProbs).bytes, uint64_t{2} * 4294967295u);
  });
}

TEST(Limits, StridesOfAxesOfSizeOneMayBeAnything) {
  SaccadeAttentionDesc desc = oneHead(3, 5);
  const int64_t strides[] = {4294967295, 4294967295, 64, 1};
  std::copy(std::begin(strides), std::end(strides), desc.k.strides);
  onEveryDevice(desc, [](const auto&, const core::PlanDraft& plan) {
    EXPECT_EQ(plan.slots.at(core::kSlotK).bytes, 2u * 5 * 64);
  });
}

// Row 175: a device may allow no more than 65535 work-groups on each of its axes, and the grid lies along the
// first.
TEST(Limits, Row175WorkGroupsBeyondTheFirstAxis) {
  const AttentionShape shapes[] = {
      {.batch = 65536, .headsQ = 1, .headsKv = 1, .seqlenQ = 1, .seqlenK = 1, .headDimQk = 4, .headDimV = 4},
      {.batch = 1,
       .headsQ = 65536,
       .headsKv = 65536,
       .seqlenQ = 1,
       .seqlenK = 1,
       .headDimQk = 4,
       .headDimV = 4},
      {.batch = 1,
       .headsQ = 1,
       .headsKv = 1,
       .seqlenQ = 65536 * 128,
       .seqlenK = 1,
       .headDimQk = 4,
       .headDimV = 4}};
  for (const AttentionShape& shape : shapes) {
    onEveryDevice(attentionDesc(shape), [](core::DeviceFacts, const core::PlanDraft& plan) {
      const uint64_t groups = plan.steps.at(0).groups;
      EXPECT_GE(groups, 65536u);
      for (const uint32_t limit : {65535u, 1000u, 1u}) {
        const uint64_t dispatches = core::dispatchesFor(groups, limit);
        EXPECT_GE(dispatches * limit, groups);
        EXPECT_LT((dispatches - 1) * limit, groups);
      }
    });
  }
}

// Inputs are reached by address: the 128 MiB that a binding is guaranteed bound none of them.
TEST(Limits, BuffersOf128MebibytesAndMoreArePlannedForEveryDevice) {
  core::DeviceFacts facts = minimalFacts();
  ASSERT_EQ(facts.maxStorageBufferRange, 128u << 20);
  for (const int64_t tokens :
       {(int64_t{128} << 20) / 256, (int64_t{128} << 20) / 256 + 1, int64_t{8} << 20}) {
    for (const char* kernel : kKernels) {
      const core::PlanDraft plan = planOf(facts, oneHead(1, tokens, 128), kernel);
      EXPECT_EQ(plan.slots.at(core::kSlotK).bytes, static_cast<uint64_t>(tokens) * 256);
      EXPECT_EQ(plan.scratchBytes(), 0u);
    }
  }
}

}  // namespace
}  // namespace saccade::test
