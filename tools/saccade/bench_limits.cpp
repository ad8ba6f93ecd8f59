// SPDX-License-Identifier: Apache-2.0
#include "bench_limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "bench_memory.hpp"

namespace saccade::tool {

namespace {

// Seconds that a run should take at least, so that its submission is nothing against it; but short, because others
// may interrupt it, and the fastest of several is what the device can do.
constexpr double kShortest = 0.002;
constexpr int kRuns = 20;

constexpr std::uint32_t kMostGroups = 16384;
constexpr int kLongRuns = 3;  // of those that stream a buffer, whose length is given

struct Grid {
  std::uint32_t localSize, groups;
  std::uint32_t invocations() const { return localSize * groups; }
};

// Work-groups of whole subgroups of any size, and enough of them to stream memory on any device.
Grid gridOf(const Device& device) {
  const std::uint32_t most = device.facts().maxComputeWorkGroupInvocations;
  const std::uint32_t subgroup = std::max(device.facts().subgroupSize, 1u);
  std::uint32_t localSize = subgroup;
  while (localSize * 2 <= std::min(most, 256u) && localSize < 64) localSize *= 2;
  return {localSize, 2048};
}

double fastest(const std::function<double()>& run, int runs = kRuns) {
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < runs; ++i) best = std::min(best, run());
  return best;
}

// Operations per second of a dispatch whose work-groups do `perGroup` of them in each of `push.count` rounds. Rounds
// are many, so that the start of an invocation is nothing against them, and work-groups as many as take long enough.
double rate(ProbeDevice& probes, VkPipeline pipeline, ProbePush push, double perGroup) {
  push.count = 256;
  std::uint32_t groups = 16;
  const auto run = [&] { return probes.secondsOf(pipeline, push, groups); };
  while (fastest(run, 3) < kShortest && push.count < (1u << 20)) {
    if (groups < kMostGroups) {
      groups *= 2;
    } else {
      push.count *= 2;
    }
  }
  return perGroup * groups * push.count / fastest(run);
}

double multiplyAdds(ProbeDevice& probes, const Grid& grid, const char* shader, const ProbeDevice::Buffer& sink) {
  constexpr double kPerInvocation = 16 * 12 * 2;
  const std::uint32_t constants[] = {grid.localSize};
  return rate(probes, probes.pipeline(shader, constants), {.target = sink.address}, kPerInvocation * grid.localSize) /
         1e9;
}

void measureMatrices(ProbeDevice& probes, const Device& device, const Grid& grid, DeviceLimits& limits) {
  for (const MatrixShape& shape : probes.matrixShapes()) {
    const std::uint32_t subgroups = grid.localSize / device.facts().subgroupSize;  // of a work-group
    const std::uint32_t elements = shape.m * shape.n;
    const auto sink = probes.buffer(std::uint64_t{kMostGroups} * subgroups * elements * sizeof(float));
    const std::uint32_t constants[] = {grid.localSize, shape.m, shape.n, shape.k};
    const double gflops = rate(probes, probes.pipeline("probe_matrix", constants),
                               {.target = sink.address, .factor = 1}, 8.0 * 2 * subgroups * elements * shape.k) /
                          1e9;
    if (gflops > limits.matrixGflops.value_or(0)) {
      limits.matrixGflops = gflops;
      limits.matrixShape = shape;
    }
  }
}

void measureMemory(ProbeDevice& probes, const Device& device, const Grid& grid, DeviceLimits& limits) {
  // Beyond any cache, but not where memory is short.
  constexpr std::uint64_t kMost = std::uint64_t{128} << 20;
  const std::uint64_t sweep = std::uint64_t{grid.invocations()} * 4 * sizeof(float);
  const std::uint64_t wanted = std::min({kMost, availableMemory(device) / 8,
                                         std::uint64_t{device.facts().maxStorageBufferRange}});
  const std::uint64_t sweeps = std::max<std::uint64_t>(wanted / sweep / 8, 1) * 8;
  const auto source = probes.buffer(sweeps * sweep), target = probes.buffer(sweeps * sweep);
  const std::uint32_t constants[] = {grid.localSize};
  const VkPipeline copy = probes.pipeline("probe_copy", constants);
  const ProbePush push{.source = source.address,
                       .target = target.address,
                       .count = static_cast<std::uint32_t>(sweeps),
                       .stride = grid.invocations()};
  const double bytes = static_cast<double>(sweeps * sweep);
  const double copied = std::min(fastest([&] { return probes.secondsOf(copy, push, grid.groups); }, kLongRuns),
                                 fastest([&] { return probes.secondsOfCopy(source, target); }, kLongRuns));
  limits.copyGbytesPerSecond = 2 * bytes / copied / 1e9;
  // Neighbours side by side suit GPUs; a subgroup that reads one place at a time suits devices that run it as one
  // thread.
  const std::uint32_t subgroup[] = {std::max(device.facts().subgroupSize, 1u)};
  const VkPipeline side = probes.pipeline("probe_read", constants);
  const VkPipeline single = probes.pipeline("probe_read_uniform", subgroup);
  ProbePush rows = push;
  rows.count = static_cast<std::uint32_t>(sweeps * sweep / (4 * sizeof(float)) / grid.groups);
  const double read = std::min(fastest([&] { return probes.secondsOf(side, push, grid.groups); }, kLongRuns),
                               fastest([&] { return probes.secondsOf(single, rows, grid.groups); }, kLongRuns));
  limits.readGbytesPerSecond = bytes / read / 1e9;
}

}  // namespace

