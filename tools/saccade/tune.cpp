// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "bench_measure.hpp"
#include "commands.hpp"
#include "exit_code.hpp"
#include "progress.hpp"
#include "tune/contest.hpp"
#include "tune/tuning_file.hpp"
#include "tune_shapes.hpp"

namespace saccade::tool {

namespace {

using json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

constexpr const char* kTuneExamples =
    "  saccade tune                                     common shapes of attention and matmul, in two minutes\n"
    "  saccade tune --quick                             a few of them, in half a minute\n"
    "  saccade tune --heads 32 --kv-heads 8 --seqlen-q 1 --seqlen-k 4096 --head-dim 128 --dtype f16\n"
    "  saccade tune --m 197 --n 2304 --k 768 --dry-run  a matrix product, and the file stays as it is\n"
    "Measures the kernels and tiles that could run each shape and keeps those that beat the built-in choice by more than\n"
    "5 percent, results checked, in a file for this device and driver, from which every later run of the library's own\n"
    "device takes them (SACCADE_TUNING names another file or switches that off). Shapes of an earlier run stay in the\n"
    "file. Ctrl-C ends it and keeps what was found so far.";

volatile std::sig_atomic_t interruptSignal = 0;

// While it lives, Ctrl-C is a wish and not the end; a second one is the end.
class CatchInterrupts {
 public:
  CatchInterrupts() {
    interruptSignal = 0;
    previous_ = std::signal(SIGINT, [](int number) {
      interruptSignal = number;
      std::signal(SIGINT, SIG_DFL);
    });
  }
  ~CatchInterrupts() { std::signal(SIGINT, previous_); }
  CatchInterrupts(const CatchInterrupts&) = delete;
  CatchInterrupts& operator=(const CatchInterrupts&) = delete;

 private:
  void (*previous_)(int);
};

double secondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

struct Finding {
  TuneShape shape;
  std::string problem;
  tune::Verdict verdict;

  double ratio() const { return verdict.builtInMilliseconds / verdict.winnerMilliseconds; }
  tune::Result result(const std::string& measured) const {
    return {problem, verdict.builtIn, verdict.winner, verdict.builtInMilliseconds, verdict.winnerMilliseconds, measured};
  }
};

// Times shorter than this are repeated within a measurement: the clock of a device and its start-up have a grain.
constexpr double kShortest = 0.5;  // milliseconds

class WorkloadArena {
 public:
  WorkloadArena(const Device& device, Workload& workload) : device_(device), workload_(workload) {}

  double run(const std::string& kernel) {
    workload_.useKernel(kernel);
    const Run run = runOnce(device_, workload_);
    double milliseconds = run.device.value_or(run.wall);
    for (int more = std::min(16, static_cast<int>(kShortest / std::max(milliseconds, 1e-6))); more > 0; more--) {
      const Run again = runOnce(device_, workload_);
      milliseconds = std::min(milliseconds, again.device.value_or(again.wall));
    }
    return milliseconds;
  }

  std::string check(const std::string& kernel) {
    workload_.useKernel(kernel);
    runOnce(device_, workload_);
    const Accuracy accuracy = workload_.check();
    if (accuracy.passed) return "";
    return fmt::format("its result is wrong: an error of {:.3g} where {:.3g} is allowed, in {}", accuracy.error, accuracy.allowed,
                       accuracy.sample);
  }

