// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <utility>

#include "bench_measure.hpp"
#include "commands.hpp"
#include "exit_code.hpp"
#include "kernel_choice.hpp"
#include "progress.hpp"

namespace saccade::tool {

namespace {

using json = nlohmann::ordered_json;

constexpr const char* kExamples =
    "  saccade bench                                    everything, in common shapes\n"
    "  saccade bench attention --dtype f16              one operator, in half precision\n"
    "  saccade bench attention --heads 3 --seqlen 1024 --head-dim 64\n"
    "  saccade bench attention --kernel scalar_tiled --only long --repeat 21\n"
    "  saccade bench matmul --m 1024 --n 1024 --k 1024\n"
    "  saccade bench vit --model base --batch 4 --json\n"
    "Times are those of the device's own clock; `wall` is what a caller waits for one run, recording and "
    "submission\n"
    "included. GFLOP/s count 2 per product, halved for causal masks. `error` is the largest difference of "
    "the output that\n"
    "was timed from the scalar path in double precision, on rows sampled evenly from the whole output; where "
    "it is more than\n"
    "allowed, the exit code is 1. Of a ViT the logits of the first picture are compared.";

struct BenchOptions {
  std::string what;  // empty: all
  std::string only;  // name of a built-in shape; empty: all
  io::DType dtype = io::DType::F32;
  int repeat = 11, warmup = 3;
  AttentionShape attention{.name = "custom"};
  std::int64_t seqlen = 0;  // both sides
  MatmulShape matmul{.name = "custom"};
  LayerNormShape layerNorm{.name = "custom"};
  std::int64_t batch = 0;
  std::string model;
};

using Maker = std::function<std::unique_ptr<Workload>(const Device&)>;

struct Job {
  std::string name;
  Maker make;
};

template <typename Shape>
void addJobs(std::vector<Job>& jobs, const std::vector<Shape>& shapes, const BenchOptions& o) {
  for (const Shape& shape : shapes) {
    if (o.only.empty() || o.only == shape.name) {
      jobs.push_back({shape.name, [shape, dtype = o.dtype](const Device& device) {
                        return makeWorkload(device, shape, dtype);
                      }});
    }
  }
}

// Those options of an operator that stand on the command line, and whether there is one.
bool given(const CLI::App& command, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (command.count(name) > 0) {
      return true;
    }
  }
  return false;
}

std::vector<AttentionShape> attentionShapes(const CLI::App& command, const BenchOptions& o) {
  if (!given(command, {"--heads", "--kv-heads", "--seqlen", "--seqlen-q", "--seqlen-k", "--head-dim",
                       "--head-dim-v", "--causal"})) {
    return defaultAttentionShapes();
  }
  AttentionShape shape = o.attention;
  if (o.batch > 0) shape.batch = o.batch;
  if (!given(command, {"--kv-heads"})) shape.headsKv = shape.heads;
  if (given(command, {"--seqlen"})) shape.seqlenQ = shape.seqlenK = o.seqlen;
  if (given(command, {"--seqlen-q"})) shape.seqlenQ = o.attention.seqlenQ;
  shape.seqlenK = given(command, {"--seqlen-k"}) ? o.attention.seqlenK
                  : given(command, {"--seqlen"}) ? o.seqlen
                                                 : shape.seqlenQ;
  if (!given(command, {"--head-dim-v"})) shape.headDimV = shape.headDim;
  return {shape};
}

std::vector<VitShape> vitShapes(const BenchOptions& o) {
  std::vector<VitShape> shapes;
  for (VitShape shape : defaultVitShapes()) {
    if (o.batch > 0) shape.batch = o.batch;
    if (o.model.empty() || o.model == shape.name) shapes.push_back(shape);
  }
  return shapes;
}

std::vector<Job> jobsOf(const CLI::App& command, const BenchOptions& o) {
  std::vector<Job> jobs;
  if (o.what.empty() || o.what == "attention") addJobs(jobs, attentionShapes(command, o), o);
  if (o.what.empty() || o.what == "matmul") {
    addJobs(jobs, given(command, {"--m", "--n", "--k"}) ? std::vector{o.matmul} : defaultMatmulShapes(), o);
  }
  if (o.what.empty() || o.what == "layernorm") {
    addJobs(jobs,
            given(command, {"--rows", "--channels"}) ? std::vector{o.layerNorm} : defaultLayerNormShapes(),
            o);
  }
  if (o.what.empty() || o.what == "vit") addJobs(jobs, vitShapes(o), o);
  if (jobs.empty()) {
    throw UsageError(
        "--only",
        fmt::format("'{}' is none of the built-in shapes; without it all are measured and named", o.only));
  }
  return jobs;
}

json measureJob(const Device& device, const Job& job, const BenchOptions& o) {
  const std::unique_ptr<Workload> workload = job.make(device);
  const Measurement m = measure(device, *workload, o.warmup, o.repeat);
  const Accuracy accuracy = workload->check();
  const double seconds = m.median(false) / 1e3;
  json times = json::array();
  for (const Run& run : m.runs) {
    times.push_back(run.device ? json(*run.device) : json(nullptr));
  }
  return {{"operator", workload->op()},
          {"name", workload->name()},
          {"shape", workload->shape()},
          {"dtype", io::dtypeName(o.dtype)},
          {"kernel", workload->kernel()},
          {"device_clock", m.hasDeviceTimes()},
          {"ms_median", m.median(false)},
          {"ms_min", m.minimum(false)},
          {"wall_ms_median", m.median(true)},
          {"wall_ms_min", m.minimum(true)},
          {"wall_ms_first", m.firstWall},
          {"gflops", workload->flops() / seconds / 1e9},
          {"gbytes_per_second", workload->bytes() / seconds / 1e9},
          {"error", accuracy.error},
          {"error_allowed", accuracy.allowed},
          {"error_sample", accuracy.sample},
          {"passed", accuracy.passed},
          {"ms", times}};
}

void printHeader(const Device& device, const BenchOptions& o) {
  fmt::print("{}, {}, {} runs after {}\n", device.summary().name, io::dtypeName(o.dtype), o.repeat, o.warmup);
  fmt::print("{:<23}{:<32}{:<13}{:>10}{:>10}{:>10}{:>10}{:>8}  error\n", "operator", "shape", "kernel", "ms",
             "min", "wall", "GFLOP/s", "GB/s");
}

void printLine(const json& r) {
  const auto number = [&](const char* key) { return r[key].get<double>(); };
  const auto text = [&](const char* key) { return r[key].get<std::string>(); };
  fmt::print("{:<23}{:<32}{:<13}{:>10.3f}{:>10.3f}{:>10.3f}{:>10.4g}{:>8.3g}  {:.1e} on {}{}\n",
             text("operator") + " " + text("name"), text("shape"), text("kernel"), number("ms_median"),
             number("ms_min"), number("wall_ms_median"), number("gflops"), number("gbytes_per_second"),
             number("error"), text("error_sample"),
             r["passed"].get<bool>() ? "" : fmt::format(", WRONG: {:.1e} allowed", number("error_allowed")));
}

int bench(const Globals& globals, const CLI::App& command, const BenchOptions& options) {
  const std::vector<Job> jobs = jobsOf(command, options);
  const Device device = globals.openDevice();
  requireKernel(device, requestedKernel(globals));
  if (!globals.json) {
    printHeader(device, options);
  }
  json results = json::array();
  bool passed = true;
  {
    ProgressBar progress("bench", jobs.size());
    for (const Job& job : jobs) {
      const json result = measureJob(device, job, options);
      passed = passed && result["passed"].get<bool>();
      if (!globals.json) {
        progress.clear();
        printLine(result);
      }
      results.push_back(result);
      progress.advance(job.name);
    }
  }
  if (globals.json) {
    fmt::print(
        "{}\n",
        json{{"device", device.summary().name}, {"driver", device.summary().driver}, {"results", results}}
            .dump(2));
  }
  return passed ? kExitOk : kExitCheckFailed;
}

CLI::Option* addSize(CLI::App& command, const char* name, std::int64_t& value, const char* text) {
  return command.add_option(name, value, text)
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 30).description(""))
      ->type_name("N");
}

}  // namespace

