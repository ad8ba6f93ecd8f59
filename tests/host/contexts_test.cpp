// SPDX-License-Identifier: Apache-2.0
// Several contexts side by side, and what a context takes from its host: allocation callbacks and a pipeline cache.
#include <atomic>
#include <thread>

#include "counting_allocator.hpp"
#include "intercepted.hpp"
#include "work.hpp"

namespace saccade::host {
namespace {

class Contexts : public HostTest {};

TEST_F(Contexts, TwoOnOneDevice) {
  const SaccadeContext second = host.createContext();
  {
    Work a(host, context, kSplit), b(host, second, kSplit), c(host, context, kSplit), d(host, second, kSplit);
    b.takeQueryFrom(a);
    c.takeQueryFrom(b);
    d.takeQueryFrom(c);
    Commands commands(host);
    for (const Work* work : {&a, &b, &c, &d}) {
      work->record(commands);
      commands.barrier();
    }
    commands.end();
    host.run({commands});
    for (const Work* work : {&a, &b, &c, &d}) work->expectRight("one of four in turn");
  }
  saccadeDestroyContext(second);
  Work after(host, context);
  Commands commands(host);
  after.record(commands);
  commands.end();
  host.run({commands});
  after.expectRight("after the other context is gone");
}

// Of another physical device, where there are two.
TEST_F(Contexts, OnTwoDevicesAtOnce) {
  const Host other({.device = 1});
  const SaccadeContext otherContext = other.createContext();
  const auto loop = [](const Host& own, SaccadeContext ownContext, unsigned seed) {
    Work work(own, ownContext, {.batch = 2, .lengths = true});
    Commands commands(own);
    work.record(commands);
    commands.end();
    for (unsigned i = 0; i < 10; i++) {
      work.fill(seed + i);
      own.run({commands});
      work.expectRight(own.properties.deviceName);
    }
  };
  {
    const std::jthread first([&] { loop(host, context, 1); }), second([&] { loop(other, otherContext, 100); });
  }
  {
    Work own(host, context), others(other, otherContext);
    Commands commands(host), othersCommands(other);
    SaccadeMessage message{};
    EXPECT_EQ(saccadeCmdAttention(othersCommands, own.plan, &own.buffers, &message), SACCADE_ERROR_INVALID_ARGUMENT);
    EXPECT_STREQ(message.field, "commandBuffer");
    own.record(commands);
    others.record(othersCommands);
    commands.end();
    othersCommands.end();
    host.run({commands});
    other.run({othersCommands});
    own.expectRight("on the first device");
    others.expectRight("on the second device");
  }
  saccadeDestroyContext(otherContext);
  for (const std::string& text : other.messages()) ADD_FAILURE() << text;
}

// Sees every call with which the core creates or destroys something.
struct Creations {
  static inline std::atomic<int> calls, withCallbacks, pipelines, withCache;
  static inline const CountingAllocator* allocator;
  static inline VkPipelineCache cache;

  template <class... Arguments>
  static void before(Arguments... arguments) {
    calls++;
    (see(arguments), ...);
  }
  static void after() {}

  static void see(const VkAllocationCallbacks* given) {
    if (given != nullptr && given->pUserData == allocator) withCallbacks++;
  }
  static void see(VkPipelineCache given) {
    if (given == cache) withCache++;
  }
  static void see(const VkComputePipelineCreateInfo*) { pipelines++; }
  template <class Other>
  static void see(Other) {}

  static const std::map<std::string, PFN_vkVoidFunction>& functions() {
    static const std::map<std::string, PFN_vkVoidFunction> table{
        SACCADE_INTERCEPTED(Creations, vkAllocateMemory),         SACCADE_INTERCEPTED(Creations, vkFreeMemory),
        SACCADE_INTERCEPTED(Creations, vkCreateBuffer),           SACCADE_INTERCEPTED(Creations, vkDestroyBuffer),
        SACCADE_INTERCEPTED(Creations, vkCreateComputePipelines), SACCADE_INTERCEPTED(Creations, vkDestroyPipeline),
        SACCADE_INTERCEPTED(Creations, vkCreatePipelineLayout),   SACCADE_INTERCEPTED(Creations, vkDestroyPipelineLayout),
        SACCADE_INTERCEPTED(Creations, vkCreateShaderModule),     SACCADE_INTERCEPTED(Creations, vkDestroyShaderModule)};
    return table;
  }
};

TEST_F(Contexts, MakeEveryVulkanAllocationWithTheHostsCallbacks) {
  CountingAllocator allocator;
  Creations::allocator = &allocator;
  Creations::calls = Creations::withCallbacks = 0;
  SaccadeContextCreateInfo info = host.contextInfo();
  info.getInstanceProcAddr = interceptedInstanceFunction<Creations>;
  info.allocationCallbacks = &allocator.callbacks;
  SaccadeContext own = nullptr;
  ASSERT_EQ(saccadeCreateContext(&info, &own, nullptr), SACCADE_OK);
  {
    Work single(host, own), split(host, own, kSplit);
    Commands commands(host);
    single.record(commands);
    split.record(commands);
    commands.end();
    host.run({commands});
    single.expectRight("one dispatch");
    split.expectRight("several dispatches");
    EXPECT_GT(allocator.live, 0);
  }
  saccadeDestroyContext(own);
  EXPECT_GE(Creations::calls, 10);
  EXPECT_EQ(Creations::withCallbacks, Creations::calls);
  EXPECT_GT(allocator.made, 0);
  EXPECT_EQ(allocator.live, 0);
}

// Drivers differ in what they put into a cache, and say only from Vulkan 1.3 on whether they found something.
TEST_F(Contexts, CreatePipelinesWithTheHostsCache) {
  const VkPipelineCacheCreateInfo cacheInfo{VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
  VkPipelineCache cache = VK_NULL_HANDLE;
  check(vkCreatePipelineCache(host.device, &cacheInfo, nullptr, &cache), "vkCreatePipelineCache");
  Creations::cache = cache;
  Creations::pipelines = Creations::withCache = 0;
  SaccadeContextCreateInfo info = host.contextInfo();
  info.getInstanceProcAddr = interceptedInstanceFunction<Creations>;
  info.pipelineCache = cache;
  SaccadeContext own = nullptr;
  ASSERT_EQ(saccadeCreateContext(&info, &own, nullptr), SACCADE_OK);
  {
    const Work work(host, own, kSplit);
    SaccadeContextStatistics statistics{};
    saccadeGetContextStatistics(own, &statistics);
    EXPECT_EQ(statistics.pipelinesCreated, static_cast<uint64_t>(Creations::pipelines));
  }
  saccadeDestroyContext(own);
  EXPECT_GT(Creations::pipelines, 1);
  EXPECT_EQ(Creations::withCache, Creations::pipelines);
  vkDestroyPipelineCache(host.device, cache, nullptr);
}

}  // namespace
}  // namespace saccade::host
