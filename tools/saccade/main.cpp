// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <exception>

#include <CLI/CLI.hpp>

#include "commands.hpp"
#include "exit_code.hpp"

namespace {

constexpr const char* kFooter =
    "Exit codes: 0 fine, 1 a check failed, 2 bad usage or bad input, 3 no suitable device,\n"
    "4 the device failed, 130 interrupted.\n"
    "Environment: SACCADE_DEVICE and SACCADE_KERNEL stand for --device and --kernel;\n"
    "SACCADE_VALIDATION=1 turns on the Vulkan validation layer;\n"
    "SACCADE_TUNING names a tuning file instead of this device's own, or is off (see `saccade tune --help`);\n"
    "SACCADE_CACHE is the folder in which compiled pipelines are kept, or off;\n"
    "SACCADE_LOG=debug, info, warning, error or off is how much the library says on stderr;\n"
    "SACCADE_DISPATCH_BUDGET is how long one dispatch may take, in milliseconds, or off.\n"
    "`saccade COMMAND --help` explains a command with examples.";

}  // namespace

int main(int argc, char** argv) {
  using namespace saccade::tool;
  try {
    CLI::App app("Saccade: attention for Vulkan.", "saccade");
    app.footer(kFooter);
    app.set_version_flag("--version", "saccade " SACCADE_TOOL_VERSION);
    app.require_subcommand(1);
    Globals globals;
    addInfoCommand(app, globals);
    addKernelsCommand(app, globals);
    addPlanCommand(app, globals);
    addRunCommand(app, globals);
    addVerifyCommand(app, globals);
    addBenchCommand(app, globals);
    addTuneCommand(app, globals);
    addVitCommand(app, globals);
    try {
      app.parse(argc, argv);
    } catch (const CLI::Success& success) {  // --help, --version
      return app.exit(success);
    } catch (const CLI::ParseError& error) {
      const ExitCode code = reportError(error);
      std::fputs("`saccade --help` and `saccade COMMAND --help` show what is possible.\n", stderr);
      return code;
    }
    return globals.action();
  } catch (const std::exception& error) {
    return reportError(error);
  }
}
