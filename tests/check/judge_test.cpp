// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>

#include "check/check.hpp"

namespace saccade::check {
namespace {

reference::TensorComparison comparison(const std::string& tensor, double ratio) {
  return {
      .tensor = tensor, .passed = ratio <= 1, .ratio = ratio, .reason = ratio <= 1 ? "" : tensor + " is off"};
}

TEST(Judge, NothingComparedIsNoPass) {
  const Outcome outcome = judge({}, {});
  EXPECT_EQ(outcome.state, State::Failed);
  EXPECT_EQ(outcome.reason, "nothing was compared");
}

TEST(Judge, PassesIfEveryTensorDoesAndKeepsTheWorst) {
  const Outcome outcome =
      judge({comparison("out", 0.2), comparison("lse", 0.9), comparison("probs", 0.4)}, {});
  EXPECT_EQ(outcome.state, State::Passed);
  EXPECT_EQ(outcome.reason, "");
  EXPECT_EQ(outcome.worst->tensor, "lse");
}

TEST(Judge, NamesEveryTensorThatFails) {
  const double infinity = std::numeric_limits<double>::infinity();
  const Outcome outcome =
      judge({comparison("out", 3), comparison("lse", 0.9), comparison("probs", infinity)}, {});
  EXPECT_EQ(outcome.state, State::Failed);
  EXPECT_EQ(outcome.reason, "out is off; probs is off");
  EXPECT_EQ(outcome.worst->tensor, "probs");
}

TEST(Judge, WritingOutsideATensorFails) {
  const Outcome outcome = judge({comparison("out", 0.1)}, {"lse", "k"});
  EXPECT_EQ(outcome.state, State::Failed);
  EXPECT_EQ(outcome.reason, "written outside of: lse, k");
}

}  // namespace
}  // namespace saccade::check
