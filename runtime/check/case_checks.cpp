// SPDX-License-Identifier: Apache-2.0
#include "check/case_checks.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

#include "check/device_case.hpp"
#include "io/file_error.hpp"

namespace saccade::check {

namespace {

class CaseCheck final : public Check {
 public:
  CaseCheck(io::CaseFile file, std::filesystem::path weights)
      : Check(file.name, "case files", caseOperator(file)),
        file_(std::move(file)),
        weights_(std::move(weights)) {}

  std::string description() const override {
    return file_.path.string() + ": " + file_.text("probes", file_.op);
  }

 private:
  Outcome compute(const Device& device, const std::string& kernel) override {
    const DeviceOutcome outcome = runCaseOnDevice(device, file_, {.kernel = kernel, .weights = weights_});
    if (const NotRun* notRun = std::get_if<NotRun>(&outcome)) {
      return {.state = State::NotRun, .reason = notRun->reason};
    }
    const DeviceResults& results = std::get<DeviceResults>(outcome);
    const reference::CaseComparison comparison = reference::compareCase(file_, results.tensors, kPRounding);
    Outcome judged = judge(comparison.tensors, results.overwritten);
    for (const std::string& missing : comparison.missing) {
      judged.state = State::Failed;
      judged.reason += (judged.reason.empty() ? "" : "; ") + missing + " was not computed";
    }
    return judged;
  }

  io::CaseFile file_;
  std::filesystem::path weights_;
};

}  // namespace

Checks caseChecks(const std::filesystem::path& folder, const std::filesystem::path& weights) {
  std::error_code error;
  std::vector<std::filesystem::path> paths;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().extension() == ".safetensors") {
      paths.push_back(entry->path());
    }
  }
  if (error) {
    throw io::FileError::fromErrno(folder, "read the folder", error.value());
  }
  std::sort(paths.begin(), paths.end());
  Checks checks;
  for (const std::filesystem::path& path : paths) {
    checks.push_back(std::make_unique<CaseCheck>(io::readCaseFile(path), weights));
  }
  return checks;
}

}  // namespace saccade::check
