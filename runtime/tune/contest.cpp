// SPDX-License-Identifier: Apache-2.0
#include "tune/contest.hpp"

#include <algorithm>
#include <exception>
#include <utility>

namespace saccade::tune {
namespace {

struct Runner {
  std::string kernel;
  std::vector<double> times;

  double median() const {
    std::vector<double> sorted = times;
    std::sort(sorted.begin(), sorted.end());
    const size_t middle = sorted.size() / 2;
    return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  }
  double minimum() const { return *std::min_element(times.begin(), times.end()); }
};

struct Interrupted {};

class Contest {
 public:
  Contest(const std::vector<std::string>& candidates, const Arena& arena) : candidates_(candidates), arena_(arena) {}

  Verdict hold() {
    verdict_.builtIn = candidates_.front();
    verdict_.candidates = static_cast<int>(candidates_.size());
    lookAtAll();
    std::vector<Runner> eligible = runners_;
    while (true) {
      // How many may stay, how far from the fastest, and until which share of the time they run in turns.
      runInTurns(8, 1.5, 3, 0.6);
      runInTurns(4, 1.15, 5, 0.8);
      const size_t before = verdict_.rejected.size();
      decide();
      if (verdict_.rejected.size() == before) return verdict_;
      // A kernel whose results are wrong may have driven out, by its speed, others whose results are right.
      const std::string& wrong = verdict_.rejected.back().kernel;
      std::erase_if(eligible, [&](const Runner& runner) { return runner.kernel == wrong; });
      runners_ = eligible;
    }
  }

 private:
  double run(const std::string& kernel) {
    if (arena_.interrupted()) throw Interrupted{};
    return arena_.run(kernel);
  }

  // The first run of each is not counted: it compiles, and finds cold caches.
  void lookAtAll() {
    for (const std::string& kernel : candidates_) {
      if (!runners_.empty() && arena_.timeUsed() >= 0.5) return;
      try {
        run(kernel);
        runners_.push_back({kernel, {run(kernel)}});
      } catch (const std::exception& error) {
        if (runners_.empty()) throw;  // without the built-in kernel there is nothing to compare with
        verdict_.rejected.push_back({kernel, error.what()});
      }
      verdict_.looked++;
      arena_.looked(kernel);
    }
  }

  // The built-in kernel is the first runner and always stays.
  void runInTurns(size_t most, double near, int rounds, double until) {
    std::stable_sort(runners_.begin() + 1, runners_.end(), [](const Runner& a, const Runner& b) { return a.median() < b.median(); });
    double fastest = runners_.front().median();
    if (runners_.size() > 1) fastest = std::min(fastest, runners_[1].median());
    std::erase_if(runners_, [&](const Runner& r) { return &r != &runners_.front() && r.median() > near * fastest; });
    if (runners_.size() > most) runners_.resize(most);
    if (runners_.size() == 1) return;
    for (int round = 0; round < rounds && arena_.timeUsed() < until; round++) {
      for (Runner& runner : runners_) runner.times.push_back(run(runner.kernel));
    }
  }

  void decide() {
    const Runner builtIn = runners_.front();
    verdict_.winner = builtIn.kernel;
    verdict_.winnerMilliseconds = verdict_.builtInMilliseconds = builtIn.median();
    std::stable_sort(runners_.begin(), runners_.end(), [](const Runner& a, const Runner& b) { return a.median() < b.median(); });
    for (const Runner& challenger : runners_) {
      if (challenger.kernel == builtIn.kernel || challenger.median() > kWorthwhile * builtIn.median()) return;
      const auto [first, second] = holdDuel(builtIn.kernel, challenger.kernel);
      if (second.median() > kWorthwhile * first.median() || second.minimum() > kWorthwhile * first.minimum()) continue;
      if (std::string wrong = arena_.check(challenger.kernel); !wrong.empty()) {
        verdict_.rejected.push_back({challenger.kernel, std::move(wrong)});
        return;
      }
      verdict_.winner = challenger.kernel;
      verdict_.builtInMilliseconds = first.median();
      verdict_.winnerMilliseconds = second.median();
      return;
    }
  }

  // The fastest of many scattered times is partly luck, so it has to show itself again, and with its best time too: what else runs
  // on a machine doubles times, but halves none.
  std::pair<Runner, Runner> holdDuel(const std::string& builtIn, const std::string& challenger) {
    constexpr int kLeast = 4, kMost = 8;
    std::pair<Runner, Runner> both{{builtIn, {}}, {challenger, {}}};
    for (int round = 0; round < kMost && (round < kLeast || arena_.timeUsed() < 1); round++) {
      Runner& first = round % 2 == 0 ? both.first : both.second;
      Runner& second = round % 2 == 0 ? both.second : both.first;
      first.times.push_back(run(first.kernel));
      second.times.push_back(run(second.kernel));
    }
    return both;
  }

  const std::vector<std::string>& candidates_;
  const Arena& arena_;
  std::vector<Runner> runners_;
  Verdict verdict_;
};

}  // namespace

std::optional<Verdict> holdContest(const std::vector<std::string>& candidates, const Arena& arena) {
  try {
    return Contest(candidates, arena).hold();
  } catch (const Interrupted&) {
    return std::nullopt;
  }
}

}  // namespace saccade::tune
