// SPDX-License-Identifier: Apache-2.0
#include "bench_run.hpp"

namespace saccade::tool {

BenchRow skippedRow(const Job& job, io::DType dtype, const std::string& reason) {
  return {.op = job.op,
          .name = job.name,
          .standsFor = job.standsFor,
          .dtype = dtype,
          .seqlen = job.seqlen,
          .fused = job.fused,
          .skipped = reason};
}

BenchRow measureJob(Device device, const std::optional<DeviceLimits>& limits, const Job& job, io::DType dtype,
                    const MeasureLimits& runs, const std::function<void()>& ran) {
  BenchRow row = skippedRow(job, dtype, "");
  const std::unique_ptr<Workload> workload = job.make(device);
  device.resetPeakMemory();
  const std::uint64_t held = device.memory().currentBytes;
  row.times = measure(device, *workload, runs, ran);
  row.extraBytes = workload->intermediateBytes() + device.memory().peakBytes - held;
  row.accuracy = workload->check();
  row.shape = workload->shape();
  row.kernel = workload->kernel();
  row.flops = workload->flops();
  row.usefulFlops = workload->usefulFlops();
  row.bytes = workload->bytes();
  if (limits) row.share = shareOf(*limits, dtype, row.usefulFlops, row.bytes, row.seconds());
  return row;
}

}  // namespace saccade::tool
