// SPDX-License-Identifier: Apache-2.0
#include "statistics_line.hpp"

#include <fmt/format.h>

#include "kernels/registry.hpp"
#include "plan/tensor.hpp"

namespace saccade::compile {
namespace {

// Names of code, and sizes of caches: no figures.
bool isFigure(const std::string& name) { return name.find("ash") == std::string::npos; }

// Of the steps of a plan, the one that does the work has the kernel's own module.
bool isMain(const StepSize& step, const inspect::CompiledPipeline& pipeline) {
  return pipeline.module.starts_with(fmt::format("{}_", core::kernelEntry(step.kernel).module));
}

}  // namespace

std::string statisticsLines(const core::DeviceFacts& facts, const Case& call, const StepSize& step, bool usual,
                            const std::string& loops, const inspect::CompiledPipeline& pipeline) {
  const bool main = isMain(step, pipeline);
  std::string lines;
  for (const inspect::Executable& executable : pipeline.executables) {
    lines += fmt::format("STAT device {}; driver {}; kernel {}; tile {}; chosen {}; figure {}; dtype {}; head dim {}; options {}; loops {}; module {}; main {}; "
                         "rows {}; columns {}; flop {}; bytes {}; local size {}; seconds {:.3f}; subgroup {}",
                         facts.deviceName, facts.driverInfo, step.kernel, step.tile, step.chosen && usual ? 1 : 0, call.isFigure() && usual ? 1 : 0,
                         core::dtypeName(static_cast<SaccadeDtype>(call.dtype)), call.headDim, call.options, loops, pipeline.module, main ? 1 : 0,
                         main ? step.rows : 0, main ? step.columns : 0, main ? step.flop : 0, main ? step.bytes : 0, pipeline.localSize,
                         pipeline.seconds, executable.subgroupSize);
    for (const inspect::Statistic& statistic : executable.statistics) {
      if (isFigure(statistic.name)) lines += fmt::format("; {} {}", statistic.name, statistic.value);
    }
    lines += '\n';
  }
  return lines;
}

}  // namespace saccade::compile
