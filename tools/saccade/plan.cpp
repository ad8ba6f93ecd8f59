// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "check/check.hpp"
#include "check/dtype.hpp"
#include "commands.hpp"
#include "exit_code.hpp"
#include "kernel_choice.hpp"
#include "quantised_options.hpp"

namespace saccade::tool {

namespace {

using json = nlohmann::ordered_json;

constexpr const char* kPlanExamples =
    "  saccade plan --heads 12 --seqlen-q 197 --head-dim 64\n"
    "  saccade plan --heads 32 --kv-heads 8 --seqlen-q 1 --seqlen-k 4096 --head-dim 128 --dtype f16\n"
    "  saccade plan --heads 32 --kv-heads 8 --seqlen-q 64 --seqlen-k 4096 --sequences 16 --page-size 16 --window-left 1023\n"
    "  saccade plan --kernel scalar_tiled --seqlen-q 1024      what this variant would need\n"
    "  saccade plan --operator matmul --m 197 --n 2304 --k 768\n"
    "Nothing is run and no tensor is allocated.";

struct PlanOptions {
  std::string op = "attention";
  Dtype dtype = Dtype::F32;
  std::int64_t batch = 1;
  // attention
  std::int64_t heads = 1, kvHeads = 0, seqlenQ = 128, seqlenK = -1, headDim = 64, headDimV = -1;
  Causal causal = Causal::None;
  std::optional<float> softmaxScale;
  float temperature = 1;
  std::int64_t windowLeft = -1, windowRight = -1;
  float softcap = 0;
  bool alibi = false, sink = false;
  std::optional<std::uint32_t> sequences;
  std::int64_t pageSize = 0;
  std::optional<io::DType> kvDtype;
  std::int64_t scaleBlock = 0;
  bool mask = false, bias = false, seqlensQ = false, seqlensK = false, lse = false, probs = false;
  // matmul; rows of the others
  std::int64_t m = 128, n = 128, k = 128;
  // patch embedding
  std::int64_t channels = 3, imageSize = 224, patchSize = 16, embedDim = 768;
};

AttentionDesc attentionDesc(const PlanOptions& o) {
  const std::int64_t kvHeads = o.kvHeads == 0 ? o.heads : o.kvHeads;
  const std::int64_t seqlenK = o.seqlenK < 0 ? o.seqlenQ : o.seqlenK;
  const std::int64_t headDimV = o.headDimV < 0 ? o.headDim : o.headDimV;
  AttentionDesc desc;
  desc.q = {.dtype = o.dtype, .sizes = {o.batch, o.heads, o.seqlenQ, o.headDim}};
  desc.k = {.dtype = o.dtype, .sizes = {o.batch, kvHeads, seqlenK, o.headDim}};
  desc.v = {.dtype = o.dtype, .sizes = {o.batch, kvHeads, seqlenK, headDimV}};
  const std::array<std::int64_t, 4> scores = {o.batch, o.heads, o.seqlenQ, seqlenK};
  if (o.lse) {
    desc.lse = TensorDesc{.dtype = Dtype::F32};
  }
  if (o.probs) {
    desc.probs = TensorDesc{.dtype = o.dtype};
  }
  if (o.mask) {
    desc.mask = TensorDesc{.dtype = Dtype::U8, .sizes = scores};
  }
  if (o.bias) {
    desc.bias = TensorDesc{.dtype = o.dtype, .sizes = scores};
  }
  if (o.alibi) {
    desc.alibiSlopes = TensorDesc{.dtype = Dtype::F32, .sizes = {1, 1, 1, o.heads}};
  }
  if (o.sink) {
    desc.sink = TensorDesc{.dtype = Dtype::F32, .sizes = {1, 1, 1, o.heads}};
  }
  if (o.pageSize > 0) {
    const std::int64_t entries = o.sequences ? *o.sequences : o.batch;
    const std::int64_t pages = (seqlenK + o.pageSize - 1) / o.pageSize;
    desc.blockTable = TensorDesc{.dtype = Dtype::I32, .sizes = {1, 1, entries, pages}};
    desc.k.sizes = {entries * pages, kvHeads, o.pageSize, o.headDim};
    desc.v.sizes = {entries * pages, kvHeads, o.pageSize, headDimV};
  }
  if (o.kvDtype) {
    desc.k.dtype = desc.v.dtype = check::deviceDtype(*o.kvDtype);
    // A scale per entry or page, head and block.
    const auto scales = [&](const TensorDesc& scaled) {
      const std::int64_t blocks = o.scaleBlock == 0 ? 1 : (scaled.sizes[2] + o.scaleBlock - 1) / o.scaleBlock;
      return TensorDesc{.dtype = Dtype::F32, .sizes = {scaled.sizes[0], scaled.sizes[1], blocks, 1}};
    };
    desc.kScale = scales(desc.k);
    desc.vScale = scales(desc.v);
    desc.scaleBlock = static_cast<std::uint32_t>(o.scaleBlock);
  }
  desc.sequences = o.sequences;
  desc.seqlensQ = o.seqlensQ;
  desc.seqlensK = o.seqlensK;
  desc.causal = o.causal;
  desc.softmaxScale = o.softmaxScale;
  desc.temperature = o.temperature;
  desc.windowLeft = o.windowLeft;
  desc.windowRight = o.windowRight;
  desc.softcap = o.softcap;
  return desc;
}

PlanPtr makePlan(const Device& device, const PlanOptions& o, const std::string& kernel) {
  const auto tensor = [&](std::array<std::int64_t, 4> sizes) {
    return TensorDesc{.dtype = o.dtype, .sizes = sizes};
  };
  if (o.op == "matmul") {
    return device.plan(
        MatmulDesc{.a = tensor({1, o.batch, o.m, o.k}), .b = tensor({1, 1, o.n, o.k}), .kernel = kernel});
  }
  if (o.op == "layer_norm") {
    return device.plan(LayerNormDesc{.x = tensor({1, o.batch, o.m, o.n}),
                                     .weight = tensor({1, 1, 1, o.n}),
                                     .bias = tensor({1, 1, 1, o.n}),
                                     .kernel = kernel});
  }
  if (o.op == "softmax") {
    return device.plan(SoftmaxDesc{.x = tensor({1, o.batch, o.m, o.n}), .kernel = kernel});
  }
  if (o.op == "activation") {
    return device.plan(ActivationDesc{.x = tensor({1, o.batch, o.m, o.n}), .kernel = kernel});
  }
  if (o.op == "patch_embed") {
    return device.plan(PatchEmbedDesc{.image = tensor({o.batch, o.channels, o.imageSize, o.imageSize}),
                                      .weight = tensor({o.embedDim, o.channels, o.patchSize, o.patchSize}),
                                      .patchSize = static_cast<std::uint32_t>(o.patchSize),
                                      .kernel = kernel});
  }
  AttentionDesc desc = attentionDesc(o);
  desc.kernel = kernel;
  return device.plan(desc);
}

int plan(const Globals& globals, const PlanOptions& options) {
  Globals anyKernel = globals;
  anyKernel.kernel.clear();
  const Device device = anyKernel.openDevice();
  const PlanPtr made = makePlan(device, options, requestedKernel(globals));
  const PlanInfo info = made->info();
  if (globals.json) {
    fmt::print("{}\n", json{{"device", device.summary().name},
                            {"operator", check::operatorName(info.op)},
                            {"kernel", info.kernel},
                            {"tile", info.tile},
                            {"label", info.label},
                            {"reason", info.reason},
                            {"flops", info.flops},
                            {"bytes", info.bytes},
                            {"scratch_bytes", info.scratchBytes},
                            {"dispatches", info.dispatchCount},
                            {"barriers", info.barrierCount}}
                           .dump(2));
    return kExitOk;
  }
  fmt::print("device      {}\n", device.summary().name);
  fmt::print("kernel      {}\n", *info.tile == '\0' ? info.kernel : info.tile);
  fmt::print("label       {}\n", info.label);
  fmt::print("flops       {:.6g}\n", info.flops);
  fmt::print("bytes       {:.6g}, inputs read and outputs written once\n", info.bytes);
  fmt::print("scratch     {} bytes\n", info.scratchBytes);
  fmt::print("dispatches  {}, with {} barriers between them\n", info.dispatchCount, info.barrierCount);
  fmt::print("why\n");
  const std::string reasons = info.reason;
  for (std::size_t begin = 0; begin < reasons.size();) {
    const std::size_t end = std::min(reasons.find('\n', begin), reasons.size());
    fmt::print("  {}\n", reasons.substr(begin, end - begin));
    begin = end + 1;
  }
  return kExitOk;
}

void addAttentionOptions(CLI::App& command, PlanOptions& o) {
  const std::string group = "Attention";
  command.add_option("--heads", o.heads, "Query heads")->capture_default_str()->group(group);
  command.add_option("--kv-heads", o.kvHeads, "Key/value heads; without it as many as query heads")
      ->group(group);
  command.add_option("--seqlen-q", o.seqlenQ, "Query tokens")->capture_default_str()->group(group);
  command.add_option("--seqlen-k", o.seqlenK, "Key tokens; without it as many as query tokens")->group(group);
  command.add_option("--head-dim", o.headDim, "Size of a query and of a key, 1 to 256")
      ->capture_default_str()
      ->group(group);
  command.add_option("--head-dim-v", o.headDimV, "Size of a value; without it that of a key")->group(group);
  const std::map<std::string, Causal> causals = {
      {"none", Causal::None}, {"bottom_right", Causal::BottomRight}, {"top_left", Causal::TopLeft}};
  command.add_option("--causal", o.causal, "none, bottom_right or top_left")
      ->transform(CLI::CheckedTransformer(causals))
      ->type_name("ALIGNMENT")
      ->group(group);
  command.add_option("--softmax-scale", o.softmaxScale, "Without it 1/sqrt(head_dim)")->group(group);
  command.add_option("--temperature", o.temperature, "Divides the scale")->group(group);
  command.add_option("--window-left", o.windowLeft, "Keys to the left that a row sees; -1: all")
      ->group(group);
  command.add_option("--window-right", o.windowRight, "Keys to the right that a row sees; -1: all")
      ->group(group);
  command.add_option("--softcap", o.softcap, "0: off")->group(group);
  command.add_flag("--alibi", o.alibi, "With ALiBi slopes")->group(group);
  command.add_flag("--sink", o.sink, "With a sink per query head")->group(group);
  command.add_option("--sequences", o.sequences, "That many packed sequences; --seqlen-q and --seqlen-k count them all")
      ->group(group);
  command.add_option("--page-size", o.pageSize, "K and V in pages of that many tokens; 0: contiguous")
      ->check(CLI::NonNegativeNumber)
      ->group(group);
  addQuantisedOptions(command, o.kvDtype, o.scaleBlock);
  command.add_flag("--mask", o.mask, "With a boolean mask [B,Hq,Tq,Tk]")->group(group);
  command.add_flag("--bias", o.bias, "With an additive bias [B,Hq,Tq,Tk]")->group(group);
  command.add_flag("--seqlens-q", o.seqlensQ, "With lengths of the queries")->group(group);
  command.add_flag("--seqlens-k", o.seqlensK, "With lengths of the keys")->group(group);
  command.add_flag("--lse", o.lse, "Write the log-sum-exp as well")->group(group);
  command.add_flag("--probs", o.probs, "Write the attention weights as well")->group(group);
}

}  // namespace

void addPlanCommand(CLI::App& app, Globals& globals) {
  CLI::App& command =
      addSubcommand(app, globals, "plan", "Say what would run for a shape, and why", kPlanExamples);
  addKernelOption(command, globals);
  addJsonOption(command, globals);
  const auto options = std::make_shared<PlanOptions>();
  command.add_option("--operator", options->op, "What to plan")
      ->check(CLI::IsMember({"attention", "matmul", "layer_norm", "softmax", "activation", "patch_embed"}))
      ->capture_default_str();
  const std::map<std::string, Dtype> dtypes = {
      {"f32", Dtype::F32}, {"f16", Dtype::F16}, {"bf16", Dtype::BF16}};
  command.add_option("--dtype", options->dtype, "f32, f16 or bf16")
      ->transform(CLI::CheckedTransformer(dtypes))
      ->type_name("DTYPE");
  command.add_option("--batch", options->batch, "Batch entries")->capture_default_str();
  addAttentionOptions(command, *options);
  command.add_option("--m", options->m, "Rows of the result")
      ->capture_default_str()
      ->group("Other operators");
  command.add_option("--n", options->n, "Columns of the result")
      ->capture_default_str()
      ->group("Other operators");
  command.add_option("--k", options->k, "Columns of a, in matmul")
      ->capture_default_str()
      ->group("Other operators");
  command.add_option("--channels", options->channels, "Of the picture")
      ->capture_default_str()
      ->group("Patch embedding");
  command.add_option("--image-size", options->imageSize, "Height and width")
      ->capture_default_str()
      ->group("Patch embedding");
  command.add_option("--patch-size", options->patchSize, "Side of a patch")
      ->capture_default_str()
      ->group("Patch embedding");
  command.add_option("--embed-dim", options->embedDim, "Channels of the result")
      ->capture_default_str()
      ->group("Patch embedding");
  setAction(command, globals, [&globals, &command, options] {
    requireQuantised(command);
    return plan(globals, *options);
  });
}

}  // namespace saccade::tool
