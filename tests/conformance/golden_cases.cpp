// SPDX-License-Identifier: Apache-2.0
// Every golden case file, on every kernel of its operator.
#include <set>

#include "check/case_checks.hpp"
#include "conformance.hpp"

namespace saccade::conformance {
namespace {

// Cases of rules and operators that this version refuses. A case that stops running without standing here
// fails, and so does one that stands here and runs.
const std::set<std::string> kLaterCases{"alibi_12_heads_decode",
                                        "alibi_causal",
                                        "grad_bias",
                                        "grad_causal",
                                        "grad_empty_rows",
                                        "grad_full",
                                        "grad_gqa",
                                        "grad_window",
                                        "linear_attention_causal",
                                        "linear_attention_full",
                                        "packed_causal",
                                        "packed_zero_lengths",
                                        "relu_causal",
                                        "sigmoid_masked",
                                        "sink_gqa_f16",
                                        "sink_two_equal_scores",
                                        "sinusoidal_positions",
                                        "softcap_1_causal",
                                        "softcap_5_then_bias",
                                        "softcap_saturates",
                                        "softcap_then_bias",
                                        "swin_shifted_window",
                                        "swin_window",
                                        "window_3_0_without_causal",
                                        "window_decode",
                                        "window_diagonal",
                                        "window_left_3_causal",
                                        "window_right_unbounded",
                                        "window_symmetric_2"};

void runCase(const Device& device, check::Check& check, const std::string& kernel) {
  const check::Outcome outcome = check.run(device, kernel);
  const bool later = kLaterCases.contains(check.name());
  switch (outcome.state) {
    case check::State::Passed: EXPECT_FALSE(later) << "runs now: take it off the list of later cases"; break;
    case check::State::Failed: FAIL() << check.description() << ": " << outcome.reason;
    case check::State::NotRun:
      if (!later) FAIL() << "was not run: " << outcome.reason;
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
  registerTest("golden_cases", "are_97_and_include_those_of_later_rules", [names] {
    EXPECT_EQ(names.size(), 97u);
    for (const std::string& later : kLaterCases)
      EXPECT_TRUE(names.contains(later)) << later << " is no case file";
  });
}

}  // namespace saccade::conformance
