// SPDX-License-Identifier: Apache-2.0
#include "check/check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>

#include "io/file_error.hpp"

namespace saccade::check {

Outcome Check::run(const Device& device, const std::string& kernel) {
  const std::uint64_t messagesBefore = device.validationMessageCount();
  Outcome outcome;
  try {
    outcome = compute(device, kernel);
  } catch (const Error& error) {
    if (error.status() == Status::DeviceLost) {
      throw;
    }
    outcome = {.state = isStatedLimit(error) ? State::NotRun : State::Failed, .reason = error.what()};
  } catch (const io::FileError& error) {
    outcome = {.state = State::Failed, .reason = error.what()};
  }
  if (const std::uint64_t messages = device.validationMessageCount() - messagesBefore; messages > 0) {
    outcome.state = State::Failed;
    outcome.reason = fmt::format("{} messages of the validation layer{}{}", messages,
                                 outcome.reason.empty() ? "" : "; ", outcome.reason);
  }
  return outcome;
}

bool isStatedLimit(const Error& error) {
  const std::string_view text = error.what();
  const size_t refusal = text.find("cannot run here: ");
  return error.status() == Status::Unsupported && refusal != std::string_view::npos &&
         (text.find("multiplies matrices of f16", refusal) != std::string_view::npos ||
          text.find("takes head dims up to", refusal) != std::string_view::npos);
}

std::optional<Smaller> Check::shrink(const Device&, const std::string&) { return std::nullopt; }

Outcome judge(const std::vector<reference::TensorComparison>& tensors,
              const std::vector<std::string>& overwritten) {
  Outcome outcome;
  outcome.state = tensors.empty() ? State::Failed : State::Passed;
  outcome.reason = tensors.empty() ? "nothing was compared" : "";
  for (const reference::TensorComparison& tensor : tensors) {
    if (!tensor.passed) {
      outcome.state = State::Failed;
      outcome.reason += (outcome.reason.empty() ? "" : "; ") + tensor.reason;
    }
    if (!outcome.worst || tensor.ratio > outcome.worst->ratio || (outcome.worst->passed && !tensor.passed)) {
      outcome.worst = tensor;
    }
  }
  if (!overwritten.empty()) {
    outcome.state = State::Failed;
    outcome.reason += fmt::format("{}written outside of: {}", outcome.reason.empty() ? "" : "; ",
                                  fmt::join(overwritten, ", "));
  }
  return outcome;
}

const char* operatorName(SaccadeOperator op) {
  switch (op) {
    case SACCADE_OPERATOR_ATTENTION: return "attention";
    case SACCADE_OPERATOR_MATMUL: return "matmul";
    case SACCADE_OPERATOR_LAYER_NORM: return "layer_norm";
    case SACCADE_OPERATOR_SOFTMAX: return "softmax";
    case SACCADE_OPERATOR_ACTIVATION: return "activation";
    case SACCADE_OPERATOR_PATCH_EMBED: return "patch_embed";
  }
  return "unknown";
}

std::vector<std::string> supportedKernels(const Device& device, SaccadeOperator op) {
  // A patch embedding chooses among the kernels of the matrix product inside it.
  const SaccadeOperator owner = op == SACCADE_OPERATOR_PATCH_EMBED ? SACCADE_OPERATOR_MATMUL : op;
  std::vector<std::string> names;
  for (const KernelInfo& kernel : device.kernels()) {
    if (kernel.op == owner && kernel.selectable == VK_TRUE && kernel.supported == VK_TRUE) {
      names.emplace_back(kernel.name);
    }
  }
  return names;
}

}  // namespace saccade::check
