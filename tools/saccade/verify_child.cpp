// SPDX-License-Identifier: Apache-2.0
#include "verify_child.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "verify_report.hpp"

namespace saccade::tool {

namespace {

using nlohmann::json;

struct ChildResult {
  std::string output;
  int status = 0;  // as waitpid gives it
};

[[noreturn]] void failSystemCall(const char* call) {
  throw std::runtime_error(fmt::format("{} failed: {}", call, std::strerror(errno)));
}

std::string readAll(int descriptor) {
  std::string text;
  char buffer[4096];
  for (;;) {
    const ssize_t count = read(descriptor, buffer, sizeof buffer);
    if (count > 0) {
      text.append(buffer, static_cast<std::size_t>(count));
    } else if (count == 0 || errno != EINTR) {
      return text;
    }
  }
}

// Standard output comes back; standard error, with the progress bar, goes where ours goes.
ChildResult runSelf(const std::vector<std::string>& arguments) {
  std::vector<std::string> storage = {"saccade"};
  storage.insert(storage.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& argument : storage) {
    argv.push_back(argument.data());
  }
  argv.push_back(nullptr);
  int ends[2];
  if (pipe(ends) != 0) {
    failSystemCall("pipe");
  }
  const pid_t child = fork();
  if (child < 0) {
    failSystemCall("fork");
  }
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    close(ends[1]);
    execv("/proc/self/exe", argv.data());
    _exit(127);
  }
  close(ends[1]);
  ChildResult result;
  result.output = readAll(ends[0]);
  close(ends[0]);
  while (waitpid(child, &result.status, 0) < 0) {
    if (errno != EINTR) {
      failSystemCall("waitpid");
    }
  }
  return result;
}

}  // namespace

json verifyInChild(const DeviceSummary& device, const std::vector<std::string>& arguments) {
  DeviceReport report(device, {});
  if (!device.supported) {
    report.setUnsupported(device.missing);
    return report.result();
  }
  std::vector<std::string> all = arguments;
  all.insert(all.end(), {"--device", fmt::format("{}", device.index)});
  const ChildResult result = runSelf(all);
  if (WIFSIGNALED(result.status)) {
    report.setFailure(fmt::format("crashed with signal {} ({})", WTERMSIG(result.status),
                                  strsignal(WTERMSIG(result.status))));
    return report.result();
  }
  const json output = json::parse(result.output, nullptr, /*allow_exceptions=*/false);
  if (!output.is_object() || output["devices"].size() != 1) {
    report.setFailure(
        fmt::format("its process ended with exit code {} and no report", WEXITSTATUS(result.status)));
    return report.result();
  }
  return output["devices"][0];
}

}  // namespace saccade::tool
