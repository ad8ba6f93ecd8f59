// SPDX-License-Identifier: Apache-2.0
// Long work is cut into dispatches by what the host has reported, and short work is left alone.
#include <cmath>

#include "core_test.hpp"
#include "io/special_values.hpp"
#include "mock_driver.hpp"

namespace saccade::test {
namespace {

constexpr AttentionShape kLong{.batch = 1, .headsQ = 1, .headsKv = 1, .seqlenQ = 65536, .seqlenK = 65536, .headDimQk = 64, .headDimV = 64};

class Cutting : public testing::Test {
 protected:
  Cutting() { open(100); }
  ~Cutting() override { close(); }

  void open(double budget) {
    close();
    SaccadeContextCreateInfo info = driver.contextInfo();
    info.dispatchBudget = budget;
    info.kernel = "scalar_rows";
    ASSERT_EQ(saccadeCreateContext(&info, &context, &message), SACCADE_OK) << message.text;
  }
  void close() {
    for (const SaccadePlan plan : plans) saccadeDestroyPlan(plan);
    plans.clear();
    saccadeDestroyContext(context);
    context = nullptr;
  }
  SaccadePlan plan(const SaccadeAttentionDesc& desc) {
    SaccadePlan made = nullptr;
    EXPECT_EQ(saccadeCreateAttentionPlan(context, &desc, &made, &message), SACCADE_OK) << message.text;
    plans.push_back(made);
    return made;
  }
  static SaccadePlanInfo infoOf(SaccadePlan made) {
    SaccadePlanInfo info{};
    saccadeGetPlanInfo(made, &info);
    return info;
  }
  // Sizes of the dispatches that a plan records, which cover its grid without a gap.
  std::vector<uint32_t> dispatches(SaccadePlan made) {
    SaccadeAttentionBuffers buffers = saccadeAttentionBuffersDefault();
    for (SaccadeBuffer* buffer : {&buffers.q, &buffers.k, &buffers.v, &buffers.out, &buffers.seqlensK}) {
      *buffer = {0x10000, VkDeviceSize{1} << 40};
    }
    driver.commands.clear();
    EXPECT_EQ(saccadeCmdAttention(MockDriver::commandBuffer(), made, &buffers, &message), SACCADE_OK) << message.text;
    std::vector<uint32_t> sizes;
    uint32_t base = 0, next = 0;
    for (const Command& command : driver.commands) {
      if (command.kind == CommandKind::PushConstants) base = command.push.groupBase;
      if (command.kind != CommandKind::Dispatch) continue;
      EXPECT_EQ(base, next);
      next = base + command.groups;
      sizes.push_back(command.groups);
    }
    EXPECT_EQ(next, made->steps.at(0).groups);
    EXPECT_EQ(sizes.size(), infoOf(made).dispatchCount);
    return sizes;
  }

