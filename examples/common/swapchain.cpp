// SPDX-License-Identifier: Apache-2.0
#include "common/swapchain.hpp"

#include <algorithm>

namespace example {
namespace {

constexpr std::uint32_t kTimestamps = 3;  // of a frame: at its begin, before its drawing, at its end

}  // namespace

Swapchain::Swapchain(Gpu& gpu) : gpu_(gpu) {
  const VkQueryPoolCreateInfo queryInfo = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                           .queryType = VK_QUERY_TYPE_TIMESTAMP,
                                           .queryCount = kTimestamps * static_cast<std::uint32_t>(frames_.size())};
  check(vkCreateQueryPool(gpu_.device, &queryInfo, nullptr, &queries_), "vkCreateQueryPool");
  gpu_.atEnd([device = gpu_.device, queries = queries_] { vkDestroyQueryPool(device, queries, nullptr); });
  for (InFlight& frame : frames_) {
    const VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                              .commandPool = gpu_.commandPool, .commandBufferCount = 1};
    check(vkAllocateCommandBuffers(gpu_.device, &info, &frame.commands), "vkAllocateCommandBuffers");
    const VkFenceCreateInfo fenceInfo = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    check(vkCreateFence(gpu_.device, &fenceInfo, nullptr, &frame.fence), "vkCreateFence");
    frame.acquired = semaphore();
    gpu_.atEnd([device = gpu_.device, fence = frame.fence, acquired = frame.acquired] {
      vkDestroyFence(device, fence, nullptr);
      vkDestroySemaphore(device, acquired, nullptr);
    });
  }
}

Swapchain::~Swapchain() {
  vkDeviceWaitIdle(gpu_.device);
  destroy();
  vkDestroySwapchainKHR(gpu_.device, swapchain_, nullptr);
}

VkSemaphore Swapchain::semaphore() const {
  const VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};
  VkSemaphore result = VK_NULL_HANDLE;
  check(vkCreateSemaphore(gpu_.device, &info, nullptr, &result), "vkCreateSemaphore");
  return result;
}

void Swapchain::destroy() {
  for (const Target& target : targets_) {
    vkDestroyImageView(gpu_.device, target.view, nullptr);
    vkDestroySemaphore(gpu_.device, target.rendered, nullptr);
  }
  targets_.clear();
}

bool Swapchain::create() {
  check(vkDeviceWaitIdle(gpu_.device), "vkDeviceWaitIdle");
  destroy();
  VkSurfaceCapabilitiesKHR surface;
  check(vkGetPhysicalDeviceSurfaceCapabilitiesKHR(gpu_.physicalDevice, gpu_.surface, &surface),
        "vkGetPhysicalDeviceSurfaceCapabilitiesKHR");
  extent_ = surface.currentExtent;
  if (extent_.width == UINT32_MAX) {  // the window takes the size of the swapchain
    extent_ = {std::clamp(static_cast<std::uint32_t>(width_), surface.minImageExtent.width, surface.maxImageExtent.width),
               std::clamp(static_cast<std::uint32_t>(height_), surface.minImageExtent.height, surface.maxImageExtent.height)};
  }
  if (extent_.width == 0 || extent_.height == 0) return false;

  const std::uint32_t most = surface.maxImageCount > 0 ? surface.maxImageCount : UINT32_MAX;
  const VkSwapchainKHR old = swapchain_;
  const VkSwapchainCreateInfoKHR info = {
      .sType = VK_STRUCTURE_TYPE_SWAPCHAIN_CREATE_INFO_KHR, .surface = gpu_.surface,
      .minImageCount = std::min(surface.minImageCount + 1, most), .imageFormat = gpu_.surfaceFormat.format,
      .imageColorSpace = gpu_.surfaceFormat.colorSpace, .imageExtent = extent_, .imageArrayLayers = 1,
      .imageUsage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT,
      .preTransform = surface.currentTransform, .compositeAlpha = VK_COMPOSITE_ALPHA_OPAQUE_BIT_KHR,
      .presentMode = VK_PRESENT_MODE_FIFO_KHR, .clipped = VK_TRUE, .oldSwapchain = old};
  check(vkCreateSwapchainKHR(gpu_.device, &info, nullptr, &swapchain_), "vkCreateSwapchainKHR");
  vkDestroySwapchainKHR(gpu_.device, old, nullptr);

  std::uint32_t count = 0;
  check(vkGetSwapchainImagesKHR(gpu_.device, swapchain_, &count, nullptr), "vkGetSwapchainImagesKHR");
  std::vector<VkImage> images(count);
  check(vkGetSwapchainImagesKHR(gpu_.device, swapchain_, &count, images.data()), "vkGetSwapchainImagesKHR");
  for (VkImage image : images) {
    const VkImageViewCreateInfo viewInfo = {.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO, .image = image,
                                            .viewType = VK_IMAGE_VIEW_TYPE_2D, .format = gpu_.surfaceFormat.format,
                                            .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1}};
    VkImageView view = VK_NULL_HANDLE;
    check(vkCreateImageView(gpu_.device, &viewInfo, nullptr, &view), "vkCreateImageView");
    targets_.push_back({image, view, semaphore()});
  }
  return true;
}

