// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <functional>
#include <vector>

#include "common/gpu.hpp"

namespace example {

// How a frame is recorded: what comes before the drawing, and the drawing, in a render pass over a cleared image with viewport
// and scissor set.
struct Recording {
  std::function<void(VkCommandBuffer)> before;
  std::function<void(VkCommandBuffer, VkExtent2D)> drawing;
};

// What drawAndRead has brought to the CPU.
struct ReadBack {
  VkExtent2D extent{};
  std::vector<std::uint8_t> rgb;
  std::vector<std::vector<float>> buffers;
};

// How long a frame took on the device, by timestamps: all of it, and what came before the drawing.
struct FrameTime {
  double milliseconds = 0;
  double millisecondsBefore = 0;
};

// Shows frames in the window of a Gpu, two in flight, and measures each. Follows the window's size.
class Swapchain {
 public:
  explicit Swapchain(Gpu& gpu);
  ~Swapchain();
  Swapchain(const Swapchain&) = delete;
  Swapchain& operator=(const Swapchain&) = delete;

  // Records one frame, submits it once and presents it. False while there is nothing to draw into: the window has no area.
  bool draw(const Recording& recording) { return draw(recording, {}); }
  // The same, but the image and the buffers are copied to the CPU with the frame. Waits for it.
  ReadBack drawAndRead(const Recording& recording, std::span<const Buffer> buffers);
  // Waits for all frames.
  void finish();
  // Of the frames that have ended, in their order.
  const std::vector<FrameTime>& times() const { return times_; }

 private:
  struct InFlight {
    VkCommandBuffer commands = VK_NULL_HANDLE;
    VkFence fence = VK_NULL_HANDLE;
    VkSemaphore acquired = VK_NULL_HANDLE;
    bool pending = false;
  };
  struct Target {
    VkImage image = VK_NULL_HANDLE;
    VkImageView view = VK_NULL_HANDLE;
    // Per image, not per frame in flight: only when an image is acquired again has the presentation waited for it.
    VkSemaphore rendered = VK_NULL_HANDLE;
  };

  // `after` may copy from the image, which it leaves in VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL.
  bool draw(const Recording& recording, const std::function<void(VkCommandBuffer, VkImage)>& after);
  void render(VkCommandBuffer commands, const Target& target, const Recording& recording) const;
  bool create();
  void destroy();
  void await(InFlight& frame, std::uint32_t index);
  VkSemaphore semaphore() const;

  Gpu& gpu_;
  VkSwapchainKHR swapchain_ = VK_NULL_HANDLE;
  VkExtent2D extent_{};
  int width_ = 0, height_ = 0;  // of the window when the swapchain was made
  std::vector<Target> targets_;
  std::array<InFlight, 2> frames_;
  std::uint32_t next_ = 0;
  VkQueryPool queries_ = VK_NULL_HANDLE;
  std::vector<FrameTime> times_;
};

}  // namespace example
