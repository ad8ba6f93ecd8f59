// SPDX-License-Identifier: Apache-2.0
#include "cases.hpp"

#include <algorithm>
#include <stdexcept>
#include <string_view>

#include <fmt/format.h>

#include "inspect/attention_descriptions.hpp"
#include "kernels/registry.hpp"

namespace saccade::compile {
namespace {

constexpr Dtype kDtypes[] = {Dtype::F32, Dtype::F16, Dtype::BF16};

using inspect::kBatch, inspect::kHeadsKv, inspect::kHeadsQ, inspect::kSeqlen;
constexpr std::int64_t kRagged = 1000, kPageSize = 16;

TensorDesc lseOf(const AttentionDesc& desc) { return {Dtype::F32, {desc.q.sizes[0], kHeadsQ, desc.q.sizes[2], 1}}; }

// As a language model is trained.
void makeCausal(AttentionDesc& desc) {
  desc.causal = Causal::BottomRight;
  desc.lse = lseOf(desc);
}

// An encoder with its padding.
void makePadded(AttentionDesc& desc) { desc.mask = {Dtype::U8, {kBatch, 1, 1, desc.k.sizes[2]}}; }

void makeCapped(AttentionDesc& desc) {
  desc.causal = Causal::TopLeft;
  desc.windowLeft = 64;
  desc.softcap = 30;
}

void makePacked(AttentionDesc& desc) {
  desc.sequences = 3;
  desc.q.sizes[0] = desc.k.sizes[0] = desc.v.sizes[0] = 1;
  desc.causal = Causal::BottomRight;
  desc.windowLeft = 64;
  desc.alibiSlopes = {Dtype::F32, {1, 1, 3, kHeadsQ}};
  desc.sink = {Dtype::F32, {1, 1, 1, kHeadsQ}};
  desc.lse = lseOf(desc);
}

void makePaged(AttentionDesc& desc) {
  const std::int64_t pages = desc.k.sizes[2] / kPageSize;
  desc.blockTable = {Dtype::I32, {1, 1, desc.sequences.value_or(kBatch), pages}};
  desc.k.sizes = {2 * pages, kHeadsKv, kPageSize, desc.k.sizes[3]};
  desc.v.sizes = {2 * pages, kHeadsKv, kPageSize, desc.v.sizes[3]};
  desc.causal = Causal::BottomRight;
}

// A cache of bytes with scales.
void makeQuantised(AttentionDesc& desc, Dtype dtype) {
  desc.k.dtype = desc.v.dtype = dtype;
  desc.scaleBlock = 16;
  desc.kScale = desc.vScale = TensorDesc{Dtype::F32, {kBatch, kHeadsKv, desc.k.sizes[2] / desc.scaleBlock, 1}};
  makeCausal(desc);
}

struct AttentionOptions {
  const char* name;
  std::int64_t rows, keys;
  void (*apply)(AttentionDesc&);
};
const AttentionOptions kAttentionOptions[] = {
    {"plain", kSeqlen, kSeqlen, [](AttentionDesc&) {}},
    {"long", 4 * kSeqlen, 4 * kSeqlen, [](AttentionDesc&) {}},  // work enough for the largest tiles
    {"ragged", kRagged, kRagged, [](AttentionDesc&) {}},
    {"causal", kSeqlen, kSeqlen, makeCausal},
    {"padded", kSeqlen, kSeqlen, makePadded},
    {"capped", kSeqlen, kSeqlen, makeCapped},
    {"everything", kSeqlen, kSeqlen, [](AttentionDesc& desc) { desc = inspect::everything(desc); }},
    {"packed", kSeqlen, kSeqlen, makePacked},
    {"packed_paged", kSeqlen, kSeqlen, [](AttentionDesc& desc) { makePacked(desc); makePaged(desc); }},
    {"decode", 1, 4 * kSeqlen, makeCausal},
    {"int8", kSeqlen, kSeqlen, [](AttentionDesc& desc) { makeQuantised(desc, Dtype::I8); }},
    {"fp8_decode", 1, 4 * kSeqlen, [](AttentionDesc& desc) { makeQuantised(desc, Dtype::F8E4M3); }},
    {"decode_paged", 1, 4 * kSeqlen, [](AttentionDesc& desc) { makePaged(desc); desc.seqlensK = true; }},
};

// Matrix products: small and big tiles, every layout of a and b, every epilogue.
MatmulDesc product(const std::string& kernel, Dtype dtype, std::int64_t rows, std::int64_t columns, std::int64_t depth) {
  return {.a = {dtype, {1, 1, rows, depth}}, .b = {dtype, {1, 1, columns, depth}}, .kernel = kernel};
}

MatmulDesc small(const std::string& kernel, Dtype dtype) { return product(kernel, dtype, 50, 40, 64); }

MatmulDesc plain(const std::string& kernel, Dtype dtype) { return product(kernel, dtype, 2048, 1024, 256); }

MatmulDesc gelu(const std::string& kernel, Dtype dtype) {
  MatmulDesc desc = plain(kernel, dtype);
  desc.bias = {dtype, {1, 1, 1, 1024}};
  desc.residual = {dtype, {1, 1, 2048, 1024}};
  desc.activation = Activation::Gelu;
  return desc;
}

MatmulDesc across(const std::string& kernel, Dtype dtype) {
  MatmulDesc desc = gelu(kernel, dtype);
  desc.a.strides = {2048 * 256, 2048 * 256, 1, 2048};
  desc.b.strides = {1024 * 256, 1024 * 256, 1, 1024};
  desc.activation = Activation::GeluTanh;
  return desc;
}

MatmulDesc scattered(const std::string& kernel, Dtype dtype) {
  MatmulDesc desc = small(kernel, dtype);
  desc.a.strides = {6400, 6400, 128, 2};
  desc.b.strides = {5120, 5120, 128, 2};
  return desc;
}

struct MatmulOptions {
  const char* name;
  MatmulDesc (*make)(const std::string& kernel, Dtype dtype);
};
const MatmulOptions kMatmulOptions[] = {
    {"plain", plain}, {"small", small}, {"gelu", gelu}, {"across", across}, {"scattered", scattered}};

bool isForCpuDevices(const std::string& kernel) {
  constexpr const char* kKernels[] = {"scalar_rows", "split_kv", "widened_rows", "channel_lanes", "matmul_rows"};
  return std::find(std::begin(kKernels), std::end(kKernels), kernel) != std::end(kKernels);
}

Case attentionCase(const std::string& kernel, Dtype dtype, std::int64_t headDim, const std::string& name) {
  std::string names;
  for (const AttentionOptions& options : kAttentionOptions) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", options.name);
    if (name != options.name) continue;
    AttentionDesc desc = inspect::plainAttention(kernel, dtype, headDim, options.rows, options.keys);
    options.apply(desc);
    return {desc, kernel, dtype, headDim, name};
  }
  throw std::invalid_argument(fmt::format("options are \"{}\"; attention has: {}", name, names));
}

Case matmulCase(const std::string& kernel, Dtype dtype, const std::string& name) {
  std::string names;
  for (const MatmulOptions& options : kMatmulOptions) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", options.name);
    if (name == options.name) return {options.make(kernel, dtype), kernel, dtype, 0, name};
  }
  throw std::invalid_argument(fmt::format("options are \"{}\"; matmul has: {}", name, names));
}

