// SPDX-License-Identifier: Apache-2.0
// Plans of attention for devices that exist on paper: kernels and why, grids, specialisation, and what a plan
// costs.
#include <algorithm>

#include "attention/choice.hpp"
#include "attention/plan.hpp"
#include "core_test.hpp"
#include "fake_devices.hpp"
#include "step_params.hpp"

namespace saccade::test {
namespace {

using core::PlanDraft;

PlanDraft planFor(const core::DeviceFacts& facts, const SaccadeAttentionDesc& desc,
                  const std::string& forced = "") {
  return core::planAttention(facts, core::validateAttention(desc), forced);
}

SaccadeAttentionDesc withKernel(SaccadeAttentionDesc desc, const char* kernel) {
  desc.kernel = kernel;
  return desc;
}

TEST(AttentionChoice, TakesRowsOnACpuAndSaysWhy) {
  const PlanDraft plan = planFor(cpuFacts(), attentionDesc());
  EXPECT_EQ(plan.kernel, "scalar_rows");
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "scalar_rows: chosen: a CPU device", plan.reason);
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "scalar_tiled: not taken: ", plan.reason);
}

TEST(AttentionChoice, TakesTilesOnAGpuAndSaysWhy) {
  for (const core::DeviceFacts& facts : {desktopGpuFacts(), minimalFacts()}) {
    const PlanDraft plan = planFor(facts, attentionDesc({.seqlenQ = 50}));
    EXPECT_EQ(plan.kernel, "scalar_tiled") << facts.deviceName;
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "scalar_tiled: chosen: ", plan.reason);
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "scalar_rows: not taken: ", plan.reason);
  }
  const PlanDraft lines = planFor(wideGpuFacts(), attentionDesc({.seqlenQ = 50}));
  EXPECT_EQ(lines.kernel, "scalar_lines");
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "scalar_lines: chosen: a line of invocations", lines.reason);
  core::DeviceFacts older = wideGpuFacts();
  older.minSubgroupSize = 64;
  EXPECT_EQ(planFor(older, attentionDesc({.seqlenQ = 50})).kernel, "scalar_lines");
  older.shaderFloat16 = VK_FALSE;
  EXPECT_EQ(planFor(older, attentionDesc({.seqlenQ = 50})).kernel, "scalar_tiled");
}

TEST(AttentionChoice, TakesTheKernelThatTheDescriptionNames) {
  EXPECT_EQ(planFor(cpuFacts(), withKernel(attentionDesc(), "scalar_tiled")).kernel, "scalar_tiled");
  EXPECT_EQ(planFor(desktopGpuFacts(), withKernel(attentionDesc(), "scalar_rows")).kernel, "scalar_rows");
}

TEST(AttentionChoice, TakesTheKernelThatTheContextForces) {
  const PlanDraft plan = planFor(cpuFacts(), attentionDesc(), "scalar_tiled");
  EXPECT_EQ(plan.kernel, "scalar_tiled");
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "asked for by name", plan.reason);
}

TEST(AttentionChoice, PrefersTheDescriptionsKernelToTheContexts) {
  EXPECT_EQ(planFor(cpuFacts(), withKernel(attentionDesc(), "scalar_rows"), "scalar_tiled").kernel,
            "scalar_rows");
}

TEST(AttentionChoice, IsFreeWhenTheContextForcesAKernelOfAnotherOperator) {
  EXPECT_EQ(planFor(cpuFacts(), attentionDesc(), "matmul_of_another_operator").kernel, "scalar_rows");
}

TEST(AttentionChoice, LeavesOutAKernelThatTheDeviceCannotRun) {
  core::DeviceFacts facts = desktopGpuFacts();
  facts.maxComputeWorkGroupInvocations = 64;
  const PlanDraft plan = planFor(facts, attentionDesc());
  EXPECT_EQ(plan.kernel, "scalar_rows");
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "scalar_tiled: cannot run: needs work-groups of 128",
                      plan.reason);
}

TEST(AttentionChoice, RefusesANamedKernelThatTheDeviceCannotRun) {
  core::DeviceFacts facts = desktopGpuFacts();
  facts.maxComputeSharedMemorySize = 8192;
  const auto refusal = refusalOf([&] { planFor(facts, withKernel(attentionDesc(), "scalar_tiled")); });
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->status, SACCADE_ERROR_UNSUPPORTED);
  EXPECT_EQ(refusal->field, "kernel");
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "16384 bytes of shared memory", refusal->text);
}

TEST(AttentionChoice, TakesPortableShadersWhereAnythingNativeIsMissing) {
  EXPECT_STREQ(planFor(cpuFacts(), attentionDesc()).steps[0].shader->name, "scalar_rows_f32_native");
  EXPECT_STREQ(planFor(minimalFacts(), attentionDesc({.seqlenQ = 50}, SACCADE_DTYPE_BF16)).steps[0].shader->name,
               "scalar_tiled_bf16_portable");
  for (auto member :
       {&core::DeviceFacts::shaderInt64, &core::DeviceFacts::storageBuffer8BitAccess,
        &core::DeviceFacts::storageBuffer16BitAccess, &core::DeviceFacts::signedZeroInfNanPreserveFloat32}) {
    core::DeviceFacts facts = cpuFacts();
    facts.*member = VK_FALSE;
    EXPECT_STREQ(planFor(facts, attentionDesc({}, SACCADE_DTYPE_F16)).steps[0].shader->name,
                 "scalar_rows_f16_portable");
  }
}

