// SPDX-License-Identifier: Apache-2.0
#include "verify_run.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "progress.hpp"

namespace saccade::tool {

namespace {

using Clock = std::chrono::steady_clock;

// Pipelines live as long as their device: after so many families of checks it is opened anew.
constexpr int kFamiliesPerDevice = 24;
constexpr unsigned kShrunkPerGroup =
    2;  // failures of one kernel and group for which a smaller call is looked for

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class Runner {
 public:
  Runner(check::Checks checks, const VerifyRun& run)
      : checks_(std::move(checks)), run_(run), results_(checks_.size()), progress_("verify", checks_.size()) {
    std::map<std::string, std::size_t> known;
    for (std::size_t i = 0; i < checks_.size(); ++i) {
      const auto [entry, isNew] = known.emplace(checks_[i]->family(), families_.size());
      if (isNew) {
        families_.emplace_back();
      }
      families_[entry->second].push_back(i);
    }
  }

  VerifyResults run() {
    std::vector<std::thread> others;
    for (unsigned i = 1; i < run_.threads; ++i) {
      others.emplace_back([this] { work(); });
    }
    work();
    for (std::thread& thread : others) {
      thread.join();
    }
    if (error_) {
      std::rethrow_exception(error_);
    }
    VerifyResults all;
    all.failure = failure_;
    for (auto& some : results_) {
      std::move(some.begin(), some.end(), std::back_inserter(all.results));
    }
    return all;
  }

 private:
  void work() {
    try {
      std::optional<Device> device;
      int families = 0;
      while (const std::vector<std::size_t>* family = nextFamily()) {
        if (!device || ++families % kFamiliesPerDevice == 0) {
          device.reset();  // before the next one is there: two would hold twice the memory
          device.emplace(run_.openDevice());
        }
        for (const std::size_t index : *family) {
          if (stopped()) {
            return;
          }
          runCheck(*device, index);
        }
      }
    } catch (const Error& error) {
      const std::lock_guard lock(mutex_);
      if (error.status() == Status::DeviceLost) {
        failure_ = error.what();
      } else {
        error_ = std::current_exception();
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      error_ = std::current_exception();
    }
  }

  const std::vector<std::size_t>* nextFamily() {
    const std::lock_guard lock(mutex_);
    return next_ < families_.size() && !error_ && !failure_ ? &families_[next_++] : nullptr;
  }

  bool stopped() {
    const std::lock_guard lock(mutex_);
    return error_ || failure_;
  }

  // The check is this thread's alone, and so is its place among the results.
  void runCheck(const Device& device, std::size_t index) {
    check::Check& check = *checks_[index];
    const std::string op = check::operatorName(check.op());
    for (const std::string& kernel : kernelsFor(device, check)) {
      const Clock::time_point start = Clock::now();
      CheckResult result{check.name(),
                         op,
                         check.group(),
                         check.description(),
                         check.only(),
                         kernel,
                         check.run(device, kernel),
                         0,
                         std::nullopt};
      result.seconds = secondsSince(start);
      if (result.outcome.state == check::State::Failed && mayShrink(kernel, check.group())) {
        result.smaller = check.shrink(device, kernel);
      }
      results_[index].push_back(std::move(result));
    }
    checks_[index].reset();
    const std::lock_guard lock(mutex_);
    progress_.advance(results_[index].empty() ? "" : results_[index].front().name);
  }

  // All that the device supports, or the one asked for if it belongs to the operator.
  std::vector<std::string> kernelsFor(const Device& device, const check::Check& check) const {
    std::vector<std::string> names = check::supportedKernels(device, check.op());
    if (!run_.kernel.empty()) {
      std::erase_if(names, [&](const std::string& name) { return name != run_.kernel; });
    }
    return names;
  }

  bool mayShrink(const std::string& kernel, const std::string& group) {
    const std::lock_guard lock(mutex_);
    return run_.shrink && shrunk_[kernel + "/" + group]++ < kShrunkPerGroup;
  }

  check::Checks checks_;
  const VerifyRun& run_;
  std::vector<std::vector<std::size_t>> families_;  // indices of checks that share pipelines
  std::vector<std::vector<CheckResult>> results_;   // by check

  std::mutex mutex_;  // of all that follows
  std::size_t next_ = 0;
  std::map<std::string, unsigned> shrunk_;
  std::optional<std::string> failure_;
  std::exception_ptr error_;
  ProgressBar progress_;
};

}  // namespace

VerifyResults runChecks(check::Checks checks, const VerifyRun& run) {
  return Runner(std::move(checks), run).run();
}

}  // namespace saccade::tool
