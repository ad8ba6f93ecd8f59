// SPDX-License-Identifier: Apache-2.0
// What the runtime says it holds is what the allocator has handed out.
#include "standalone/device_state.hpp"
#include "test_device.hpp"

namespace saccade {
namespace {

using MemoryTest = DeviceTest;

// Allocations are rounded up by the device; a thousandth covers that.
void expectAccounted(const Device& device) {
  const auto counted = static_cast<double>(device.memory().currentBytes);
  const auto allocated = static_cast<double>(device.state()->allocator().allocatedBytes());
  EXPECT_GE(allocated, counted);
  EXPECT_LE(allocated, 1.001 * counted + 4096);
}

TEST_F(MemoryTest, MemoryStatisticsAreThoseOfTheAllocator) {
  const std::uint64_t before = device.memory().currentBytes;
  expectAccounted(device);
  {
    const Tensor tensor = Tensor::zeros(device, Dtype::F32, {1000, 1000});
    EXPECT_GE(device.memory().currentBytes, before + 4'000'000);
    expectAccounted(device);
  }
}

TEST_F(MemoryTest, ScratchOfSplitAttentionIsWhatThePlanSays) {
  const Tensor q = Tensor::full(device, Dtype::F32, {1, 8, 1, 64}, 1);
  const Tensor k = Tensor::full(device, Dtype::F32, {1, 2, 4096, 64}, 1);
  const Tensor out = Tensor::empty(device, Dtype::F32, {1, 8, 1, 64});
  device.resetPeakMemory();
  const std::uint64_t held = device.memory().currentBytes;
  Stream stream(device);
  const PlanPtr plan = stream.attention(q, k, k, out, {.kernel = "split_kv"});
  stream.wait();
  ASSERT_GT(plan->info().scratchBytes, 0u);
  EXPECT_GE(device.memory().peakBytes - held, plan->info().scratchBytes);
  EXPECT_LE(device.memory().peakBytes - held, plan->info().scratchBytes + 16);
  expectAccounted(device);
}

}  // namespace
}  // namespace saccade