TEST(AttentionPlan, GivesScalarRowsOneSubgroupPerWorkGroup) {
  const PlanDraft plan = planFor(cpuFacts(), attentionDesc({.seqlenQ = 17}));
  const core::StepDraft& step = plan.steps.at(0);
  EXPECT_EQ(step.specialisation.at(SPEC_LOCAL_SIZE), 8u);
  EXPECT_EQ(paramsOf(step).rowBlocks, 3u);      // 17 rows, 8 at a time
  EXPECT_EQ(step.groups, uint64_t{3} * 6 * 2);  // of each head of each batch entry
}

TEST(AttentionPlan, GivesScalarTiled32RowsPerWorkGroup) {
  const PlanDraft plan = planFor(desktopGpuFacts(), attentionDesc({.seqlenQ = 33}));
  const core::StepDraft& step = plan.steps.at(0);
  EXPECT_EQ(step.specialisation.at(SPEC_LOCAL_SIZE), 128u);
  EXPECT_EQ(paramsOf(step).rowBlocks, 2u);
  EXPECT_EQ(step.groups, uint64_t{2} * 6 * 2);
}

SaccadeAttentionDesc quantisedDesc(SaccadeDtype dtype, SaccadeDtype keys) {
  SaccadeAttentionDesc desc = attentionDesc({}, dtype);
  desc.k.dtype = desc.v.dtype = keys;
  desc.kScale = tensorDesc(SACCADE_DTYPE_F32, {2, 3, 2, 1});
  desc.vScale = tensorDesc(SACCADE_DTYPE_F32, {1, 3, 1, 1});
  desc.scaleBlock = 4;
  return desc;
}

TEST(AttentionPlan, TellsTheKernelHowKeysAreQuantised) {
  SaccadeAttentionDesc desc = withKernel(quantisedDesc(SACCADE_DTYPE_F16, SACCADE_DTYPE_I8), "scalar_rows");
  desc.probs.dtype = SACCADE_DTYPE_F16;
  const PlanDraft plan = planFor(cpuFacts(), desc);
  ASSERT_EQ(plan.steps.size(), 2u);  // and the weights
  for (const core::StepDraft& step : plan.steps) {
    EXPECT_EQ(step.specialisation.at(SPEC_KV_DTYPE), uint32_t{KV_I8});
    EXPECT_EQ(step.specialisation.at(SPEC_KV_WORDS), 1u);
    EXPECT_EQ(step.specialisation.at(SPEC_K_SCALE), 1u);
    EXPECT_EQ(step.specialisation.at(SPEC_V_SCALE), 1u);
    EXPECT_EQ(step.specialisation.at(SPEC_SCALE_BLOCK), 4u);
    EXPECT_EQ(step.slots.at(BUFFER_K_SCALE), core::kSlotKScale);
    const core::AttentionParams params = paramsOf(step);
    EXPECT_EQ(params.kScaleStrideB, 6u);
    EXPECT_EQ(params.kScaleStrideH, 2u);
    EXPECT_EQ(params.kScaleStrideT, 1u);
    EXPECT_EQ(params.vScaleStrideB, 0u);
    EXPECT_EQ(params.vScaleStrideH, 1u);
    EXPECT_EQ(params.vScaleStrideT, 0u);
  }
  EXPECT_EQ(plan.steps[0].slots.at(BUFFER_V_SCALE), core::kSlotVScale);
  EXPECT_EQ(plan.steps[1].slots.at(BUFFER_PROBS), core::kSlotProbs);
  EXPECT_EQ(plan.slots[core::kSlotK].bytes, uint64_t{2} * 3 * 7 * 16);
  EXPECT_EQ(plan.slots[core::kSlotKScale].bytes, uint64_t{2} * 3 * 2 * 4);
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "f16 B2", plan.label);
  EXPECT_PRED_FORMAT2(testing::IsSubstring, " kv i8 scales(4)", plan.label);
}

// Four bytes are read at a time only where no row can begin between words, and then the addresses may not either.
TEST(AttentionPlan, ReadsQuantisedKeysInWordsWhereItMay) {
  const auto wordsAndAlignment = [](const SaccadeAttentionDesc& desc) {
    const PlanDraft plan = planFor(cpuFacts(), withKernel(desc, "scalar_rows"));
    EXPECT_EQ(plan.slots[core::kSlotK].alignment, plan.slots[core::kSlotV].alignment);
    return std::pair(plan.steps.at(0).specialisation.at(SPEC_KV_WORDS), plan.slots[core::kSlotK].alignment);
  };
  const SaccadeAttentionDesc plain = quantisedDesc(SACCADE_DTYPE_F32, SACCADE_DTYPE_F8E4M3);
  EXPECT_EQ(wordsAndAlignment(plain), std::pair(1u, 4u));
  SaccadeAttentionDesc odd = plain;
  odd.v.sizes[3] = 23;
  EXPECT_EQ(wordsAndAlignment(odd), std::pair(0u, 1u));
  SaccadeAttentionDesc padded = plain;
  padded.k.strides[0] = 7 * 3 * 17, padded.k.strides[1] = 7 * 17, padded.k.strides[2] = 17, padded.k.strides[3] = 1;
  EXPECT_EQ(wordsAndAlignment(padded), std::pair(0u, 1u));
}

TEST(AttentionPlan, CopiesQuantisedKeysWithTheirScales) {
  const PlanDraft plan = planFor(cpuFacts(), withKernel(quantisedDesc(SACCADE_DTYPE_F32, SACCADE_DTYPE_F8E4M3), "widened_rows"));
  ASSERT_EQ(plan.steps.size(), 2u);
  EXPECT_EQ(plan.steps[0].specialisation.at(SPEC_KV_DTYPE), uint32_t{KV_E4M3});
  EXPECT_EQ(plan.steps[0].specialisation.at(SPEC_K_SCALE), 1u);
  EXPECT_EQ(plan.steps[0].specialisation.at(SPEC_WIDENED), 0u);
  EXPECT_EQ(plan.steps[1].specialisation.at(SPEC_KV_DTYPE), 0u);
  EXPECT_EQ(plan.steps[1].specialisation.at(SPEC_K_SCALE), 0u);
  EXPECT_EQ(plan.steps[1].specialisation.at(SPEC_WIDENED), 1u);
}

