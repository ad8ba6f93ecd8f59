// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <stdexcept>

namespace saccade::tool {

// What the program returns to the shell. `saccade --help` lists them.
enum ExitCode : int {
  kExitOk = 0,
  kExitCheckFailed = 1,   // the program ran, and what it checked is wrong
  kExitBadInput = 2,      // usage, a file, a description
  kExitNoDevice = 3,      // no Vulkan, no such device, or one without what is required
  kExitDeviceFailed = 4,  // out of memory, lost, or a driver that failed
  kExitInterrupted = 130,  // Ctrl-C, where the command can stop in order; what a shell makes of SIGINT
};

// An argument that the command line's own rules cannot express. `field` is the option, e.g. "--head-dim".
class UsageError : public std::runtime_error {
 public:
  UsageError(const std::string& field, const std::string& text) : std::runtime_error(field + ": " + text) {}
};

// Writes "saccade: error: ..." to stderr and returns the exit code that belongs to the exception: the one
// place where statuses become exit codes.
ExitCode reportError(const std::exception& error);

}  // namespace saccade::tool
