// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

#include "globals.hpp"

// The sub-commands, one per file of the same name.

namespace saccade::tool {

void addBenchCommand(CLI::App& app, Globals& globals);
void addInfoCommand(CLI::App& app, Globals& globals);
void addKernelsCommand(CLI::App& app, Globals& globals);
void addPlanCommand(CLI::App& app, Globals& globals);
void addRunCommand(CLI::App& app, Globals& globals);
void addTuneCommand(CLI::App& app, Globals& globals);
void addVerifyCommand(CLI::App& app, Globals& globals);
void addVitCommand(CLI::App& app, Globals& globals);

}  // namespace saccade::tool