TEST(AttentionPlan, TellsTheKernelWhatIsThere) {
  SaccadeAttentionDesc desc = attentionDesc();
  desc.causal = SACCADE_CAUSAL_TOP_LEFT;
  desc.mask = tensorDesc(SACCADE_DTYPE_U8, {1, 1, 5, 7});
  desc.bias = tensorDesc(SACCADE_DTYPE_BF16, {1, 1, 1, 7});
  desc.lse.dtype = SACCADE_DTYPE_F32;
  desc.hasSeqlensQ = desc.hasSeqlensK = VK_TRUE;
  const std::vector<uint32_t> constants = planFor(cpuFacts(), desc).steps.at(0).specialisation;
  EXPECT_EQ(constants.at(SPEC_HEAD_DIM_QK), 16u);
  EXPECT_EQ(constants.at(SPEC_HEAD_DIM_V), 24u);
  EXPECT_EQ(constants.at(SPEC_TOP_LEFT), 1u);
  EXPECT_EQ(constants.at(SPEC_WINDOW_LEFT), 0u);
  EXPECT_EQ(constants.at(SPEC_WINDOW_RIGHT), 1u);
  EXPECT_EQ(constants.at(SPEC_HAS_KEYS), 1u);
  EXPECT_EQ(constants.at(SPEC_MASK), 1u);
  EXPECT_EQ(constants.at(SPEC_BIAS), 3u);
  EXPECT_EQ(constants.at(SPEC_SEQLENS_Q), 1u);
  EXPECT_EQ(constants.at(SPEC_SEQLENS_K), 1u);
  EXPECT_EQ(constants.at(SPEC_LSE), 1u);
}

TEST(AttentionPlan, PassesSizesStridesAndScaleAsParameters) {
  SaccadeAttentionDesc desc = attentionDesc();
  desc.q = tensorDesc(SACCADE_DTYPE_F32, {2, 6, 5, 16}, {480, 16, 96, 1});
  desc.mask = tensorDesc(SACCADE_DTYPE_U8, {2, 1, 1, 7});
  desc.temperature = 2;
  const core::AttentionParams params = paramsOf(planFor(cpuFacts(), desc).steps.at(0));
  EXPECT_EQ(params.headBlocks, 6u);
  EXPECT_EQ(params.headsPerGroup, 2u);
  EXPECT_EQ(params.seqlenQ, 5u);
  EXPECT_EQ(params.seqlenK, 7u);
  EXPECT_EQ(params.scale, 0.125f);
  EXPECT_EQ(params.qStrideB, 480u);
  EXPECT_EQ(params.qStrideH, 16u);
  EXPECT_EQ(params.qStrideT, 96u);
  EXPECT_EQ(params.vStrideT, 24u);
  EXPECT_EQ(params.outStrideB, 720u);
  EXPECT_EQ(params.maskStrideB, 7u);
  EXPECT_EQ(params.maskStrideH, 0u);
  EXPECT_EQ(params.maskStrideQ, 0u);
  EXPECT_EQ(params.maskStrideK, 1u);
}

// A batch of another size, or a longer sequence, must find its pipelines.
TEST(AttentionPlan, KeepsItsPipelineWhenSizesAndStridesChange) {
  for (const FakeDevice& device : fakeDevices()) {
    for (const char* kernel : {"scalar_rows", "scalar_tiled"}) {
      const PlanDraft one =
          planFor(device.facts, withKernel(attentionDesc({.batch = 1, .headsQ = 3, .headsKv = 1, .seqlenQ = 1, .seqlenK = 100}), kernel));
      const PlanDraft other =
          planFor(device.facts, withKernel(attentionDesc({.batch = 4, .headsQ = 8, .headsKv = 8, .seqlenQ = 40, .seqlenK = 101}), kernel));
      EXPECT_EQ(one.steps.at(0).shader, other.steps.at(0).shader) << device.name;
      EXPECT_EQ(one.steps.at(0).specialisation, other.steps.at(0).specialisation) << device.name;
    }
  }
}

TEST(AttentionPlan, NamesEverythingThatRunsInItsLabel) {
  SaccadeAttentionDesc desc = attentionDesc({}, SACCADE_DTYPE_F16);
  EXPECT_EQ(planFor(cpuFacts(), desc).label, "attention scalar_rows f16 B2 Hq6 Hkv3 Tq5 Tk7 Dqk16 Dv24");
  desc.causal = SACCADE_CAUSAL_BOTTOM_RIGHT;
  desc.mask = tensorDesc(SACCADE_DTYPE_U8, {1, 1, 5, 7});
  desc.bias = tensorDesc(SACCADE_DTYPE_F32, {1, 1, 5, 7});
  desc.hasSeqlensK = VK_TRUE;
  desc.lse.dtype = SACCADE_DTYPE_F32;
  EXPECT_EQ(planFor(cpuFacts(), desc).label,
            "attention scalar_rows f16 B2 Hq6 Hkv3 Tq5 Tk7 Dqk16 Dv24 causal mask bias f32 "
            "seqlens_k lse");
}

