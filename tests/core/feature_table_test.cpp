// SPDX-License-Identifier: Apache-2.0
// docs/features.md says which kernel variant computes which feature. It is made from the registry and the planner, here, and
// this test fails while the page says anything else. SACCADE_UPDATE_DOCS=1 writes the page.
#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>

#include "attention/plan.hpp"
#include "core_test.hpp"
#include "fake_devices.hpp"
#include "kernels/registry.hpp"

namespace saccade::test {
namespace {

struct Feature {
  const char* name;
  std::function<void(SaccadeAttentionDesc&)> use;
};

void pack(SaccadeAttentionDesc& desc) {
  for (SaccadeTensorDesc* tensor : {&desc.q, &desc.k, &desc.v}) tensor->sizes[0] = 1;
  desc.hasCuSeqlens = VK_TRUE;
  desc.numSequences = 2;
}

void page(SaccadeAttentionDesc& desc) {
  for (SaccadeTensorDesc* tensor : {&desc.k, &desc.v}) {
    tensor->sizes[0] = 9;
    tensor->sizes[2] = 4;
  }
  desc.blockTable = tensorDesc(SACCADE_DTYPE_I32, {1, 1, 2, 5});
}

void setDtype(SaccadeAttentionDesc& desc, SaccadeDtype dtype) {
  desc.q.dtype = desc.k.dtype = desc.v.dtype = desc.out.dtype = dtype;
}

const Feature kFeatures[] = {
    {"fp32", [](auto& d) { setDtype(d, SACCADE_DTYPE_F32); }},
    {"fp16", [](auto& d) { setDtype(d, SACCADE_DTYPE_F16); }},
    {"bf16", [](auto& d) { setDtype(d, SACCADE_DTYPE_BF16); }},
    {"fp8 K/V with scales", [](auto& d) { quantise(d, SACCADE_DTYPE_F8E4M3); }},
    {"int8 K/V with scales", [](auto& d) { quantise(d, SACCADE_DTYPE_I8); }},
    {"head dims 1 to 256", [](auto& d) { d.q.sizes[3] = d.k.sizes[3] = 1, d.v.sizes[3] = 256; }},
    {"grouped heads", [](auto& d) { d.k.sizes[1] = d.v.sizes[1] = 1; }},
    {"strides", [](auto& d) { d.q.strides[0] = 480, d.q.strides[1] = 16, d.q.strides[2] = 96, d.q.strides[3] = 1; }},
    {"causal, bottom right", [](auto& d) { d.causal = SACCADE_CAUSAL_BOTTOM_RIGHT; }},
    {"causal, top left", [](auto& d) { d.causal = SACCADE_CAUSAL_TOP_LEFT; }},
    {"window", [](auto& d) { d.windowLeft = 3, d.windowRight = 1; }},
    {"boolean mask", [](auto& d) { d.mask = tensorDesc(SACCADE_DTYPE_U8, {1, 6, 1, 7}); }},
    {"additive bias", [](auto& d) { d.bias = tensorDesc(SACCADE_DTYPE_F16, {2, 1, 5, 1}); }},
    {"lengths", [](auto& d) { d.hasSeqlensQ = d.hasSeqlensK = VK_TRUE; }},
    {"packed sequences", pack},
    {"paged K/V", page},
    {"packed, paged K/V", [](auto& d) { page(d), d.q.sizes[0] = 1, d.hasCuSeqlens = VK_TRUE, d.numSequences = 2; }},
    {"softcap", [](auto& d) { d.softcap = 50; }},
    {"ALiBi", [](auto& d) { d.alibiSlopes = tensorDesc(SACCADE_DTYPE_F32, {1, 1, 2, 6}); }},
    {"sinks", [](auto& d) { d.sink = tensorDesc(SACCADE_DTYPE_F32, {1, 1, 1, 6}); }},
    {"log-sum-exp", [](auto& d) { d.lse.dtype = SACCADE_DTYPE_F32; }},
    {"attention weights", [](auto& d) { d.probs.dtype = d.q.dtype; }},
    {"dropout", [](auto& d) { d.dropout = 0.5f; }},
    {"sigmoid", [](auto& d) { d.normalizer = SACCADE_NORMALIZER_SIGMOID; }},
    {"relu", [](auto& d) { d.normalizer = SACCADE_NORMALIZER_RELU; }},
};

std::vector<const char*> attentionKernels() {
  std::vector<const char*> names;
  for (const core::KernelEntry& entry : core::kernelRegistry()) {
    if (entry.op == SACCADE_OPERATOR_ATTENTION && entry.selectable) names.push_back(entry.name);
  }
  return names;
}

// What a variant says to a feature on a device with every limit and feature that a desktop GPU has; one that is not for it, on a CPU
// device without anything native.
std::string answerOf(const char* kernel, const Feature& feature) {
  SaccadeAttentionDesc desc = attentionDesc();
  if (!core::isMadeFor(kernel, SACCADE_DTYPE_F32)) setDtype(desc, SACCADE_DTYPE_F16);
  feature.use(desc);
  desc.kernel = kernel;
  core::DeviceFacts facts = plainCpuFacts();
  for (const core::DeviceFacts& gpu : {matrixGpuFacts(), desktopGpuFacts()}) {
    if (*core::kernelEntry(kernel).deviceRefusal(gpu) == '\0') facts = gpu;
  }
  const auto refusal = refusalOf([&] { core::planAttention(facts, core::validateAttention(desc), ""); });
  return refusal ? "refused (" + refusal->field + ")" : "yes";
}

std::string featurePage() {
  std::ostringstream page;
  page << "# What each attention kernel computes\n\n"
          "Made from the registry and the planner by `tests/core/feature_table_test.cpp`, which fails while this page is out of\n"
          "date. \"yes\" is what the conformance tests run on every device; \"refused\" is an error at planning that names the field\n"
          "in brackets. Features compose, but for what the rules exclude: lengths, mask, bias and attention weights with packed\n"
          "sequences. Every kernel exists in a native and a portable form, which differ in how they reach memory and in nothing\n"
          "else; channel_lanes, which is for CPU devices without native access alone, in a portable one, and those on matrix\n"
          "units in a native one.\n\n| |";
  const std::vector<const char*> kernels = attentionKernels();
  for (const char* kernel : kernels) page << ' ' << kernel << " |";
  page << "\n|---|";
  for (std::size_t i = 0; i < kernels.size(); ++i) page << "---|";
  page << '\n';
  for (const Feature& feature : kFeatures) {
    page << "| " << feature.name << " |";
    for (const char* kernel : kernels) page << ' ' << answerOf(kernel, feature) << " |";
    page << '\n';
  }
  return page.str();
}

TEST(FeatureTable, InTheDocumentationIsThatOfTheRegistry) {
  const std::string expected = featurePage();
  if (std::getenv("SACCADE_UPDATE_DOCS") != nullptr) std::ofstream(SACCADE_FEATURE_PAGE) << expected;
  std::ifstream file(SACCADE_FEATURE_PAGE);
  ASSERT_TRUE(file) << SACCADE_FEATURE_PAGE;
  std::ostringstream found;
  found << file.rdbuf();
  EXPECT_EQ(found.str(), expected) << "run this test with SACCADE_UPDATE_DOCS=1";
}

}  // namespace
}  // namespace saccade::test
