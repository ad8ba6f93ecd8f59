// SPDX-License-Identifier: Apache-2.0
// Contests between kernels whose times are made up: who wins, who stays out, and what stops it.
#include <gtest/gtest.h>

#include <map>
#include <stdexcept>

#include "tune/contest.hpp"

namespace saccade::tune {
namespace {

// Kernels with made-up times; each run adds a scatter that repeats every five runs of that kernel.
struct Fake {
  std::map<std::string, double> milliseconds;
  std::map<std::string, int> runs;
  std::map<std::string, std::string> wrong;  // results of this kernel
  std::string disturbed;                     // two of three runs of this kernel take twice as long
  double scatter = 0.02;
  double used = 0, usedPerRun = 0;
  int runsUntilInterrupt = -1;

  Arena arena() {
    Arena arena;
    arena.run = [this](const std::string& kernel) {
      if (!milliseconds.contains(kernel)) throw std::runtime_error("cannot compile");
      if (runsUntilInterrupt > 0) runsUntilInterrupt--;
      used += usedPerRun;
      const double factor = kernel == disturbed && runs[kernel] % 3 != 0 ? 2 : 1;
      return factor * milliseconds.at(kernel) * (1 + scatter * (runs[kernel]++ * 2 % 5 - 2) / 2);
    };
    arena.check = [this](const std::string& kernel) { return wrong[kernel]; };
    arena.timeUsed = [this] { return used; };
    arena.interrupted = [this] { return runsUntilInterrupt == 0; };
    arena.looked = [](const std::string&) {};
    return arena;
  }
};

TEST(Contest, FindsTheFastest) {
  Fake fake{.milliseconds = {{"built-in", 10}, {"slow", 30}, {"fast", 5}, {"faster", 4}}};
  const auto verdict = holdContest({"built-in", "slow", "fast", "faster"}, fake.arena());
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->builtIn, "built-in");
  EXPECT_EQ(verdict->winner, "faster");
  EXPECT_NEAR(verdict->builtInMilliseconds, 10, 0.3);
  EXPECT_NEAR(verdict->winnerMilliseconds, 4, 0.1);
  EXPECT_EQ(verdict->candidates, 4);
  EXPECT_EQ(verdict->looked, 4);
  EXPECT_TRUE(verdict->rejected.empty());
  EXPECT_EQ(fake.runs["slow"], 2);  // once to compile, once to look
}

TEST(Contest, KeepsTheBuiltInKernelUnlessAnotherIsClearlyFaster) {
  Fake fake{.milliseconds = {{"built-in", 10}, {"hardly faster", 9.7}, {"slow", 11}}};
  const auto verdict = holdContest({"built-in", "hardly faster", "slow"}, fake.arena());
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->winner, "built-in");
  EXPECT_EQ(verdict->winnerMilliseconds, verdict->builtInMilliseconds);
}

TEST(Contest, IsNotWonByWhatElseSlowsTheBuiltInKernelDown) {
  Fake fake{.milliseconds = {{"built-in", 10}, {"the same", 10}}, .disturbed = "built-in"};
  const auto verdict = holdContest({"built-in", "the same"}, fake.arena());
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->winner, "built-in");
}

TEST(Contest, PassesOverWhatComputesWrongResultsOrCannotRun) {
  Fake fake{.milliseconds = {{"built-in", 10}, {"wrong", 2}, {"right", 5}}};
  fake.wrong["wrong"] = "an error of 3";
  const auto verdict = holdContest({"built-in", "wrong", "absent", "right"}, fake.arena());
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->winner, "right");
  EXPECT_NEAR(verdict->winnerMilliseconds, 5, 0.1);
  ASSERT_EQ(verdict->rejected.size(), 2u);
  EXPECT_EQ(verdict->rejected[0].kernel, "absent");
  EXPECT_EQ(verdict->rejected[0].why, "cannot compile");
  EXPECT_EQ(verdict->rejected[1].kernel, "wrong");
  EXPECT_EQ(verdict->rejected[1].why, "an error of 3");
}

TEST(Contest, WithOneCandidateIsItsOwnWinner) {
  Fake fake{.milliseconds = {{"built-in", 10}}};
  const auto verdict = holdContest({"built-in"}, fake.arena());
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->winner, "built-in");
}

TEST(Contest, ConcludesWithWhatItSawWhenTheTimeIsUp) {
  Fake fake{.milliseconds = {{"built-in", 10}, {"fast", 5}, {"unseen", 1}}, .usedPerRun = 0.13};
  const auto verdict = holdContest({"built-in", "fast", "unseen"}, fake.arena());
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->winner, "fast");
  EXPECT_EQ(verdict->looked, 2);
  EXPECT_EQ(verdict->candidates, 3);
  EXPECT_FALSE(fake.runs.contains("unseen"));
}

TEST(Contest, HasNoResultWhenInterrupted) {
  for (int runs = 1; runs < 12; runs++) {
    Fake fake{.milliseconds = {{"built-in", 10}, {"fast", 5}, {"other", 6}}, .runsUntilInterrupt = runs};
    EXPECT_FALSE(holdContest({"built-in", "fast", "other"}, fake.arena())) << runs;
  }
}

TEST(Contest, ThrowsWhatTheBuiltInKernelThrows) {
  Fake fake{.milliseconds = {{"other", 1}}};
  EXPECT_THROW(holdContest({"built-in", "other"}, fake.arena()), std::runtime_error);
}

}  // namespace
}  // namespace saccade::tune