TEST(AttentionPlan, CountsFlopsOfBothProductsAndHalvesThemForCausal) {
  SaccadeAttentionDesc desc = attentionDesc();
  const double full = 2.0 * 2 * 6 * 5 * 7 * (16 + 24);
  EXPECT_EQ(planFor(cpuFacts(), desc).flops, full);
  desc.causal = SACCADE_CAUSAL_TOP_LEFT;
  EXPECT_EQ(planFor(cpuFacts(), desc).flops, full / 2);
}

TEST(AttentionPlan, NamesWindowsCapsAndPagesInItsLabel) {
  SaccadeAttentionDesc desc = attentionDesc({.batch = 1});
  desc.k = tensorDesc(SACCADE_DTYPE_F32, {9, 3, 4, 16});
  desc.v = tensorDesc(SACCADE_DTYPE_F32, {9, 3, 4, 24});
  desc.blockTable = tensorDesc(SACCADE_DTYPE_I32, {1, 1, 2, 5});
  desc.hasCuSeqlens = VK_TRUE;
  desc.numSequences = 2;
  desc.windowLeft = 4;
  desc.softcap = 50;
  desc.alibiSlopes = tensorDesc(SACCADE_DTYPE_F32, {1, 1, 1, 6});
  desc.sink = tensorDesc(SACCADE_DTYPE_F32, {1, 1, 1, 6});
  EXPECT_EQ(planFor(cpuFacts(), withKernel(desc, "scalar_rows")).label,
            "attention scalar_rows f32 B2 Hq6 Hkv3 Tq5 Tk20 Dqk16 Dv24 window(4,-1) softcap 50 alibi sink packed paged(4)");
}

TEST(AttentionPlan, CountsThePairsThatAWindowLeaves) {
  SaccadeAttentionDesc desc = attentionDesc({.batch = 1, .headsQ = 1, .headsKv = 1, .seqlenQ = 5, .seqlenK = 7});
  desc.windowLeft = 1;
  desc.windowRight = 2;
  // Rows stand at keys 2 .. 6 and see 1..4, 2..5, 3..6, 4..6 and 5..6.
  EXPECT_EQ(planFor(cpuFacts(), desc).flops, 2.0 * (4 + 4 + 4 + 3 + 2) * (16 + 24));
  desc.causal = SACCADE_CAUSAL_TOP_LEFT;
  // Rows stand at keys 0 .. 4 and see 0, 0..1, 1..2, 2..3 and 3..4.
  EXPECT_EQ(planFor(cpuFacts(), desc).flops, 2.0 * (1 + 2 + 2 + 2 + 2) * (16 + 24));
  desc.causal = SACCADE_CAUSAL_NONE;
  desc.windowLeft = -1;
  // Keys 0..4, 0..5, then all 7.
  EXPECT_EQ(planFor(cpuFacts(), desc).flops, 2.0 * (5 + 6 + 7 + 7 + 7) * (16 + 24));
}

// Every sequence may leave a block unfilled, and so may the tokens past the last one.
TEST(AttentionPlan, HasRoomForABlockMorePerPackedSequence) {
  SaccadeAttentionDesc desc = attentionDesc({.batch = 1, .seqlenQ = 100});
  desc.hasCuSeqlens = VK_TRUE;
  desc.numSequences = 9;
  const PlanDraft plan = planFor(cpuFacts(), withKernel(desc, "scalar_rows"));
  EXPECT_EQ(plan.steps.at(0).groups, uint64_t{6} * (100 / 8 + 9 + 1));
  EXPECT_EQ(plan.slots.at(core::kSlotCuSeqlensQ).bytes, 40u);
  EXPECT_EQ(plan.slots.at(core::kSlotCuSeqlensK).bytes, 40u);
  EXPECT_EQ(plan.slots.at(core::kSlotSeqlensQ).bytes, 0u);
}

TEST(AttentionPlan, RefusesMoreWorkGroupsThanItCanCount) {
  SaccadeAttentionDesc desc = attentionDesc({.batch = 1, .headsQ = 96, .headsKv = 96});
  desc.hasCuSeqlens = VK_TRUE;
  desc.numSequences = 1 << 28;
  const auto refusal = refusalOf([&] { planFor(cpuFacts(), desc); });
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->field, "num_sequences");
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "is 268435456", refusal->text);
}

TEST(AttentionPlan, AsksForThePoolAndTheTableOfPagedKeys) {
  SaccadeAttentionDesc desc = attentionDesc();
  // Keys and values of a page side by side.
  desc.k = tensorDesc(SACCADE_DTYPE_F32, {9, 3, 4, 16}, {2 * 4 * 3 * 16, 16, 3 * 16, 1});
  desc.v = tensorDesc(SACCADE_DTYPE_F32, {9, 3, 4, 24});
  desc.blockTable = tensorDesc(SACCADE_DTYPE_I32, {1, 1, 2, 5}, {0, 0, 8, 1});
  const PlanDraft plan = planFor(cpuFacts(), desc);
  EXPECT_EQ(plan.slots.at(core::kSlotK).bytes, 4u * (8 * 384 + 2 * 16 + 3 * 48 + 16));
  EXPECT_EQ(plan.slots.at(core::kSlotBlockTable).bytes, 4u * (8 + 5));
}

TEST(AttentionPlan, CountsBytesOfInputsAndOutputsOnce) {
  SaccadeAttentionDesc desc = attentionDesc({}, SACCADE_DTYPE_F16);
  const double inputs = 2.0 * (2 * 6 * 5 * 16 + 2 * 3 * 7 * (16 + 24));
  const double out = 2.0 * 2 * 6 * 5 * 24;
  EXPECT_EQ(planFor(cpuFacts(), desc).bytes, inputs + out);
  desc.lse.dtype = SACCADE_DTYPE_F32;
  desc.mask = tensorDesc(SACCADE_DTYPE_U8, {1, 1, 5, 7});
  EXPECT_EQ(planFor(cpuFacts(), desc).bytes, inputs + out + 4.0 * 2 * 6 * 5 + 5 * 7);
}

