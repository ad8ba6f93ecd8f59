// SPDX-License-Identifier: Apache-2.0
#include "reference/run_case.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <functional>
#include <map>
#include <vector>

#include "io/attention_case.hpp"
#include "reference/attention.hpp"
#include "reference/linear_attention.hpp"
#include "reference/run_layer_case.hpp"
#include "reference/run_model_case.hpp"

namespace saccade::reference {

namespace {

using io::DType;
using io::Shape;
using io::TensorData;
using io::TensorMap;

TensorMap runAttention(const io::CaseFile& file) {
  const io::AttentionCase given = io::readAttentionCase(file);
  const OwnedProblem owned = problemFromCase(given);
  const bool wantsProbs = file.expected.contains("probs") && !given.packed;
  const AttentionResult result = attention(owned.problem, wantsProbs ? Probs::Store : Probs::Skip);
  TensorMap tensors;
  Shape out = given.q.shape();
  out.back() = given.headDimV;
  tensors["out"] = TensorData::fromDoubles(DType::F64, out, result.out);
  if (given.normalizer == io::Normalizer::Softmax) {
    const Shape lse = given.packed ? Shape{given.numHeadsQ, given.seqlenQ}
                                   : Shape{given.batch, given.numHeadsQ, given.seqlenQ};
    tensors["lse"] = TensorData::fromDoubles(DType::F64, lse, result.lse);
  }
  if (wantsProbs) {
    tensors["probs"] = TensorData::fromDoubles(
        DType::F64, {given.batch, given.numHeadsQ, given.seqlenQ, given.seqlenK}, result.probs);
  }
  return tensors;
}

TensorMap runLinearAttention(const io::CaseFile& file) {
  const io::AttentionCase given = io::readAttentionCase(file);
  const OwnedProblem owned = problemFromCase(given);
  Shape out = given.q.shape();
  out.back() = given.headDimV;
  return {{"out", TensorData::fromDoubles(DType::F64, out, linearAttention(owned.problem))}};
}

}  // namespace

CaseOutcome runCaseOnReference(const io::CaseFile& file) {
  if (!file.unknown.empty()) {
    return NotRun{fmt::format("unknown to this version: {}", fmt::join(file.unknown, ", "))};
  }
  if (file.op == "model") {
    return NotRun{fmt::format("the weights of {} are not in the case file", file.text("model", "the model"))};
  }
  static const std::map<std::string, std::function<TensorMap(const io::CaseFile&)>> runners = {
      {"attention", runAttention},
      {"linear_attention", runLinearAttention},
      {"mha", runMhaCase},
      {"layer_norm", runLayerNormCase},
      {"gelu", runGeluCase},
      {"matmul", runMatmulCase},
      {"patch_embed", runPatchEmbedCase},
      {"sinusoidal_positions", runSinusoidalPositionsCase},
      {"window_attention", runWindowAttentionCase},
      {"vit", runVitCase},
  };
  const auto runner = runners.find(file.op);
  if (runner == runners.end()) {
    return NotRun{fmt::format("operator '{}' has no scalar path", file.op)};
  }
  return runner->second(file);
}

}  // namespace saccade::reference
