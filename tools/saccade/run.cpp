// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <memory>
#include <optional>

#include "check/device_case.hpp"
#include "check/quantise.hpp"
#include "commands.hpp"
#include "exit_code.hpp"
#include "io/case_file.hpp"
#include "kernel_choice.hpp"
#include "quantised_options.hpp"

namespace saccade::tool {

namespace {

constexpr const char* kRunExamples =
    "  saccade run case.safetensors -o out.safetensors\n"
    "  saccade run case.safetensors -o out.safetensors --kernel scalar_tiled --out-dtype f32\n"
    "A case file holds one call of an operator; tests/cases/README.md describes it. The results get the names\n"
    "that expected tensors have there (out, lse, probs, logits, ...). A case that this version cannot run gives\n"
    "exit code 2, the reason, and no file.";

struct RunOptions {
  std::string caseFile;
  std::string output;
  std::string outDtype;
  std::string weights;
  std::optional<io::DType> kvDtype;
  std::int64_t scaleBlock = 0;
};

io::TensorMap widened(const io::TensorMap& tensors) {
  io::TensorMap result;
  for (const auto& [name, tensor] : tensors) {
    result[name] = tensor.converted(io::DType::F32);
  }
  return result;
}

int run(const Globals& globals, const RunOptions& options) {
  io::CaseFile file = io::readCaseFile(options.caseFile);
  if (options.kvDtype) file = check::quantised(file, *options.kvDtype, options.scaleBlock);
  Globals anyKernel = globals;
  anyKernel.kernel.clear();
  const Device device = anyKernel.openDevice();
  const std::string kernel = requestedKernel(globals);
  requireKernel(device, kernel);
  const check::DeviceOutcome outcome =
      check::runCaseOnDevice(device, file, {.kernel = kernel, .weights = options.weights});
  if (const auto* notRun = std::get_if<check::NotRun>(&outcome)) {
    throw UsageError(file.name, notRun->reason);
  }
  const auto& results = std::get<check::DeviceResults>(outcome);
  if (!results.overwritten.empty()) {
    fmt::print(stderr, "saccade: error: the device wrote outside of: {}; no file was written\n",
               fmt::join(results.overwritten, ", "));
    return kExitCheckFailed;
  }
  const io::TensorMap tensors = options.outDtype == "f32" ? widened(results.tensors) : results.tensors;
  io::writeResultFile(
      options.output, file, tensors,
      {.kernel = results.kernel, .device = device.summary().name, .pRounding = check::weightRounding(results.kernel)});
  return kExitOk;
}

}  // namespace

void addRunCommand(CLI::App& app, Globals& globals) {
  CLI::App& command =
      addSubcommand(app, globals, "run", "Run one case file and write its results", kRunExamples);
  addKernelOption(command, globals);
  const auto options = std::make_shared<RunOptions>();
  command.add_option("case", options->caseFile, "The case file")->required()->type_name("CASE.safetensors");
  command.add_option("-o,--output", options->output, "Where the results go: a complete file or none")
      ->required()
      ->type_name("OUT.safetensors");
  command.add_option("--out-dtype", options->outDtype, "Dtype of the results; without it that of the inputs")
      ->check(CLI::IsMember({"f32"}))
      ->type_name("f32");
  command
      .add_option("--weights", options->weights,
                  "Model file, for a case whose weights are not in the case file")
      ->type_name("FILE");
  addQuantisedOptions(command, options->kvDtype, options->scaleBlock);
  setAction(command, globals, [&globals, &command, options] {
    requireQuantised(command);
    return run(globals, *options);
  });
}

}  // namespace saccade::tool
