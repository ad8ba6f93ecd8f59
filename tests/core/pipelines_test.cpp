// SPDX-License-Identifier: Apache-2.0
// Pipelines of a context: made once, several of one plan at once, and none is lost or left behind when one fails.
#include "core_test.hpp"
#include "mock_driver.hpp"

namespace saccade::test {
namespace {

class PipelinesOfAContext : public testing::Test {
 protected:
  PipelinesOfAContext() { open(); }
  ~PipelinesOfAContext() override {
    saccadeDestroyContext(context);
    EXPECT_EQ(driver.liveObjects, 0);
  }
  void open(const VkAllocationCallbacks* callbacks = nullptr) {
    saccadeDestroyContext(context);
    SaccadeContextCreateInfo info = driver.contextInfo();
    info.allocationCallbacks = callbacks;
    ASSERT_EQ(saccadeCreateContext(&info, &context, nullptr), SACCADE_OK);
  }
  // Whether a plan with a pipeline for `out` and one for `probs` can be made; it is destroyed again.
  SaccadeStatus planOfTwo() {
    SaccadeAttentionDesc desc = attentionDesc();
    desc.probs.dtype = SACCADE_DTYPE_F32;
    SaccadePlan plan = nullptr;
    const SaccadeStatus status = saccadeCreateAttentionPlan(context, &desc, &plan, &message);
    saccadeDestroyPlan(plan);
    return status;
  }
  uint64_t created() {
    SaccadeContextStatistics statistics{};
    saccadeGetContextStatistics(context, &statistics);
    EXPECT_EQ(statistics.pipelineCacheHits, 0u);
    return statistics.pipelinesCreated;
  }

  MockDriver driver;
  SaccadeContext context = nullptr;
  SaccadeMessage message{};
};

TEST_F(PipelinesOfAContext, AreCountedWhenTheyAreCreatedAndNotWhenTheyAreShared) {
  EXPECT_EQ(created(), 0u);
  EXPECT_EQ(planOfTwo(), SACCADE_OK);
  EXPECT_EQ(created(), 2u);
  EXPECT_EQ(planOfTwo(), SACCADE_OK);
  EXPECT_EQ(created(), 2u);
  EXPECT_EQ(driver.calls["vkCreateComputePipelines"], 2);
  EXPECT_EQ(driver.calls["vkCreateShaderModule"], 2);
}

TEST_F(PipelinesOfAContext, AreRefusedTogetherIfTheDriverFailsAndMadeLater) {
  driver.failures["vkCreateComputePipelines"] = VK_ERROR_OUT_OF_DEVICE_MEMORY;
  EXPECT_EQ(planOfTwo(), SACCADE_ERROR_OUT_OF_MEMORY);
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "vkCreateComputePipelines for", std::string(message.text));
  EXPECT_EQ(created(), 0u);
  driver.failures.clear();
  EXPECT_EQ(planOfTwo(), SACCADE_OK);
  EXPECT_EQ(created(), 2u);
}

TEST_F(PipelinesOfAContext, AreMadeOneByOneForAHostWithAllocationCallbacks) {
  VkAllocationCallbacks callbacks{};
  open(&callbacks);
  EXPECT_EQ(planOfTwo(), SACCADE_OK);
  EXPECT_EQ(created(), 2u);
  EXPECT_EQ(driver.objectsWithCallbacks, driver.calls["vkCreateShaderModule"] + driver.calls["vkCreateComputePipelines"] + 3);
}

}  // namespace
}  // namespace saccade::test
