// SPDX-License-Identifier: Apache-2.0
// Every golden case file, on every kernel of its operator.
#include <set>

#include "check/case_checks.hpp"
#include "conformance.hpp"

namespace saccade::conformance {
namespace {

// Cases of rules and operators that this version refuses, and one whose weights are not in the case file. A case that stops
// running without standing here fails, and so does one that stands here and runs.
const std::set<std::string> kLaterCases{"dinov2s_astronaut",
                                        "grad_bias",
                                        "grad_causal",
                                        "grad_empty_rows",
                                        "grad_full",
                                        "grad_gqa",
                                        "grad_window",
                                        "linear_attention_causal",
                                        "linear_attention_full",
                                        "relu_causal",
                                        "sigmoid_masked",
                                        "sinusoidal_positions",
                                        "swin_shifted_window",
                                        "swin_window"};

void runCase(const Device& device, check::Check& check, const std::string& kernel) {
  const check::Outcome outcome = check.run(device, kernel);
  const bool later = kLaterCases.contains(check.name());
  switch (outcome.state) {
    case check::State::Passed: EXPECT_FALSE(later) << "runs now: take it off the list of later cases"; break;
    case check::State::Failed: FAIL() << check.description() << ": " << outcome.reason;
    case check::State::NotRun:
      if (!later && outcome.reason.find("cannot run here: ") == std::string::npos) FAIL() << "was not run: " << outcome.reason;
      GTEST_SKIP() << "not run: " << outcome.reason;
  }
}

}  // namespace

void registerGoldenCases(const Device& device) {
  std::set<std::string> names;
  for (std::unique_ptr<check::Check>& owned : check::caseChecks(SACCADE_TEST_CASES)) {
    const std::shared_ptr<check::Check> check = std::move(owned);
    names.insert(check->name());
    std::vector<std::string> kernels = kernelChoices(device, check->op());
    if (kernels.empty()) kernels.push_back("");
    for (const std::string& kernel : kernels) {
      registerTest("golden_cases", check->name() + (kernel.empty() ? "" : "/" + kernel),
                   [device, check, kernel] { runCase(device, *check, kernel); });
    }
  }
  registerTest("golden_cases", "are_102_and_include_those_of_later_rules", [names] {
    EXPECT_EQ(names.size(), 102u);
    for (const std::string& later : kLaterCases)
      EXPECT_TRUE(names.contains(later)) << later << " is no case file";
  });
}

}  // namespace saccade::conformance
