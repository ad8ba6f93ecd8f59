// SPDX-License-Identifier: Apache-2.0
// Creates the pipelines of every shader module on the device that SACCADE_DEVICE names, under the validation layer, and
// prints what the driver says of each. The last line is for tools/compile-conformance. Exit codes: 0 all is well, 1 a
// pipeline failed, a module was never compiled or the validation layer had something to say, 3 there is no such device.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <map>
#include <set>

#include <fmt/format.h>

#include "descriptions.hpp"
#include "device/facts.hpp"
#include "kernels/registry.hpp"
#include "logical_device.hpp"

namespace saccade::compile {
namespace {

// Of the pipelines of one kernel, whatever dtype and access.
struct KernelTotals {
  int pipelines = 0, spilling = 0;
  double mostSpills = 0, seconds = 0;
};

struct Totals {
  int pipelines = 0, spilling = 0, failures = 0;
  double seconds = 0;
  std::map<std::string, KernelTotals> kernels;
  std::set<std::string> modules;
};

constexpr const char* kSuffix[] = {"_native", "_portable"};  // of a module's name, by Access

void report(const CompiledPipeline& pipeline) {
  fmt::print("  {}: {:.3f} s\n", pipeline.module, pipeline.seconds);
  for (const Executable& executable : pipeline.executables) {
    std::string text;
    for (const Statistic& statistic : executable.statistics) {
      text += fmt::format(", {} {}", statistic.name, statistic.value);
    }
    fmt::print("    {}: subgroups of {}{}\n", executable.name, executable.subgroupSize, text);
  }
}

void add(const CompiledPipeline& pipeline, Totals& totals) {
  const double spilled = spills(pipeline);
  totals.pipelines++;
  totals.seconds += pipeline.seconds;
  totals.spilling += spilled > 0;
  if (pipeline.result == VK_SUCCESS) totals.modules.insert(pipeline.module);
  // <kernel>_<dtype>_<access>
  const size_t dtype = pipeline.module.rfind('_', pipeline.module.rfind('_') - 1);
  KernelTotals& kernel = totals.kernels[pipeline.module.substr(0, dtype)];
  kernel.pipelines++;
  kernel.spilling += spilled > 0;
  kernel.mostSpills = std::max(kernel.mostSpills, spilled);
  kernel.seconds += pipeline.seconds;
}

void compile(LogicalDevice& device, const Description& description, Totals& totals) {
  try {
    const Plan plan = std::visit([&](const auto& desc) { return device.context().plan(desc); }, description);
    fmt::print("{}\n", plan.info().label);
  } catch (const Error& error) {
    totals.failures++;
    fmt::print("FAILED: {}\n", error.what());
  }
  for (const CompiledPipeline& pipeline : device.watch().take()) {
    report(pipeline);
    add(pipeline, totals);
  }
}

// Every module that this device should have taken: a kernel that no description reaches shows up here.
void checkModules(const Context& context, Access access, Totals& totals) {
  for (const KernelInfo& kernel : context.kernels()) {
    if (kernel.supported != VK_TRUE) {
      fmt::print("kernel {} is not for this device: {}\n", kernel.name, kernel.reason);
      continue;
    }
    for (const char* dtype : {"f32", "f16", "bf16"}) {
      const char* stem = core::kernelEntry(kernel.name).module;
      const std::string module = fmt::format("{}_{}{}", stem, dtype, kSuffix[static_cast<int>(access)]);
      if (totals.modules.contains(module)) continue;
      totals.failures++;
      fmt::print("FAILED: module {} was never compiled\n", module);
    }
  }
}

int run() {
  const Device opened = Device::open({.validation = true});
  fmt::print("{} ({})\n", opened.facts().deviceName, opened.facts().driverInfo);
  Totals totals;
  bool statistics = false;
  for (const Access access : {Access::Native, Access::Portable}) {
    LogicalDevice device(opened, access);
    statistics = device.hasStatistics();
    // Where something is missing, the native modules are not for this device; Portable comes next.
    if (access == Access::Native && !core::hasNativeAccess(device.context().facts())) continue;
    for (const Description& description : descriptions(device.context())) compile(device, description, totals);
    checkModules(device.context(), access, totals);
  }
  for (const auto& [name, kernel] : totals.kernels) {
    fmt::print("{}: {} pipelines, {:.1f} s; {} spill, up to {} registers\n", name, kernel.pipelines, kernel.seconds,
               kernel.spilling, kernel.mostSpills);
  }
  const uint64_t messages = opened.validationMessageCount();
  fmt::print("summary\t{}\t{}\t{:.1f}\t{}\t{}\t{}\n", opened.facts().deviceName, totals.pipelines, totals.seconds,
             statistics ? fmt::format("{}", totals.spilling) : "?", messages, totals.failures);
  return totals.failures > 0 || messages > 0 ? 1 : 0;
}

}  // namespace
}  // namespace saccade::compile

int main() {
  try {
    return saccade::compile::run();
  } catch (const saccade::Error& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return error.status() == saccade::Status::DeviceRequirements ? 3 : 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
}
