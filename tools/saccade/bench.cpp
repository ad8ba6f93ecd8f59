// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <span>

#include "bench_compare.hpp"
#include "bench_memory.hpp"
#include "bench_panels.hpp"
#include "bench_run.hpp"
#include "bench_sweep.hpp"
#include "commands.hpp"
#include "exit_code.hpp"
#include "io/atomic_file.hpp"
#include "kernel_choice.hpp"
#include "progress.hpp"

namespace saccade::tool {

namespace {

constexpr const char* kBenchExamples =
    "  saccade bench                                    everything, in common shapes\n"
    "  saccade bench --preset llm-decode --dtype f16    one use, in half precision\n"
    "  saccade bench attention --only S3,S4             the named shapes alone\n"
    "  saccade bench attention --heads 3 --seqlen 1024 --head-dim 64\n"
    "  saccade bench attention --kernel scalar_tiled --only S3 --repeat 21\n"
    "  saccade bench matmul --m 1024 --n 1024 --k 1024\n"
    "  saccade bench --preset sweep --plot sweep.svg    time and memory against the sequence length\n"
    "  saccade bench --preset peers --compare old.json  against what --json has written before\n"
    "  saccade bench vit --model base --batch 4 --json\n"
    "Times are those of the device's own clock; `wall` is what a caller waits for one run, recording and\n"
    "submission included. GFLOP/s count 2 per product, halved for causal masks, padding included; GB/s inputs\n"
    "read and outputs written once. `of roof` is the share of this device's own limits at the arithmetic intensity\n"
    "of the row, measured first: ops, the multiply-adds that the dtype may use; mem, the bandwidth of memory (more\n"
    "than 100 % comes from caches). `error` is the largest difference of the output that was timed from the scalar\n"
    "path in double precision, on rows sampled evenly from the whole output; where it is more than allowed, the\n"
    "exit code is 1. Of a ViT the logits of the first picture are compared. A shape that does not fit into memory\n"
    "is refused, and in a preset left out by name.\n"
    "With --compare the exit code is also 1 where a median is more than --tolerance percent above the old one and\n"
    "the difference lies outside the noise of both runs; where others use the machine, runs differ by more.";

using Clock = std::chrono::steady_clock;

// What is left of the budget, shared by the jobs that are left.
double secondsForNext(const BenchOptions& o, Clock::time_point start, std::size_t jobsLeft) {
  if (o.budgetSeconds <= 0) return 0;
  const std::chrono::duration<double> used = Clock::now() - start;
  return std::max(o.budgetSeconds - used.count(), 0.001) / static_cast<double>(jobsLeft);
}

void measureJobs(const Device& device, const std::vector<Job>& jobs, const BenchOptions& o, BenchReport& report,
                 const std::function<void(const BenchRow&)>& found, ProgressBar& progress) {
  const auto start = Clock::now();
  std::size_t done = 0;
  for (const Job& job : jobs) {
    try {
      const MeasureLimits runs{.warmup = o.warmup,
                               .repeat = o.repeat,
                               .seconds = secondsForNext(o, start, jobs.size() - done)};
      report.rows.push_back(measureJob(device, report.limits, job, o.dtype, runs,
                                       [&] { progress.advance(job.op + " " + job.name); }));
    } catch (const MemoryShortage& shortage) {
      if (jobs.size() == 1) throw;
      report.rows.push_back(skippedRow(job, o.dtype, shortage.what()));
    }
    progress.finish(++done * static_cast<std::size_t>(o.warmup + o.repeat));
    found(report.rows.back());
  }
}

TextColumns columnsFor(const std::vector<Job>& jobs) {
  TextColumns columns{.label = std::string("attention window 256, unfused").size()};
  for (const Job& job : jobs) {
    columns.label = std::max(columns.label, (job.op + " " + job.name + " " + job.standsFor).size());
  }
  return columns;
}

BenchReport measureAll(const Device& device, const BenchOptions& o, const std::vector<Job>& jobs, bool text) {
  const bool sweep = o.preset == kSweep;
  BenchReport report{.device = device.summary().name, .driver = device.summary().driver};
  if (o.limits) report.limits = measureLimits(device);
  const TextColumns columns = columnsFor(jobs);
  if (text) {
    if (report.limits) fmt::print("{}\n", limitsText(*report.limits));
    fmt::print("{}, {}, {} runs after {}\n{}", report.device, io::dtypeName(o.dtype), o.repeat, o.warmup,
               textHeader(columns));
  }
  const std::size_t total = sweep ? sweepPoints(o) : jobs.size() * static_cast<std::size_t>(o.warmup + o.repeat);
  ProgressBar progress("bench", total);
  const auto found = [&](const BenchRow& row) {
    progress.clear();
    if (!text) return;
    fmt::print("{}", textLine(row, columns));
    std::fflush(stdout);
  };
  if (sweep) {
    measureSweep(device, o, report, found, [&](const std::string& next) { progress.advance(next); });
  } else {
    measureJobs(device, jobs, o, report, found, progress);
  }
  return report;
}

void printReport(const BenchReport& report, const BenchComparison* comparison, const Globals& globals,
                 const BenchOptions& o) {
  if (globals.json) {
    nlohmann::ordered_json json = toJson(report);
    if (comparison != nullptr) json["comparison"] = toJson(*comparison);
    fmt::print("{}\n", json.dump(2));
    return;
  }
  if (o.csv) fmt::print("{}", csvText(report));
  if (o.markdown) fmt::print("{}", markdownText(report));
  for (const Growth& growth : o.csv || o.markdown ? std::vector<Growth>{} : growthOf(report)) {
    if (growth.time > 0) {
      fmt::print("{:<28}time grows as T^{:.2f}, memory as T^{:.2f}\n", growth.series, growth.time, growth.memory);
    }
  }
  // What is printed for a program to read stays as it is.
  if (comparison != nullptr) fmt::print(o.csv || o.markdown ? stderr : stdout, "{}", comparisonText(*comparison));
}

int bench(const Globals& globals, const CLI::App& command, BenchOptions options) {
  finishBenchOptions(command, options);
  const std::vector<Job> jobs = options.preset == kSweep ? std::vector<Job>{} : jobsOf(options);
  std::optional<BaseReport> base;
  if (!options.compare.empty()) base = readBaseReport(options.compare);
  std::optional<io::AtomicFile> plot;
  if (!options.plot.empty()) plot.emplace(options.plot);
  const Device device = globals.openDevice();
  requireKernel(device, requestedKernel(globals));

  if (jobs.size() == 1) jobs.front().require(device);
  const BenchReport report = measureAll(device, options, jobs, !globals.json && !options.csv && !options.markdown);
  if (plot) {
    const std::string svg = reportSvg(report);
    plot->write(std::as_bytes(std::span(svg)));
    plot->commit();
  }
  std::optional<BenchComparison> comparison;
  if (base) comparison = compareReports(*base, report);
  printReport(report, comparison ? &*comparison : nullptr, globals, options);
  const bool right =
      std::all_of(report.rows.begin(), report.rows.end(), [](const BenchRow& row) { return row.passed(); });
  const bool fast = !comparison || !comparison->slowerThan(options.tolerance / 100);
  return right && fast ? kExitOk : kExitCheckFailed;
}

}  // namespace

void addBenchCommand(CLI::App& app, Globals& globals) {
  CLI::App& command = addSubcommand(
      app, globals, "bench",
      "How fast attention, its layers and whole Vision Transformers are here, and how exact", kBenchExamples);
  const auto options = std::make_shared<BenchOptions>();
  addBenchOptions(command, globals, *options);
  setAction(command, globals, [&globals, &command, options] { return bench(globals, command, *options); });
}

}  // namespace saccade::tool
