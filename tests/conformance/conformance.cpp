// SPDX-License-Identifier: Apache-2.0
#include "conformance.hpp"

#include <utility>

#include "kernels/registry.hpp"

namespace saccade::conformance {

std::vector<std::string> kernelChoices(const Device& device, SaccadeOperator op) {
  // Patch embedding is a matrix product behind a kernel of its own, and what may be chosen is the product's.
  const SaccadeOperator chosenFor = op == SACCADE_OPERATOR_PATCH_EMBED ? SACCADE_OPERATOR_MATMUL : op;
  std::vector<std::string> names;
  for (const KernelInfo& kernel : device.kernels()) {
    // The kernel of the weights is no choice: it runs beside the others, and their tests ask for it.
    const bool choice = kernel.op == chosenFor && kernel.selectable;
    if (choice && kernel.supported == VK_TRUE) names.emplace_back(kernel.name);
  }
  return names;
}

std::vector<Variant> attentionVariants(const Device& device) {
  std::vector<Variant> variants;
  for (const std::string& kernel : kernelChoices(device, SACCADE_OPERATOR_ATTENTION)) {
    for (const auto& [dtype, code] : {std::pair{io::DType::F32, SACCADE_DTYPE_F32}, {io::DType::F16, SACCADE_DTYPE_F16},
                                      {io::DType::BF16, SACCADE_DTYPE_BF16}}) {
      if (core::isMadeFor(kernel.c_str(), code)) variants.push_back({kernel, dtype});
    }
  }
  return variants;
}

const char* shortName(io::DType dtype) {
  switch (dtype) {
    case io::DType::F32: return "f32";
    case io::DType::F16: return "f16";
    case io::DType::BF16: return "bf16";
    default: return "other";
  }
}

std::string testName(const std::string& what, const Variant& variant, std::int64_t headDim) {
  return what + "/" + shortName(variant.dtype) + "/D" + std::to_string(headDim) + "/" + variant.kernel;
}

}  // namespace saccade::conformance
