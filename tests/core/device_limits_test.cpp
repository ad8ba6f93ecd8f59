// SPDX-License-Identifier: Apache-2.0
// No plan asks for more than its device has: shared memory, invocations, push constants, parameters.
#include <algorithm>

#include "attention/plan.hpp"
#include "core_test.hpp"
#include "fake_devices.hpp"
#include "kernels/parameter_pool.hpp"
#include "kernels/registry.hpp"
#include "shared_memory.hpp"

namespace saccade::core {
using uint = uint32_t;
#include "attention_params.h"
}  // namespace saccade::core

namespace saccade::test {
namespace {

struct Combination {
  FakeDevice device;
  std::string kernel;
  SaccadeDtype dtype;
};

std::vector<Combination> combinations() {
  std::vector<Combination> all;
  for (const FakeDevice& device : fakeDevices()) {
    for (const char* kernel : {"scalar_rows", "scalar_tiled"}) {
      for (const SaccadeDtype dtype : {SACCADE_DTYPE_F32, SACCADE_DTYPE_F16, SACCADE_DTYPE_BF16}) {
        all.push_back({device, kernel, dtype});
      }
    }
  }
  return all;
}

class DeviceLimits : public testing::TestWithParam<Combination> {};

TEST_P(DeviceLimits, AreKeptAtEveryHeadDim) {
  const core::DeviceFacts& facts = GetParam().device.facts;
  for (const int64_t headDim : {1, 4, 40, 59, 64, 80, 96, 97, 128, 192, 193, 256}) {
    SaccadeAttentionDesc desc =
        attentionDesc({.seqlenQ = 100, .headDimQk = headDim, .headDimV = 257 - headDim}, GetParam().dtype);
    desc.kernel = GetParam().kernel.c_str();
    desc.lse.dtype = SACCADE_DTYPE_F32;
    desc.probs.dtype = GetParam().dtype;
    for (const core::StepDraft& step : core::planAttention(facts, core::validateAttention(desc), "").steps) {
      const uint32_t invocations = step.specialisation.at(SPEC_LOCAL_SIZE);
      EXPECT_GE(invocations, 1u);
      EXPECT_LE(invocations, facts.maxComputeWorkGroupInvocations) << step.shader->name;
      EXPECT_LE(invocations, facts.maxComputeWorkGroupSize[0]) << step.shader->name;
      EXPECT_LE(sharedMemoryBytes(*step.shader, step.specialisation), facts.maxComputeSharedMemorySize)
          << step.shader->name;
      EXPECT_LE(step.params.size(), core::ParameterPool::kBlockBytes);
      EXPECT_LE(step.slots.size(), core::kMaxBuffersPerDispatch);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Of, DeviceLimits, testing::ValuesIn(combinations()), [](const auto& test) {
  return std::format("{}_{}_{}", test.param.device.name, test.param.kernel,
                     core::dtypeName(test.param.dtype));
});

TEST(SharedMemory, OfScalarTiledIsReadFromItsModule) {
  SaccadeAttentionDesc desc = attentionDesc();
  desc.kernel = "scalar_tiled";
  const core::PlanDraft plan = core::planAttention(minimalFacts(), core::validateAttention(desc), "");
  // Three tiles of 32 rows with a pitch of 33, four quarter rows, corrections and a flag.
  EXPECT_EQ(sharedMemoryBytes(*plan.steps.at(0).shader, plan.steps[0].specialisation),
            uint64_t{4} * (3 * 32 * 33 + 4 * 32 + 32 + 1));
}

TEST(SharedMemory, IsNotUsedByScalarRows) {
  const core::PlanDraft plan = core::planAttention(cpuFacts(), core::validateAttention(attentionDesc()), "");
  EXPECT_EQ(sharedMemoryBytes(*plan.steps.at(0).shader, plan.steps[0].specialisation), 0u);
}

TEST(PushConstants, FitInto128BytesThatEveryDeviceHas) { EXPECT_LE(sizeof(core::PushConstants), 128u); }

TEST(Registry, HasAShaderOfEveryDtypeForEveryAttentionKernel) {
  for (const core::KernelEntry& entry : core::kernelRegistry()) {
    if (entry.op != SACCADE_OPERATOR_ATTENTION) continue;
    for (const SaccadeDtype dtype : {SACCADE_DTYPE_F32, SACCADE_DTYPE_F16, SACCADE_DTYPE_BF16}) {
      for (const FakeDevice& device : fakeDevices()) {
        const core::ShaderModuleCode& shader = core::shaderFor(entry.name, dtype, device.facts);
        EXPECT_GT(shader.end, shader.begin) << shader.name;
        EXPECT_EQ(*shader.begin, 0x07230203u) << shader.name << " is not SPIR-V";
      }
    }
  }
}

TEST(Registry, KnowsItsOwnNamesAndListsThemWhenAskedForAnother) {
  for (const core::KernelEntry& entry : core::kernelRegistry()) {
    EXPECT_EQ(refusalOf([&] { core::requireKnownKernel(entry.name); }).has_value(), !entry.selectable) << entry.name;
    EXPECT_NE(*entry.idea, '\0') << entry.name;
  }
  const auto refusal = refusalOf([] { core::requireKnownKernel("fast"); });
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->field, "kernel");
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "\"fast\"", refusal->text);
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "scalar_rows, scalar_tiled", refusal->text);
}

}  // namespace
}  // namespace saccade::test
