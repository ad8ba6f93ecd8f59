// SPDX-License-Identifier: Apache-2.0
#include "bench_jobs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "bench_presets.hpp"
#include "exit_code.hpp"

namespace saccade::tool {

namespace {

template <typename Shape>
void addJobs(std::vector<Job>& jobs, const char* op, const std::vector<Shape>& shapes, const BenchOptions& o) {
  if (!o.what.empty() && o.what != op) return;
  for (const Shape& shape : shapes) {
    jobs.push_back({op, shape.name, shape.standsFor, [shape, dtype = o.dtype](const Device& device) {
                      return makeWorkload(device, shape, dtype);
                    },
                    [shape, dtype = o.dtype](const Device& device) { requireWorkload(device, shape, dtype); }});
  }
}

std::vector<VitShape> vitShapes(const Preset& preset, const BenchOptions& o) {
  std::vector<VitShape> shapes;
  for (VitShape shape : preset.vit) {
    if (o.batch > 0) shape.batch = o.batch;
    if (o.model.empty() || o.model == shape.name) shapes.push_back(shape);
  }
  return shapes;
}

}  // namespace

std::vector<Job> jobsOf(const BenchOptions& o) {
  const Preset& preset = presetNamed(o.preset);
  std::vector<Job> jobs;
  std::vector<AttentionShape> attention = o.customAttention ? std::vector{o.attention} : preset.attention;
  for (AttentionShape& shape : attention) {
    shape.kvDtype = o.attention.kvDtype;
    shape.scaleBlock = o.attention.scaleBlock;
  }
  addJobs(jobs, "attention", attention, o);
  addJobs(jobs, "matmul", o.customMatmul ? std::vector{o.matmul} : preset.matmul, o);
  addJobs(jobs, "layernorm", o.customLayerNorm ? std::vector{o.layerNorm} : preset.layerNorm, o);
  addJobs(jobs, "vit", vitShapes(preset, o), o);
  if (jobs.empty()) {
    throw UsageError("--preset", fmt::format("'{}' has nothing that measures {}", o.preset, o.what));
  }
  if (o.only.empty()) return jobs;
  std::vector<std::string> names;
  for (const Job& job : jobs) names.push_back(job.name);
  for (const std::string& name : o.only) {
    if (std::none_of(jobs.begin(), jobs.end(),
                     [&](const Job& job) { return job.name == name || job.standsFor == name; })) {
      throw UsageError("--only", fmt::format("'{}' is none of the shapes: {}", name, fmt::join(names, ", ")));
    }
  }
  std::erase_if(jobs, [&](const Job& job) {
    return std::none_of(o.only.begin(), o.only.end(), [&](const std::string& name) {
      return job.name == name || job.standsFor == name;
    });
  });
  return jobs;
}

}  // namespace saccade::tool
