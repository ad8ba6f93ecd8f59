// SPDX-License-Identifier: Apache-2.0
// Bad input on a device, through the C API as a host would call it: refused by name before anything is
// recorded; and the context, the command buffer and the plan stay usable.
#include <cstring>

#include "attention_call.hpp"
#include "check/dtype.hpp"

namespace saccade::conformance {
namespace {

// A command buffer of the device's queue family that is being recorded, as a host has it.
class CommandBuffer {
 public:
  explicit CommandBuffer(const Device& device) : handles_(device.handles()) {
    const VkCommandPoolCreateInfo poolInfo{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, nullptr, 0,
                                           handles_.queueFamily};
    EXPECT_EQ(
        load<PFN_vkCreateCommandPool>("vkCreateCommandPool")(handles_.device, &poolInfo, nullptr, &pool_),
        VK_SUCCESS);
    const VkCommandBufferAllocateInfo bufferInfo{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, nullptr,
                                                 pool_, VK_COMMAND_BUFFER_LEVEL_PRIMARY, 1};
    EXPECT_EQ(load<PFN_vkAllocateCommandBuffers>("vkAllocateCommandBuffers")(handles_.device, &bufferInfo,
                                                                             &handle_),
              VK_SUCCESS);
    const VkCommandBufferBeginInfo begin{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    EXPECT_EQ(load<PFN_vkBeginCommandBuffer>("vkBeginCommandBuffer")(handle_, &begin), VK_SUCCESS);
  }
  ~CommandBuffer() {
    load<PFN_vkDestroyCommandPool>("vkDestroyCommandPool")(handles_.device, pool_, nullptr);
  }
  CommandBuffer(const CommandBuffer&) = delete;
  CommandBuffer& operator=(const CommandBuffer&) = delete;

  VkCommandBuffer handle() const { return handle_; }

  void run() {
    EXPECT_EQ(load<PFN_vkEndCommandBuffer>("vkEndCommandBuffer")(handle_), VK_SUCCESS);
    VkQueue queue = VK_NULL_HANDLE;
    load<PFN_vkGetDeviceQueue>("vkGetDeviceQueue")(handles_.device, handles_.queueFamily, 0, &queue);
    VkSubmitInfo submit{VK_STRUCTURE_TYPE_SUBMIT_INFO};
    submit.commandBufferCount = 1;
    submit.pCommandBuffers = &handle_;
    EXPECT_EQ(load<PFN_vkQueueSubmit>("vkQueueSubmit")(queue, 1, &submit, VK_NULL_HANDLE), VK_SUCCESS);
    EXPECT_EQ(load<PFN_vkQueueWaitIdle>("vkQueueWaitIdle")(queue), VK_SUCCESS);
  }

 private:
  template <class Function>
  Function load(const char* name) const {
    return reinterpret_cast<Function>(handles_.getInstanceProcAddr(handles_.instance, name));
  }

  DeviceHandles handles_;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  VkCommandBuffer handle_ = VK_NULL_HANDLE;
};

// A small attention with everything that a buffer can be given for.
struct HostCall {
  explicit HostCall(const Device& device_)
      : device(device_),
        call(randomCall({.batch = 2, .headsQ = 2, .headsKv = 1, .seqlenQ = 9, .seqlenK = 11},
                        {"scalar_rows", io::DType::F16})),
        prepared(prepare(device, withOptions())),
        description(describeAttention(prepared.q, prepared.k, prepared.v, prepared.out, prepared.options)),
        commands(device) {
    desc = description.toC();
    SaccadeMessage message{};
    EXPECT_EQ(saccadeCreateAttentionPlan(device.context().handle(), &desc, &plan, &message), SACCADE_OK)
        << message.text;
    buffers.q = prepared.q.buffer();
    buffers.k = prepared.k.buffer();
    buffers.v = prepared.v.buffer();
    buffers.out = prepared.out.buffer();
    buffers.lse = prepared.options.lse.buffer();
    buffers.probs = prepared.options.probs.buffer();
    buffers.mask = prepared.options.mask.buffer();
    buffers.bias = prepared.options.bias.buffer();
    buffers.seqlensQ = prepared.options.seqlensQ.buffer();
    buffers.seqlensK = prepared.options.seqlensK.buffer();
  }
  ~HostCall() { saccadeDestroyPlan(plan); }
  HostCall(const HostCall&) = delete;
  HostCall& operator=(const HostCall&) = delete;

  const AttentionCall& withOptions() {
    call.values.mask = randomMask({2, 1, 9, 11}, 3);
    call.values.bias = randomTensor(io::DType::F16, {1, 2, 9, 11}, 4);
    call.values.seqlensQ = {9, 4};
    call.values.seqlensK = {11, 6};
    call.probs = true;
    return call;
  }