TEST(AttentionPlan, NeedsNoScratchHoweverLongTheSequence) {
  for (const FakeDevice& device : fakeDevices()) {
    for (const char* kernel : {"scalar_rows", "split_kv", "scalar_tiled", "flash_decode"}) {
      SaccadeAttentionDesc desc = withKernel(
          attentionDesc({.batch = 1, .headsQ = 1, .headsKv = 1, .seqlenQ = 1 << 20, .seqlenK = 1 << 20}),
          kernel);
      EXPECT_EQ(planFor(device.facts, desc).scratchBytes(), 0u) << device.name << " " << kernel;
    }
  }
}

TEST(AttentionPlan, AsksForRangesThatReachTheLastElement) {
  SaccadeAttentionDesc desc = attentionDesc({}, SACCADE_DTYPE_F16);
  desc.k = tensorDesc(SACCADE_DTYPE_F16, {2, 3, 7, 16}, {0, 20000, 32, 1});
  desc.hasSeqlensK = VK_TRUE;
  const PlanDraft plan = planFor(cpuFacts(), desc);
  EXPECT_EQ(plan.slots.at(core::kSlotQ).bytes, uint64_t{2} * 2 * 6 * 5 * 16);
  EXPECT_EQ(plan.slots.at(core::kSlotK).bytes, uint64_t{2} * (2 * 20000 + 6 * 32 + 15 + 1));
  EXPECT_EQ(plan.slots.at(core::kSlotK).alignment, 2u);
  EXPECT_EQ(plan.slots.at(core::kSlotSeqlensK).bytes, 8u);
  EXPECT_EQ(plan.slots.at(core::kSlotSeqlensQ).bytes, 0u);
  EXPECT_EQ(plan.slots.at(core::kSlotMask).bytes, 0u);
}

// Decoding: one query row, a long cache, four query heads to a key/value head.
TEST(AttentionPlan, SplitsTheKeysOfShortQueriesAndFoldsTheHeadsThatShareThem) {
  SaccadeAttentionDesc desc =
      attentionDesc({.batch = 1, .headsQ = 32, .headsKv = 8, .seqlenQ = 1, .seqlenK = 4096, .headDimQk = 128, .headDimV = 128});
  const PlanDraft plan = planFor(cpuFacts(), desc);
  EXPECT_EQ(plan.kernel, "split_kv");
  ASSERT_EQ(plan.steps.size(), 2u);
  const core::StepDraft& parts = plan.steps[0];
  const core::StepDraft& combine = plan.steps[1];
  EXPECT_STREQ(parts.shader->name, "scalar_rows_f32_native");
  EXPECT_STREQ(combine.shader->name, "combine_f32_native");
  EXPECT_EQ(parts.specialisation.at(SPEC_FOLD), 4u);
  EXPECT_EQ(parts.specialisation.at(SPEC_SPLIT), 1u);
  EXPECT_EQ(paramsOf(parts).splits, 2u);
  EXPECT_EQ(parts.groups, 8u * 2);  // 8 blocks of 4 heads, 2 parts each
  EXPECT_EQ(combine.groups, 8u * 128 / 16);  // 16 channels each
  EXPECT_TRUE(combine.barrierBefore);
  EXPECT_EQ(parts.slots.at(BUFFER_OUT), core::kSlotScratch);
  EXPECT_EQ(combine.slots.at(BUFFER_K), core::kSlotScratch);
  EXPECT_EQ(combine.slots.at(BUFFER_OUT), core::kSlotOut);
  EXPECT_EQ(plan.scratchBytes(), 16u * (128 + 2) * 8 * 4);
}

// The same on a GPU: a work-group has the four heads of a group and 128 of the 4096 keys; `combine` has a channel to an invocation.
TEST(AttentionPlan, ReadsTheKeysOfShortQueriesOnceOnAGpu) {
  const SaccadeAttentionDesc desc = attentionDesc(
      {.batch = 1, .headsQ = 32, .headsKv = 8, .seqlenQ = 1, .seqlenK = 4096, .headDimQk = 128, .headDimV = 128}, SACCADE_DTYPE_F16);
  const PlanDraft plan = planFor(desktopGpuFacts(), desc);
  EXPECT_EQ(plan.kernel, "flash_decode");
  ASSERT_EQ(plan.steps.size(), 2u);
  const core::StepDraft& parts = plan.steps[0];
  const core::StepDraft& combine = plan.steps[1];
  EXPECT_STREQ(parts.shader->name, "flash_decode_f16_native");
  EXPECT_STREQ(combine.shader->name, "combine_f16_native");
  EXPECT_EQ(parts.specialisation.at(SPEC_FOLD), 4u);
  EXPECT_EQ(parts.specialisation.at(SPEC_ROWS_EACH), 4u);
  EXPECT_EQ(parts.specialisation.at(SPEC_SUBGROUP_ROWS), 1u);
  EXPECT_EQ(paramsOf(parts).splits, 32u);
  EXPECT_EQ(parts.groups, 8u * 32);
  EXPECT_EQ(combine.specialisation.at(SPEC_PARTIAL_ROWS), 4u);
  EXPECT_EQ(combine.specialisation.at(SPEC_LOCAL_SIZE), 4u * 32);
  EXPECT_EQ(combine.specialisation.at(SPEC_CHANNELS), 1u);
  EXPECT_EQ(combine.groups, 8u * 128 / 32);
  EXPECT_EQ(plan.scratchBytes(), 8u * 32 * (128 + 2) * 4 * 4);
}

