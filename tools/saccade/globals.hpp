// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include <saccade/runtime.hpp>

namespace CLI {
class App;
}

namespace saccade::tool {

// What the sub-commands share: the options that several of them have, and the one that was asked for.
struct Globals {
  std::string device;  // --device: an index or a part of the name; empty: SACCADE_DEVICE, else the best
  std::string kernel;  // --kernel: a variant's name; empty: SACCADE_KERNEL, else the planner's choice
  bool json = false;   // --json

  // The sub-command on the command line; returns an ExitCode, may throw anything that reportError knows.
  std::function<int()> action;

  // Opens the chosen device with the chosen kernel and tells the user on stderr what it is if they should
  // know (a CPU that was taken because there is no GPU). Throws Error.
  Device openDevice() const;
};

// Adds a sub-command with --device. `summary` is one sentence; `examples` are lines to try, shown below the
// options.
CLI::App& addSubcommand(CLI::App& app, Globals& globals, const std::string& name, const std::string& summary,
                        const std::string& examples);

// Options for those sub-commands that have them.
void addKernelOption(CLI::App& command, Globals& globals);
void addJsonOption(CLI::App& command, Globals& globals);

// Makes `action` what the program does when the sub-command is on the command line.
void setAction(CLI::App& command, Globals& globals, std::function<int()> action);

}  // namespace saccade::tool