void addAttention(std::vector<Case>& all, const std::string& kernel, Dtype dtype, std::int64_t headDim,
                  std::initializer_list<const char*> options) {
  for (const char* name : options) all.push_back(attentionCase(kernel, dtype, headDim, name));
}

void addMatmul(std::vector<Case>& all, const std::string& kernel, Dtype dtype, std::initializer_list<const char*> options) {
  for (const char* name : options) all.push_back(matmulCase(kernel, dtype, name));
}

void addRows(std::vector<Case>& all, Dtype dtype, std::int64_t columns) {
  const TensorDesc x{dtype, {1, 1, 200, columns}}, row{dtype, {1, 1, 1, columns}};
  all.push_back({LayerNormDesc{.x = x, .weight = row, .bias = row}, "", dtype, 0, "affine"});
  all.push_back({LayerNormDesc{.x = x}, "", dtype, 0, "plain"});
  all.push_back({SoftmaxDesc{.x = x}, "", dtype, 0, "plain"});
  all.push_back({ActivationDesc{.x = x, .activation = Activation::Gelu}, "", dtype, 0, "gelu"});
  all.push_back({ActivationDesc{.x = x, .activation = Activation::GeluTanh}, "", dtype, 0, "gelu_tanh"});
}

void addPatches(std::vector<Case>& all, Dtype dtype) {
  all.push_back({PatchEmbedDesc{.image = {dtype, {1, 3, 56, 56}}, .weight = {dtype, {64, 3, 14, 14}}, .patchSize = 14}, "", dtype, 0, "plain"});
}

// What plans choose: the main shapes, and the two ends of code size. bf16 differs from fp16 in conversions alone, so some will do.
void addChosen(std::vector<Case>& all, Dtype dtype) {
  if (dtype == Dtype::BF16) {
    addAttention(all, "", dtype, 128, {"everything", "decode"});
    addMatmul(all, "", dtype, {"gelu"});
    return;
  }
  for (const std::int64_t headDim : {64, 128}) addAttention(all, "", dtype, headDim, {"plain", "causal", "everything", "decode"});
  addMatmul(all, "", dtype, {"plain", "small", "gelu"});
}

