// SPDX-License-Identifier: Apache-2.0
#include "kernels_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "attention/choice.hpp"
#include "check/check.hpp"
#include "exit_code.hpp"
#include "kernels/registry.hpp"
#include "kernels_plans.hpp"
#include "ops/matmul_choice.hpp"

namespace saccade::tool {

namespace {

using json = nlohmann::ordered_json;

constexpr Dtype kReportedDtypes[] = {Dtype::F32, Dtype::F16, Dtype::BF16};

// Of the variants that a plan chooses from; other operators have no tiles.
std::optional<core::VariantInfo> variantInfo(const Device& device, const KernelInfo& kernel, Dtype dtype,
                                             std::int64_t headDim) {
  if (kernel.selectable == VK_FALSE) return std::nullopt;
  const Description plain = extremesOf(kernel.op, "", dtype, headDim).front().desc;
  if (const auto* desc = std::get_if<AttentionDesc>(&plain)) {
    return core::attentionVariantInfo(device.facts(), core::validateAttention(desc->toC()), kernel.name);
  }
  if (const auto* desc = std::get_if<MatmulDesc>(&plain)) {
    return core::matmulVariantInfo(device.facts(), core::validateMatmul(desc->toC()), kernel.name);
  }
  return std::nullopt;
}

// Which form of its shader runs here, or why none does.
json dtypeJson(const Device& device, const KernelInfo& kernel, Dtype dtype, std::int64_t headDim) {
  json result = {{"dtype", dtypeText(dtype)}, {"form", nullptr}, {"refusal", ""}};
  if (kernel.supported == VK_FALSE) {
    result["refusal"] = kernel.reason;
    return result;
  }
  try {
    const std::string module =
        core::shaderFor(kernel.name, static_cast<SaccadeDtype>(dtype), device.facts()).name;
    const auto info = variantInfo(device, kernel, dtype, headDim);
    if (info && !info->refusal.empty()) {
      result["refusal"] = info->refusal;
    } else {
      result["form"] = module.substr(module.rfind('_') + 1);
    }
  } catch (const core::Refusal& refusal) {
    result["refusal"] = refusal.what();
  }
  return result;
}

json tileJson(const Device& device, const KernelInfo& kernel, const KernelsOptions& options) {
  json fields = json::array();
  const auto info = variantInfo(device, kernel, options.dtype, options.headDim);
  for (const core::TileFieldInfo& field : info ? info->tile : std::vector<core::TileFieldInfo>{}) {
    fields.push_back({{"name", field.name},
                      {"least", field.least},
                      {"most", field.most},
                      {"step", field.step},
                      {"built_in", field.builtIn ? json(*field.builtIn) : json(nullptr)}});
  }
  return fields;
}

json kernelJson(const Device& device, const KernelInfo& kernel, const KernelsOptions& options) {
  json dtypes = json::array();
  for (const Dtype dtype : kReportedDtypes) {
    dtypes.push_back(dtypeJson(device, kernel, dtype, options.headDim));
  }
  json result = {{"operator", check::operatorName(kernel.op)},
                 {"name", kernel.name},
                 {"idea", kernel.idea},
                 {"selectable", kernel.selectable == VK_TRUE},
                 {"needs", core::kernelEntry(kernel.name).needs},
                 {"supported", kernel.supported == VK_TRUE},
                 {"reason", kernel.reason},
                 {"left_out", kernel.leftOut},
                 {"dtypes", dtypes},
                 {"tile", tileJson(device, kernel, options)}};
  if (options.statistics && kernel.supported == VK_TRUE) {
    result["statistics"] = pipelineStatistics(device, kernel, options);
  }
  return result;
}

}  // namespace

const char* dtypeText(Dtype dtype) {
  switch (dtype) {
    case Dtype::F16: return "f16";
    case Dtype::BF16: return "bf16";
    default: return "f32";
  }
}

json kernelsReport(const Device& device, const KernelsOptions& options) {
  const std::string name = options.kernel.substr(0, options.kernel.find(' '));
  std::vector<std::string> known;
  json kernels = json::array();
  for (const KernelInfo& kernel : device.kernels()) {
    known.emplace_back(kernel.name);
    if (name.empty() || name == kernel.name) kernels.push_back(kernelJson(device, kernel, options));
  }
  if (kernels.empty()) {
    throw UsageError("--kernel", fmt::format("'{}' is no kernel of this version; there are: {}", name,
                                             fmt::join(known, ", ")));
  }
  return {{"format", "saccade kernels 1"},
          {"version", SACCADE_TOOL_VERSION},
          {"device", device.summary().name},
          {"driver", device.summary().driver},
          {"dtype", dtypeText(options.dtype)},
          {"head_dim", options.headDim},
          {"kernels", kernels}};
}

}  // namespace saccade::tool
