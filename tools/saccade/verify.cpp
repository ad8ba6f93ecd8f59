// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <thread>

#include "check/sweep.hpp"
#include "commands.hpp"
#include "exit_code.hpp"
#include "io/file_error.hpp"
#include "kernel_choice.hpp"
#include "verify_child.hpp"
#include "verify_junit.hpp"
#include "verify_options.hpp"
#include "verify_report.hpp"
#include "verify_run.hpp"

namespace saccade::tool {

namespace {

using nlohmann::json;

constexpr unsigned kMostThreads = 8;

constexpr const char* kVerifyExamples =
    "  saccade verify                              shapes, properties, random problems; every kernel\n"
    "  saccade verify --cases tests/cases          the golden cases as well\n"
    "  saccade verify --device all --thorough      every device, each in its own process; for long\n"
    "  saccade verify --groups sweep --sweep 500   random problems only\n"
    "  saccade verify --only attention/17          one check alone, by its name\n"
    "  saccade verify --only 'causality:f16,B1,Hq2,Hkv1,Tq9,Tk33,Dqk64,Dv64,window=5:0'   by description\n"
    "Exit code 1 if anything differs from what is right by more than its tolerance. docs/conformance.md "
    "explains the rest.";

// Checks make thousands of pipelines that nobody needs again, so they are kept only where a folder is named for them.
Device openForChecks(const std::string& index) {
  return Device::open({.select = index, .cache = std::getenv("SACCADE_CACHE") == nullptr ? "off" : ""});
}

json verifyDevice(const Device& device, check::Checks checks, const VerifyOptions& options,
                  const std::string& kernel) {
  const auto start = std::chrono::steady_clock::now();
  const std::string index = fmt::format("{}", device.summary().index);
  DeviceReport report(device.summary(), options);
  const VerifyResults all =
      runChecks(std::move(checks), {.openDevice = [&] { return openForChecks(index); },
                                    .kernel = kernel,
                                    .threads = options.threads});
  for (const CheckResult& result : all.results) {
    report.add(result);
  }
  if (all.failure) {
    report.setFailure(*all.failure);
  }
  report.setSeconds(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  return report.result();
}

void writeJunit(const std::string& path, const json& report) {
  std::ofstream file(path, std::ios::binary);
  file << junitText(report);
  file.close();
  if (!file) {
    throw io::FileError::fromErrno(path, "write the report", errno);
  }
}

int finish(const json& report, const VerifyOptions& options, bool asJson) {
  if (!options.junit.empty()) {
    writeJunit(options.junit, report);
  }
  const std::string text = asJson ? report.dump(2) + "\n" : reportText(report);
  std::fputs(text.c_str(), stdout);
  if (report["failed"] == 0 && report["passed"] == 0) {
    throw UsageError("verify", "nothing was run: no check has a kernel that fits --kernel and --device");
  }
  return report["ok"].get<bool>() ? kExitOk : kExitCheckFailed;
}

int verifyOne(const Globals& globals, const VerifyOptions& options) {
  check::Checks checks = collectChecks(options);
  const std::string kernel = requestedKernel(globals);
  Globals anyKernel = globals;
  anyKernel.kernel.clear();
  const Device device = anyKernel.openDevice();
  requireKernel(device, kernel);
  const json report = joinReports({verifyDevice(device, std::move(checks), options, kernel)});
  const int code = finish(report, options, globals.json);
  return report["devices"][0].contains("device_failure") ? kExitDeviceFailed : code;
}

int verifyAll(const Globals& globals, const VerifyOptions& options) {
  collectChecks(options);  // refuses bad input once, before any child runs
  const std::vector<DeviceSummary> devices = Device::list();
  if (devices.empty()) {
    throw Error(Status::DeviceRequirements, "device", "there is no Vulkan device");
  }
  const std::vector<std::string> arguments = childArguments(options, globals.kernel);
  std::vector<json> reports;
  for (const DeviceSummary& device : devices) {
    reports.push_back(verifyInChild(device, arguments));
  }
  return finish(joinReports(std::move(reports)), options, globals.json);
}

}  // namespace

void addVerifyCommand(CLI::App& app, Globals& globals) {
  CLI::App& command = addSubcommand(app, globals, "verify",
                                    "Check that a device computes what the scalar path does", kVerifyExamples);
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
      .add_option(
          "--groups", options->groups,
          "Run these only: cases, shapes (around every tile edge), properties, sweep (random problems)")
      ->delimiter(',')
      ->check(CLI::IsMember(groupNames()))
      ->type_name("LIST");
  command
      .add_option("--sweep", options->sweep,
                  "Number of random attention problems; the other operators get a share. 128, or 1000 with "
                  "--thorough")
      ->type_name("N");
  options->seed = check::kDefaultSeed;
  command.add_option("--seed", options->seed, "Another seed makes other random problems and values")
      ->capture_default_str()
      ->type_name("N");
  command.add_flag("--thorough", options->thorough,
                   "Every head dim with every pair of token counts, 1,000 repeats, a long sweep");
  command
      .add_option("--only", options->only,
                  "Run this check alone, by name or description; may be given several times")
      ->type_name("NAME|KIND:SPEC");
  options->threads = std::clamp(std::thread::hardware_concurrency(), 1u, 2u);
  command
      .add_option("--threads", options->threads,
                  "Checks that run at once, each thread with a Vulkan device of its own; 1 for a driver that "
                  "cannot stand several")
      ->capture_default_str()
      ->check(CLI::Range(1u, kMostThreads))
      ->type_name("N");
  command.add_option("--junit", options->junit, "Write a JUnit report, too")->type_name("FILE");
  command.add_flag("--every-check", options->everyCheck, "JSON: list every check, not failures alone");
  setAction(command, globals, [&globals, options] {
    const char* environment = std::getenv("SACCADE_DEVICE");
    const std::string device =
        globals.device.empty() && environment != nullptr ? environment : globals.device;
    return device == "all" ? verifyAll(globals, *options) : verifyOne(globals, *options);
  });
}

}  // namespace saccade::tool