// As many rows as a prompt has are for tiles; a group of many heads is cut.
TEST(AttentionPlan, ReadsKeysOnceForAtMostEightRows) {
  const core::DeviceFacts facts = desktopGpuFacts();
  const auto planOf = [&](int64_t rows, int64_t heads) {
    return planFor(facts, attentionDesc({.batch = 1, .headsQ = heads, .headsKv = 1, .seqlenQ = rows, .seqlenK = 4096}));
  };
  EXPECT_EQ(planOf(16, 1).kernel, "flash_decode");
  EXPECT_EQ(planOf(17, 1).kernel, "scalar_tiled");
  const PlanDraft twelve = planOf(1, 12);
  EXPECT_EQ(twelve.steps.at(0).specialisation.at(SPEC_FOLD), 6u);
  EXPECT_EQ(paramsOf(twelve.steps.at(0)).headBlocks, 2u);
  const PlanDraft rows = planOf(5, 1);
  EXPECT_EQ(rows.steps.at(0).specialisation.at(SPEC_FOLD), 1u);
  EXPECT_EQ(rows.steps.at(0).specialisation.at(SPEC_ROWS_EACH), 8u);
  EXPECT_EQ(paramsOf(rows.steps.at(0)).rowBlocks, 1u);
}

TEST(AttentionPlan, SplitsNothingWhereRowsFillTheDevice) {
  SaccadeAttentionDesc desc = withKernel(attentionDesc({.batch = 8, .seqlenQ = 512, .seqlenK = 512}), "split_kv");
  const PlanDraft plan = planFor(cpuFacts(), desc);
  ASSERT_EQ(plan.steps.size(), 1u);
  EXPECT_EQ(plan.scratchBytes(), 0u);
  EXPECT_EQ(planFor(cpuFacts(), attentionDesc({.batch = 8, .seqlenQ = 512, .seqlenK = 512})).kernel, "scalar_rows");
}

// 16-bit types on a CPU: K and V are converted once, rows padded to whole quads.
TEST(AttentionPlan, WidensKAndVThatManyRowsRead) {
  const SaccadeAttentionDesc desc = attentionDesc(
      {.batch = 2, .headsQ = 6, .headsKv = 3, .seqlenQ = 100, .seqlenK = 77, .headDimQk = 63, .headDimV = 20}, SACCADE_DTYPE_BF16);
  const PlanDraft plan = planFor(cpuFacts(), desc);
  EXPECT_EQ(plan.kernel, "widened_rows");
  ASSERT_EQ(plan.steps.size(), 2u);
  const core::StepDraft& widen = plan.steps[0];
  const core::StepDraft& rows = plan.steps[1];
  EXPECT_STREQ(widen.shader->name, "widen_bf16_native");
  EXPECT_STREQ(rows.shader->name, "scalar_rows_bf16_native");
  EXPECT_EQ(widen.specialisation.at(SPEC_WIDENED), 0u);
  EXPECT_EQ(rows.specialisation.at(SPEC_WIDENED), 1u);
  EXPECT_EQ(widen.groups, 2u * 2 * 3 * 10);  // K and V, 2 entries, 3 heads, 77 keys by 8
  EXPECT_EQ(widen.slots.at(BUFFER_K), core::kSlotK);
  EXPECT_EQ(widen.slots.at(BUFFER_OUT), core::kSlotScratch);
  EXPECT_EQ(rows.slots.at(BUFFER_K), core::kSlotScratch);
  EXPECT_EQ(rows.slots.at(BUFFER_V), core::kSlotScratch);
  EXPECT_EQ(rows.slots.at(BUFFER_OUT), core::kSlotOut);
  EXPECT_FALSE(widen.barrierBefore);
  EXPECT_TRUE(rows.barrierBefore);
  EXPECT_EQ(paramsOf(widen).headBlocks, 3u);
  EXPECT_EQ(paramsOf(widen).kStrideT, 63u);
  EXPECT_EQ(paramsOf(rows).headBlocks, 6u);
  EXPECT_EQ(paramsOf(rows).kStrideT, 64u);
  EXPECT_EQ(paramsOf(rows).vStrideB, 20u * 77 * 3);
  EXPECT_EQ(paramsOf(widen).widenedV, 2u * 3 * 77 * 64);
  EXPECT_EQ(paramsOf(rows).widenedV, 2u * 3 * 77 * 64);
  EXPECT_EQ(plan.scratchBytes(), 4u * 2 * 3 * 77 * (64 + 20));
}

TEST(AttentionPlan, WidensNothingWithoutNeed) {
  const AttentionShape many{.batch = 1, .headsQ = 6, .headsKv = 3, .seqlenQ = 32, .seqlenK = 77};
  AttentionShape few = many;
  few.seqlenQ = 31;
  EXPECT_EQ(planFor(cpuFacts(), attentionDesc(many, SACCADE_DTYPE_F16)).kernel, "widened_rows");
  EXPECT_EQ(planFor(cpuFacts(), attentionDesc(few, SACCADE_DTYPE_F16)).kernel, "scalar_rows");
  EXPECT_EQ(planFor(cpuFacts(), attentionDesc(many)).kernel, "scalar_rows");
  EXPECT_EQ(planFor(desktopGpuFacts(), attentionDesc(many, SACCADE_DTYPE_F16)).kernel, "scalar_tiled");
  AttentionShape noKeys = many;
  noKeys.seqlenK = 0;
  const PlanDraft plan = planFor(cpuFacts(), withKernel(attentionDesc(noKeys, SACCADE_DTYPE_F16), "widened_rows"));
  EXPECT_EQ(plan.steps.size(), 1u);
  EXPECT_EQ(plan.scratchBytes(), 0u);
}

