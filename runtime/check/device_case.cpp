// SPDX-License-Identifier: Apache-2.0
#include "check/device_case.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "check/case_runners.hpp"
#include "kernels/registry.hpp"

namespace saccade::check {

io::PRounding weightRounding(const std::string& kernel) {
  const auto registry = core::kernelRegistry();
  const auto entry = std::find_if(registry.begin(), registry.end(), [&](const auto& known) { return kernel == known.name; });
  return entry != registry.end() && entry->roundsWeights ? io::PRounding::Storage : io::PRounding::Fp32;
}

namespace {

using Runner = DeviceOutcome (*)(const Device&, const io::CaseFile&, const CaseOptions&);

struct CaseKind {
  Runner run;
  SaccadeOperator op;  // whose kernel can be chosen
};

const CaseKind* findKind(const std::string& op) {
  static const std::map<std::string, CaseKind> kinds = {
      {"attention", {runAttentionCase, SACCADE_OPERATOR_ATTENTION}},
      {"gelu", {runGeluCase, SACCADE_OPERATOR_ACTIVATION}},
      {"layer_norm", {runLayerNormCase, SACCADE_OPERATOR_LAYER_NORM}},
      {"mha", {runMhaCase, SACCADE_OPERATOR_ATTENTION}},
      {"model", {runModelCase, SACCADE_OPERATOR_ATTENTION}},
      {"vit", {runVitCase, SACCADE_OPERATOR_ATTENTION}},
      {"matmul", {runMatmulCase, SACCADE_OPERATOR_MATMUL}},
      {"patch_embed", {runPatchEmbedCase, SACCADE_OPERATOR_PATCH_EMBED}},
  };
  const auto found = kinds.find(op);
  return found == kinds.end() ? nullptr : &found->second;
}

}  // namespace

SaccadeOperator caseOperator(const io::CaseFile& file) {
  const CaseKind* kind = findKind(file.op);
  return kind != nullptr ? kind->op : SACCADE_OPERATOR_ATTENTION;
}

DeviceOutcome runCaseOnDevice(const Device& device, const io::CaseFile& file, const CaseOptions& options) {
  if (!file.unknown.empty()) {
    return NotRun{fmt::format("unknown to this version: {}", fmt::join(file.unknown, ", "))};
  }
  const CaseKind* kind = findKind(file.op);
  if (kind == nullptr) {
    return NotRun{fmt::format("operator '{}' is not part of this version", file.op)};
  }
  try {
    return kind->run(device, file, options);
  } catch (const Error& error) {
    if (error.status() == Status::InvalidArgument || error.status() == Status::Unsupported) {
      return NotRun{error.what()};
    }
    throw;
  }
}

}  // namespace saccade::check
