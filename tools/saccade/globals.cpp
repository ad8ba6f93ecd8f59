// SPDX-License-Identifier: Apache-2.0
#include "globals.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <utility>

namespace saccade::tool {

Device Globals::openDevice() const {
  Device opened = Device::open({.select = device, .kernel = kernel});
  if (!opened.note().empty()) {
    fmt::print(stderr, "saccade: {}\n", opened.note());
  }
  return opened;
}

CLI::App& addSubcommand(CLI::App& app, Globals& globals, const std::string& name, const std::string& summary,
                        const std::string& examples) {
  CLI::App& command = *app.add_subcommand(name, summary);
  command.footer("Examples:\n" + examples);
  command
      .add_option("--device", globals.device,
                  "Vulkan device: its index or a part of its name (see `saccade info`); "
                  "without it the environment variable SACCADE_DEVICE, else the best device")
      ->type_name("INDEX|NAME");
  return command;
}

void addKernelOption(CLI::App& command, Globals& globals) {
  command
      .add_option("--kernel", globals.kernel,
                  "Use this kernel variant or refuse (see `saccade info`); "
                  "without it the environment variable SACCADE_KERNEL, else the planner's choice")
      ->type_name("NAME");
}

void addJsonOption(CLI::App& command, Globals& globals) {
  command.add_flag("--json", globals.json, "Print JSON instead of text");
}

void setAction(CLI::App& command, Globals& globals, std::function<int()> action) {
  command.callback([&globals, action = std::move(action)] { globals.action = action; });
}

}  // namespace saccade::tool
