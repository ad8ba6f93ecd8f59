// SPDX-License-Identifier: Apache-2.0
// From the start of a process to its first result, shape by shape: `saccade_first_result [SHAPE...]`. Each shape runs in a
// process of its own, which opens the device, fills the inputs, makes the plan, runs it and reads one element of the output
// back. Run it twice: the first time may compile, the second finds what the caches kept (SACCADE_CACHE, and the driver's own;
// MESA_SHADER_CACHE_DISABLE=1 switches off Mesa's).
//
// Columns: milliseconds of wall time (and of CPU time of all threads) of each phase, pipelines created, and how many of these the
// driver found in the pipeline cache. The exit code is 1 if a result is wrong, 2 for an unknown shape.
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>

#include <fmt/format.h>

#include "attention_shapes.hpp"

namespace saccade::bench {
namespace {

// Of the machine, so that a child counts from where its parent started it.
double wallMilliseconds() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

double cpuMilliseconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto of = [](const timeval& t) { return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_usec) * 1e-3; };
  return of(usage.ru_utime) + of(usage.ru_stime);
}

class Phases {
 public:
  explicit Phases(double start) : start_(start), wall_(start) {}

  void end(const char* name) {
    const double wall = wallMilliseconds(), cpu = cpuMilliseconds();
    text_ += fmt::format("  {} {:.1f} ({:.1f})", name, wall - wall_, cpu - cpu_);
    wall_ = wall;
    cpu_ = cpu;
  }
  std::string text() const { return fmt::format("{}  total {:.1f} ({:.1f})", text_, wall_ - start_, cpu_); }

 private:
  double start_, wall_, cpu_ = 0;
  std::string text_;
};

int runShape(const NamedShape& shape, double start) {
  Phases phases(start);
  phases.end("load");
  const Device device = Device::open();
  phases.end("open");
  const Inputs inputs(device, shape);
  phases.end("inputs");
  const PlanPtr plan = device.plan(describeAttention(inputs.q, inputs.k, inputs.v, inputs.out, inputs.options));
  phases.end("plan");
  Stream stream(device);
  stream.attention(inputs.q, inputs.k, inputs.v, inputs.out, inputs.options);
  stream.wait();
  const float first = inputs.out.slice(0, 0, 1).slice(1, 0, 1).slice(2, 0, 1).slice(3, 0, 1).download().at(0);
  phases.end("run");
  const ContextStatistics statistics = device.context().statistics();
  fmt::print("{} {}{}  pipelines {} cached {}\n", shape.name, plan->info().kernel, phases.text(), statistics.pipelinesCreated,
             statistics.pipelineCacheHits);
  if (std::abs(first - 1.0f) < 1e-5f) return 0;
  fmt::print(stderr, "saccade_first_result: {}: the mean of ones is {}\n", shape.name, first);
  return 1;
}

// The shape in a child process; its exit code.
int startShape(const char* program, const NamedShape& shape) {
  std::fflush(stdout);
  const std::string start = fmt::format("{:.6f}", wallMilliseconds());
  const pid_t child = ::fork();
  if (child == 0) {
    ::execl(program, program, "--in-this-process", shape.name, start.c_str(), nullptr);
    ::_exit(127);
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) < 0 || !WIFEXITED(status)) return 1;
  return WEXITSTATUS(status);
}

const NamedShape* find(const char* name) {
  const auto found = std::find_if(kShapes.begin(), kShapes.end(), [&](const NamedShape& s) { return std::strcmp(s.name, name) == 0; });
  return found == kShapes.end() ? nullptr : &*found;
}

int firstResults(int argc, char** argv) {
  if (argc == 4 && std::strcmp(argv[1], "--in-this-process") == 0) return runShape(*find(argv[2]), std::strtod(argv[3], nullptr));
  for (int i = 1; i < argc; ++i) {
    if (find(argv[i]) == nullptr) {
      fmt::print(stderr, "saccade_first_result: no shape '{}'; there are S1 to S7\n", argv[i]);
      return 2;
    }
  }
  int worst = 0;
  for (const NamedShape& shape : kShapes) {
    const bool asked = argc == 1 || std::any_of(argv + 1, argv + argc, [&](const char* name) { return find(name) == &shape; });
    if (asked) worst = std::max(worst, startShape("/proc/self/exe", shape));
  }
  return worst;
}

}  // namespace
}  // namespace saccade::bench

int main(int argc, char** argv) {
  try {
    return saccade::bench::firstResults(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "saccade_first_result: %s\n", error.what());
    return 1;
  }
}
