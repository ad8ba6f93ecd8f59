// SPDX-License-Identifier: Apache-2.0
// Creates pipelines on the device that SACCADE_DEVICE names, and prints what the driver says of each (statistics_line.hpp): those
// of every kernel under the validation layer, for tools/lab, or with --kernel those of one plan. With --digest the driver is not
// asked: what it would be given, as one number.
#include <cstdio>
#include <exception>
#include <functional>
#include <map>
#include <set>
#include <stdexcept>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cases.hpp"
#include "device/facts.hpp"
#include "inspect/hash.hpp"
#include "inspect/logical_device.hpp"
#include "kernels/registry.hpp"
#include "plan/tensor.hpp"
#include "statistics_line.hpp"
#include "step_size.hpp"

namespace saccade::compile {
namespace {

using uint = std::uint32_t;
#include "attention_params.h"

using inspect::Access, inspect::CompiledPipeline, inspect::Driver, inspect::LogicalDevice;

struct Totals {
  int pipelines = 0, failures = 0, refused = 0;
  double seconds = 0;
  std::set<std::string> modules;
  std::map<std::string, std::string> refusals;  // by the beginning of a module's name, "coopmat_bf16_": why
  std::multiset<std::string> inputs;            // what the driver was given, and what for; threads of a plan make no order

