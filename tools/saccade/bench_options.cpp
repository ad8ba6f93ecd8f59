// SPDX-License-Identifier: Apache-2.0
#include "bench_options.hpp"

#include <fmt/format.h>

#include "bench_presets.hpp"
#include "exit_code.hpp"
#include "quantised_options.hpp"

namespace saccade::tool {

namespace {

CLI::Option* addSize(CLI::App& command, const char* name, std::int64_t& value, const char* text) {
  return command.add_option(name, value, text)
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 30).description(""))
      ->type_name("N");
}

CLI::Option* addCount(CLI::App& command, const char* name, int& value, int least, const char* text) {
  return command.add_option(name, value, text)->check(CLI::Range(least, 100000).description(""))->type_name("N");
}

void addShapeOptions(CLI::App& command, BenchOptions& o) {
  static const std::map<std::string, Causal> kCausal{
      {"none", Causal::None}, {"bottom_right", Causal::BottomRight}, {"top_left", Causal::TopLeft}};
  AttentionShape& a = o.attention;
  addSize(command, "--batch", o.batch, "attention, vit: batch entries");
  addSize(command, "--heads", a.heads, "attention: query heads");
  addSize(command, "--kv-heads", a.headsKv, "attention: key/value heads; as many as query heads without it");
  addSize(command, "--seqlen", a.seqlenK, "attention: queries and keys");
  addSize(command, "--seqlen-q,--tq", a.seqlenQ, "attention: queries");
  addSize(command, "--seqlen-k,--tk", a.seqlenK, "attention: keys");
  addSize(command, "--head-dim", a.headDim, "attention: head_dim of queries and keys");
  addSize(command, "--head-dim-v", a.headDimV, "attention: head_dim of values, if another");
  command.add_option("--causal", a.causal, "attention: none, bottom_right or top_left")
      ->transform(CLI::CheckedTransformer(kCausal).description(""))
      ->type_name("ALIGNMENT");
  const auto width = [&](const char* name, std::int64_t& value, const char* text) {
    command.add_option(name, value, text)
        ->check(CLI::Range(std::int64_t{-1}, std::int64_t{1} << 30).description(""))
        ->type_name("N");
  };
  width("--window-left", a.windowLeft, "attention: keys before its own that a row sees; -1: all");
  width("--window-right", a.windowRight, "attention: keys after its own that a row sees; -1: all");
  command
      .add_option("--lengths", a.lengths,
                  "attention: keys of each batch entry, and its queries where there are as many as keys")
      ->delimiter(',')
      ->type_name("N,N,...");
  addQuantisedOptions(command, a.kvDtype, a.scaleBlock);
  addSize(command, "--m", o.matmul.m, "matmul: rows of the first factor");
  addSize(command, "--n", o.matmul.n, "matmul: rows of the weight");
  addSize(command, "--k", o.matmul.k, "matmul: length of the sums");
  addSize(command, "--rows", o.layerNorm.rows, "layernorm: rows");
  addSize(command, "--channels", o.layerNorm.channels, "layernorm: channels of a row");
  command.add_option("--model", o.model, "vit: tiny, small or base; all three without it")
      ->check(CLI::IsMember({"tiny", "small", "base"}))
      ->type_name("NAME");
}

// Whether one of the options stands on the command line.
bool given(const CLI::App& command, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (command.count(name) > 0) {
      return true;
    }
  }
  return false;
}

void finishAttention(const CLI::App& command, AttentionShape& shape) {
  if (!given(command, {"--kv-heads"})) shape.headsKv = shape.heads;
  if (!given(command, {"--seqlen-k", "--seqlen"})) shape.seqlenK = shape.seqlenQ;
  if (!given(command, {"--seqlen-q"})) shape.seqlenQ = shape.seqlenK;
  if (!given(command, {"--head-dim-v"})) shape.headDimV = shape.headDim;
  if (shape.lengths.empty()) return;
  const auto batch = static_cast<std::int64_t>(shape.lengths.size());
  if (!given(command, {"--batch"})) shape.batch = batch;
  if (shape.batch != batch) {
    throw UsageError("--lengths", fmt::format("there are {} for a batch of {}; give one for each entry", batch,
                                              shape.batch));
  }
  for (const std::int32_t length : shape.lengths) {
    if (length < 0 || length > shape.seqlenK) {
      throw UsageError("--lengths",
                       fmt::format("{} is not between 0 and the {} keys of --seqlen-k", length, shape.seqlenK));
    }
  }
}

}  // namespace