// Found by the fuzz target attention_plan: the pages are there, but no sequence has any of them.
TEST(AttentionPlan, CopiesNoPagesForNoSequences) {
  SaccadeAttentionDesc desc = attentionDesc({.batch = 1, .headsQ = 2, .headsKv = 1, .seqlenQ = 8}, SACCADE_DTYPE_F16);
  desc.k = tensorDesc(SACCADE_DTYPE_F16, {3, 1, 4, 16});
  desc.v = tensorDesc(SACCADE_DTYPE_F16, {3, 1, 4, 24});
  desc.blockTable = tensorDesc(SACCADE_DTYPE_I32, {1, 1, 0, 1});
  desc.hasCuSeqlens = VK_TRUE;
  desc.numSequences = 0;
  for (const char* kernel : {"widened_rows", "channel_lanes"}) {
    const PlanDraft plan = planFor(plainCpuFacts(), withKernel(desc, kernel));
    ASSERT_EQ(plan.steps.size(), 1u) << kernel;
    EXPECT_GT(plan.steps[0].groups, 0u) << kernel;
    EXPECT_EQ(plan.scratchBytes(), 0u) << kernel;
  }
}

// A CPU device without anything native: four rows to a work-group, sixteen channels to an invocation, and no conversion of K and V.
TEST(AttentionPlan, GivesChannelLanesFourRowsAndSixteenChannelsAnInvocation) {
  const core::DeviceFacts facts = plainCpuFacts();
  const AttentionShape shape{.batch = 2, .headsQ = 6, .headsKv = 3, .seqlenQ = 9, .seqlenK = 77, .headDimQk = 80, .headDimV = 20};
  const PlanDraft plan = planFor(facts, attentionDesc(shape));
  EXPECT_EQ(plan.kernel, "channel_lanes");
  ASSERT_EQ(plan.steps.size(), 1u);
  EXPECT_EQ(plan.scratchBytes(), 0u);
  EXPECT_EQ(plan.steps[0].specialisation.at(SPEC_LOCAL_SIZE), 5u);
  EXPECT_EQ(plan.steps[0].groups, 3u * 6 * 2);  // 9 rows, 4 at a time
  const PlanDraft half = planFor(facts, attentionDesc(shape, SACCADE_DTYPE_F16));
  EXPECT_EQ(half.kernel, "channel_lanes");
  EXPECT_STREQ(half.steps[0].shader->name, "widen_f16_portable");
  EXPECT_STREQ(half.steps[1].shader->name, "channel_lanes_f16_portable");
  ASSERT_EQ(half.steps.size(), 2u);
  EXPECT_EQ(half.steps[1].specialisation.at(SPEC_WIDENED), 1u);
  EXPECT_EQ(half.scratchBytes(), 4u * 2 * 3 * 77 * (80 + 20));
  // Where copies would take more than 32 MiB, each block of rows converts for itself.
  const AttentionShape large{.batch = 1, .headsQ = 1, .headsKv = 1, .seqlenK = 131073, .headDimQk = 32, .headDimV = 32};
  EXPECT_EQ(planFor(facts, attentionDesc(large)).kernel, "channel_lanes");
  EXPECT_NE(planFor(facts, attentionDesc(large, SACCADE_DTYPE_F16)).kernel, "channel_lanes");
}

TEST(AttentionPlan, RefusesChannelLanesWhereOtherKernelsAreFaster) {
  // A device whose host has enabled nothing is not plain.
  core::DeviceFacts nothingEnabled = cpuFacts();
  nothingEnabled.shaderInt64 = nothingEnabled.storageBuffer8BitAccess = nothingEnabled.storageBuffer16BitAccess = VK_FALSE;
  for (const core::DeviceFacts& facts : {cpuFacts(), nothingEnabled, desktopGpuFacts(), minimalFacts()}) {
    const auto refusal = refusalOf([&] { planFor(facts, withKernel(attentionDesc(), "channel_lanes")); });
    ASSERT_TRUE(refusal);
    EXPECT_EQ(refusal->status, SACCADE_ERROR_UNSUPPORTED);
    EXPECT_EQ(refusal->field, "kernel");
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "needs a CPU device with subgroups of 4 and without native access", refusal->text);
  }
}

// 131072 keys of 32 channels in K and V: copies of 32 MiB. A key more, and each block of rows converts for itself.
TEST(AttentionPlan, WidensNothingThatTakesMuchMemory) {
  AttentionShape shape{.batch = 1, .headsQ = 1, .headsKv = 1, .seqlenQ = 131072, .seqlenK = 131072, .headDimQk = 32, .headDimV = 32};
  EXPECT_EQ(planFor(cpuFacts(), attentionDesc(shape, SACCADE_DTYPE_F16)).scratchBytes(), 32u << 20);
  shape.seqlenK++;
  const PlanDraft plan = planFor(cpuFacts(), attentionDesc(shape, SACCADE_DTYPE_F16));
  EXPECT_EQ(plan.kernel, "scalar_rows");
  EXPECT_EQ(plan.scratchBytes(), 0u);
}

// 65536 heads of 65536 keys that all lie in one place: the tensors are small, their copies are not.
TEST(AttentionPlan, WidensNothingThatGrowsPastIndices) {
  SaccadeAttentionDesc desc = attentionDesc(
      {.batch = 1, .headsQ = 65536, .headsKv = 65536, .seqlenQ = 1, .seqlenK = 65536, .headDimQk = 1, .headDimV = 1}, SACCADE_DTYPE_F16);
  desc.k.strides[1] = desc.v.strides[1] = 0;
  desc.k.strides[0] = desc.v.strides[0] = desc.k.strides[2] = desc.v.strides[2] = desc.k.strides[3] = desc.v.strides[3] = 1;
  for (const char* kernel : {"widened_rows", "channel_lanes"}) {
    const std::optional<core::Refusal> refusal = refusalOf([&] { planFor(plainCpuFacts(), withKernel(desc, kernel)); });
    ASSERT_TRUE(refusal);
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "copies of K and V in fp32 have 34359738368 elements", refusal->text);
  }
}