void addBenchCommand(CLI::App& app, Globals& globals) {
  CLI::App& command = addSubcommand(
      app, globals, "bench",
      "How fast attention, its layers and whole Vision Transformers are here, and how exact", kExamples);
  addKernelOption(command, globals);
  addJsonOption(command, globals);
  const auto options = std::make_shared<BenchOptions>();
  command.add_option("what", options->what, "attention, matmul, layernorm or vit; without it all of them")
      ->check(CLI::IsMember({"attention", "matmul", "layernorm", "vit"}))
      ->type_name("WHAT");
  static const std::map<std::string, io::DType> kDtypes{
      {"f32", io::DType::F32}, {"f16", io::DType::F16}, {"bf16", io::DType::BF16}};
  static const std::map<std::string, Causal> kCausal{
      {"none", Causal::None}, {"bottom_right", Causal::BottomRight}, {"top_left", Causal::TopLeft}};
  command.add_option("--dtype", options->dtype, "Storage type: f32, f16 or bf16")
      ->transform(CLI::CheckedTransformer(kDtypes).description(""))
      ->type_name("DTYPE");
  command.add_option("--repeat", options->repeat, "Runs that count")
      ->check(CLI::Range(1, 100000).description(""))
      ->type_name("N");
  command.add_option("--warmup", options->warmup, "Runs before those, the first of which compiles pipelines")
      ->check(CLI::Range(1, 100000).description(""))
      ->type_name("N");
  command.add_option("--only", options->only, "The built-in shape of this name alone")->type_name("NAME");
  addSize(command, "--batch", options->batch, "attention, vit: batch entries");
  addSize(command, "--heads", options->attention.heads, "attention: query heads");
  addSize(command, "--kv-heads", options->attention.headsKv,
          "attention: key/value heads; as many as query heads without it");
  addSize(command, "--seqlen", options->seqlen, "attention: queries and keys");
  addSize(command, "--seqlen-q", options->attention.seqlenQ, "attention: queries");
  addSize(command, "--seqlen-k", options->attention.seqlenK, "attention: keys");
  addSize(command, "--head-dim", options->attention.headDim, "attention: head_dim of queries and keys");
  addSize(command, "--head-dim-v", options->attention.headDimV, "attention: head_dim of values, if another");
  command.add_option("--causal", options->attention.causal, "attention: none, bottom_right or top_left")
      ->transform(CLI::CheckedTransformer(kCausal).description(""))
      ->type_name("ALIGNMENT");
  addSize(command, "--m", options->matmul.m, "matmul: rows of the first factor");
  addSize(command, "--n", options->matmul.n, "matmul: rows of the weight");
  addSize(command, "--k", options->matmul.k, "matmul: length of the sums");
  addSize(command, "--rows", options->layerNorm.rows, "layernorm: rows");
  addSize(command, "--channels", options->layerNorm.channels, "layernorm: channels of a row");
  command.add_option("--model", options->model, "vit: tiny, small or base; all three without it")
      ->check(CLI::IsMember({"tiny", "small", "base"}))
      ->type_name("NAME");
  setAction(command, globals, [&globals, &command, options] { return bench(globals, command, *options); });
}

}  // namespace saccade::tool