void addBenchOptions(CLI::App& command, Globals& globals, BenchOptions& o) {
  addKernelOption(command, globals);
  addJsonOption(command, globals);
  command.add_flag("--csv", o.csv, "Print comma-separated values instead of text")->excludes("--json");
  command.add_flag("--markdown", o.markdown, "Print tables for a document")->excludes("--json")->excludes("--csv");
  command.add_option("--plot", o.plot, "Write an SVG: the roofline, of a sweep time and memory")->type_name("FILE");
  command.add_option("--compare", o.compare, "Compare with a report that --json has written")->type_name("FILE");
  command.add_option("--tolerance", o.tolerance, "How much slower than --compare's rows is let pass")
      ->check(CLI::Range(0.0, 1e6).description(""))
      ->type_name("PERCENT");
  command.add_flag("!--no-limits", o.limits, "Do not measure the device's own limits first");
  command.add_option("what", o.what, "attention, matmul, layernorm or vit; without it all of the preset")
      ->check(CLI::IsMember({"attention", "matmul", "layernorm", "vit"}))
      ->type_name("WHAT");
  std::string about = "Which shapes:";
  std::vector<std::string> names;
  for (const Preset& preset : presets()) {
    names.push_back(preset.name);
    about += fmt::format("\n{}: {}", preset.name, preset.about);
  }
  names.emplace_back(kSweep);
  about += fmt::format(
      "\n{}: one head, 64 channels, 128 tokens and twice as many each time up to --seqlen (131072); full, causal and a "
      "window of --window-left + 1 keys (256); with flash attention and, in f32, with all scores in memory; "
      "--heads and --head-dim as given; --budget is 90 seconds, and what will not end in them is left out",
      kSweep);
  command.add_option("--preset", o.preset, about)->check(CLI::IsMember(names))->type_name("NAME");
  static const std::map<std::string, io::DType> kDtypes{
      {"f32", io::DType::F32}, {"f16", io::DType::F16}, {"bf16", io::DType::BF16}};
  command.add_option("--dtype", o.dtype, "Storage type: f32, f16 or bf16")
      ->transform(CLI::CheckedTransformer(kDtypes).description(""))
      ->type_name("DTYPE");
  addCount(command, "--repeat", o.repeat, 1, "Runs that count");
  addCount(command, "--warmup", o.warmup, 0, "Runs before those; the first one compiles pipelines");
  command
      .add_option("--budget", o.budgetSeconds,
                  "Stop repeating a shape when its share of these seconds is used up; every shape is run once")
      ->check(CLI::Range(0.0, 1e6).description(""))
      ->type_name("SECONDS");
  command.add_option("--only", o.only, "The shapes of the preset with these names alone")
      ->delimiter(',')
      ->type_name("NAME,NAME,...");
  addShapeOptions(command, o);
}

void finishBenchOptions(const CLI::App& command, BenchOptions& o) {
  requireQuantised(command);
  if (o.preset == kSweep) {
    if (o.attention.kvDtype) throw UsageError("--kv-dtype", "the preset sweep has keys of the dtype of its queries alone");
    if (!o.what.empty() && o.what != "attention") {
      throw UsageError("--preset", fmt::format("sweep measures attention, not {}", o.what));
    }
    if (!given(command, {"--seqlen", "--seqlen-k"})) o.attention.seqlenK = 131072;
    if (!given(command, {"--budget"})) o.budgetSeconds = 90;
    if (o.batch > 0) o.attention.batch = o.batch;
    return;
  }
  o.customAttention =
      given(command, {"--heads", "--kv-heads", "--seqlen", "--seqlen-q", "--seqlen-k", "--head-dim",
                      "--head-dim-v", "--causal", "--window-left", "--window-right", "--lengths"});
  if (o.batch > 0) o.attention.batch = o.batch;
  if (o.customAttention) finishAttention(command, o.attention);
  o.customMatmul = given(command, {"--m", "--n", "--k"});
  o.customLayerNorm = given(command, {"--rows", "--channels"});
}

}  // namespace saccade::tool
