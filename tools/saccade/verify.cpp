// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <set>

#include "check/case_checks.hpp"
#include "check/sweep.hpp"
#include "commands.hpp"
#include "exit_code.hpp"
#include "kernel_choice.hpp"
#include "progress.hpp"
#include "verify_child.hpp"
#include "verify_report.hpp"

namespace saccade::tool {

namespace {

using nlohmann::json;

// Chosen so that a CPU device with two cores is through in well under a minute.
constexpr std::uint32_t kDefaultSweep = 96;

constexpr const char* kExamples =
    "  saccade verify                              random problems on the best device, every kernel\n"
    "  saccade verify --cases tests/cases          the golden cases as well\n"
    "  saccade verify --device all --sweep 500     every device, each in a process of its own, thoroughly\n"
    "  saccade verify --only attention/17          one check alone, by the name that a failure has\n"
    "Exit code 1 if anything differs from the scalar path by more than its tolerance.";

struct VerifyOptions {
  std::string cases;
  std::string weights;
  std::vector<std::string> only;
  std::uint32_t sweep = kDefaultSweep;
  std::uint64_t seed = check::kDefaultSeed;
};

check::Checks collectChecks(const VerifyOptions& options) {
  check::Checks checks;
  if (!options.cases.empty()) {
    checks = check::caseChecks(options.cases, options.weights);
    if (checks.empty()) {
      throw UsageError("--cases", fmt::format("there is no *.safetensors file in '{}'", options.cases));
    }
  }
  if (options.only.empty()) {
    for (auto& random : check::sweepChecks(options.seed, options.sweep)) {
      checks.push_back(std::move(random));
    }
    return checks;
  }
  check::Checks chosen;
  for (const std::string& name : options.only) {
    const auto found =
        std::find_if(checks.begin(), checks.end(), [&](const auto& c) { return c && c->name() == name; });
    if (found != checks.end()) {
      chosen.push_back(std::move(*found));
    } else if (auto random = check::sweepCheck(options.seed, name)) {
      chosen.push_back(std::move(random));
    } else {
      throw UsageError("--only",
                       fmt::format("'{}' is neither a case in --cases nor a random check such as {}", name,
                                   fmt::join(check::sweepExamples(), ", ")));
    }
  }
  return chosen;
}

// The kernels that a check is run with: all that the device supports, or the one asked for if it belongs to
// the operator.
std::vector<std::string> kernelsFor(const check::Check& check, const Device& device,
                                    const std::string& kernel) {
  std::vector<std::string> names = check::supportedKernels(device, check.op());
  if (!kernel.empty()) {
    std::erase_if(names, [&](const std::string& name) { return name != kernel; });
  }
  return names;
}

json verifyDevice(const Device& device, const check::Checks& checks, const std::string& kernel) {
  const auto start = std::chrono::steady_clock::now();
  DeviceReport report(device.summary());
  ProgressBar progress("verify", checks.size());
  try {
    for (const auto& check : checks) {
      for (const std::string& name : kernelsFor(*check, device, kernel)) {
        report.add(*check, name, check->run(device, name));
      }
      progress.advance(check->name());
    }
  } catch (const Error& error) {  // the device is lost
    report.setFailure(error.what());
  }
  report.setSeconds(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  return report.result();
}

int finish(const json& report, bool asJson) {
  const std::string text = asJson ? report.dump(2) + "\n" : reportText(report);
  std::fputs(text.c_str(), stdout);
  if (report["failed"] == 0 && report["passed"] == 0) {
    throw UsageError("verify", "nothing was run: no check has a kernel that fits --kernel and --device");
  }
  return report["ok"].get<bool>() ? kExitOk : kExitCheckFailed;
}

int verifyOne(const Globals& globals, const VerifyOptions& options) {
  const check::Checks checks = collectChecks(options);
  const std::string kernel = requestedKernel(globals);
  Globals anyKernel = globals;
  anyKernel.kernel.clear();
  const Device device = anyKernel.openDevice();
  requireKernel(device, kernel);
  const json report = joinReports({verifyDevice(device, checks, kernel)});
  const int code = finish(report, globals.json);
  return report["devices"][0].contains("device_failure") ? kExitDeviceFailed : code;
}

int verifyAll(const Globals& globals, const VerifyOptions& options) {
  collectChecks(options);  // refuses bad input once, before any child runs
  const std::vector<DeviceSummary> devices = Device::list();
  if (devices.empty()) {
    throw Error(Status::DeviceRequirements, "device", "there is no Vulkan device");
  }
  std::vector<std::string> arguments = {"verify",  "--json",
                                        "--sweep", fmt::format("{}", options.sweep),
                                        "--seed",  fmt::format("{}", options.seed)};
  const auto pass = [&](const std::string& option, const std::string& value) {
    if (!value.empty()) {
      arguments.insert(arguments.end(), {option, value});
    }
  };
  pass("--cases", options.cases);
  pass("--weights", options.weights);
  pass("--kernel", globals.kernel);
  for (const std::string& name : options.only) {
    pass("--only", name);
  }
  std::vector<json> reports;
  for (const DeviceSummary& device : devices) {
    reports.push_back(verifyInChild(device, arguments));
  }
  return finish(joinReports(std::move(reports)), globals.json);
}

}  // namespace

void addVerifyCommand(CLI::App& app, Globals& globals) {
  CLI::App& command = addSubcommand(app, globals, "verify",
                                    "Check that a device computes what the scalar path does", kExamples);
  addKernelOption(command, globals);
  addJsonOption(command, globals);
  command.get_option("--device")
      ->description(
          "Vulkan device: its index, a part of its name, or `all`: each in a process of its own; "
          "without it the environment variable SACCADE_DEVICE, else the best device");
  command.get_option("--kernel")
      ->description("Only this variant; without it, or with `all`, every variant that the device supports");
  const auto options = std::make_shared<VerifyOptions>();
  command.add_option("--cases", options->cases, "Folder of case files to check as well")->type_name("DIR");
  command
      .add_option("--weights", options->weights,
                  "Model file for the cases whose weights are not in the case file")
      ->type_name("FILE");
  command
      .add_option("--sweep", options->sweep,
                  "Number of random attention problems; the other operators get a share")
      ->capture_default_str()
      ->type_name("N");
  command.add_option("--seed", options->seed, "Another seed makes other random problems")
      ->capture_default_str()
      ->type_name("N");
  command.add_option("--only", options->only, "Run this check alone; may be given several times")
      ->type_name("NAME");
  setAction(command, globals, [&globals, options] {
    const char* environment = std::getenv("SACCADE_DEVICE");
    const std::string device =
        globals.device.empty() && environment != nullptr ? environment : globals.device;
    return device == "all" ? verifyAll(globals, *options) : verifyOne(globals, *options);
  });
}

}  // namespace saccade::tool
