// SPDX-License-Identifier: Apache-2.0
// What a plan records, seen by a driver that counts: exactly the dispatches, nothing when refused, and no
// allocation.
#include <algorithm>

#include "attention/plan.hpp"
#include "core_test.hpp"
#include "mock_driver.hpp"

namespace saccade::core {
using uint = uint32_t;
#include "attention_params.h"
}  // namespace saccade::core

namespace saccade::test {
namespace {

class Recording : public testing::Test {
 protected:
  Recording() {
    const SaccadeContextCreateInfo info = driver.contextInfo();
    EXPECT_EQ(saccadeCreateContext(&info, &context, nullptr), SACCADE_OK);
  }
  ~Recording() override {
    for (const SaccadePlan plan : plans) saccadeDestroyPlan(plan);
    saccadeDestroyContext(context);
    EXPECT_EQ(driver.liveObjects, 0) << "objects were left behind";
  }

  SaccadePlan plan(const SaccadeAttentionDesc& desc) {
    SaccadePlan made = nullptr;
    EXPECT_EQ(saccadeCreateAttentionPlan(context, &desc, &made, &message), SACCADE_OK) << message.text;
    plans.push_back(made);
    return made;
  }

  // Addresses that are large and aligned enough for anything.
  static SaccadeAttentionBuffers bigBuffers() {
    SaccadeAttentionBuffers buffers = saccadeAttentionBuffersDefault();
    VkDeviceAddress next = 0x10000;
    for (SaccadeBuffer* buffer :
         {&buffers.q, &buffers.k, &buffers.v, &buffers.out, &buffers.lse, &buffers.probs, &buffers.mask,
          &buffers.bias, &buffers.seqlensQ, &buffers.seqlensK, &buffers.scratch}) {
      *buffer = {next, VkDeviceSize{1} << 40};
      next += 0x10000;
    }
    return buffers;
  }

  SaccadeStatus record(SaccadePlan made, const SaccadeAttentionBuffers& buffers = bigBuffers()) {
    message = {};
    return saccadeCmdAttention(MockDriver::commandBuffer(), made, &buffers, &message);
  }

