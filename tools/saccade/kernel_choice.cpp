// SPDX-License-Identifier: Apache-2.0
#include "kernel_choice.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <set>

#include "exit_code.hpp"

namespace saccade::tool {

std::string requestedKernel(const Globals& globals) {
  std::string kernel = globals.kernel;
  if (kernel.empty()) {
    const char* environment = std::getenv("SACCADE_KERNEL");
    kernel = environment != nullptr ? environment : "";
  }
  return kernel == "all" ? "" : kernel;
}

void requireKernel(const Device& device, const std::string& kernelAndTile) {
  if (kernelAndTile.empty()) {
    return;
  }
  const std::string kernel = kernelAndTile.substr(0, kernelAndTile.find(' '));
  std::set<std::string> supported;
  for (const KernelInfo& info : device.kernels()) {
    if (info.selectable == VK_FALSE) {
      continue;
    }
    if (info.supported == VK_TRUE) {
      supported.insert(info.name);
    } else if (info.name == kernel) {
      throw UsageError("--kernel",
                       fmt::format("'{}' cannot run on {}: {}", kernel, device.summary().name, info.reason));
    }
  }
  if (!supported.contains(kernel)) {
    throw UsageError("--kernel", fmt::format("'{}' is no kernel of this version; {} can run: {}", kernel,
                                             device.summary().name, fmt::join(supported, ", ")));
  }
}

}  // namespace saccade::tool