// A kernel for GPUs with the access that this device's plans use: each option on and off.
void addEveryOption(std::vector<Case>& all, const std::string& kernel, Dtype dtype) {
  // Those that figures are kept of come first: of calls that share a pipeline the first gives it its name.
  for (const std::int64_t headDim : {64, 128}) addAttention(all, kernel, dtype, headDim, {"plain", "causal", "everything"});
  addAttention(all, kernel, dtype, 64, {"ragged", "padded", "capped", "packed", "decode", "int8", "fp8_decode"});
  addAttention(all, kernel, dtype, 128, {"packed_paged", "decode_paged"});
}

void addEveryProduct(std::vector<Case>& all, const std::string& kernel, Dtype dtype) {
  addMatmul(all, kernel, dtype, {"plain", "small", "gelu", "across", "scattered"});
}

// bf16, and a kernel or an access to memory that this device's plans do not take: both ends of code size. A kernel for CPU devices
// takes the compilers of GPUs seconds for each pipeline, and more the larger its tiles: a small one of them, with every option.
void addOther(std::vector<Case>& all, const std::string& kernel, Dtype dtype) {
  if (isForCpuDevices(kernel)) {
    addAttention(all, kernel, dtype, 32, {"everything"});
    return;
  }
  addAttention(all, kernel, dtype, 64, {"everything"});
  addAttention(all, kernel, dtype, 128, {"packed_paged"});
}

void addOtherProduct(std::vector<Case>& all, const std::string& kernel, Dtype dtype) {
  if (isForCpuDevices(kernel)) {
    addMatmul(all, kernel + " rows_each=1 columns_each=4", dtype, {"across"});
  } else {
    addMatmul(all, kernel, dtype, {"gelu", "scattered"});
  }
}

}  // namespace

// What plans choose, and of each kernel for GPUs in fp16 the same main shapes, and lengths alone.
bool Case::isFigure() const {
  const bool main = options == "plain" || options == "causal" || options == "padded";
  return kernel.empty() || (dtype == Dtype::F16 && !isForCpuDevices(kernel) && main);
}

Case caseOf(const std::string& kernel, Dtype dtype, std::int64_t headDim, const std::string& options) {
  const std::string name = kernel.substr(0, kernel.find(' '));
  core::requireKnownKernel(name);
  switch (core::kernelEntry(name).op) {
    case SACCADE_OPERATOR_ATTENTION: return attentionCase(kernel, dtype, headDim, options);
    case SACCADE_OPERATOR_MATMUL: return matmulCase(kernel, dtype, options);
    default: throw std::invalid_argument(fmt::format("kernel is \"{}\", which is neither of attention nor of matmul", name));
  }
}

std::vector<Case> ratedCases(const Context& context) {
  std::vector<Case> all;
  for (const KernelInfo& kernel : context.kernels()) {
    if (kernel.supported != VK_TRUE || kernel.selectable != VK_TRUE || isForCpuDevices(kernel.name)) continue;
    if (kernel.op == SACCADE_OPERATOR_MATMUL) addMatmul(all, kernel.name, Dtype::F16, {"plain"});
    // Few rows are rated by bytes, below.
    if (kernel.op != SACCADE_OPERATOR_ATTENTION || std::string_view(kernel.name) == "flash_decode") continue;
    for (const std::int64_t headDim : {64, 128}) addAttention(all, kernel.name, Dtype::F16, headDim, {"long"});
  }
  for (const std::int64_t headDim : {64, 128}) addAttention(all, "", Dtype::F16, headDim, {"decode"});
  return all;
}

std::vector<Case> cases(const Context& context, bool usual, Extent extent) {
  std::vector<Case> all;
  for (const Dtype dtype : kDtypes) {
    if (usual) addChosen(all, dtype);
    addRows(all, dtype, 768);
    addPatches(all, dtype);
  }
  if (extent == Extent::Chosen) return all;
  for (const Dtype dtype : kDtypes) {
    addRows(all, dtype, 384);
    for (const KernelInfo& kernel : context.kernels()) {
      if (kernel.supported != VK_TRUE || kernel.selectable != VK_TRUE) continue;
      const bool everyOption = usual && dtype != Dtype::BF16 && !isForCpuDevices(kernel.name);
      if (kernel.op == SACCADE_OPERATOR_ATTENTION) (everyOption ? addEveryOption : addOther)(all, kernel.name, dtype);
      if (kernel.op == SACCADE_OPERATOR_MATMUL) (everyOption ? addEveryProduct : addOtherProduct)(all, kernel.name, dtype);
    }
  }
  // A small tile of scalar_tiled, which has room everywhere.
  if (usual) {
    for (const Dtype dtype : kDtypes) {
      addAttention(all, "scalar_tiled local_size=128 columns=8 rows_each=2 keys=32 channels=32", dtype, 64, {"everything"});
    }
  }
  if (extent == Extent::Figures) std::erase_if(all, [](const Case& call) { return !call.isFigure(); });
  return all;
}

}  // namespace saccade::compile