  MockDriver driver;
  SaccadeContext context = nullptr;
  std::vector<SaccadePlan> plans;
  SaccadeMessage message{};
};

TEST_F(Cutting, RefusesABudgetThatNoWorkFits) {
  for (const double budget : {0.0, -1.0, std::nan("")}) {
    SaccadeContextCreateInfo info = driver.contextInfo();
    info.dispatchBudget = budget;
    SaccadeContext made = nullptr;
    EXPECT_EQ(saccadeCreateContext(&info, &made, &message), SACCADE_ERROR_INVALID_ARGUMENT);
    EXPECT_STREQ(message.field, "dispatchBudget");
  }
}

TEST_F(Cutting, AssumesASlowDeviceUntilItIsTold) {
  const SaccadePlan made = plan(attentionDesc(kLong));
  const double flops = 4.0 * 65536 * 65536 * 64;
  EXPECT_NEAR(infoOf(made).estimatedMilliseconds, flops / 1e7, 1);  // 10 GFLOP/s
  const std::vector<uint32_t> sizes = dispatches(made);
  const double perGroup = flops / 1e7 / made->steps[0].groups;
  for (const uint32_t size : sizes) EXPECT_LE(size * perGroup, 100);
  EXPECT_GT(sizes.size(), 1099u);
}

TEST_F(Cutting, KeepsToTheBudgetOnceItHasBeenTold) {
  const SaccadePlan made = plan(attentionDesc(kLong));
  saccadeReportTime(made, 10'000);
  EXPECT_NEAR(infoOf(made).estimatedMilliseconds, 10'000, 1e-6);
  const std::vector<uint32_t> sizes = dispatches(made);
  for (const uint32_t size : sizes) EXPECT_LE(10'000.0 * size / made->steps[0].groups, 100);
  EXPECT_LE(sizes.size(), 130u);  // and does not cut finer than need be
  // Another plan of the same pipeline knows as well.
  EXPECT_NEAR(infoOf(plan(attentionDesc({.batch = 1, .headsQ = 2, .headsKv = 1, .seqlenQ = 1000, .seqlenK = 65536, .headDimQk = 64, .headDimV = 64})))
                  .estimatedMilliseconds,
              10'000 * 2000.0 / 65536, 1e-6);
}

TEST_F(Cutting, BelievesASlowerDeviceAtOnceAndAFasterOneBitByBit) {
  const SaccadePlan made = plan(attentionDesc(kLong));
  saccadeReportTime(made, 1000);
  saccadeReportTime(made, 8000);
  EXPECT_NEAR(infoOf(made).estimatedMilliseconds, 8000, 1e-6);
  saccadeReportTime(made, 1000);
  EXPECT_NEAR(infoOf(made).estimatedMilliseconds, 6000, 1e-6);
  for (int i = 0; i < 10; i++) saccadeReportTime(made, 1000);
  EXPECT_NEAR(infoOf(made).estimatedMilliseconds, 1000, 1e-6);
  for (const double nonsense : {0.0, -5.0, std::nan(""), double{kInfinity}}) saccadeReportTime(made, nonsense);
  EXPECT_NEAR(infoOf(made).estimatedMilliseconds, 1000, 1e-6);
}

TEST_F(Cutting, TakesTheSecondTimeForTheFirstWhichMayHoldTheCompiling) {
  const SaccadePlan made = plan(attentionDesc(kLong));
  saccadeReportTime(made, 30'000);
  EXPECT_NEAR(infoOf(made).estimatedMilliseconds, 30'000, 1e-6);
  saccadeReportTime(made, 1000);
  EXPECT_NEAR(infoOf(made).estimatedMilliseconds, 1000, 1e-6);
  saccadeReportTime(made, 100);
  EXPECT_NEAR(infoOf(made).estimatedMilliseconds, 750, 1e-6);
}

TEST_F(Cutting, CountsTheCostliestWorkGroupOfACausalProblem) {
  SaccadeAttentionDesc desc = attentionDesc(kLong);
  desc.causal = SACCADE_CAUSAL_BOTTOM_RIGHT;
  const SaccadePlan made = plan(desc);
  saccadeReportTime(made, 5000);
  // The last work-groups have twice the mean to do.
  for (const uint32_t size : dispatches(made)) EXPECT_LE(2 * 5000.0 * size / made->steps[0].groups, 100.01);
  desc.causal = SACCADE_CAUSAL_NONE;
  desc.windowLeft = 999;
  desc.windowRight = 1000;
  const SaccadePlan window = plan(desc);
  EXPECT_NEAR(window->steps[0].workOfGroup * window->steps[0].groups / window->steps[0].work, 1, 0.02);
}

TEST_F(Cutting, LearnsOnlySlownessWhereTheDeviceAloneKnowsTheLengths) {
  SaccadeAttentionDesc desc = attentionDesc(kLong);
  desc.hasSeqlensK = VK_TRUE;
  const SaccadePlan made = plan(desc);
  const double guess = infoOf(made).estimatedMilliseconds;
  saccadeReportTime(made, 1);  // perhaps all sequences were empty
  EXPECT_NEAR(infoOf(made).estimatedMilliseconds, guess, 1e-6);
  saccadeReportTime(made, 2 * guess);
  EXPECT_NEAR(infoOf(made).estimatedMilliseconds, 2 * guess, 1e-6);
  saccadeReportTime(made, guess);
  EXPECT_NEAR(infoOf(made).estimatedMilliseconds, 2 * guess, 1e-6);
}

TEST_F(Cutting, LeavesShortWorkAndWorkWithoutABudgetInOnePiece) {
  EXPECT_EQ(dispatches(plan(attentionDesc({.seqlenQ = 197, .seqlenK = 197, .headDimQk = 64, .headDimV = 64}))).size(), 1u);
  open(kInfinity);
  EXPECT_EQ(dispatches(plan(attentionDesc(kLong))).size(), 1u);
}

TEST_F(Cutting, GoesDownToOneWorkGroupAndNoFurther) {
  open(1e-9);
  const SaccadePlan made = plan(attentionDesc());
  EXPECT_EQ(dispatches(made), std::vector<uint32_t>(made->steps[0].groups, 1));
}

}  // namespace
}  // namespace saccade::test
