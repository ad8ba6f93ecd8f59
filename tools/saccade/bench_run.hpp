// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bench_jobs.hpp"
#include "bench_report.hpp"

namespace saccade::tool {

// Makes the job's workload, times it and checks the output of the last run. `limits` may be absent. `ran` is called
// after each run. Throws MemoryShortage before anything is allocated, Error.
BenchRow measureJob(Device device, const std::optional<DeviceLimits>& limits, const Job& job, io::DType dtype,
                    const MeasureLimits& runs, const std::function<void()>& ran);

BenchRow skippedRow(const Job& job, io::DType dtype, const std::string& reason);

}  // namespace saccade::tool