 private:
  const Device& device_;
  Workload& workload_;
};

// Nothing if interrupted.
std::optional<Finding> tuneShape(const Device& device, const TuneShape& shape, double seconds, const std::string& label,
                                 std::string& measured) {
  const std::unique_ptr<Workload> workload = shape.make(device);
  measured = fmt::format("{} {}", shape.dtypeName, workload->shape());
  std::vector<std::string> kernels;
  const std::vector<Candidate> candidates = workload->candidates();
  for (const Candidate& candidate : candidates) kernels.push_back(candidate.kernel);
  const Clock::time_point start = Clock::now();
  ProgressBar progress(label, kernels.size());
  WorkloadArena own(device, *workload);
  tune::Arena arena;
  arena.run = [&](const std::string& kernel) { return own.run(kernel); };
  arena.check = [&](const std::string& kernel) { return own.check(kernel); };
  arena.timeUsed = [&] { return secondsSince(start) / seconds; };
  arena.interrupted = [] { return interruptSignal != 0; };
  arena.looked = [&](const std::string& kernel) { progress.advance(kernel); };
  const auto verdict = tune::holdContest(kernels, arena);
  if (!verdict) return std::nullopt;
  return Finding{shape, candidates.front().problem, *verdict};
}

void printTable(const std::vector<std::pair<std::string, Finding>>& findings) {
  fmt::print("{:<12} {:<34} {:>10} {:>10} {:>6}  {}\n", "name", "shape", "built-in", "tuned", "ratio", "kernel and tile");
  for (const auto& [measured, f] : findings) {
    const bool same = f.verdict.winner == f.verdict.builtIn;
    fmt::print("{:<12} {:<34} {:>7.3f} ms {:>7.3f} ms {:>6.2f}  {}\n", f.shape.name, measured, f.verdict.builtInMilliseconds,
               f.verdict.winnerMilliseconds, f.ratio(),
               same ? fmt::format("{} (built in)", f.verdict.builtIn) : fmt::format("{} for {}", f.verdict.winner, f.verdict.builtIn));
    if (f.verdict.looked < f.verdict.candidates) {
      fmt::print("{:<12} {} of {} candidates were looked at in the time given; --budget gives more\n", "", f.verdict.looked,
                 f.verdict.candidates);
    }
    for (const tune::Rejection& rejection : f.verdict.rejected) fmt::print("{:<12} {}: {}\n", "", rejection.kernel, rejection.why);
  }
}

json toJson(const std::vector<std::pair<std::string, Finding>>& findings) {
  json results = json::array();
  for (const auto& [measured, f] : findings) {
    json rejected = json::array();
    for (const tune::Rejection& rejection : f.verdict.rejected) rejected.push_back({{"kernel", rejection.kernel}, {"why", rejection.why}});
    results.push_back({{"name", f.shape.name},
                       {"measured", measured},
                       {"problem", f.problem},
                       {"built_in", f.verdict.builtIn},
                       {"winner", f.verdict.winner},
                       {"built_in_milliseconds", f.verdict.builtInMilliseconds},
                       {"winner_milliseconds", f.verdict.winnerMilliseconds},
                       {"candidates", f.verdict.candidates},
                       {"looked_at", f.verdict.looked},
                       {"rejected", rejected}});
  }
  return results;
}

struct TuneOptions {
  TuneShapeOptions shapes;
  double budget = 0;  // seconds; 0: the default
  std::string file;
  bool dryRun = false;
};

int runTune(const Globals& globals, const CLI::App& command, const TuneOptions& o) {
  const Device device = globals.openDevice();
  const std::vector<TuneShape> shapes = tuneShapes(command, o.shapes);
  const std::string file = !o.file.empty() ? o.file : device.tuningFile();
  if (file.empty() && !o.dryRun) {
    throw UsageError("--file", "there is no place to keep results, as SACCADE_TUNING is off or no home folder is known; name a file, "
                     "or look only with --dry-run");
  }
  if (!o.dryRun) {  // refuses before time is spent
    const std::string note = tune::mergeIntoFile(file, device.facts(), {});
    if (!note.empty()) fmt::print(stderr, "saccade: {}\n", note);
  }
  const double budget = o.budget > 0 ? o.budget : o.shapes.quick ? 30 : 120;
  const Clock::time_point start = Clock::now();
  const CatchInterrupts interrupts;
  std::vector<std::pair<std::string, Finding>> findings;
  std::size_t begun = 0;
  for (; begun < shapes.size() && interruptSignal == 0; begun++) {
    // What one shape leaves of its share is for the others.
    const double left = budget - secondsSince(start);
    if (left <= 0) break;
    const std::string label = fmt::format("{} {} ({} of {})", shapes[begun].name, shapes[begun].dtypeName, begun + 1, shapes.size());
    std::string measured;
    const auto finding = tuneShape(device, shapes[begun], left / static_cast<double>(shapes.size() - begun), label, measured);
    if (!finding) break;
    findings.emplace_back(measured, *finding);
    const tune::Result result = finding->result(measured);
    if (!o.dryRun) tune::mergeIntoFile(file, device.facts(), std::span(&result, 1));
  }
  if (globals.json) {
    fmt::print("{}\n", json{{"device", device.summary().name},
                            {"driver", device.summary().driver},
                            {"file", o.dryRun ? "" : file},
                            {"results", toJson(findings)}}
                           .dump(2));
  } else {
    printTable(findings);
    if (!o.dryRun) fmt::print("{}\n", file);
  }
  if (interruptSignal != 0) {
    fmt::print(stderr, "saccade: interrupted; {} of {} shapes were measured\n", findings.size(), shapes.size());
    return kExitInterrupted;
  }
  if (findings.size() < shapes.size()) {
    fmt::print(stderr, "saccade: the budget of {} s was used up; {} of {} shapes were measured\n", budget, findings.size(), shapes.size());
  }
  return kExitOk;
}

}  // namespace

void addTuneCommand(CLI::App& app, Globals& globals) {
  CLI::App& command = addSubcommand(app, globals, "tune", "Find the fastest kernels and tiles on this device by measuring", kTuneExamples);
  addJsonOption(command, globals);
  const auto options = std::make_shared<TuneOptions>();
  command.add_flag("--quick", options->shapes.quick, "A few shapes only");
  command.add_option("--budget", options->budget, "Seconds that measuring may take; 120 without it, 30 with --quick")
      ->check(CLI::Range(0.1, 86400.0).description(""))
      ->type_name("SECONDS");
  command.add_option("--file", options->file, "Keep the results in this file; without it in that of this device")->type_name("FILE");
  command.add_flag("--dry-run", options->dryRun, "Measure and print, but leave the file as it is");
  addTuneShapeOptions(command, options->shapes);
  setAction(command, globals, [&globals, &command, options] { return runTune(globals, command, *options); });
}

}  // namespace saccade::tool
