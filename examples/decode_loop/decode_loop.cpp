// SPDX-License-Identifier: Apache-2.0
// Decoding with a KV cache whose lengths only the device knows. A step is a dispatch of the host, which appends the next key and
// value to the cache and counts them, and an attention over what the cache then holds. 100 steps are recorded once; the same
// command buffer is submitted again and again, and nothing is read back before the end. Vulkan objects are those of Vulkan-Hpp.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include <saccade/saccade.hpp>
#include <vulkan/vulkan_raii.hpp>

#include "next_token.h"

namespace {

constexpr uint32_t kBatch = 2, kHeadsQ = 4, kHeadsKv = 1, kHeadDim = 32, kSteps = 100;
constexpr uint32_t kPrompt[kBatch] = {0, 37};  // tokens that the cache holds before the loop

struct Push {  // of next_token.comp
  vk::DeviceAddress query, keys, values, lengths;
  uint32_t headsQ, headsKv, capacity, headDim;
};

// What next_token.comp computes, bit for bit.
float valueOf(uint32_t what, uint32_t sequence, uint32_t head, uint32_t token, uint32_t channel) {
  uint32_t x = (((what * 31 + sequence) * 67 + head) * 8191 + token) * 509 + channel;
  x = (x ^ (x >> 16)) * 0x7feb352du;
  x = (x ^ (x >> 15)) * 0x846ca68bu;
  x ^= x >> 16;
  return static_cast<float>(static_cast<int>(x >> 8) - (1 << 23)) / static_cast<float>(1 << 23);
}

// The output of one query head after `tokens` tokens, on the CPU: the query is that of the last of them.
std::vector<double> expectedRow(uint32_t sequence, uint32_t headQ, uint32_t tokens) {
  const uint32_t head = headQ / (kHeadsQ / kHeadsKv);
  std::vector<double> scores(tokens), out(kHeadDim);
  for (uint32_t j = 0; j < tokens; j++) {
    for (uint32_t d = 0; d < kHeadDim; d++)
      scores[j] += double(valueOf(0, sequence, headQ, tokens - 1, d)) * valueOf(1, sequence, head, j, d);
    scores[j] /= std::sqrt(double(kHeadDim));
  }
  const double largest = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (uint32_t j = 0; j < tokens; j++) {
    const double weight = std::exp(scores[j] - largest);
    sum += weight;
    for (uint32_t d = 0; d < kHeadDim; d++) out[d] += weight * valueOf(2, sequence, head, j, d);
  }
  for (double& value : out) value /= sum;
  return out;
}

// A buffer with an address, mapped so that the host can fill and read it.
struct Memory {
  Memory(const vk::raii::PhysicalDevice& physicalDevice, const vk::raii::Device& device, vk::DeviceSize bytes)
      : size(bytes),
        buffer(device, {{}, bytes, vk::BufferUsageFlagBits::eStorageBuffer | vk::BufferUsageFlagBits::eShaderDeviceAddress}) {
    const auto needed = buffer.getMemoryRequirements();
    const auto types = physicalDevice.getMemoryProperties().memoryTypes;
    const auto wanted = vk::MemoryPropertyFlagBits::eHostVisible | vk::MemoryPropertyFlagBits::eHostCoherent;
    uint32_t type = 0;
    while (!(needed.memoryTypeBits >> type & 1) || (types[type].propertyFlags & wanted) != wanted) type++;
    const vk::MemoryAllocateFlagsInfo flags{vk::MemoryAllocateFlagBits::eDeviceAddress};
    memory = vk::raii::DeviceMemory(device, {needed.size, type, &flags});
    buffer.bindMemory(*memory, 0);
    address = device.getBufferAddress({*buffer});
    data = static_cast<float*>(memory.mapMemory(0, VK_WHOLE_SIZE));
  }

  SaccadeBuffer range() const { return {address, size}; }

