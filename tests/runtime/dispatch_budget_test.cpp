// SPDX-License-Identifier: Apache-2.0
// Long work on a device: streams teach it how long that takes, and dispatches keep to the budget, by its own clock.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>

#include "standalone/device_state.hpp"
#include "test_device.hpp"

namespace saccade {
namespace {

Tensor pattern(const Device& device, const Shape& shape) {
  std::size_t count = 1;
  for (const std::int64_t size : shape) count *= static_cast<std::size_t>(size);
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>((i * 2654435761u >> 7) % 64) / 32 - 1;
  return Tensor::from(device, Dtype::F32, shape, values);
}

struct Problem {
  Tensor q, k, v, out;
  Problem(const Device& device, std::int64_t tokens)
      : q(pattern(device, {1, 1, tokens, 64})), k(pattern(device, {1, 1, tokens, 64})), v(pattern(device, {1, 1, tokens, 64})),
        out(Tensor::empty(device, Dtype::F32, {1, 1, tokens, 64})) {}
};

double clockBits(const Device& device) { return device.state()->timestampValidBits(); }

TEST(DispatchBudget, IsLearntByStreamsFromTheDevicesClock) {
  const Device device = Device::open({.dispatchBudget = 4});
  if (clockBits(device) == 0) GTEST_SKIP() << "the queue has no clock";
  const Problem problem(device, 256);
  Stream stream(device);
  const PlanPtr plan = stream.attention(problem.q, problem.k, problem.v, problem.out);
  const double guess = plan->info().estimatedMilliseconds;
  ASSERT_GT(guess, 1);
  EXPECT_EQ(plan->info().estimatedMilliseconds, guess) << "what has not run teaches nothing";
  stream.wait();
  EXPECT_NE(plan->info().estimatedMilliseconds, guess);
  stream.attention(problem.q, problem.k, problem.v, problem.out);  // the first time may have held the driver's compiling
  stream.wait();
  const double learnt = plan->info().estimatedMilliseconds;
  const Timestamp begin = stream.timestamp();
  stream.attention(problem.q, problem.k, problem.v, problem.out);
  const Timestamp end = stream.timestamp();
  stream.wait();
  const double measured = stream.milliseconds(begin, end);
  EXPECT_GT(learnt, measured / 20);  // the machine may be busy with something else
  EXPECT_LT(learnt, measured * 20);
}

TEST(DispatchBudget, LeavesShortWorkAlone) {
  const Device device = Device::open({.dispatchBudget = 100});
  const Problem problem(device, 197);
  Stream stream(device);
  const PlanPtr plan = stream.attention(problem.q, problem.k, problem.v, problem.out);
  const double guess = plan->info().estimatedMilliseconds;
  stream.wait();
  EXPECT_EQ(plan->info().estimatedMilliseconds, guess) << "it was timed";
  EXPECT_EQ(plan->info().dispatchCount, 1u);
}

TEST(DispatchBudget, DoesNotChangeAnyBitOfTheResult) {
  const auto result = [](double budget) {
    const Device device = Device::open({.dispatchBudget = budget});
    const Problem problem(device, 500);
    Stream stream(device);
    const PlanPtr plan = stream.attention(problem.q, problem.k, problem.v, problem.out);
    EXPECT_EQ(plan->info().dispatchCount > 1, budget < 1e9);
    stream.wait();
    return problem.out.downloadBytes();
  };
  EXPECT_EQ(result(0.01), result(std::numeric_limits<double>::infinity()));
}

TEST(DispatchBudget, ComesFromTheEnvironment) {
  const auto dispatches = [](const char* budget) {
    setenv("SACCADE_DISPATCH_BUDGET", budget, 1);
    const Device device = Device::open();
    const TensorDesc tensor{.sizes = {1, 1, 500, 64}};
    return device.plan(AttentionDesc{.q = tensor, .k = tensor, .v = tensor})->info().dispatchCount;
  };
  EXPECT_GT(dispatches("0.01"), 1u);
  EXPECT_EQ(dispatches("off"), 1u);
  for (const char* wrong : {"0", "-3", "ten", "10ms"}) {
    EXPECT_TRUE(contains(refusal(Status::InvalidArgument, [&] { dispatches(wrong); }),
                         std::string("SACCADE_DISPATCH_BUDGET is '") + wrong + "'"));
  }
  unsetenv("SACCADE_DISPATCH_BUDGET");
}

// Stands between a context and the driver: the device's clock is read after every dispatch.
struct DispatchClock {
  PFN_vkGetInstanceProcAddr getInstanceProcAddr;
  PFN_vkGetDeviceProcAddr getDeviceProcAddr;
  PFN_vkCmdDispatch dispatch;
  PFN_vkCmdWriteTimestamp writeTimestamp;
  VkQueryPool pool = VK_NULL_HANDLE;
  std::uint32_t count = 0;
};
constexpr std::uint32_t kMostQueries = 4096;
DispatchClock dispatchClock;

void readClock(VkCommandBuffer commands) {
  if (dispatchClock.count < kMostQueries) {
    dispatchClock.writeTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, dispatchClock.pool, dispatchClock.count++);
  }
}

void VKAPI_CALL dispatchAndReadClock(VkCommandBuffer commands, std::uint32_t x, std::uint32_t y, std::uint32_t z) {
  dispatchClock.dispatch(commands, x, y, z);
  readClock(commands);
}

PFN_vkVoidFunction VKAPI_CALL deviceFunction(VkDevice device, const char* name) {
  if (std::strcmp(name, "vkCmdDispatch") == 0) return reinterpret_cast<PFN_vkVoidFunction>(dispatchAndReadClock);
  return dispatchClock.getDeviceProcAddr(device, name);
}

PFN_vkVoidFunction VKAPI_CALL instanceFunction(VkInstance instance, const char* name) {
  if (std::strcmp(name, "vkGetDeviceProcAddr") == 0) return reinterpret_cast<PFN_vkVoidFunction>(deviceFunction);
  return dispatchClock.getInstanceProcAddr(instance, name);
}

// Records a plan of its own context on a device and gives the milliseconds of each dispatch.
class TimedContext {
 public:
  TimedContext(const Device& device, double budget) : device_(device), vk_(device.state()->vk()), handles_(device.handles()) {
    dispatchClock = {.getInstanceProcAddr = handles_.getInstanceProcAddr,
                     .getDeviceProcAddr = reinterpret_cast<PFN_vkGetDeviceProcAddr>(
                         handles_.getInstanceProcAddr(handles_.instance, "vkGetDeviceProcAddr")),
                     .writeTimestamp = vk_.vkCmdWriteTimestamp};
    dispatchClock.dispatch =
        reinterpret_cast<PFN_vkCmdDispatch>(dispatchClock.getDeviceProcAddr(handles_.device, "vkCmdDispatch"));
    VkQueryPoolCreateInfo queries{VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO};
    queries.queryType = VK_QUERY_TYPE_TIMESTAMP;
    queries.queryCount = kMostQueries;
    EXPECT_EQ(vk_.vkCreateQueryPool(handles_.device, &queries, nullptr, &dispatchClock.pool), VK_SUCCESS);
    VkCommandPoolCreateInfo pool{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    pool.queueFamilyIndex = handles_.queueFamily;
    EXPECT_EQ(vk_.vkCreateCommandPool(handles_.device, &pool, nullptr, &pool_), VK_SUCCESS);
    VkCommandBufferAllocateInfo buffer{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
    buffer.commandPool = pool_;
    buffer.commandBufferCount = 1;
    EXPECT_EQ(vk_.vkAllocateCommandBuffers(handles_.device, &buffer, &commands_), VK_SUCCESS);
    context_ = std::make_unique<Context>(ContextDesc{.apiVersion = handles_.apiVersion,
                                                     .instance = handles_.instance,
                                                     .physicalDevice = handles_.physicalDevice,
                                                     .device = handles_.device,
                                                     .getInstanceProcAddr = instanceFunction,
                                                     .enabledFeatures = handles_.enabledFeatures,
                                                     .dispatchBudget = budget});
  }
  ~TimedContext() {
    vk_.vkDestroyCommandPool(handles_.device, pool_, nullptr);
    vk_.vkDestroyQueryPool(handles_.device, dispatchClock.pool, nullptr);
  }

  const Context& context() const { return *context_; }

  std::vector<double> run(const Plan& plan, const AttentionBuffers& buffers) {
    EXPECT_EQ(vk_.vkResetCommandPool(handles_.device, pool_, 0), VK_SUCCESS);
    VkCommandBufferBeginInfo begin{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    EXPECT_EQ(vk_.vkBeginCommandBuffer(commands_, &begin), VK_SUCCESS);
    vk_.vkCmdResetQueryPool(commands_, dispatchClock.pool, 0, kMostQueries);
    dispatchClock.count = 0;
    readClock(commands_);
    plan.record(commands_, buffers);
    EXPECT_EQ(vk_.vkEndCommandBuffer(commands_), VK_SUCCESS);
    VkSubmitInfo submit{VK_STRUCTURE_TYPE_SUBMIT_INFO};
    submit.commandBufferCount = 1;
    submit.pCommandBuffers = &commands_;
    device_.state()->submit(submit);
    device_.waitIdle();
    std::vector<std::uint64_t> ticks(dispatchClock.count);
    EXPECT_EQ(vk_.vkGetQueryPoolResults(handles_.device, dispatchClock.pool, 0, dispatchClock.count,
                                        ticks.size() * sizeof ticks[0], ticks.data(), sizeof ticks[0], VK_QUERY_RESULT_64_BIT),
              VK_SUCCESS);
    std::vector<double> milliseconds;
    for (std::size_t i = 1; i < ticks.size(); ++i) {
      milliseconds.push_back(static_cast<double>(ticks[i] - ticks[i - 1]) * static_cast<double>(device_.facts().timestampPeriod) * 1e-6);
    }
    return milliseconds;
  }

 private:
  Device device_;
  const runtime::DeviceFunctions& vk_;
  DeviceHandles handles_;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  VkCommandBuffer commands_ = VK_NULL_HANDLE;
  std::unique_ptr<Context> context_;
};

double sumOf(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum;
}

// Tokens that keep a device busy for several budgets and a slow one not for minutes.
std::int64_t tokensFor(const Device& device, double budget) {
  constexpr std::int64_t kTokens = 256, kMost = 4096;
  const Problem problem(device, kTokens);
  Stream stream(device);
  double fastest = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 3; ++i) {  // the driver may compile at the first
    const Timestamp begin = stream.timestamp();
    stream.attention(problem.q, problem.k, problem.v, problem.out);
    const Timestamp end = stream.timestamp();
    stream.submit();
    fastest = std::min(fastest, stream.milliseconds(begin, end));
  }
  return std::clamp(static_cast<std::int64_t>(kTokens * std::sqrt(6 * budget / fastest)), kTokens, kMost);
}

// SACCADE_LONG_TOKENS=65536 makes the long case of docs/testing.md of it, with the default budget.
TEST(DispatchBudget, IsKeptByEveryDispatchOnceLearnt) {
  const Device device = Device::open();
  if (clockBits(device) == 0) GTEST_SKIP() << "the queue has no clock";
  const char* tokens = std::getenv("SACCADE_LONG_TOKENS");
  const double budget = tokens != nullptr ? 100 : 10;
  const Problem problem(device, tokens != nullptr ? std::atoi(tokens) : tokensFor(device, budget));
  const AttentionBuffers buffers{.q = problem.q.buffer(), .k = problem.k.buffer(), .v = problem.v.buffer(), .out = problem.out.buffer()};
  for (const Causal causal : {Causal::None, Causal::BottomRight}) {
    TimedContext timed(device, budget);
    const Plan plan = timed.context().plan(AttentionDesc{.q = problem.q.desc(), .k = problem.k.desc(), .v = problem.v.desc(), .causal = causal});
    timed.run(plan, buffers);  // the driver may compile
    double longest = 0;
    // Something else on the machine may take the processor away in the middle of a dispatch, but not every time.
    constexpr int kAttempts = 10;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      plan.reportTime(sumOf(timed.run(plan, buffers)));
      const std::vector<double> times = timed.run(plan, buffers);
      ASSERT_EQ(times.size(), plan.info().dispatchCount);
      longest = *std::max_element(times.begin(), times.end());
      std::printf("%s: %zu dispatches in %.0f ms, the longest takes %.1f ms, budget %.0f ms\n", plan.info().label, times.size(),
                  sumOf(times), longest, budget);
      if (longest <= 2 * budget) break;
    }
    EXPECT_LE(longest, 2 * budget) << plan.info().label;
  }
}

}  // namespace
}  // namespace saccade