  MockDriver driver;
  SaccadeContext context = nullptr;
  std::vector<SaccadePlan> plans;
  SaccadeMessage message{};
};

TEST_F(Recording, BindsPushesAndDispatchesOnce) {
  const SaccadePlan made = plan(attentionDesc());
  ASSERT_EQ(record(made), SACCADE_OK);
  ASSERT_EQ(driver.commands.size(), 3u);
  EXPECT_EQ(driver.commands[0].kind, CommandKind::BindPipeline);
  EXPECT_EQ(driver.commands[1].kind, CommandKind::PushConstants);
  EXPECT_EQ(driver.commands[2].kind, CommandKind::Dispatch);
  EXPECT_EQ(driver.commands[2].groups, 12u);  // one block of 5 rows for each of 6 heads and 2 batch entries
}

TEST_F(Recording, PassesAddressesInTheOrderThatTheKernelsName) {
  const SaccadeAttentionBuffers buffers = bigBuffers();
  SaccadeAttentionDesc desc = attentionDesc();
  desc.hasSeqlensK = VK_TRUE;
  ASSERT_EQ(record(plan(desc), buffers), SACCADE_OK);
  const core::PushConstants& push = driver.commands.at(1).push;
  EXPECT_EQ(push.buffers[BUFFER_Q], buffers.q.address);
  EXPECT_EQ(push.buffers[BUFFER_K], buffers.k.address);
  EXPECT_EQ(push.buffers[BUFFER_V], buffers.v.address);
  EXPECT_EQ(push.buffers[BUFFER_OUT], buffers.out.address);
  EXPECT_EQ(push.buffers[BUFFER_SEQLENS_K], buffers.seqlensK.address);
}

TEST_F(Recording, PointsTheKernelAtItsParameters) {
  ASSERT_EQ(record(plan(attentionDesc())), SACCADE_OK);
  const auto& params = *reinterpret_cast<const core::AttentionParams*>(driver.commands.at(1).push.params);
  EXPECT_EQ(params.headBlocks, 6u);
  EXPECT_EQ(params.seqlenK, 7u);
  EXPECT_EQ(params.scale, 0.25f);
}

TEST_F(Recording, SplitsAGridThatIsLongerThanTheDevicesLimit) {
  SaccadeAttentionDesc desc = attentionDesc(
      {.batch = 70000, .headsQ = 2, .headsKv = 1, .seqlenQ = 1, .seqlenK = 1, .headDimQk = 4, .headDimV = 4});
  desc.kernel = "scalar_rows";
  const SaccadePlan made = plan(desc);
  SaccadePlanInfo info{};
  saccadeGetPlanInfo(made, &info);
  EXPECT_EQ(info.dispatchCount, 3u);
  EXPECT_EQ(info.barrierCount, 0u);
  ASSERT_EQ(record(made), SACCADE_OK);
  std::vector<uint32_t> bases, counts;
  for (const Command& command : driver.commands) {
    if (command.kind == CommandKind::PushConstants) bases.push_back(command.push.groupBase);
    if (command.kind == CommandKind::Dispatch) counts.push_back(command.groups);
  }
  EXPECT_EQ(bases, (std::vector<uint32_t>{0, 65535, 131070}));
  EXPECT_EQ(counts, (std::vector<uint32_t>{65535, 65535, 8930}));
  EXPECT_EQ(std::count_if(driver.commands.begin(), driver.commands.end(),
                          [](const Command& c) { return c.kind == CommandKind::BindPipeline; }),
            1);
}

TEST_F(Recording, AllocatesAndCreatesNothing) {
  const SaccadePlan made = plan(attentionDesc());
  const auto before = driver.calls;
  for (int i = 0; i < 3; i++) ASSERT_EQ(record(made), SACCADE_OK);
  EXPECT_EQ(driver.calls, before);
}

TEST_F(Recording, DoesNothingForAPlanWithNothingToDo) {
  const SaccadePlan made = plan(attentionDesc({.batch = 0}));
  EXPECT_EQ(driver.calls["vkCreateComputePipelines"], 0);
  EXPECT_EQ(record(made, saccadeAttentionBuffersDefault()), SACCADE_OK);  // not even buffers are needed
  EXPECT_TRUE(driver.commands.empty());
}

TEST_F(Recording, RecordsNothingOfACallThatIsRefused) {
  SaccadeAttentionDesc desc = attentionDesc();
  desc.lse.dtype = SACCADE_DTYPE_F32;
  const SaccadePlan made = plan(desc);
  SaccadeAttentionBuffers buffers = bigBuffers();
  buffers.lse.address = 0;
  EXPECT_EQ(record(made, buffers), SACCADE_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(message.field, "lse");
  buffers = bigBuffers();
  buffers.k.address += 2;
  EXPECT_EQ(record(made, buffers), SACCADE_ERROR_INVALID_ARGUMENT);
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "k.address is 0x20002; it must be a multiple of 4",
                      std::string(message.text));
  buffers = bigBuffers();
  buffers.out.size = 2 * 6 * 5 * 24 * 4 - 1;
  EXPECT_EQ(record(made, buffers), SACCADE_ERROR_INVALID_ARGUMENT);
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "out.size is 5759 bytes", std::string(message.text));
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "5760 bytes", std::string(message.text));
  EXPECT_TRUE(driver.commands.empty());
}

TEST_F(Recording, IgnoresRangesOfAbsentTensors) {
  SaccadeAttentionBuffers buffers = bigBuffers();
  buffers.mask = buffers.bias = buffers.probs = buffers.lse = buffers.seqlensQ = buffers.scratch = {};
  EXPECT_EQ(record(plan(attentionDesc()), buffers), SACCADE_OK) << message.text;
}

TEST_F(Recording, ChecksLengthsThatTheHostCanSee) {
  SaccadeAttentionDesc desc = attentionDesc();
  desc.hasSeqlensK = VK_TRUE;
  const SaccadePlan made = plan(desc);
  SaccadeAttentionBuffers buffers = bigBuffers();
  const int32_t lengths[] = {7, 8};
  buffers.hostSeqlensK = lengths;
  EXPECT_EQ(record(made, buffers), SACCADE_ERROR_INVALID_ARGUMENT);
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "seqlens_k[1] is 8", std::string(message.text));
  EXPECT_TRUE(driver.commands.empty());
}

