// SPDX-License-Identifier: Apache-2.0
// Sees every compute pipeline that a context creates: the shader module, what else the driver is given, how long it took, and what
// it says of its code (VK_KHR_pipeline_executable_properties).
#pragma once

#include <string>
#include <vector>

#include <vulkan/vulkan_core.h>

namespace saccade::inspect {

struct Statistic {
  std::string name;  // the driver's
  double value;
};

// A pipeline may consist of several, e.g. one per subgroup size.
struct Executable {
  std::string name;
  uint32_t subgroupSize;
  std::vector<Statistic> statistics;
};

struct CompiledPipeline {
  std::string module;  // of the shader table
  double seconds;      // of the processor, whatever else the machine does
  uint32_t localSize;  // invocations per work-group
  uint64_t input;      // a hash of the SPIR-V, the specialisation constants, the flags and the subgroup size
  VkResult result;
  std::vector<Executable> executables;  // empty if the device does not tell
};

enum class Driver {
  Compiles,
  IsSpared,  // pipelines are handles of nothing, for the sake of CompiledPipeline::input; nothing may be recorded with them
};

// One at a time, because Vulkan functions have no place for a pointer to it. A context that was given its
// entry() must be destroyed before it.
class PipelineWatch {
 public:
  // `statistics`: the extension is enabled on `device`.
  PipelineWatch(VkInstance instance, VkDevice device, PFN_vkGetInstanceProcAddr getInstanceProcAddr, bool statistics, Driver driver);
  ~PipelineWatch();
  PipelineWatch(const PipelineWatch&) = delete;
  PipelineWatch& operator=(const PipelineWatch&) = delete;

  // What the context is to be created with.
  static PFN_vkGetInstanceProcAddr entry();

  // Pipelines created from now on have this value of the specialisation constant (of 32 bits), if they have it at all.
  void specialise(uint32_t constant, uint32_t value);

  // The pipelines created since the last call.
  std::vector<CompiledPipeline> take();
};

// Registers that went to memory or to registers of another kind, as the statistics count them.
double spills(const CompiledPipeline& pipeline);

}  // namespace saccade::inspect
