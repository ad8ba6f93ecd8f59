// SPDX-License-Identifier: Apache-2.0
// One pipeline as one line of text: what was asked for, and every statistic by the driver's own name. tests/compile/pipelines.py
// and bench/static read it.
#pragma once

#include <string>

#include "cases.hpp"
#include "inspect/pipeline_watch.hpp"
#include "step_size.hpp"

namespace saccade::compile {

// "STAT device NAME; ...; subgroup 32; SGPRs 128; ...", a line per executable. `usual`: with the access to memory that this device's
// plans use; else it is neither chosen nor are its figures kept.
// `loops`: those over tiles with which it was compiled.
std::string statisticsLines(const core::DeviceFacts& facts, const Case& call, const StepSize& step, bool usual,
                            const std::string& loops, const inspect::CompiledPipeline& pipeline);

}  // namespace saccade::compile
