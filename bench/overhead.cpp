// SPDX-License-Identifier: Apache-2.0
// What a host pays around a kernel once its pipelines are known: making a plan, recording it into its own command buffer, and
// the same through a stream. `saccade_overhead`, with the options of Google Benchmark. The device is SACCADE_DEVICE or the
// best one; times are CPU times, and what the driver does in vkCmd* calls is part of them.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <exception>
#include <iostream>
#include <memory>
#include <string>

#include "attention_shapes.hpp"

namespace saccade::bench {
namespace {

// A command buffer of our own on the device.
class Commands {
 public:
  explicit Commands(const Device& device) : device_(device), handles_(device_.handles()) {
    load(getDeviceProcAddr_, "vkGetDeviceProcAddr");
    VkCommandPoolCreateInfo pool{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    pool.queueFamilyIndex = handles_.queueFamily;
    call<PFN_vkCreateCommandPool>("vkCreateCommandPool")(handles_.device, &pool, nullptr, &pool_);
    VkCommandBufferAllocateInfo buffer{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
    buffer.commandPool = pool_;
    buffer.commandBufferCount = 1;
    call<PFN_vkAllocateCommandBuffers>("vkAllocateCommandBuffers")(handles_.device, &buffer, &commands_);
  }
  ~Commands() { call<PFN_vkDestroyCommandPool>("vkDestroyCommandPool")(handles_.device, pool_, nullptr); }
  Commands(const Commands&) = delete;
  Commands& operator=(const Commands&) = delete;

  // Drops what was recorded; returns a command buffer in the recording state.
  VkCommandBuffer restart() {
    call<PFN_vkResetCommandPool>("vkResetCommandPool")(handles_.device, pool_, 0);
    const VkCommandBufferBeginInfo begin{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    call<PFN_vkBeginCommandBuffer>("vkBeginCommandBuffer")(commands_, &begin);
    return commands_;
  }

 private:
  template <typename Function>
  void load(Function& function, const char* name) const {
    function = reinterpret_cast<Function>(handles_.getInstanceProcAddr(handles_.instance, name));
  }
  template <typename Function>
  Function call(const char* name) const {
    return reinterpret_cast<Function>(getDeviceProcAddr_(handles_.device, name));
  }

  Device device_;
  DeviceHandles handles_;
  PFN_vkGetDeviceProcAddr getDeviceProcAddr_ = nullptr;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  VkCommandBuffer commands_ = VK_NULL_HANDLE;
};

constexpr int kPerBuffer = 1000;  // recordings before a command buffer is emptied, so that its memory does not grow without end

void plan(benchmark::State& state, const Device& device, const NamedShape& shape) {
  const Inputs inputs(device, shape);
  const AttentionDesc desc = describeAttention(inputs.q, inputs.k, inputs.v, inputs.out, inputs.options);
  const Plan first = device.context().plan(desc);  // compiles
  for (auto iteration : state) benchmark::DoNotOptimize(device.context().plan(desc));
  state.SetLabel(first.info().kernel);
}

void record(benchmark::State& state, const Device& device, const NamedShape& shape) {
  const Inputs inputs(device, shape);
  const Plan made = device.context().plan(describeAttention(inputs.q, inputs.k, inputs.v, inputs.out, inputs.options));
  const Tensor scratch = Tensor::empty(device, Dtype::U8, {static_cast<std::int64_t>(made.info().scratchBytes) + 16});
  AttentionBuffers buffers{.q = inputs.q.buffer(), .k = inputs.k.buffer(), .v = inputs.v.buffer(), .out = inputs.out.buffer()};
  buffers.scratch = scratch.buffer();
  if (shape.lengths) buffers.seqlensQ = buffers.seqlensK = inputs.options.seqlensK.buffer();
  Commands commands(device);
  VkCommandBuffer target = commands.restart();
  int recorded = 0;
  for (auto iteration : state) {
    made.record(target, buffers);
    if (++recorded % kPerBuffer == 0) {
      state.PauseTiming();
      target = commands.restart();
      state.ResumeTiming();
    }
  }
  state.SetLabel(made.info().kernel);
}

// The plan is found in the device's cache.
void stream(benchmark::State& state, const Device& device, const NamedShape& shape) {
  const Inputs inputs(device, shape);
  int recorded = 0;
  auto target = std::make_unique<Stream>(device);
  for (auto iteration : state) {
    target->attention(inputs.q, inputs.k, inputs.v, inputs.out, inputs.options);
    if (++recorded % kPerBuffer == 0) {
      state.PauseTiming();
      target = std::make_unique<Stream>(device);  // drops what was not submitted
      state.ResumeTiming();
    }
  }
}

int overheadMain(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return EXIT_FAILURE;
  {
    const Device device = Device::open();
    benchmark::AddCustomContext("device", device.summary().name);
    benchmark::AddCustomContext("driver", device.summary().driver);
    const auto add = [&](const char* what, auto* run) {
      for (const NamedShape& shape : kShapes) {
        benchmark::RegisterBenchmark((std::string(what) + "/" + shape.name).c_str(),
                                     [=, &shape](benchmark::State& state) { run(state, device, shape); })
            ->Unit(benchmark::kMicrosecond);
      }
    };
    add("plan", plan);
    add("record", record);
    add("stream", stream);
    benchmark::RunSpecifiedBenchmarks();
    benchmark::ClearRegisteredBenchmarks();  // they hold the device, which must close before main returns
  }
  benchmark::Shutdown();
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace saccade::bench

int main(int argc, char** argv) {
  try {
    return saccade::bench::overheadMain(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "saccade_overhead: " << error.what() << '\n';
    return EXIT_FAILURE;
  }
}
