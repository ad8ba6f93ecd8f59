// SPDX-License-Identifier: Apache-2.0
#include "exit_code.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <new>
#include <string>

#include <saccade/runtime.hpp>

#include "io/file_error.hpp"

namespace saccade::tool {

namespace {

ExitCode exitCodeOf(Status status) {
  switch (status) {
    case Status::Ok:
      return kExitOk;
    case Status::InvalidArgument:
    case Status::Unsupported:
      return kExitBadInput;
    case Status::DeviceRequirements:
      return kExitNoDevice;
    case Status::OutOfMemory:
    case Status::DeviceLost:
    case Status::Driver:
      break;
  }
  return kExitDeviceFailed;
}

void print(const std::string& text) { fmt::print(stderr, "saccade: error: {}\n", text); }

}  // namespace

ExitCode reportError(const std::exception& error) {
  if (const auto* refused = dynamic_cast<const Error*>(&error)) {
    const std::string text = refused->what();
    // Most messages name their field themselves.
    print(text.find(refused->field()) != std::string::npos ? text
                                                           : fmt::format("{}: {}", refused->field(), text));
    return exitCodeOf(refused->status());
  }
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) {
    print("out of host memory");
    return kExitDeviceFailed;
  }
  // What is left is about what the user gave us: UsageError, io::FileError and the checks of the libraries
  // below.
  print(error.what());
  return kExitBadInput;
}

}  // namespace saccade::tool
