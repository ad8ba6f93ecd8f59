// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstdio>
#include <map>
#include <memory>

#include "commands.hpp"
#include "exit_code.hpp"
#include "kernels_report.hpp"

namespace saccade::tool {

namespace {

constexpr const char* kKernelsExamples =
    "  saccade kernels                                  every kernel, what it needs, whether this device has it\n"
    "  saccade kernels --kernel scalar_tiled            one of them\n"
    "  saccade kernels --stats --head-dim 128           also what the driver says of its code for them\n"
    "  saccade kernels --stats --dtype f32 --kernel 'scalar_tiled keys=64' --json\n"
    "--stats compiles each kernel twice: as little as can be asked of it, and with everything that hides keys,\n"
    "changes scores or is written. Names of statistics are the driver's own (registers, spills, shared memory, ...).\n"
    "Exit code 3 if the driver has no VK_KHR_pipeline_executable_properties. Nothing is run.";

int kernels(const Globals& globals, const KernelsOptions& options) {
  if (!options.statistics && options.kernel.find(' ') != std::string::npos) {
    throw UsageError("--kernel", fmt::format("'{}' has fields of a tile, which need --stats", options.kernel));
  }
  const Device device = globals.openDevice();
  const nlohmann::ordered_json report = kernelsReport(device, options);
  std::fputs((globals.json ? report.dump(2) + "\n" : kernelsText(report)).c_str(), stdout);
  return kExitOk;
}

}  // namespace

void addKernelsCommand(CLI::App& app, Globals& globals) {
  CLI::App& command = addSubcommand(app, globals, "kernels",
                                    "List kernels, what they need, and what the driver makes of them", kKernelsExamples);
  addJsonOption(command, globals);
  const auto options = std::make_shared<KernelsOptions>();
  command
      .add_option("--kernel", options->kernel,
                  "This kernel alone; with --stats fields of its tile may follow, as in 'scalar_tiled keys=64'")
      ->type_name("NAME");
  command.add_flag("--stats", options->statistics,
                   "What the driver says of the pipelines of each kernel that the device can run");
  static const std::map<std::string, Dtype> kDtypes = {
      {"f32", Dtype::F32}, {"f16", Dtype::F16}, {"bf16", Dtype::BF16}};
  command
      .add_option("--dtype", options->dtype,
                  "Of the built-in tiles and the statistics: f32, f16 or bf16; f16 without it")
      ->transform(CLI::CheckedTransformer(kDtypes).description(""))
      ->type_name("DTYPE");
  command.add_option("--head-dim", options->headDim, "The same for attention, 1 to 256")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{256}).description(""))
      ->capture_default_str()
      ->type_name("N");
  setAction(command, globals, [&globals, options] { return kernels(globals, *options); });
}

}  // namespace saccade::tool
