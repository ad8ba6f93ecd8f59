// SPDX-License-Identifier: Apache-2.0
// What recording and planning cost a host. A program of its own, because it counts every operator new.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "counted_new.hpp"
#include "counting_allocator.hpp"
#include "intercepted.hpp"
#include "work.hpp"

namespace saccade::host {
namespace {

struct VulkanCalls {
  static inline int calls = 0, labels = 0;

  template <class... Arguments>
  static void before(Arguments...) {
    CountedNew::pause();
    calls++;
  }
  static void after() { CountedNew::resume(); }

  // Extensions are not linked: stand-ins that do nothing.
  static VKAPI_ATTR void VKAPI_CALL beginLabel(VkCommandBuffer, const VkDebugUtilsLabelEXT*) { labels++; }
  static VKAPI_ATTR void VKAPI_CALL endLabel(VkCommandBuffer) { labels++; }

  static const std::map<std::string, PFN_vkVoidFunction>& functions() {
    static const std::map<std::string, PFN_vkVoidFunction> table{
        SACCADE_INTERCEPTED(VulkanCalls, vkCmdBindPipeline), SACCADE_INTERCEPTED(VulkanCalls, vkCmdDispatch),
        SACCADE_INTERCEPTED(VulkanCalls, vkCmdPushConstants), SACCADE_INTERCEPTED(VulkanCalls, vkCmdPipelineBarrier),
        {"vkCmdBeginDebugUtilsLabelEXT", reinterpret_cast<PFN_vkVoidFunction>(beginLabel)},
        {"vkCmdEndDebugUtilsLabelEXT", reinterpret_cast<PFN_vkVoidFunction>(endLabel)}};
    return table;
  }
};

const WorkOptions kShapes[] = {
    {.headsQ = 12, .headsKv = 12, .seqlenQ = 197, .seqlenK = 197, .headDim = 64},
    kSplit,
    {.seqlenQ = 70, .dtype = SACCADE_DTYPE_F16, .kernel = "widened_rows"},
    {.batch = 2, .mask = true, .lengths = true},
    {.seqlenQ = 50, .seqlenK = 60, .sequences = 3},
};

// With all that a host may switch on: checked handles, labels, callbacks.
TEST(Cost, RecordingAllocatesNothing) {
  const Host host;
  CountingAllocator allocator;
  SaccadeContextCreateInfo info = host.contextInfo();
  ASSERT_TRUE(info.checkUse && info.debugUtils);
  info.getInstanceProcAddr = interceptedInstanceFunction<VulkanCalls>;
  info.allocationCallbacks = &allocator.callbacks;
  SaccadeContext context = nullptr;
  ASSERT_EQ(saccadeCreateContext(&info, &context, nullptr), SACCADE_OK);
  for (const WorkOptions& shape : kShapes) {
    const Work work(host, context, shape);
    Commands commands(host);
    VulkanCalls::calls = VulkanCalls::labels = 0;
    const int callbacksBefore = allocator.made;
    SaccadeMessage message{};
    SaccadeStatus status;
    int allocations;
    {
      const CountedNew counted;
      status = saccadeCmdAttention(commands, work.plan, &work.buffers, &message);
      allocations = counted.count();
    }
    EXPECT_EQ(status, SACCADE_OK) << message.text;
    EXPECT_EQ(allocations, 0) << work.info().label;
    EXPECT_EQ(allocator.made, callbacksBefore) << work.info().label;
    EXPECT_GE(VulkanCalls::calls, 3) << work.info().label;
    EXPECT_EQ(VulkanCalls::labels, 2) << work.info().label;
  }
  saccadeDestroyContext(context);
  const CountedNew counted;
  const auto one = std::make_unique<int>(1);
  EXPECT_EQ(counted.count(), *one) << "this test does not count";
}

// The middle one of many durations, in microseconds. `prepare` is not measured.
double medianMicroseconds(int repetitions, const std::function<void()>& prepare, const std::function<void()>& measured) {
  std::vector<double> durations;
  for (int i = 0; i < repetitions; i++) {
    prepare();
    const auto begin = std::chrono::steady_clock::now();
    measured();
    durations.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count());
  }
  std::nth_element(durations.begin(), durations.begin() + repetitions / 2, durations.end());
  return durations[static_cast<size_t>(repetitions / 2)];
}

// Limits hold for optimised code without a layer between the host and its driver.
void expectBelow(double limit, double microseconds, const std::string& what) {
  std::printf("%-24s %6.2f us  %s\n", what.substr(0, what.find(':')).c_str(), microseconds, what.substr(what.find(':') + 2).c_str());
#ifdef NDEBUG
  if (std::getenv("VK_INSTANCE_LAYERS") == nullptr) {
    EXPECT_LT(microseconds, limit) << what;
  }
#else
  (void)limit;
#endif
}

TEST(Cost, OfRecordingAndOfAPlanWithKnownPipelines) {
  constexpr int kRepetitions = 1001;
  const Host host({.validation = false});
  const SaccadeContext context = host.createContext();
  for (const WorkOptions& shape : kShapes) {
    const Work work(host, context, shape);
    const std::string label = work.info().label;
    std::unique_ptr<Commands> commands;
    int recorded = 0;
    const auto restart = [&] {
      if (recorded++ % 100 == 0) commands = std::make_unique<Commands>(host);  // so that its memory does not grow without end
    };
    const double recording = medianMicroseconds(kRepetitions, restart, [&] {
      EXPECT_EQ(saccadeCmdAttention(*commands, work.plan, &work.buffers, nullptr), SACCADE_OK);
    });
    expectBelow(5, recording, "recording: " + label);
    const SaccadeAttentionDesc desc = describe(shape);
    SaccadePlan plan = nullptr;
    const double planning = medianMicroseconds(
        kRepetitions, [&] { saccadeDestroyPlan(std::exchange(plan, nullptr)); },
        [&] { EXPECT_EQ(saccadeCreateAttentionPlan(context, &desc, &plan, nullptr), SACCADE_OK); });
    saccadeDestroyPlan(plan);
    expectBelow(20, planning, "plan, known pipelines: " + label);
  }
  saccadeDestroyContext(context);
}

}  // namespace
}  // namespace saccade::host