void Swapchain::await(InFlight& frame, std::uint32_t index) {
  if (!frame.pending) return;
  check(vkWaitForFences(gpu_.device, 1, &frame.fence, VK_TRUE, UINT64_MAX), "vkWaitForFences");
  check(vkResetFences(gpu_.device, 1, &frame.fence), "vkResetFences");
  frame.pending = false;
  std::uint64_t ticks[kTimestamps];
  check(vkGetQueryPoolResults(gpu_.device, queries_, kTimestamps * index, kTimestamps, sizeof ticks, ticks, sizeof ticks[0],
                              VK_QUERY_RESULT_64_BIT),
        "vkGetQueryPoolResults");
  const double period = 1e-6 * gpu_.properties.limits.timestampPeriod;  // milliseconds
  times_.push_back({static_cast<double>(ticks[2] - ticks[0]) * period, static_cast<double>(ticks[1] - ticks[0]) * period});
}

void Swapchain::finish() {
  for (std::uint32_t i = 0; i < frames_.size(); ++i) {
    const std::uint32_t index = (next_ + i) % static_cast<std::uint32_t>(frames_.size());
    await(frames_[index], index);
  }
}

void Swapchain::render(VkCommandBuffer commands, const Target& target, const Recording& recording) const {
  const VkRenderingAttachmentInfo attachment = {.sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO, .imageView = target.view,
                                                .imageLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
                                                .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR, .storeOp = VK_ATTACHMENT_STORE_OP_STORE,
                                                .clearValue = {.color = {.float32 = {0.07f, 0.07f, 0.09f, 1.0f}}}};
  const VkRenderingInfo info = {.sType = VK_STRUCTURE_TYPE_RENDERING_INFO, .renderArea = {{0, 0}, extent_}, .layerCount = 1,
                                .colorAttachmentCount = 1, .pColorAttachments = &attachment};
  const VkViewport viewport = {0, 0, static_cast<float>(extent_.width), static_cast<float>(extent_.height), 0, 1};
  vkCmdBeginRendering(commands, &info);
  vkCmdSetViewport(commands, 0, 1, &viewport);
  vkCmdSetScissor(commands, 0, 1, &info.renderArea);
  recording.drawing(commands, extent_);
  vkCmdEndRendering(commands);
}

bool Swapchain::draw(const Recording& recording, const std::function<void(VkCommandBuffer, VkImage)>& after) {
  InFlight& frame = frames_[next_];
  await(frame, next_);

  int width = 0, height = 0;
  glfwGetFramebufferSize(gpu_.window, &width, &height);
  std::uint32_t index = 0;
  VkResult result = VK_ERROR_OUT_OF_DATE_KHR;
  if (!targets_.empty() && width == width_ && height == height_) {
    result = vkAcquireNextImageKHR(gpu_.device, swapchain_, UINT64_MAX, frame.acquired, VK_NULL_HANDLE, &index);
  }
  while (result == VK_ERROR_OUT_OF_DATE_KHR) {
    width_ = width;
    height_ = height;
    if (!create()) return false;
    result = vkAcquireNextImageKHR(gpu_.device, swapchain_, UINT64_MAX, frame.acquired, VK_NULL_HANDLE, &index);
  }
  if (result != VK_SUBOPTIMAL_KHR) check(result, "vkAcquireNextImageKHR");
  const Target& target = targets_[index];

  const VkCommandBufferBeginInfo beginInfo = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                              .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
  check(vkBeginCommandBuffer(frame.commands, &beginInfo), "vkBeginCommandBuffer");
  const auto timestamp = [&](std::uint32_t number) {
    vkCmdWriteTimestamp2(frame.commands, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, queries_, kTimestamps * next_ + number);
  };
  vkCmdResetQueryPool(frame.commands, queries_, kTimestamps * next_, kTimestamps);
  timestamp(0);
  recording.before(frame.commands);
  timestamp(1);
  changeLayout(frame.commands, target.image, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL);
  render(frame.commands, target, recording);
  if (after) after(frame.commands, target.image);
  changeLayout(frame.commands, target.image, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL, VK_IMAGE_LAYOUT_PRESENT_SRC_KHR);
  timestamp(2);
  check(vkEndCommandBuffer(frame.commands), "vkEndCommandBuffer");

  const VkSemaphoreSubmitInfo wait = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO, .semaphore = frame.acquired,
                                      .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT};
  const VkSemaphoreSubmitInfo signal = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO, .semaphore = target.rendered,
                                        .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT};
  const VkCommandBufferSubmitInfo commands = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
                                              .commandBuffer = frame.commands};
  const VkSubmitInfo2 submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2, .waitSemaphoreInfoCount = 1,
                                .pWaitSemaphoreInfos = &wait, .commandBufferInfoCount = 1, .pCommandBufferInfos = &commands,
                                .signalSemaphoreInfoCount = 1, .pSignalSemaphoreInfos = &signal};
  check(vkQueueSubmit2(gpu_.queue, 1, &submit, frame.fence), "vkQueueSubmit2");
  frame.pending = true;
  next_ = (next_ + 1) % static_cast<std::uint32_t>(frames_.size());

  const VkPresentInfoKHR present = {.sType = VK_STRUCTURE_TYPE_PRESENT_INFO_KHR, .waitSemaphoreCount = 1,
                                    .pWaitSemaphores = &target.rendered, .swapchainCount = 1, .pSwapchains = &swapchain_,
                                    .pImageIndices = &index};
  result = vkQueuePresentKHR(gpu_.queue, &present);
  if (result == VK_ERROR_OUT_OF_DATE_KHR || result == VK_SUBOPTIMAL_KHR) {
    width_ = 0;  // so that the next frame makes another swapchain
  } else {
    check(result, "vkQueuePresentKHR");
  }
  return true;
}

}  // namespace example