TEST_F(Recording, CompilesAPipelineOnceForAllSizes) {
  plan(attentionDesc());
  EXPECT_EQ(driver.calls["vkCreateComputePipelines"], 1);
  plan(attentionDesc({.batch = 7, .seqlenQ = 300, .seqlenK = 1}));
  EXPECT_EQ(driver.calls["vkCreateComputePipelines"], 1);
  plan(attentionDesc({.headDimV = 8}));
  EXPECT_EQ(driver.calls["vkCreateComputePipelines"], 2);
}

class DriverFailure : public Recording,
                      public testing::WithParamInterface<std::pair<VkResult, SaccadeStatus>> {};

TEST_P(DriverFailure, OfAPipelineIsReportedOnceAndLeavesTheContextUsable) {
  driver.failures["vkCreateComputePipelines"] = GetParam().first;
  SaccadePlan made = nullptr;
  const SaccadeAttentionDesc desc = attentionDesc();
  EXPECT_EQ(saccadeCreateAttentionPlan(context, &desc, &made, &message), GetParam().second);
  EXPECT_EQ(made, nullptr);
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "vkCreateComputePipelines", std::string(message.text));
  driver.failures.clear();
  EXPECT_EQ(record(plan(desc)), SACCADE_OK);
}

TEST_P(DriverFailure, OfParameterMemoryIsReportedAndLeavesNothingBehind) {
  for (const char* function : {"vkCreateBuffer", "vkAllocateMemory", "vkBindBufferMemory", "vkMapMemory"}) {
    driver.failures = {{function, GetParam().first}};
    SaccadePlan made = nullptr;
    const SaccadeAttentionDesc desc = attentionDesc();
    EXPECT_EQ(saccadeCreateAttentionPlan(context, &desc, &made, &message), GetParam().second) << function;
    EXPECT_PRED_FORMAT2(testing::IsSubstring, function, std::string(message.text));
    EXPECT_EQ(driver.liveObjects, 2) << "more than the layout and the pipeline after " << function;
  }
}

INSTANTIATE_TEST_SUITE_P(With, DriverFailure,
                         testing::Values(std::pair(VK_ERROR_OUT_OF_DEVICE_MEMORY,
                                                   SACCADE_ERROR_OUT_OF_MEMORY),
                                         std::pair(VK_ERROR_DEVICE_LOST, SACCADE_ERROR_DEVICE_LOST),
                                         std::pair(VK_ERROR_UNKNOWN, SACCADE_ERROR_DRIVER)),
                         [](const auto& test) {
                           return test.param.second == SACCADE_ERROR_OUT_OF_MEMORY ? "out_of_memory"
                                  : test.param.second == SACCADE_ERROR_DEVICE_LOST ? "device_lost"
                                                                                   : "unknown";
                         });

TEST_F(Recording, ReusesParameterMemoryOfDestroyedPlans) {
  for (int i = 0; i < 1000; i++) {
    saccadeDestroyPlan(plan(attentionDesc()));
    plans.pop_back();
  }
  EXPECT_EQ(driver.calls["vkAllocateMemory"], 1);
}

TEST(Status, HasANameWhateverItsValue) {
  EXPECT_STREQ(saccadeGetStatusName(SACCADE_OK), "ok");
  EXPECT_STREQ(saccadeGetStatusName(SACCADE_ERROR_UNSUPPORTED), "unsupported");
  EXPECT_STREQ(saccadeGetStatusName(static_cast<SaccadeStatus>(7)), "unknown status");
}

TEST(Message, CutsATextThatIsTooLong) {
  SaccadeMessage message{};
  core::writeMessage(&message, SACCADE_ERROR_DRIVER, std::string(100, 'f'), std::string(2000, 't'));
  EXPECT_EQ(std::string(message.field), std::string(63, 'f'));
  EXPECT_EQ(std::string(message.text), std::string(959, 't'));
  core::writeMessage(nullptr, SACCADE_ERROR_DRIVER, "field", "text");
}

}  // namespace
}  // namespace saccade::test