  Device device;
  AttentionCall call;
  PreparedCall prepared;
  AttentionDesc description;  // owns what `desc` points to
  CommandBuffer commands;
  SaccadeAttentionDesc desc{};
  SaccadePlan plan = nullptr;
  SaccadeAttentionBuffers buffers = saccadeAttentionBuffersDefault();
};

void expectRefused(SaccadeStatus status, const SaccadeMessage& message, const std::string& field,
                   const std::string& part) {
  EXPECT_EQ(status, SACCADE_ERROR_INVALID_ARGUMENT) << field;
  EXPECT_EQ(message.status, status);
  EXPECT_EQ(message.field, field);
  EXPECT_PRED_FORMAT2(testing::IsSubstring, part, std::string(message.text));
}

struct BufferSlot {
  const char* name;
  SaccadeBuffer SaccadeAttentionBuffers::* member;
  VkDeviceSize bytes;  // that the plan needs
  unsigned elementBytes;
};

const BufferSlot kSlots[] = {{"q", &SaccadeAttentionBuffers::q, 2 * 2 * 9 * 16 * 2, 2},
                             {"k", &SaccadeAttentionBuffers::k, 2 * 11 * 16 * 2, 2},
                             {"v", &SaccadeAttentionBuffers::v, 2 * 11 * 16 * 2, 2},
                             {"out", &SaccadeAttentionBuffers::out, 2 * 2 * 9 * 16 * 2, 2},
                             {"lse", &SaccadeAttentionBuffers::lse, 2 * 2 * 9 * 4, 4},
                             {"probs", &SaccadeAttentionBuffers::probs, 2 * 2 * 9 * 11 * 2, 2},
                             {"mask", &SaccadeAttentionBuffers::mask, 2 * 9 * 11, 1},
                             {"bias", &SaccadeAttentionBuffers::bias, 2 * 9 * 11 * 2, 2},
                             {"seqlens_q", &SaccadeAttentionBuffers::seqlensQ, 8, 4},
                             {"seqlens_k", &SaccadeAttentionBuffers::seqlensK, 8, 4}};

void refusesBuffer(const Device& device, const BufferSlot& slot) {
  HostCall host(device);
  const auto record = [&](const SaccadeBuffer& buffer, SaccadeMessage& message) {
    SaccadeAttentionBuffers buffers = host.buffers;
    buffers.*slot.member = buffer;
    return saccadeCmdAttention(host.commands.handle(), host.plan, &buffers, &message);
  };
  const SaccadeBuffer good = host.buffers.*slot.member;
  SaccadeMessage message{};
  expectRefused(record({0, good.size}, message), message, slot.name, "address is 0");
  if (slot.elementBytes > 1) {
    expectRefused(record({good.address + 1, good.size}, message), message, slot.name,
                  "must be a multiple of " + std::to_string(slot.elementBytes));
  }
  const std::string needed = "reach " + std::to_string(slot.bytes) + " bytes";
  expectRefused(record({good.address, slot.bytes - 1}, message), message, slot.name, needed);
  expectRefused(record({good.address, 0}, message), message, slot.name, needed);
  EXPECT_EQ(record({good.address, slot.bytes}, message), SACCADE_OK) << message.text;
}

// After all refusals the same command buffer and plan still work.
void refusesAndThenRuns(const Device& device) {
  HostCall host(device);
  SaccadeMessage message{};
  SaccadeAttentionBuffers bad = host.buffers;
  bad.v.address = 0;
  expectRefused(saccadeCmdAttention(host.commands.handle(), host.plan, &bad, &message), message, "v",
                "address is 0");
  bad = host.buffers;
  bad.structSize = 12;
  expectRefused(saccadeCmdAttention(host.commands.handle(), host.plan, &bad, &message), message, "structSize",
                "12");
  expectRefused(saccadeCmdAttention(host.commands.handle(), host.plan, nullptr, &message), message, "buffers",
                "null");
  expectRefused(saccadeCmdAttention(host.commands.handle(), nullptr, &host.buffers, &message), message,
                "plan", "null");
  expectRefused(saccadeCmdAttention(VK_NULL_HANDLE, host.plan, &host.buffers, &message), message,
                "commandBuffer", "null");
  const SaccadeSoftmaxBuffers softmax = saccadeSoftmaxBuffersDefault();
  expectRefused(saccadeCmdSoftmax(host.commands.handle(), host.plan, &softmax, &message), message, "plan",
                "another operator");
  // Without a message to fill, the status says it all.
  EXPECT_EQ(saccadeCmdAttention(host.commands.handle(), host.plan, &bad, nullptr),
            SACCADE_ERROR_INVALID_ARGUMENT);

  ASSERT_EQ(saccadeCmdAttention(host.commands.handle(), host.plan, &host.buffers, &message), SACCADE_OK)
      << message.text;
  host.commands.run();
  expectRight(host.call, downloadResults(host.prepared));
}

void refusesHostLengths(const Device& device) {
  HostCall host(device);
  SaccadeMessage message{};
  const std::int32_t tooLong[] = {11, 12}, negative[] = {-1, 4}, right[] = {9, 4};
  SaccadeAttentionBuffers buffers = host.buffers;
  buffers.hostSeqlensK = tooLong;
  expectRefused(saccadeCmdAttention(host.commands.handle(), host.plan, &buffers, &message), message,
                "seqlens_k", "seqlens_k[1] is 12");
  buffers = host.buffers;
  buffers.hostSeqlensQ = negative;
  expectRefused(saccadeCmdAttention(host.commands.handle(), host.plan, &buffers, &message), message,
                "seqlens_q", "seqlens_q[0] is -1");
  buffers.hostSeqlensQ = right;
  EXPECT_EQ(saccadeCmdAttention(host.commands.handle(), host.plan, &buffers, &message), SACCADE_OK)
      << message.text;
}

void refusesDescriptions(const Device& device) {
  HostCall host(device);
  const SaccadeContext context = device.context().handle();
  const auto refuse = [&](const char* field, const char* part, auto spoil) {
    SaccadeAttentionDesc desc = host.desc;
    spoil(desc);
    SaccadePlan plan = host.plan;
    SaccadeMessage message{};
    expectRefused(saccadeCreateAttentionPlan(context, &desc, &plan, &message), message, field, part);
    EXPECT_EQ(plan, nullptr) << field;
  };
  refuse("head_dim_qk", "257", [](auto& desc) { desc.q.sizes[3] = 257; });
  refuse("num_heads_kv", "multiple", [](auto& desc) {
    desc.q.sizes[1] = 3;
    desc.k.sizes[1] = desc.v.sizes[1] = 2;
  });
  refuse("out.strides", "overlap", [](auto& desc) { desc.out.strides[2] = 15; });
  refuse("temperature", "-1", [](auto& desc) { desc.temperature = -1; });
  refuse("kernel", "nonsense", [](auto& desc) { desc.kernel = "nonsense"; });
  refuse("structSize", "0", [](auto& desc) { desc.structSize = 0; });

  SaccadeMessage message{};
  SaccadePlan plan = nullptr;
  expectRefused(saccadeCreateAttentionPlan(context, nullptr, &plan, &message), message, "desc", "null");
  expectRefused(saccadeCreateAttentionPlan(nullptr, &host.desc, &plan, &message), message, "context", "null");
  expectRefused(saccadeCreateAttentionPlan(context, &host.desc, nullptr, &message), message, "plan", "null");
  saccadeDestroyPlan(nullptr);
  saccadeDestroyContext(nullptr);
}

// The runtime refuses a view that runs past its memory, names a host's length, and runs on afterwards.
void runtimeRefuses(const Device& device) {
  const AttentionCall call = randomCall({.seqlenQ = 4, .seqlenK = 6}, {"", io::DType::F32});
  PreparedCall prepared = prepare(device, call);
  Stream stream(device);
  const auto fieldOf = [&](auto&& operation) -> std::string {
    try {
      operation();
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), Status::InvalidArgument) << error.what();
      return error.field();
    }
    return "nothing was refused";
  };
  EXPECT_NE(fieldOf([&] { prepared.k.asStrided({1, 1, 6, 16}, {96, 96, 17, 1}); }), "nothing was refused");
  EXPECT_EQ(fieldOf([&] {
              AttentionOptions options = prepared.options;
              options.seqlensK = Tensor::fromInts(device, {1}, std::vector<std::int32_t>{6});
              options.hostSeqlensK = {7};
              stream.attention(prepared.q, prepared.k, prepared.v, prepared.out, options);
            }),
            "seqlens_k");
  EXPECT_EQ(fieldOf([&] {
              AttentionOptions options = prepared.options;
              options.temperature = 0;
              stream.attention(prepared.q, prepared.k, prepared.v, prepared.out, options);
            }),
            "temperature");
  stream.attention(prepared.q, prepared.k, prepared.v, prepared.out, prepared.options);
  stream.wait();
  expectRight(call, downloadResults(prepared));
}

}  // namespace

void registerRefusalTests(const Device& device) {
  for (const BufferSlot& slot : kSlots) {
    registerTest("refusals", std::string("a_buffer_that_is_null_misaligned_or_too_small/") + slot.name,
                 [=] { refusesBuffer(device, slot); });
  }
  registerTest("refusals", "leave_command_buffer_and_plan_usable", [=] { refusesAndThenRuns(device); });
  registerTest("refusals", "lengths_that_the_host_can_see", [=] { refusesHostLengths(device); });
  registerTest("refusals", "descriptions_of_no_plan", [=] { refusesDescriptions(device); });
  registerTest("refusals", "by_the_runtime_leave_the_stream_usable", [=] { runtimeRefuses(device); });
}

}  // namespace saccade::conformance
