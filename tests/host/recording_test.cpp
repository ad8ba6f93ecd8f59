// SPDX-License-Identifier: Apache-2.0
// Attention in command buffers of every kind that a host has.
#include <algorithm>
#include <barrier>
#include <thread>

#include "work.hpp"

namespace saccade::host {
namespace {

class Recording : public HostTest {};

// The output of one is the query of the next, with the barrier that saccade.h asks for.
TEST_F(Recording, SeveralBackToBack) {
  Work first(host, context), second(host, context), third(host, context, {.kernel = "split_kv"}), other(host, context);
  other.fill(2);
  second.takeQueryFrom(first);
  third.takeQueryFrom(second);
  Commands commands(host);
  first.record(commands);
  other.record(commands);  // shares nothing with the first: no barrier
  commands.barrier();
  second.record(commands);
  commands.barrier();
  third.record(commands);
  commands.end();
  host.run({commands});
  first.expectRight("first");
  second.expectRight("second");
  third.expectRight("third");
  other.expectRight("the one beside them");
}

TEST_F(Recording, ScratchMemoryIsSharedByConsecutiveCalls) {
  constexpr int64_t kRows = 70;
  Work works[] = {{host, context, kSplit},
                  {host, context, {.seqlenQ = kRows, .dtype = SACCADE_DTYPE_F16, .kernel = "widened_rows"}},
                  {host, context, {.seqlenQ = 1, .seqlenK = 300, .kernel = "split_kv"}}};
  VkDeviceSize bytes = 0;
  for (const Work& work : works) {
    EXPECT_GT(work.info().scratchBytes, 0u) << work.info().label;
    bytes = std::max<VkDeviceSize>(bytes, work.info().scratchBytes);
  }
  const Memory scratch(host, bytes);
  Commands commands(host);
  for (Work& work : works) {
    work.buffers.scratch = scratch.range();
    work.record(commands);
    commands.barrier();
  }
  commands.end();
  host.run({commands});
  for (const Work& work : works) work.expectRight(work.info().label);
}

// A key that is alone has weight 1, so the output is its value: four bytes times their scale.
TEST_F(Recording, WithQuantisedKeysAndTheirScales) {
  for (const SaccadeDtype dtype : {SACCADE_DTYPE_I8, SACCADE_DTYPE_F8E4M3}) {
    SaccadeAttentionDesc desc = saccadeAttentionDescDefault();
    desc.q = SaccadeTensorDesc{SACCADE_DTYPE_F32, {1, 2, 1, 4}, {}};
    desc.k = desc.v = SaccadeTensorDesc{dtype, {1, 2, 1, 4}, {}};
    desc.out.dtype = SACCADE_DTYPE_F32;
    desc.kScale = desc.vScale = SaccadeTensorDesc{SACCADE_DTYPE_F32, {1, 2, 1, 1}, {}};
    SaccadePlan plan = nullptr;
    SaccadeMessage message{};
    ASSERT_EQ(saccadeCreateAttentionPlan(context, &desc, &plan, &message), SACCADE_OK) << message.text;
    SaccadePlanInfo info{};
    saccadeGetPlanInfo(plan, &info);
    const Memory q(host, 32), k(host, 8), v(host, 8), out(host, 32), kScale(host, 8), vScale(host, 8), scratch(host, info.scratchBytes);
    std::fill_n(q.as<float>(), 8, 1.0f);
    std::fill_n(k.as<uint8_t>(), 8, uint8_t{0x38});
    const uint8_t codes[] = {0x00, 0x38, 0xb8, 0x7e, 0x01, 0x40, 0xc0, 0x08};
    std::copy_n(codes, 8, v.as<uint8_t>());
    std::fill_n(kScale.as<float>(), 2, 0.25f);
    vScale.as<float>()[0] = 0.5f;
    vScale.as<float>()[1] = 64;
    SaccadeAttentionBuffers buffers = saccadeAttentionBuffersDefault();
    buffers.q = q.range();
    buffers.k = k.range();
    buffers.v = v.range();
    buffers.out = out.range();
    buffers.kScale = kScale.range();
    buffers.vScale = vScale.range();
    buffers.scratch = scratch.range();
    Commands commands(host);
    EXPECT_EQ(saccadeCmdAttention(commands, plan, &buffers, &message), SACCADE_OK) << message.text;
    commands.end();
    host.run({commands});
    const float i8[] = {0, 28, -36, 63, 64, 4096, -4096, 512}, f8[] = {0, 0.5f, -0.5f, 224, 0.125f, 128, -128, 1};
    for (int c = 0; c < 8; c++) EXPECT_EQ(out.as<float>()[c], (dtype == SACCADE_DTYPE_I8 ? i8 : f8)[c]) << "channel " << c;
    saccadeDestroyPlan(plan);
  }
}

TEST_F(Recording, InASecondaryCommandBuffer) {
  Work first(host, context), second(host, context);
  second.takeQueryFrom(first);
  Commands secondary(host, 0, VK_COMMAND_BUFFER_LEVEL_SECONDARY), primary(host);
  first.record(secondary);
  secondary.barrier();
  secondary.end();
  const VkCommandBuffer executed = secondary;
  vkCmdExecuteCommands(primary, 1, &executed);
  second.record(primary);
  primary.end();
  host.run({primary});
  first.expectRight("in the secondary command buffer");
  second.expectRight("in the primary one");
}

TEST_F(Recording, InACommandBufferThatIsPendingTwice) {
  Work work(host, context, kSplit);
  Commands commands(host, VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT);
  commands.barrier();  // between the submissions
  work.record(commands);
  commands.end();
  host.run({commands, commands});
  work.expectRight("both");
}

TEST_F(Recording, InputsAndLengthsAreReadWhenTheWorkRuns) {
  Work work(host, context, {.batch = 2, .mask = true, .lengths = true});
  Commands commands(host);
  work.record(commands);
  commands.end();
  const int32_t lengths[][4] = {{19, 3, 37, 20}, {0, 19, 37, 1}, {7, 7, 0, 36}};
  unsigned seed = 0;
  for (const auto& length : lengths) {
    work.fill(++seed);
    std::copy_n(length, 2, work.seqlensQ.as<int32_t>());
    std::copy_n(length + 2, 2, work.seqlensK.as<int32_t>());
    host.run({commands});
    work.expectRight("run " + std::to_string(seed));
  }
}

TEST_F(Recording, OnePlanFromEightThreadsAtOnce) {
  constexpr size_t kThreads = 8;
  std::vector<std::unique_ptr<Work>> works;
  std::vector<std::unique_ptr<Commands>> commands;
  for (unsigned i = 0; i < kThreads; i++) {
    works.push_back(std::make_unique<Work>(host, context, kSplit));
    works.back()->fill(i + 1);
    commands.push_back(std::make_unique<Commands>(host));
  }
  const SaccadePlan shared = works.front()->plan;
  std::barrier start(kThreads);
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < kThreads; i++) {
      threads.emplace_back([&, i] {
        start.arrive_and_wait();
        EXPECT_EQ(saccadeCmdAttention(*commands[i], shared, &works[i]->buffers, nullptr), SACCADE_OK);
        commands[i]->end();
      });
    }
  }
  host.run(std::vector<VkCommandBuffer>{*commands[0], *commands[1], *commands[2], *commands[3], *commands[4], *commands[5],
                                        *commands[6], *commands[7]});
  for (size_t i = 0; i < kThreads; i++) works[i]->expectRight("thread " + std::to_string(i));
}

}  // namespace
}  // namespace saccade::host
