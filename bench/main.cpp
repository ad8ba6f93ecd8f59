// SPDX-License-Identifier: Apache-2.0
// The workloads of `saccade bench` under Google Benchmark: `saccade_bench --benchmark_filter=attention/S3`
// and its other options. The device is SACCADE_DEVICE or the best one. Times are those of the device's clock.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cstdlib>
#include <exception>
#include <iostream>

#include "bench_measure.hpp"
#include "bench_presets.hpp"

namespace saccade::tool {

namespace {

template <typename Shape>
void run(benchmark::State& state, const Device& device, const Shape& shape, io::DType dtype) {
  const std::unique_ptr<Workload> workload = makeWorkload(device, shape, dtype);
  runOnce(device, *workload);  // compiles the pipelines
  for (auto iteration : state) {
    const Run timed = runOnce(device, *workload);
    state.SetIterationTime(timed.device.value_or(timed.wall) / 1e3);
  }
  const Accuracy accuracy = workload->check();
  if (!accuracy.passed) {
    state.SkipWithError(
        fmt::format("the output is wrong: error {}, allowed {}", accuracy.error, accuracy.allowed).c_str());
    return;
  }
  const auto perSecond = benchmark::Counter::kIsIterationInvariantRate;
  state.counters["FLOP"] = benchmark::Counter(workload->flops(), perSecond);
  state.counters["bytes"] = benchmark::Counter(workload->bytes(), perSecond, benchmark::Counter::kIs1024);
  state.counters["error"] = accuracy.error;
  state.SetLabel(fmt::format("{} {}", workload->kernel(), workload->shape()));
}

template <typename Shape>
void add(const Device& device, const char* op, const std::vector<Shape>& shapes, io::DType dtype) {
  for (const Shape& shape : shapes) {
    const std::string name = fmt::format("{}/{}/{}", op, shape.name, io::dtypeName(dtype));
    benchmark::RegisterBenchmark(
        name.c_str(), [device, shape, dtype](benchmark::State& state) { run(state, device, shape, dtype); })
        ->UseManualTime()
        ->Unit(benchmark::kMillisecond);
  }
}

int benchmarkMain(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) {
    return EXIT_FAILURE;
  }
  {
    const Device device = Device::open();
    benchmark::AddCustomContext("device", device.summary().name);
    benchmark::AddCustomContext("driver", device.summary().driver);
    const Preset common = presetNamed("common");
    for (const io::DType dtype : {io::DType::F32, io::DType::F16, io::DType::BF16}) {
      add(device, "attention", common.attention, dtype);
    }
    add(device, "matmul", common.matmul, io::DType::F32);
    add(device, "layernorm", common.layerNorm, io::DType::F32);
    add(device, "vit", common.vit, io::DType::F32);
    benchmark::RunSpecifiedBenchmarks();
    benchmark::ClearRegisteredBenchmarks();  // they hold the device, which must close before main returns
  }
  benchmark::Shutdown();
  return EXIT_SUCCESS;
}

}  // namespace

}  // namespace saccade::tool

int main(int argc, char** argv) {
  try {
    return saccade::tool::benchmarkMain(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "saccade_bench: " << error.what() << '\n';
    return EXIT_FAILURE;
  }
}