TEST(AttentionPlan, KeepsThePipelinesOfADecodeLoopAsTheCacheGrows) {
  const auto specialisations = [](int64_t keys) {
    const PlanDraft plan = planFor(cpuFacts(), attentionDesc({.batch = 1, .seqlenQ = 1, .seqlenK = keys}));
    EXPECT_EQ(plan.kernel, "split_kv");
    return std::pair(plan.steps.at(0).specialisation, plan.steps.at(1).specialisation);
  };
  EXPECT_EQ(specialisations(200), specialisations(4000));
}

// A group that does not fill its last work-group: 5 heads in work-groups of 4 rows.
TEST(AttentionPlan, TakesGroupsThatAreNoMultipleOfAWorkGroup) {
  core::DeviceFacts facts = cpuFacts();
  facts.subgroupSize = 4;
  const PlanDraft plan =
      planFor(facts, attentionDesc({.batch = 1, .headsQ = 10, .headsKv = 2, .seqlenQ = 1, .seqlenK = 100}));
  EXPECT_EQ(plan.kernel, "split_kv");
  EXPECT_EQ(plan.steps.at(0).specialisation.at(SPEC_FOLD), 4u);
  EXPECT_EQ(paramsOf(plan.steps.at(0)).headBlocks, 4u);
}

TEST(AttentionPlan, WritesWeightsInAStepOfTheirOwn) {
  SaccadeAttentionDesc desc = attentionDesc();
  desc.probs.dtype = SACCADE_DTYPE_F32;
  const PlanDraft plan = planFor(desktopGpuFacts(), desc);
  ASSERT_EQ(plan.steps.size(), 2u);
  EXPECT_STREQ(plan.steps[1].shader->name, "weights_f32_native");
  EXPECT_FALSE(plan.steps[1].barrierBefore);  // reads inputs only
  EXPECT_EQ(plan.slots.at(core::kSlotProbs).bytes, uint64_t{4} * 2 * 6 * 5 * 7);
}

TEST(AttentionPlan, HasNothingToDoWhereNothingIsWritten) {
  for (const AttentionShape& shape :
       {AttentionShape{.batch = 0}, AttentionShape{.headsQ = 0}, AttentionShape{.headsQ = 0, .headsKv = 0},
        AttentionShape{.seqlenQ = 0}}) {
    SaccadeAttentionDesc desc = attentionDesc(shape);
    desc.probs.dtype = desc.lse.dtype = SACCADE_DTYPE_F32;
    desc.hasSeqlensK = VK_TRUE;
    const PlanDraft plan = planFor(cpuFacts(), desc);
    EXPECT_TRUE(plan.steps.empty()) << plan.label;
    EXPECT_TRUE(std::all_of(plan.slots.begin(), plan.slots.end(),
                            [](const core::Slot& slot) { return slot.bytes == 0; }))
        << plan.label << " asks for memory";
  }
}

TEST(AttentionPlan, StillWritesItsOutputWhereThereAreNoKeys) {
  SaccadeAttentionDesc desc = attentionDesc({.seqlenK = 0});
  desc.probs.dtype = SACCADE_DTYPE_F32;
  const PlanDraft plan = planFor(cpuFacts(), desc);
  ASSERT_EQ(plan.steps.size(), 1u);  // weights of no keys are no elements
  EXPECT_EQ(plan.steps[0].specialisation.at(SPEC_HAS_KEYS), 0u);
  EXPECT_EQ(plan.slots.at(core::kSlotK).bytes, 0u);
  EXPECT_EQ(plan.slots.at(core::kSlotProbs).bytes, 0u);
}

TEST(AttentionPlan, CoversGridsOfMoreThan65535WorkGroups) {
  const PlanDraft plan = planFor(cpuFacts(), attentionDesc({.batch = 70000,
                                                            .headsQ = 1,
                                                            .headsKv = 1,
                                                            .seqlenQ = 1,
                                                            .seqlenK = 1,
                                                            .headDimQk = 4,
                                                            .headDimV = 4}));
  EXPECT_EQ(plan.steps.at(0).groups, 70000u);
  EXPECT_EQ(core::dispatchesFor(plan.steps[0].groups, cpuFacts().maxComputeWorkGroupCount[0]), 2u);
}

TEST(AttentionPlan, CountsDispatchesAtTheLimitOfTheDevice) {
  EXPECT_EQ(core::dispatchesFor(0, 65535), 0u);
  EXPECT_EQ(core::dispatchesFor(65535, 65535), 1u);
  EXPECT_EQ(core::dispatchesFor(65536, 65535), 2u);
  EXPECT_EQ(core::dispatchesFor(4294967295u, 65535), 65537u);
}

// The grid is counted in 32 bits by the shaders.
TEST(AttentionPlan, KeepsTheLargestGridBelow2To32) {
  const AttentionShape shape{.batch = 65535,
                             .headsQ = 65537,
                             .headsKv = 65537,
                             .seqlenQ = 1,
                             .seqlenK = 1,
                             .headDimQk = 1,
                             .headDimV = 1};
  for (const FakeDevice& device : fakeDevices()) {
    EXPECT_EQ(planFor(device.facts, attentionDesc(shape)).steps.at(0).groups, 4294967295u) << device.name;
  }
}

}  // namespace
}  // namespace saccade::test
