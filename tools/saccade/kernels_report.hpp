// SPDX-License-Identifier: Apache-2.0
// What `saccade kernels` says, as the JSON that it prints.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include <saccade/runtime.hpp>

namespace saccade::tool {

struct KernelsOptions {
  std::string kernel;  // this one alone, perhaps with fields of its tile; empty: all
  Dtype dtype = Dtype::F16;
  std::int64_t headDim = 64;
  bool statistics = false;
};

// Throws UsageError for a kernel that does not exist, and Error with DeviceRequirements where statistics are asked for
// and the driver does not tell any.
nlohmann::ordered_json kernelsReport(const Device& device, const KernelsOptions& options);

// The same for people.
std::string kernelsText(const nlohmann::ordered_json& report);

// What the driver says of the pipelines of a kernel, plan by plan; empty for kernels that only run inside the plans of
// others.
nlohmann::ordered_json pipelineStatistics(const Device& device, const KernelInfo& kernel,
                                          const KernelsOptions& options);

const char* dtypeText(Dtype dtype);

}  // namespace saccade::tool