  uint64_t digest() const {
    std::string all;
    for (const std::string& input : inputs) all += input;
    return inspect::hashed(all.data(), all.size());
  }
};

// A kernel that was asked for by name may refuse what was asked of it.
void refuseOrFail(const Case& call, const Error& error, Totals& totals) {
  const char* dtype = core::dtypeName(static_cast<SaccadeDtype>(call.dtype));
  const std::string what = fmt::format("{} {} D{} {}: {}", call.kernel, dtype, call.headDim, call.options, error.what());
  if (!call.kernel.empty() && error.status() == Status::Unsupported) {
    const char* module = core::kernelEntry(call.kernel.substr(0, call.kernel.find(' '))).module;
    totals.refusals[fmt::format("{}_{}_", module, dtype)] = what;
    totals.refused++;
    fmt::print("REFUSED {}\n", what);
  } else {
    totals.failures++;
    fmt::print("FAILED {}\n", what);
  }
}

// `usual`: with the access to memory that this device's plans use. `loops`: those over tiles that the kernel has, see kLoops.
void compile(LogicalDevice& device, const Case& call, bool usual, const std::string& loops, Totals& totals, std::FILE* to) {
  StepSize step;
  try {
    std::visit([&](const auto& desc) { return device.context().plan(desc); }, call.description);
    step = stepSizeOf(device.context().facts(), call);
  } catch (const Error& error) {
    refuseOrFail(call, error, totals);
  }
  for (const CompiledPipeline& pipeline : device.watch().take()) {
    if (pipeline.result != VK_SUCCESS) continue;  // the plan failed
    totals.pipelines++;
    totals.seconds += pipeline.seconds;
    totals.modules.insert(pipeline.module);
    totals.inputs.insert(fmt::format("{} {} {} {} {} {} {} {} {:x}\n", step.kernel, step.tile, step.chosen && usual, call.isFigure() && usual,
                                     static_cast<int>(call.dtype), call.headDim, call.options, pipeline.module, pipeline.input));
    fmt::print(to, "{}", statisticsLines(device.context().facts(), call, step, usual, loops, pipeline));
    std::fflush(to);
  }
}

// Every module that this device should have taken: a kernel that no case reaches shows up here.
void checkModules(const Context& context, Access access, Totals& totals) {
  const std::string suffix = access == Access::Native ? "_native" : "_portable";
  for (const KernelInfo& kernel : context.kernels()) {
    if (kernel.supported != VK_TRUE) {
      fmt::print("LEFT OUT {}: {}\n", kernel.name, kernel.reason);
      continue;
    }
    const std::string stem = fmt::format("{}_", core::kernelEntry(kernel.name).module);
    for (const core::ShaderModuleCode& shader : core::shaderTable()) {
      const std::string module = shader.name;
      if (!module.starts_with(stem) || !module.ends_with(suffix) || *shader.leftOut != '\0' || totals.modules.contains(module)) continue;
      const bool refused = std::ranges::any_of(totals.refusals, [&](const auto& refusal) { return module.starts_with(refusal.first); });
      if (refused) continue;
      totals.failures++;
      fmt::print("FAILED module {} was never compiled\n", module);
    }
  }
}

// 0: all is well; 1: something failed, or the validation layer had something to say.
int compileAll(Extent extent, Driver driver) {
  const Device opened = Device::open({.validation = driver == Driver::Compiles});
  Totals totals;
  bool usual = true;  // the native modules, unless they are not for this device
  for (const Access access : {Access::Native, Access::Portable}) {
    LogicalDevice device(opened, access, driver);
    if (!device.hasStatistics()) throw std::runtime_error("the driver lacks VK_KHR_pipeline_executable_properties");
    if (access == Access::Native && !core::hasNativeAccess(device.context().facts())) continue;
    for (const Case& call : cases(device.context(), usual, extent)) compile(device, call, usual, "all", totals, stdout);
    if (extent != Extent::All) break;
    checkModules(device.context(), access, totals);
    usual = false;
  }
  const uint64_t messages = opened.validationMessageCount();
  const core::DeviceFacts& facts = opened.facts();
  fmt::print("SUMMARY device {}; driver {}; pipelines {}; seconds {:.1f}; messages {}; failures {}; refusals {}; shared memory {}; "
             "invocations {}; digest {:016x}\n", facts.deviceName, facts.driverInfo, totals.pipelines, totals.seconds, messages,
             totals.failures, totals.refused, facts.maxComputeSharedMemorySize, facts.maxComputeWorkGroupInvocations,
             totals.digest());
  return totals.failures > 0 || messages > 0 ? 1 : 0;
}

// Loops over tiles that a kernel is compiled with, by their names in the line of statistics.
const std::map<std::string, std::uint32_t> kLoops{{"all", TILES_PLAIN | TILES_CAREFUL}, {"plain", TILES_PLAIN}, {"careful", TILES_CAREFUL}, {"none", 0}};

// On stderr, where drivers print what they are asked to show of the same pipelines. 1: one of them failed.
int compileForRates(const Device& opened, Access access, const std::string& loops,
                    const std::function<std::vector<Case>(const Context&)>& calls) {
  LogicalDevice device(opened, access);
  if (loops != "all") device.watch().specialise(SPEC_TILES, kLoops.at(loops));
  Totals totals;
  for (const Case& call : calls(device.context())) compile(device, call, true, loops, totals, stderr);
  return totals.failures > 0 ? 1 : 0;
}

int compileRated(const std::string& loops) {
  const Device opened = Device::open({.validation = false});
  return compileForRates(opened, Access::Native, loops, ratedCases);
}

struct One {
  std::string kernel, dtype = "f16", options = "plain", loops = "all";
  std::int64_t headDim = 64;
  bool portable = false;
};

int compileOne(const One& one) {
  const std::map<std::string, Dtype> dtypes{{"f32", Dtype::F32}, {"f16", Dtype::F16}, {"bf16", Dtype::BF16}};
  const Device opened = Device::open({.validation = false});
  const Case call = caseOf(one.kernel, dtypes.at(one.dtype), one.headDim, one.options);
  return compileForRates(opened, one.portable ? Access::Portable : Access::Native, one.loops,
                         [&](const Context&) { return std::vector{call}; });
}

int run(int argc, char** argv) {
  One one;
  std::string extent = "all";
  CLI::App app{"Compiles Saccade's kernels on the device that SACCADE_DEVICE names."};
  const std::map<std::string, Extent> extents{{"all", Extent::All}, {"chosen", Extent::Chosen}, {"figures", Extent::Figures}};
  app.add_option("--extent", extent, "all kernels, what the device's plans choose, or what figures are kept of")->check(CLI::IsMember(extents));
  bool rated = false, digest = false;
  app.add_flag("--digest", digest, "compiles nothing: only a number that changes with what the driver would be given");
  app.add_flag("--rated", rated, "only what static rates are computed of; statistics on stderr");
  app.add_option("--kernel", one.kernel, "only one plan of this kernel, \"NAME\" or \"NAME FIELD=VALUE...\"; statistics on stderr");
  app.add_option("--dtype", one.dtype, "of the one plan")->check(CLI::IsMember({"f32", "f16", "bf16"}));
  app.add_option("--head-dim", one.headDim, "of the one plan");
  app.add_option("--options", one.options, "of the one plan: plain, ragged, causal, everything, decode, ...");
  app.add_option("--loops", one.loops, "with --rated or --kernel: over all tiles, plain ones or careful ones alone, or none")
      ->check(CLI::IsMember(kLoops));
  app.add_flag_callback("--causal", [&] { one.options = "causal"; }, "--options causal");
  app.add_flag("--portable", one.portable, "with the modules for devices on which nothing is enabled");
  CLI11_PARSE(app, argc, argv);
  if (rated) return compileRated(one.loops);
  return one.kernel.empty() ? compileAll(extents.at(extent), digest ? Driver::IsSpared : Driver::Compiles) : compileOne(one);
}

}  // namespace
}  // namespace saccade::compile

// 1: a pipeline failed, a module was never compiled or the validation layer had something to say; 2: a wrong argument; 3: there is
// no such device.
int main(int argc, char** argv) {
  try {
    return saccade::compile::run(argc, argv);
  } catch (const saccade::Error& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return error.status() == saccade::Status::DeviceRequirements ? 3 : 1;
  } catch (const std::invalid_argument& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
}
