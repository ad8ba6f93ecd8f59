// SPDX-License-Identifier: Apache-2.0
// Threads that share a context: all create plans, the same and different ones, and record them into command buffers of
// their own. The driver here has no state that two of its calls share, and so no lock that would order the threads:
// whatever the thread sanitizer sees, the core does. Without the sanitizer the test checks results alone.
#include <atomic>
#include <barrier>
#include <cstring>
#include <memory>
#include <thread>

#include "core_test.hpp"
#include "mock_driver.hpp"

namespace saccade::test {
namespace {

struct Memory {
  std::vector<std::byte> bytes;
};

struct Buffer {
  Memory* memory = nullptr;
};

std::atomic<int> pipelinesAlive{0};
PFN_vkGetInstanceProcAddr mockDriver = nullptr;

template <class Object, class Handle>
Object* objectOf(Handle handle) {
  return reinterpret_cast<Object*>(handle);
}

template <class Object, class Handle>
VkResult make(Object* object, Handle* handle) {
  *handle = reinterpret_cast<Handle>(object);
  return VK_SUCCESS;
}

std::vector<Command>& commandsOf(VkCommandBuffer commandBuffer) {
  return *objectOf<std::vector<Command>>(commandBuffer);
}

PFN_vkVoidFunction lookUp(VkInstance instance, const char* name);

// Every object is memory of its own, and a command buffer is the list of its commands. What is missing here is the mock
// driver's, which is asked while the context is created.
#define FUNCTION(name, parameters, ...) \
  {#name, reinterpret_cast<PFN_vkVoidFunction>(static_cast<PFN_##name>([] parameters __VA_ARGS__))}

const std::map<std::string, PFN_vkVoidFunction>& functions() {
  static const std::map<std::string, PFN_vkVoidFunction> table{
      FUNCTION(vkGetDeviceProcAddr, (VkDevice, const char* name), { return lookUp(VK_NULL_HANDLE, name); }),
      FUNCTION(vkCreateShaderModule,
               (VkDevice, const VkShaderModuleCreateInfo*, const VkAllocationCallbacks*, VkShaderModule* module),
               { return make(new char, module); }),
      FUNCTION(vkDestroyShaderModule, (VkDevice, VkShaderModule module, const VkAllocationCallbacks*),
               { delete objectOf<char>(module); }),
      FUNCTION(vkCreateComputePipelines,
               (VkDevice, VkPipelineCache, uint32_t, const VkComputePipelineCreateInfo*, const VkAllocationCallbacks*,
                VkPipeline* pipeline),
               {
                 pipelinesAlive.fetch_add(1, std::memory_order_relaxed);
                 return make(new char, pipeline);
               }),
      FUNCTION(vkDestroyPipeline, (VkDevice, VkPipeline pipeline, const VkAllocationCallbacks*),
               {
                 pipelinesAlive.fetch_sub(1, std::memory_order_relaxed);
                 delete objectOf<char>(pipeline);
               }),
      FUNCTION(vkCreateBuffer, (VkDevice, const VkBufferCreateInfo*, const VkAllocationCallbacks*, VkBuffer* buffer),
               { return make(new Buffer, buffer); }),
      FUNCTION(vkDestroyBuffer, (VkDevice, VkBuffer buffer, const VkAllocationCallbacks*),
               { delete objectOf<Buffer>(buffer); }),
      FUNCTION(vkAllocateMemory,
               (VkDevice, const VkMemoryAllocateInfo* info, const VkAllocationCallbacks*, VkDeviceMemory* memory),
               { return make(new Memory{std::vector<std::byte>(info->allocationSize)}, memory); }),
      FUNCTION(vkFreeMemory, (VkDevice, VkDeviceMemory memory, const VkAllocationCallbacks*),
               { delete objectOf<Memory>(memory); }),
      FUNCTION(vkBindBufferMemory, (VkDevice, VkBuffer buffer, VkDeviceMemory memory, VkDeviceSize),
               {
                 objectOf<Buffer>(buffer)->memory = objectOf<Memory>(memory);
                 return VK_SUCCESS;
               }),
      FUNCTION(vkMapMemory, (VkDevice, VkDeviceMemory memory, VkDeviceSize, VkDeviceSize, VkMemoryMapFlags, void** data),
               {
                 *data = objectOf<Memory>(memory)->bytes.data();
                 return VK_SUCCESS;
               }),
      FUNCTION(vkGetBufferDeviceAddress, (VkDevice, const VkBufferDeviceAddressInfo* info),
               {
                 return static_cast<VkDeviceAddress>(
                     reinterpret_cast<uintptr_t>(objectOf<Buffer>(info->buffer)->memory->bytes.data()));
               }),
      FUNCTION(vkCmdBindPipeline, (VkCommandBuffer commandBuffer, VkPipelineBindPoint, VkPipeline pipeline),
               { commandsOf(commandBuffer).push_back({CommandKind::BindPipeline, pipeline}); }),
      FUNCTION(vkCmdPushConstants,
               (VkCommandBuffer commandBuffer, VkPipelineLayout, VkShaderStageFlags, uint32_t, uint32_t size,
                const void* values),
               {
                 Command command{CommandKind::PushConstants};
                 std::memcpy(&command.push, values, std::min<size_t>(size, sizeof command.push));
                 commandsOf(commandBuffer).push_back(command);
               }),
      FUNCTION(vkCmdDispatch, (VkCommandBuffer commandBuffer, uint32_t x, uint32_t y, uint32_t z),
               { commandsOf(commandBuffer).push_back({CommandKind::Dispatch, VK_NULL_HANDLE, {}, x * y * z}); }),
  };
  return table;
}

PFN_vkVoidFunction lookUp(VkInstance instance, const char* name) {
  const auto found = functions().find(name);
  return found == functions().end() ? mockDriver(instance, name) : found->second;
}

class Threads : public testing::Test {
 protected:
  static constexpr int kThreads = 4;

  Threads() {
    SaccadeContextCreateInfo info = mock.contextInfo();
    mockDriver = info.getInstanceProcAddr;
    info.getInstanceProcAddr = lookUp;
    EXPECT_EQ(saccadeCreateContext(&info, &context, nullptr), SACCADE_OK);
  }
  ~Threads() override {
    saccadeDestroyContext(context);
    EXPECT_EQ(pipelinesAlive, 0);
  }

  // Runs `work(thread)` on all threads at once.
  template <class Work>
  void onAll(Work work) {
    std::barrier start(kThreads);
    std::vector<std::thread> threads;
    for (int thread = 0; thread < kThreads; thread++) {
      threads.emplace_back([&, thread] {
        start.arrive_and_wait();
        work(thread);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  // Descriptions that need pipelines of their own: one per head dimension.
  static SaccadeAttentionDesc description(int64_t headDim) {
    return attentionDesc({.headDimQk = headDim, .headDimV = headDim});
  }

  static SaccadeAttentionBuffers buffers() {
    SaccadeAttentionBuffers made = saccadeAttentionBuffersDefault();
    for (SaccadeBuffer* buffer : {&made.q, &made.k, &made.v, &made.out}) *buffer = {0x10000, VkDeviceSize{1} << 40};
    return made;
  }

  static std::vector<Command> record(SaccadePlan plan) {
    std::vector<Command> commands;
    const SaccadeAttentionBuffers memory = buffers();
    EXPECT_EQ(saccadeCmdAttention(reinterpret_cast<VkCommandBuffer>(&commands), plan, &memory, nullptr), SACCADE_OK);
    return commands;
  }

  MockDriver mock;
  SaccadeContext context = nullptr;
};

void expectSame(const std::vector<Command>& commands, const std::vector<Command>& expected) {
  ASSERT_EQ(commands.size(), expected.size());
  for (size_t i = 0; i < commands.size(); i++) {
    EXPECT_EQ(commands[i].kind, expected[i].kind);
    EXPECT_EQ(commands[i].pipeline, expected[i].pipeline);
    EXPECT_EQ(commands[i].groups, expected[i].groups);
    EXPECT_EQ(std::memcmp(&commands[i].push, &expected[i].push, sizeof commands[i].push), 0);
  }
}

TEST_F(Threads, CreatePlansAtOnceThatShareTheirPipelines) {
  constexpr int kPlans = 80;  // of all threads: more parameter blocks than one chunk of the pool holds
  constexpr int kShapes = 5;
  std::vector<SaccadePlan> plans(kThreads * kPlans);
  onAll([&](int thread) {
    for (int i = 0; i < kPlans; i++) {
      const SaccadeAttentionDesc desc = description(8 + (i + thread) % kShapes);
      EXPECT_EQ(saccadeCreateAttentionPlan(context, &desc, &plans[static_cast<size_t>(thread * kPlans + i)], nullptr),
                SACCADE_OK);
    }
  });
  EXPECT_EQ(pipelinesAlive, kShapes) << "what two threads compiled at once must be kept once";
  std::map<uint64_t, int> parameters;
  for (const SaccadePlan plan : plans) parameters[record(plan).at(1).push.params]++;
  EXPECT_EQ(parameters.size(), plans.size()) << "two plans share parameters";
  onAll([&](int thread) {
    for (int i = 0; i < kPlans; i++) saccadeDestroyPlan(plans[static_cast<size_t>(thread * kPlans + i)]);
  });
}

TEST_F(Threads, CreateTheSeveralPipelinesOfAPlanAtOnce) {
  std::vector<SaccadePlan> plans(kThreads);
  onAll([&](int thread) {
    SaccadeAttentionDesc desc = description(8);
    desc.probs.dtype = SACCADE_DTYPE_F32;  // by a kernel of its own
    EXPECT_EQ(saccadeCreateAttentionPlan(context, &desc, &plans[static_cast<size_t>(thread)], nullptr), SACCADE_OK);
    saccadeReportTime(plans[static_cast<size_t>(thread)], 1.0);
  });
  EXPECT_EQ(pipelinesAlive, 2);
  SaccadeContextStatistics statistics{};
  saccadeGetContextStatistics(context, &statistics);
  EXPECT_GE(statistics.pipelinesCreated, 2u);
  for (const SaccadePlan plan : plans) saccadeDestroyPlan(plan);
}

TEST_F(Threads, RecordOnePlanAtOnceIntoTheirOwnCommandBuffers) {
  const SaccadeAttentionDesc desc = description(16);
  SaccadePlan plan = nullptr;
  ASSERT_EQ(saccadeCreateAttentionPlan(context, &desc, &plan, nullptr), SACCADE_OK);
  const std::vector<Command> expected = record(plan);
  std::vector<std::vector<Command>> recorded(kThreads);
  onAll([&](int thread) {
    for (int i = 0; i < 50; i++) recorded[static_cast<size_t>(thread)] = record(plan);
  });
  for (const std::vector<Command>& commands : recorded) expectSame(commands, expected);
  saccadeDestroyPlan(plan);
}

TEST_F(Threads, CreateRecordAndDestroyPlansWhileOthersDo) {
  onAll([&](int thread) {
    for (int i = 0; i < 50; i++) {
      SaccadePlan plan = nullptr;
      SaccadeMessage message{};
      SaccadeAttentionDesc desc = description(8 + i % 3);
      ASSERT_EQ(saccadeCreateAttentionPlan(context, &desc, &plan, &message), SACCADE_OK) << message.text;
      EXPECT_EQ(record(plan).size(), 3u);
      SaccadePlanInfo info{};
      saccadeGetPlanInfo(plan, &info);
      EXPECT_NE(*info.reason, '\0');
      saccadeDestroyPlan(plan);
      desc.temperature = static_cast<float>(-thread);
      EXPECT_EQ(saccadeCreateAttentionPlan(context, &desc, &plan, &message), SACCADE_ERROR_INVALID_ARGUMENT);
      uint32_t count = 1;
      SaccadeKernelInfo kernel{};
      EXPECT_EQ(saccadeGetKernels(context, &count, &kernel, &message), SACCADE_OK);
    }
  });
}

}  // namespace
}  // namespace saccade::test