  vk::DeviceSize size;
  vk::raii::Buffer buffer;
  vk::raii::DeviceMemory memory{nullptr};
  vk::DeviceAddress address = 0;
  float* data = nullptr;
};

int decode(uint32_t tokens) {
  const vk::raii::Context loader;
  const vk::ApplicationInfo application{"decode_loop", 0, nullptr, 0, VK_API_VERSION_1_2};
  const vk::raii::Instance instance(loader, {{}, &application});
  const auto physicalDevices = instance.enumeratePhysicalDevices();
  if (physicalDevices.empty()) throw std::runtime_error("there is no Vulkan device; install a driver");
  const vk::raii::PhysicalDevice& physicalDevice = physicalDevices.front();  // the first one: a host has rules of its own
  const auto families = physicalDevice.getQueueFamilyProperties();
  uint32_t family = 0;
  while (!(families.at(family).queueFlags & vk::QueueFlagBits::eCompute)) family++;
  vk::PhysicalDeviceVulkan12Features vulkan12;
  vulkan12.bufferDeviceAddress = true;
  const vk::PhysicalDeviceFeatures2 features{{}, &vulkan12};
  const float priority = 1;
  const vk::DeviceQueueCreateInfo queueInfo{{}, family, 1, &priority};
  const vk::raii::Device device(physicalDevice, {{}, queueInfo, {}, {}, nullptr, &features});
  const vk::raii::Queue queue = device.getQueue(family, 0);
  const vk::raii::CommandPool pool(device, {{}, family});
  const auto commandBuffers = device.allocateCommandBuffers({*pool, vk::CommandBufferLevel::ePrimary, 1});
  const vk::raii::CommandBuffer& commands = commandBuffers.front();

  const vk::raii::ShaderModule shader(device, {{}, sizeof nextToken, nextToken});
  const vk::PushConstantRange range{vk::ShaderStageFlagBits::eCompute, 0, sizeof(Push)};
  const vk::raii::PipelineLayout layout(device, {{}, {}, range});
  const vk::PipelineShaderStageCreateInfo stage{{}, vk::ShaderStageFlagBits::eCompute, *shader, "main"};
  const vk::raii::Pipeline appendPipeline(device, nullptr, vk::ComputePipelineCreateInfo{{}, stage, *layout});

  const vk::PhysicalDeviceFeatures2::NativeType& enabled = features;
  const saccade::Context context({.instance = *instance, .physicalDevice = *physicalDevice, .device = *device,
                                  .getInstanceProcAddr = loader.getDispatcher()->vkGetInstanceProcAddr,
                                  .enabledFeatures = &enabled});
  const uint32_t capacity = tokens + *std::max_element(std::begin(kPrompt), std::end(kPrompt));
  const saccade::TensorDesc cache{.sizes = {kBatch, kHeadsKv, capacity, kHeadDim}};
  const saccade::Plan plan = context.plan(saccade::AttentionDesc{
      .q = {.sizes = {kBatch, kHeadsQ, 1, kHeadDim}}, .k = cache, .v = cache, .seqlensK = true});

  constexpr vk::DeviceSize kQueryElements = kBatch * kHeadsQ * kHeadDim, kQueryBytes = kQueryElements * sizeof(float);
  const auto allocate = [&](vk::DeviceSize bytes) { return Memory(physicalDevice, device, bytes); };
  const vk::DeviceSize cacheBytes = vk::DeviceSize{kBatch} * kHeadsKv * capacity * kHeadDim * sizeof(float);
  const Memory query = allocate(kQueryBytes), keys = allocate(cacheBytes), values = allocate(cacheBytes);
  const Memory lengths = allocate(kBatch * sizeof(int32_t)), scratch = allocate(plan.info().scratchBytes);
  const Memory out = allocate(kSteps * kQueryBytes);  // of the last steps
  const auto length = reinterpret_cast<int32_t*>(lengths.data);
  for (uint32_t b = 0; b < kBatch; b++) {
    length[b] = static_cast<int32_t>(kPrompt[b]);
    for (uint32_t i = 0; i < kHeadsKv * kPrompt[b] * kHeadDim; i++) {
      const uint32_t head = i / kHeadDim / kPrompt[b], token = i / kHeadDim % kPrompt[b], channel = i % kHeadDim;
      const uint32_t element = ((b * kHeadsKv + head) * capacity + token) * kHeadDim + channel;
      keys.data[element] = valueOf(1, b, head, token, channel);
      values.data[element] = valueOf(2, b, head, token, channel);
    }
  }

  const Push push{query.address, keys.address, values.address, lengths.address, kHeadsQ, kHeadsKv, capacity, kHeadDim};
  // Between what the host's shader writes and Saccade reads, and back: q, scratch and the lengths serve every step.
  const vk::MemoryBarrier both{vk::AccessFlagBits::eShaderWrite,
                               vk::AccessFlagBits::eShaderRead | vk::AccessFlagBits::eShaderWrite};
  const auto barrier = [&] {
    constexpr auto kCompute = vk::PipelineStageFlagBits::eComputeShader;
    commands.pipelineBarrier(kCompute, kCompute, {}, both, {}, {});
  };
  commands.begin({vk::CommandBufferUsageFlagBits::eSimultaneousUse});
  for (uint32_t step = 0; step < kSteps; step++) {
    commands.bindPipeline(vk::PipelineBindPoint::eCompute, *appendPipeline);
    commands.pushConstants<Push>(*layout, vk::ShaderStageFlagBits::eCompute, 0, push);
    commands.dispatch(kBatch, 1, 1);
    barrier();
    plan.record(*commands, saccade::AttentionBuffers{
        .q = query.range(), .k = keys.range(), .v = values.range(), .out = {out.address + step * kQueryBytes, kQueryBytes},
        .seqlensK = lengths.range(), .scratch = scratch.range()});
    barrier();
  }
  const vk::MemoryBarrier toHost{vk::AccessFlagBits::eShaderWrite, vk::AccessFlagBits::eHostRead};
  commands.pipelineBarrier(vk::PipelineStageFlagBits::eComputeShader, vk::PipelineStageFlagBits::eHost, {}, toHost, {}, {});
  commands.end();

  const auto begin = std::chrono::steady_clock::now();
  for (uint32_t done = 0; done < tokens; done += kSteps) queue.submit(vk::SubmitInfo{{}, {}, *commands});
  queue.waitIdle();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;

  bool right = true;
  double worst = 0;
  for (uint32_t b = 0; b < kBatch; b++) {
    right = right && length[b] == static_cast<int32_t>(kPrompt[b] + tokens);
    for (uint32_t step = 0; step < kSteps; step++) {
      const uint32_t head = step % kHeadsQ;
      const std::vector<double> row = expectedRow(b, head, kPrompt[b] + tokens - kSteps + step + 1);
      for (uint32_t d = 0; d < kHeadDim; d++) {
        const double error = std::abs(out.data[((step * kBatch + b) * kHeadsQ + head) * kHeadDim + d] - row[d]);
        right = right && error < 2e-6;
        worst = std::max(worst, error);
      }
    }
  }
  std::printf("%s\n%u steps of %u sequences in %.3f s: %.0f tokens per second\nlargest difference to the CPU %.1e: %s\n",
              plan.info().label, tokens, kBatch, seconds.count(), tokens * kBatch / seconds.count(), worst,
              right ? "right" : "wrong");
  return right ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string option = argc > 1 ? argv[1] : "";
  const int tokens = argc == 3 && option == "--tokens" ? std::atoi(argv[2]) : argc == 1 ? 1000 : 0;
  if (tokens > 0 && tokens <= 8000 && tokens % kSteps == 0) return decode(static_cast<uint32_t>(tokens));
  std::printf("decode_loop [--tokens N]: decodes N tokens (default 1000; up to 8000, in hundreds) and checks the last ones\n");
  return option == "--help" ? EXIT_SUCCESS : EXIT_FAILURE;
} catch (const std::exception& error) {
  std::fprintf(stderr, "decode_loop: %s\n", error.what());
  return EXIT_FAILURE;
}
