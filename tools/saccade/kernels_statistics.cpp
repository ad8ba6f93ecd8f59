// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "exit_code.hpp"
#include "inspect/logical_device.hpp"
#include "kernels/registry.hpp"
#include "kernels_plans.hpp"
#include "kernels_report.hpp"

namespace saccade::tool {

namespace {

using json = nlohmann::ordered_json;

// Counts are printed as such.
json number(double value) {
  constexpr double kExact = 9007199254740992;
  if (std::floor(value) == value && std::abs(value) <= kExact) return static_cast<std::int64_t>(value);
  return value;
}

json executableJson(const inspect::Executable& executable) {
  json statistics = json::object();
  for (const inspect::Statistic& statistic : executable.statistics) {
    statistics[statistic.name] = number(statistic.value);
  }
  return {{"name", executable.name}, {"subgroup_size", executable.subgroupSize}, {"statistics", statistics}};
}

json pipelineJson(const inspect::CompiledPipeline& pipeline) {
  json executables = json::array();
  for (const inspect::Executable& executable : pipeline.executables) {
    executables.push_back(executableJson(executable));
  }
  return {{"module", pipeline.module}, {"cpu_seconds", pipeline.seconds}, {"executables", executables}};
}

// A plan's pipelines are created on several threads, so their order is chance: the kernel's own come first, then by
// name.
std::vector<inspect::CompiledPipeline> inOrder(std::vector<inspect::CompiledPipeline> pipelines,
                                               const std::string& kernel) {
  const std::string own = std::string(core::kernelEntry(kernel).module) + "_";
  const auto key = [&](const inspect::CompiledPipeline& pipeline) {
    return std::pair(!pipeline.module.starts_with(own), pipeline.module);
  };
  std::stable_sort(pipelines.begin(), pipelines.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
  return pipelines;
}

}  // namespace

json pipelineStatistics(const Device& device, const KernelInfo& kernel, const KernelsOptions& options) {
  const std::string asked = options.kernel.empty() ? kernel.name : options.kernel;
  json plans = json::array();
  if (kernel.selectable == VK_FALSE) return plans;
  for (const NamedDescription& description : extremesOf(kernel.op, asked, options.dtype, options.headDim)) {
    // A device of its own: a context does not create again what it has.
    inspect::LogicalDevice watched(device, inspect::Access::Native);
    if (!watched.hasStatistics()) {
      throw Error(Status::DeviceRequirements, "--stats",
                  "the driver of " + device.summary().name +
                      " has no VK_KHR_pipeline_executable_properties, by which drivers tell what their code needs; "
                      "without --stats the kernels are listed");
    }
    json plan = {{"plan", description.name}};
    try {
      const Plan made = std::visit([&](const auto& desc) { return watched.context().plan(desc); }, description.desc);
      plan.update({{"label", made.info().label}, {"tile", made.info().tile}});
    } catch (const Error& error) {
      // A tile is asked for on purpose; a kernel that cannot do one of the two says so.
      if (asked.find(' ') != std::string::npos) throw;
      if (error.status() != Status::Unsupported && error.status() != Status::InvalidArgument) throw;
      plan["refusal"] = error.what();
    }
    plan["pipelines"] = json::array();
    for (const inspect::CompiledPipeline& pipeline : inOrder(watched.watch().take(), kernel.name)) {
      plan["pipelines"].push_back(pipelineJson(pipeline));
    }
    plans.push_back(plan);
  }
  return plans;
}

}  // namespace saccade::tool
