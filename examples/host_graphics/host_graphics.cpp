// SPDX-License-Identifier: Apache-2.0
//
// A picture in a VkImage, its patches read by the host's compute shader, a Vision Transformer recorded with Saccade into the
// host's command buffer, its attention drawn by the host's fragment shader: one submission per frame. See docs/examples.md.
#include <CLI/CLI.hpp>
#include <algorithm>
#include "common/frames.hpp"
#include "common/picture_files.hpp"
#include "shaders/overlay_frag.h"
#include "shaders/overlay_vert.h"
#include "shaders/patches_comp.h"
#include "vit.hpp"

struct PatchesPush {  // of patches.comp
  VkDeviceAddress patches, tokens, classToken, positions;
  float mean[4], deviation[4];
  std::uint32_t channels, patchSize, gridSize, dim;
};
struct OverlayPush {  // of overlay.h.glsl
  VkDeviceAddress probs;
  VkExtent2D extent;
  std::uint32_t heads, gridSize, selected;
};

static void run(const std::string& pictureFile, const std::string& modelFile, std::uint32_t head, std::uint32_t frames,
                const std::string& screenshot) {
  example::Gpu gpu("Saccade: what the class token attends to", 1000, 600);
  const saccade::Context context(
      {.apiVersion = VK_API_VERSION_1_3, .instance = gpu.instance, .physicalDevice = gpu.physicalDevice, .device = gpu.device,
       .getInstanceProcAddr = example::countedProcAddr, .enabledFeatures = &gpu.features, .debugUtils = gpu.debugUtils});
  const example::Weights model(gpu, modelFile);
  const Vit vit(gpu, context, model);
  if (head > vit.heads) throw std::runtime_error("--head: the model has " + std::to_string(vit.heads) + " heads, 0 is all");
  const VkDescriptorSet picture = gpu.sampledImage(example::loadPicture(gpu, pictureFile).view);
  const VkPipeline patchesPipeline = gpu.computePipeline(patches_comp);
  const VkPipeline overlayPipeline = gpu.graphicsPipeline(overlay_vert, overlay_frag);
  PatchesPush patchesPush = {vit.patches.address, vit.tokens.address, model["cls_token"].address, model["pos_embed"].address,
                             {}, {}, vit.channels, vit.patchSize, vit.gridSize, vit.dim};
  std::ranges::copy(model.numbers("mean", vit.channels), patchesPush.mean);
  std::ranges::copy(model.numbers("std", vit.channels), patchesPush.deviation);

  const auto bind = [&](VkCommandBuffer commands, VkPipelineBindPoint point, VkPipeline pipeline, const auto& push) {
    vkCmdBindPipeline(commands, point, pipeline);
    vkCmdBindDescriptorSets(commands, point, gpu.pipelineLayout, 0, 1, &picture, 0, nullptr);
    vkCmdPushConstants(commands, gpu.pipelineLayout, example::Gpu::kStages, 0, sizeof push, &push);
  };
  using example::kComputeStage, example::kDrawingStages;
  const auto compute = [&](VkCommandBuffer commands) {
    // Both frames in flight use the same memory: the one before must have read what this one overwrites.
    example::memoryBarrier(commands, kComputeStage | kDrawingStages, VK_ACCESS_2_NONE, kComputeStage, VK_ACCESS_2_NONE);
    bind(commands, VK_PIPELINE_BIND_POINT_COMPUTE, patchesPipeline, patchesPush);
    vkCmdDispatch(commands, static_cast<std::uint32_t>((vit.patches.size / 4 + vit.dim + 63) / 64), 1, 1);
    vit.record(commands);
    example::memoryBarrier(commands, kComputeStage, VK_ACCESS_2_SHADER_WRITE_BIT, kDrawingStages, VK_ACCESS_2_SHADER_READ_BIT);
  };
  const auto draw = [&](VkCommandBuffer commands, VkExtent2D extent) {
    const OverlayPush push = {vit.probs.address, extent, vit.heads, vit.gridSize, head};
    bind(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, overlayPipeline, push);
    vkCmdDraw(commands, 4, 3 + vit.heads, 0, 0);  // a square each: the large one, the plain picture, the mean, the heads
  };

  example::Swapchain swapchain(gpu);
  example::showFrames(gpu, swapchain, {compute, draw}, frames, [&](int key) {
    if (key <= static_cast<int>(vit.heads)) head = static_cast<std::uint32_t>(key);
  });
  if (screenshot.empty()) return;
  // One more frame, and the only one of which anything comes to the CPU: for tests.
  const example::ReadBack shot = swapchain.drawAndRead({compute, draw}, std::array{vit.probs, vit.logits});
  example::savePicture(screenshot, shot);
  example::printRows("attention of head", shot.buffers[0], vit.tokenCount);
  example::printRows("logits of picture", shot.buffers[1], shot.buffers[1].size());
}

int main(int argc, char** argv) {
  CLI::App app("Shows a picture and what each head of a small Vision Transformer attends to in it.\n"
               "Keys: 1 to 9 select a head, 0 the mean of all heads; Esc ends the program.");
  std::string model = EXAMPLE_MODELS "/fashion_vit.safetensors", picture = EXAMPLE_MODELS "/samples/9_ankle_boot_test0000.png";
  std::string screenshot;
  std::uint32_t head = 0, frames = 0;
  app.add_option("--frames", frames, "end after so many; 0: when the window is closed")->capture_default_str();
  app.add_option("--head", head, "the head to begin with; 0: the mean of all")->capture_default_str();
  app.add_option("--screenshot", screenshot, "PNG file: then read one more frame back, and print its attention and logits");
  app.add_option("--picture", picture, "PNG or JPEG file")->capture_default_str();
  app.add_option("--model", model, "safetensors file in fp32 with timm's names")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    run(picture, model, head, frames, screenshot);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "host_graphics: %s\n", error.what());
    return 1;
  }
}
