// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <exception>

#include <CLI/CLI.hpp>

#include "commands.hpp"
#include "exit_code.hpp"

namespace {

constexpr const char* kFooter =
    "Exit codes: 0 fine, 1 a check failed, 2 bad usage or bad input, 3 no suitable device,\n"
    "4 the device failed.\n"
    "Environment: SACCADE_DEVICE and SACCADE_KERNEL stand for --device and --kernel;\n"
    "SACCADE_VALIDATION=1 turns on the Vulkan validation layer.\n"
    "`saccade COMMAND --help` explains a command with examples.";

void addCommands(CLI::App& app, saccade::tool::Globals& globals) {
#ifdef SACCADE_HAS_INFO
  addInfoCommand(app, globals);
#endif
#ifdef SACCADE_HAS_PLAN
  addPlanCommand(app, globals);
#endif
#ifdef SACCADE_HAS_RUN
  addRunCommand(app, globals);
#endif
#ifdef SACCADE_HAS_VERIFY
  addVerifyCommand(app, globals);
#endif
#ifdef SACCADE_HAS_BENCH
  addBenchCommand(app, globals);
#endif
#ifdef SACCADE_HAS_VIT
  addVitCommand(app, globals);
#endif
}

}  // namespace

int main(int argc, char** argv) {
  using namespace saccade::tool;
  try {
    CLI::App app("Saccade: attention for Vulkan.", "saccade");
    app.footer(kFooter);
    app.set_version_flag("--version", "saccade " SACCADE_VERSION);
    app.require_subcommand(1);
    Globals globals;
    addCommands(app, globals);
    try {
      app.parse(argc, argv);
    } catch (const CLI::Success& success) {  // --help, --version
      return app.exit(success);
    } catch (const CLI::ParseError& error) {
      return reportError(error);
    }
    return globals.action();
  } catch (const std::exception& error) {
    return reportError(error);
  }
}
