// SPDX-License-Identifier: Apache-2.0
#include "common/frames.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

namespace example {
namespace {

void onGlfwKey(GLFWwindow* window, int key, int, int action, int) {
  if (action != GLFW_PRESS) return;
  if (key == GLFW_KEY_ESCAPE) glfwSetWindowShouldClose(window, GLFW_TRUE);
  if (key < GLFW_KEY_0 || key > GLFW_KEY_9) return;
  (*static_cast<const std::function<void(int)>*>(glfwGetWindowUserPointer(window)))(key - GLFW_KEY_0);
}

double median(const std::vector<FrameTime>& times, double FrameTime::* part) {
  std::vector<double> values;
  for (const FrameTime& time : times) values.push_back(time.*part);
  std::ranges::sort(values);
  return values.empty() ? 0 : values[values.size() / 2];
}

}  // namespace

void showFrames(Gpu& gpu, Swapchain& swapchain, const Recording& recording, std::uint64_t count,
                const std::function<void(int)>& onKey) {
  constexpr std::uint64_t kInterval = 100;
  std::printf("%s\n", gpu.properties.deviceName);
  glfwSetWindowUserPointer(gpu.window, const_cast<std::function<void(int)>*>(&onKey));
  glfwSetKeyCallback(gpu.window, onGlfwKey);
  CallCounts& counts = callCounts();
  counts = {};
  std::uint64_t frames = 0;
  while (!glfwWindowShouldClose(gpu.window) && (count == 0 || frames < count)) {
    glfwPollEvents();
    if (!swapchain.draw(recording)) {
      glfwWaitEvents();
    } else if (++frames % kInterval == 0) {
      std::printf("frame %" PRIu64 ": %.2f ms\n", frames, swapchain.times().back().milliseconds);
      std::fflush(stdout);
    }
  }
  swapchain.finish();
  glfwSetKeyCallback(gpu.window, nullptr);
  std::printf("%" PRIu64 " frames, median %.2f ms on the device, %.2f ms of it before the drawing; ", frames,
              median(swapchain.times(), &FrameTime::milliseconds), median(swapchain.times(), &FrameTime::millisecondsBefore));
  std::printf("%" PRIu64 " submits, %" PRIu64 " copies to the CPU\n", counts.submits, counts.copies);
}

void printRows(const char* name, std::span<const float> values, std::size_t columns) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i % columns == 0) std::printf("%s%s %zu:", i == 0 ? "" : "\n", name, i / columns + 1);
    std::printf(" %.8g", static_cast<double>(values[i]));
  }
  std::printf("\n");
}

}  // namespace example
