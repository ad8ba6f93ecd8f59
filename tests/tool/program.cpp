// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>

#include "unit/temporary_folder.hpp"

namespace saccade::test {

ProgramResult saccade(const std::vector<std::string>& arguments,
                      const std::map<std::string, std::string>& environment) {
  const TemporaryFolder folder;
  const std::string outPath = folder / "out", errPath = folder / "err";
  const pid_t child = fork();
  if (child < 0) {
    throw std::runtime_error("fork failed");
  }
  if (child == 0) {
    setenv("SACCADE_TUNING", "off", 0);  // what somebody measured here must not decide tests
    for (const auto& [name, value] : environment) {
      setenv(name.c_str(), value.c_str(), 1);
    }
    std::vector<std::string> storage = {SACCADE_TOOL};
    storage.insert(storage.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    for (std::string& argument : storage) {
      argv.push_back(argument.data());
    }
    argv.push_back(nullptr);
    dup2(open(outPath.c_str(), O_CREAT | O_WRONLY, 0600), STDOUT_FILENO);
    dup2(open(errPath.c_str(), O_CREAT | O_WRONLY, 0600), STDERR_FILENO);
    execv(SACCADE_TOOL, argv.data());
    _exit(127);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child) {
    throw std::runtime_error("waitpid failed");
  }
  return {.exitCode = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status),
          .out = contentOf(outPath),
          .err = contentOf(errPath)};
}

testing::AssertionResult contains(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << "no \"" << part << "\" in: " << text;
}

testing::AssertionResult startsWith(const std::string& text, const std::string& part) {
  if (text.starts_with(part)) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << "no \"" << part << "\" at the start of: " << text;
}

std::filesystem::path goldenCase(const std::string& name) {
  return std::filesystem::path(SACCADE_TEST_CASES) / (name + ".safetensors");
}

}  // namespace saccade::test
