// SPDX-License-Identifier: Apache-2.0
#include "check/case_checks.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

#include "check/attention_sample.hpp"
#include "check/device_case.hpp"
#include "check/spec_check.hpp"
#include "check/sweep.hpp"
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

  std::string family() const override {
    const std::optional<AttentionSpec> spec = attentionSpec();
    return spec ? pipelineKey(*spec) : name();
  }

  // A case's values cannot be changed: a random problem of the same sizes and options stands for it if that
  // fails too.
  std::optional<Smaller> shrink(const Device& device, const std::string& kernel) override {
    const std::optional<AttentionSpec> spec = attentionSpec();
    if (!spec || !specMistake(*spec).empty()) {
      return std::nullopt;
    }
    const auto random = makeSpecCheck("attention", name(), group(), *spec, kDefaultSeed);
    Outcome outcome = random->run(device, kernel);
    if (outcome.state != State::Failed) {
      return std::nullopt;
    }
    std::optional<Smaller> smaller = random->shrink(device, kernel);
    return smaller ? smaller : Smaller{random->description(), random->only(), std::move(outcome), 1};
  }

 private:
  Outcome compute(const Device& device, const std::string& kernel) override {
    const DeviceOutcome outcome = runCaseOnDevice(device, file_, {.kernel = kernel, .weights = weights_});
    if (const NotRun* notRun = std::get_if<NotRun>(&outcome)) {
      return {.state = State::NotRun, .reason = notRun->reason};
    }
    const DeviceResults& results = std::get<DeviceResults>(outcome);
    const reference::CaseComparison comparison = reference::compareCase(file_, results.tensors, weightRounding(results.kernel));
    Outcome judged = judge(comparison.tensors, results.overwritten);
    for (const std::string& missing : comparison.missing) {
      judged.state = State::Failed;
      judged.reason += (judged.reason.empty() ? "" : "; ") + missing + " was not computed";
    }
    return judged;
  }

  // Of a case of plain attention whose tensors fit each other.
  std::optional<AttentionSpec> attentionSpec() const {
    if (file_.op != "attention" || !file_.unknown.empty()) {
      return std::nullopt;
    }
    try {
      const io::AttentionCase given = io::readAttentionCase(file_);
      return specOf(given, given.normalizer == io::Normalizer::Softmax, file_.expected.contains("probs"));
    } catch (const io::FileError&) {  // compute() reports it
      return std::nullopt;
    }
  }

  io::CaseFile file_;
  std::filesystem::path weights_;
};

}  // namespace

Checks caseChecks(const std::filesystem::path& folder, const std::filesystem::path& weights) {
  std::error_code error;
  std::vector<std::filesystem::path> paths;
  for (std::filesystem::recursive_directory_iterator entry(folder, error), end; !error && entry != end;
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
