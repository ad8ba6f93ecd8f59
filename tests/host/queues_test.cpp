// SPDX-License-Identifier: Apache-2.0
// Attention on a queue that can do nothing but compute, and on a graphics queue between two render passes: of the state of the
// host's command buffer, what saccade.h lists is disturbed, and nothing else.
#include <array>

#include "render_target.hpp"
#include "work.hpp"

#include "read_set.h"

namespace saccade::host {
namespace {

class ComputeOnlyQueue : public HostTest {
 protected:
  ComputeOnlyQueue() : HostTest({.with = VK_QUEUE_COMPUTE_BIT, .without = VK_QUEUE_GRAPHICS_BIT}) {}
};

TEST_F(ComputeOnlyQueue, IsEnough) {
  if (!host.hasQueue()) GTEST_SKIP() << host.properties.deviceName << " has no queue family without graphics";
  Work work(host, context, {.causal = SACCADE_CAUSAL_NONE});
  Commands commands(host);
  work.record(commands);
  commands.end();
  host.run({commands});
  work.expectRight("on a compute-only queue");
}

class GraphicsQueue : public HostTest {
 protected:
  GraphicsQueue() : HostTest({.with = VK_QUEUE_COMPUTE_BIT | VK_QUEUE_GRAPHICS_BIT}) {}
};

// Graphics pipeline and descriptor sets are bound once, before the first render pass.
TEST_F(GraphicsQueue, KeepsTheStateOfTheHostBetweenTwoRenderPasses) {
  if (!host.hasQueue()) GTEST_SKIP() << host.properties.deviceName << " has no queue family with graphics";
  Work work(host, context, {.headsQ = 1, .seqlenQ = 2, .seqlenK = 200, .headDim = 16, .kernel = "split_kv"});
  const std::array<float, 32> before{1, 2, 3, 4, 5};
  std::copy(before.begin(), before.end(), work.out.as<float>());
  const RenderTarget target(host, static_cast<uint32_t>(before.size()) / 4, work.out);
  Memory first(host, sizeof before, VK_BUFFER_USAGE_TRANSFER_DST_BIT), second(host, sizeof before, VK_BUFFER_USAGE_TRANSFER_DST_BIT);

  Commands commands(host);
  target.bind(commands);
  target.push(commands, 1);
  target.draw(commands, first);
  const VkPipelineStageFlags fragments = VK_PIPELINE_STAGE_FRAGMENT_SHADER_BIT, compute = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
  vkCmdPipelineBarrier(commands, fragments, compute, 0, 0, nullptr, 0, nullptr, 0, nullptr);  // read before it is overwritten
  work.record(commands);
  const VkMemoryBarrier written{VK_STRUCTURE_TYPE_MEMORY_BARRIER, nullptr, VK_ACCESS_SHADER_WRITE_BIT, VK_ACCESS_SHADER_READ_BIT};
  vkCmdPipelineBarrier(commands, compute, fragments, 0, 1, &written, 0, nullptr, 0, nullptr);
  target.push(commands, 2);  // push constants are what the header lists
  target.draw(commands, second);
  commands.end();
  host.run({commands});
  work.expectRight("between two render passes");
  for (size_t i = 0; i < before.size(); i++) {
    EXPECT_EQ(first.as<float>()[i], before[i]) << "element " << i << ", drawn before";
    EXPECT_EQ(second.as<float>()[i], 2 * work.out.as<float>()[i]) << "element " << i << ", drawn after";
  }
}

// The host binds its pipeline and its push constants again, its descriptor set not.
TEST_F(GraphicsQueue, KeepsTheDescriptorSetsOfTheHostsComputePipelines) {
  if (!host.hasQueue()) GTEST_SKIP() << host.properties.deviceName << " has no queue family with graphics";
  Work work(host, context);
  Memory values(host, 16);
  values.as<float>()[0] = 3;
  const StorageBufferSet set(host, values, VK_SHADER_STAGE_COMPUTE_BIT);
  const HostPipeline pipeline(host, read_set_spirv, sizeof read_set_spirv, sizeof(float), set.layout);
  const float two = 2, five = 5;
  Commands commands(host);
  vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.layout, 0, 1, &set.set, 0, nullptr);
  pipeline.dispatch(commands, &two, 1);
  work.record(commands);
  commands.barrier();
  pipeline.dispatch(commands, &five, 1);
  commands.end();
  host.run({commands});
  work.expectRight("between two dispatches of the host");
  EXPECT_EQ(values.as<float>()[0], 30);
}

}  // namespace
}  // namespace saccade::host
