// SPDX-License-Identifier: Apache-2.0
// What `saccade kernels` says of a variant's tile is what plans take.
#include "attention/choice.hpp"
#include "attention/plan.hpp"
#include "core_test.hpp"
#include "fake_devices.hpp"
#include "kernels/registry.hpp"
#include "ops/matmul_choice.hpp"
#include "ops/matmul_plan.hpp"
#include "ops/matmul_problem.hpp"

namespace saccade::test {
namespace {

constexpr SaccadeDtype kDtypes[] = {SACCADE_DTYPE_F32, SACCADE_DTYPE_F16, SACCADE_DTYPE_BF16};

std::string builtInText(const std::string& kernel, const core::VariantInfo& info) {
  std::string text = kernel;
  for (const core::TileFieldInfo& field : info.tile) {
    text += formatted(" {}={}", field.name, field.builtIn.value_or(0));
  }
  return text;
}

// `plan` makes the plan of the kernel by its name.
template <class MakePlan>
void expectAsPlanned(const std::string& kernel, const core::VariantInfo& info, MakePlan&& plan) {
  SCOPED_TRACE(kernel);
  if (!info.refusal.empty()) {
    const auto refusal = refusalOf(plan);
    ASSERT_TRUE(refusal);
    EXPECT_PRED_FORMAT2(testing::IsSubstring, info.refusal, refusal->text);
    for (const core::TileFieldInfo& field : info.tile) EXPECT_FALSE(field.builtIn.has_value()) << field.name;
    return;
  }
  EXPECT_EQ(plan().tile, builtInText(kernel, info));
  for (const core::TileFieldInfo& field : info.tile) {
    ASSERT_TRUE(field.builtIn.has_value()) << field.name;
    EXPECT_EQ(core::tileValueRefusal(minimalFacts(), {"anything", *field.builtIn}, field.least, field.most, field.step), "");
  }
}

TEST(VariantInfo, OfAttentionIsWhatPlansTake) {
  int supported = 0, refused = 0;
  for (const FakeDevice& device : fakeDevices()) {
    SCOPED_TRACE(device.name);
    for (const core::KernelEntry& entry : core::kernelRegistry()) {
      if (entry.op != SACCADE_OPERATOR_ATTENTION || !entry.selectable) continue;
      for (const SaccadeDtype dtype : kDtypes) {
        SaccadeAttentionDesc desc = attentionDesc({.seqlenQ = 64, .seqlenK = 300, .headDimQk = 64, .headDimV = 64}, dtype);
        desc.kernel = entry.name;
        const core::AttentionProblem problem = core::validateAttention(desc);
        const core::VariantInfo info = core::attentionVariantInfo(device.facts, problem, entry.name);
        (info.refusal.empty() ? supported : refused)++;
        expectAsPlanned(entry.name, info, [&] { return core::planAttention(device.facts, problem, ""); });
      }
    }
  }
  EXPECT_GT(supported, 0);
  EXPECT_GT(refused, 0);
}

TEST(VariantInfo, OfMatmulIsWhatPlansTake) {
  for (const FakeDevice& device : fakeDevices()) {
    SCOPED_TRACE(device.name);
    for (const core::KernelEntry& entry : core::kernelRegistry()) {
      if (entry.op != SACCADE_OPERATOR_MATMUL) continue;
      for (const SaccadeDtype dtype : kDtypes) {
        SaccadeMatmulDesc desc = saccadeMatmulDescDefault();
        desc.a = tensorDesc(dtype, {1, 1, 197, 768});
        desc.b = tensorDesc(dtype, {1, 1, 3072, 768});
        desc.out.dtype = dtype;
        desc.kernel = entry.name;
        const core::MatmulProblem problem = core::validateMatmul(desc);
        expectAsPlanned(entry.name, core::matmulVariantInfo(device.facts, problem, entry.name),
                        [&] { return core::planMatmul(device.facts, problem, ""); });
      }
    }
  }
}

TEST(VariantInfo, NamesLimitsAndSteps) {
  const core::AttentionProblem problem = core::validateAttention(attentionDesc());
  const core::VariantInfo info = core::attentionVariantInfo(desktopGpuFacts(), problem, "split_kv");
  std::vector<std::string> names;
  for (const core::TileFieldInfo& field : info.tile) names.emplace_back(field.name);
  EXPECT_EQ(names, (std::vector<std::string>{"local_size", "keys", "fold", "splits"}));
  EXPECT_EQ(info.tile.at(1).least, 1u);
  EXPECT_EQ(info.tile.at(1).most, 16u);
  EXPECT_EQ(info.tile.at(1).step, 1u);
}

// KernelEntry::needs and deviceRefusal are two sides of one thing.
TEST(VariantInfo, KernelsThatRefuseADeviceSayWhatTheyNeed) {
  for (const core::KernelEntry& entry : core::kernelRegistry()) {
    const std::string refusal = entry.deviceRefusal(core::DeviceFacts{});
    EXPECT_EQ(refusal.empty(), *entry.needs == '\0')
        << entry.name << ": its `needs` in runtime/kernels/registry.cpp and what it tells a device without anything, \"" << refusal << "\"";
  }
}

}  // namespace
}  // namespace saccade::test