double DeviceLimits::gbytesPerSecond() const { return std::max(copyGbytesPerSecond, readGbytesPerSecond); }

double DeviceLimits::gflops(io::DType dtype) const {
  if (dtype == io::DType::F32) return fp32Gflops;
  return std::max({fp32Gflops, fp16Gflops.value_or(0), matrixGflops.value_or(0)});
}

const char* DeviceLimits::unitOf(io::DType dtype) const {
  const double best = gflops(dtype);
  return best == fp32Gflops ? "fp32 multiply-adds" : best == fp16Gflops ? "fp16 multiply-adds" : "matrix units";
}

DeviceLimits measureLimits(const Device& device) {
  DeviceLimits limits;
  const Grid grid = gridOf(device);
  ProbeDevice probes(device);
  const auto sink = probes.buffer(std::uint64_t{kMostGroups} * grid.localSize * 4 * sizeof(float));
  limits.fp32Gflops = multiplyAdds(probes, grid, "probe_fma_f32", sink);
  if (probes.hasFloat16()) limits.fp16Gflops = multiplyAdds(probes, grid, "probe_fma_f16", sink);
  measureMatrices(probes, device, grid, limits);
  measureMemory(probes, device, grid, limits);
  return limits;
}

Share shareOf(const DeviceLimits& limits, io::DType dtype, double flops, double bytes, double seconds) {
  const double arithmetic = flops / (limits.gflops(dtype) * 1e9), memory = bytes / (limits.gbytesPerSecond() * 1e9);
  return {.ofRoof = std::max(arithmetic, memory) / seconds, .memoryBound = memory > arithmetic};
}

std::string limitsText(const DeviceLimits& limits) {
  std::string text = fmt::format("limits: {:.4g} GFLOP/s fp32 multiply-adds", limits.fp32Gflops);
  if (limits.fp16Gflops) text += fmt::format(", {:.4g} fp16 multiply-adds", *limits.fp16Gflops);
  if (limits.matrixGflops) {
    text += fmt::format(", {:.4g} matrix units (fp16 into fp32, {}x{}x{})", *limits.matrixGflops,
                        limits.matrixShape.m, limits.matrixShape.n, limits.matrixShape.k);
  }
  return text + fmt::format("; {:.3g} GB/s copied (read and written), {:.3g} read", limits.copyGbytesPerSecond,
                            limits.readGbytesPerSecond);
}

}  // namespace saccade::tool
