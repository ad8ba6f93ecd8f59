// SPDX-License-Identifier: Apache-2.0
#include "bench_sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "bench_attention_shape.hpp"
#include "bench_memory.hpp"
#include "bench_run.hpp"

namespace saccade::tool {

namespace {

constexpr std::int64_t kShortest = 128;
constexpr double kSecondsOfPoint = 0.01;  // share of the budget that the runs of one point may take

struct Series {
  std::string name;
  AttentionShape shape;  // but for its lengths
  double seconds = 0;    // of one run of the last point
  double flops = 0;      // of that point
  bool ended = false;
};

std::vector<Series> seriesOf(const BenchOptions& o) {
  AttentionShape full = o.attention;
  full.headsKv = full.heads;
  full.headDimV = full.headDim;
  full.causal = Causal::None;
  full.windowLeft = full.windowRight = -1;
  full.lengths = {};
  AttentionShape causal = full;
  causal.causal = Causal::BottomRight;
  AttentionShape window = causal;
  window.windowLeft = o.attention.windowLeft >= 0 ? o.attention.windowLeft : 255;
  std::vector<Series> all = {{"full, flash", full},
                             {"causal, flash", causal},
                             {fmt::format("window {}, flash", window.windowLeft + 1), window}};
  // Scores in 16 bits would not be as exact as the comparison demands.
  if (o.dtype != io::DType::F32) return all;
  for (std::size_t i = 0, count = all.size(); i < count; ++i) {
    Series unfused = all[i];
    unfused.name.replace(unfused.name.find("flash"), 5, "unfused");
    unfused.shape.fused = false;
    all.push_back(unfused);
  }
  return all;
}

Job jobOf(const Series& series, std::int64_t seqlen, io::DType dtype) {
  AttentionShape shape = series.shape;
  shape.name = series.name;
  shape.seqlenQ = shape.seqlenK = seqlen;
  return {.op = "attention",
          .name = series.name,
          .make = [shape, dtype](const Device& device) { return makeWorkload(device, shape, dtype); },
          .seqlen = seqlen,
          .fused = shape.fused};
}

// The work of a run: what is executed, which without fusion is every pair, seen or not.
double executedFlops(const Series& series, std::int64_t seqlen) {
  AttentionShape shape = series.shape;
  shape.seqlenQ = shape.seqlenK = seqlen;
  if (!shape.fused) {
    shape.causal = Causal::None;
    shape.windowLeft = shape.windowRight = -1;
  }
  return conventionalFlops(shape);
}

// Slope of log(value) over log(seqlen), by least squares.
double slope(const std::vector<std::pair<double, double>>& points) {
  double sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (const auto& [x, y] : points) {
    sx += std::log(x);
    sy += std::log(y);
    sxx += std::log(x) * std::log(x);
    sxy += std::log(x) * std::log(y);
  }
  const auto n = static_cast<double>(points.size());
  return n < 2 ? 0 : (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

std::vector<std::int64_t> lengthsOf(const BenchOptions& o) {
  std::vector<std::int64_t> lengths;
  for (std::int64_t t = std::min(kShortest, o.attention.seqlenK); t <= o.attention.seqlenK; t *= 2) {
    lengths.push_back(t);
  }
  return lengths;
}

}  // namespace

std::size_t sweepPoints(const BenchOptions& o) { return lengthsOf(o).size() * seriesOf(o).size(); }

void measureSweep(const Device& device, const BenchOptions& o, BenchReport& report,
                  const std::function<void(const BenchRow&)>& found,
                  const std::function<void(const std::string&)>& next) {
  const auto start = std::chrono::steady_clock::now();
  const auto left = [&] {
    const std::chrono::duration<double> used = std::chrono::steady_clock::now() - start;
    return o.budgetSeconds - used.count();
  };
  std::vector<Series> all = seriesOf(o);
  for (const std::int64_t seqlen : lengthsOf(o)) {
    for (Series& series : all) {
      if (series.ended) continue;
      const Job job = jobOf(series, seqlen, o.dtype);
      const double flops = executedFlops(series, seqlen);
      const double expected = series.flops > 0 ? series.seconds * flops / series.flops : 0;
      next(fmt::format("{} T{}", series.name, seqlen));
      if (expected > left()) {
        report.rows.push_back(skippedRow(
            job, o.dtype, fmt::format("about {:.0f} s by the length before; --budget {:.0f} leaves {:.0f} s", expected,
                                      o.budgetSeconds, std::max(left(), 0.0))));
        series.ended = true;
      } else {
        try {
          const double seconds = kSecondsOfPoint * o.budgetSeconds;
          const MeasureLimits runs{
              .warmup = expected > seconds ? 0 : 1, .repeat = o.repeat, .seconds = seconds};
          report.rows.push_back(measureJob(device, report.limits, job, o.dtype, runs, {}));
          series.seconds = report.rows.back().seconds();
          series.flops = flops;
        } catch (const MemoryShortage& shortage) {
          report.rows.push_back(skippedRow(job, o.dtype, shortage.what()));
          series.ended = true;
        } catch (const Error& refused) {
          if (refused.status() != Status::OutOfMemory && refused.status() != Status::InvalidArgument) throw;
          report.rows.push_back(skippedRow(job, o.dtype, refused.what()));
          series.ended = true;
        }
      }
      found(report.rows.back());
    }
  }
}

std::vector<Growth> growthOf(const BenchReport& report) {
  constexpr std::size_t kPoints = 4;
  std::vector<Growth> growths;
  for (const BenchRow& row : report.rows) {
    if (row.seqlen == 0 || std::any_of(growths.begin(), growths.end(),
                                       [&](const Growth& growth) { return growth.series == row.name; })) {
      continue;
    }
    std::vector<std::pair<double, double>> times, bytes;
    for (const BenchRow& other : report.rows) {
      if (other.name != row.name || !other.skipped.empty()) continue;
      times.emplace_back(static_cast<double>(other.seqlen), other.times.median(false));
      bytes.emplace_back(static_cast<double>(other.seqlen), other.bytes + static_cast<double>(other.extraBytes));
    }
    for (auto* points : {&times, &bytes}) {
      if (points->size() > kPoints) points->erase(points->begin(), points->end() - kPoints);
    }
    growths.push_back({row.name, slope(times), slope(bytes)});
  }
  return growths;
}

}  // namespace saccade::tool
