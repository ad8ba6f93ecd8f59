// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <volk.h>

#include <saccade/runtime.hpp>

namespace saccade::tool {

// The layout is that of shaders/probes/probe.glsl.
struct ProbePush {
  VkDeviceAddress source = 0, target = 0;
  std::uint32_t count = 0, stride = 0;
  float factor = 0.75f, summand = 0.25f;
};

// A shape that the device's matrix units multiply, fp16 into fp32, in one subgroup.
struct MatrixShape {
  std::uint32_t m = 0, n = 0, k = 0;
};

// A second VkDevice on the physical device, with the features that the probes need and the library may not: what
// they measure has nothing to do with what the library turns on. One thread at a time.
class ProbeDevice {
 public:
  struct Buffer {
    VkBuffer handle = VK_NULL_HANDLE;
    VkDeviceMemory memory = VK_NULL_HANDLE;
    VkDeviceAddress address = 0;
    VkDeviceSize size = 0;
  };

  // `device` must outlive it. Throws Error.
  explicit ProbeDevice(const Device& device);
  ProbeDevice(const ProbeDevice&) = delete;
  ProbeDevice& operator=(const ProbeDevice&) = delete;
  ~ProbeDevice();

  bool hasFloat16() const { return float16_; }
  // Empty without VK_KHR_cooperative_matrix and where the device lists none that the probe could use.
  const std::vector<MatrixShape>& matrixShapes() const { return matrixShapes_; }

  Buffer buffer(VkDeviceSize bytes);  // in device memory, freed with the probe device
  // constants are specialisation constants 0, 1, ...; lives as long as the probe device.
  VkPipeline pipeline(const std::string& shader, std::span<const std::uint32_t> constants);

  // What the host waits for one dispatch, or one copy of whole buffers.
  double secondsOf(VkPipeline pipeline, const ProbePush& push, std::uint32_t groups);
  double secondsOfCopy(const Buffer& source, const Buffer& target);

 private:
  void findMatrixShapes();
  void createDevice();
  void createCommands();
  void begin();
  double submit();

  VkPhysicalDevice physicalDevice_;
  std::uint32_t queueFamily_;
  bool float16_ = false;
  std::vector<MatrixShape> matrixShapes_;
  VkDevice device_ = VK_NULL_HANDLE;
  VolkDeviceTable vk_{};
  VkQueue queue_ = VK_NULL_HANDLE;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  VkCommandBuffer commands_ = VK_NULL_HANDLE;
  VkFence fence_ = VK_NULL_HANDLE;
  VkPipelineLayout layout_ = VK_NULL_HANDLE;
  std::vector<VkPipeline> pipelines_;
  std::vector<Buffer> buffers_;
};

}  // namespace saccade::tool
