// SPDX-License-Identifier: Apache-2.0
#include "check/attention_call.hpp"
#include "check/case_runners.hpp"

namespace saccade::check {

DeviceOutcome runAttentionCase(const Device& device, const io::CaseFile& file,
                               const CaseOptions& caseOptions) {
  AttentionSample sample;
  sample.problem = io::readAttentionCase(file);
  sample.lse = sample.problem.normalizer == io::Normalizer::Softmax;
  sample.probs = file.expected.contains("probs");
  AttentionCall call(device, sample, caseOptions.kernel);
  DeviceResults results;
  results.kernel = call.run();
  AttentionOutputs outputs = call.outputs();
  results.tensors["out"] = std::move(outputs.out);
  if (sample.lse) {
    results.tensors["lse"] = std::move(outputs.lse);
  }
  if (sample.probs) {
    results.tensors["probs"] = std::move(outputs.probs);
  }
  results.overwritten = call.overwritten();
  return results;
}

}  // namespace saccade::check
