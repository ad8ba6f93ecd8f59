// SPDX-License-Identifier: Apache-2.0
#include "check/attention_options.hpp"
#include "check/case_runners.hpp"
#include "check/device_tensors.hpp"
#include "check/dtype.hpp"

namespace saccade::check {

DeviceOutcome runAttentionCase(const Device& device, const io::CaseFile& file,
                               const CaseOptions& caseOptions) {
  const io::AttentionCase given = io::readAttentionCase(file);
  if (given.packed) {
    return NotRun{"packed sequences (cu_seqlens_q, cu_seqlens_k) are not part of this version"};
  }
  DeviceTensors tensors(device);
  const Tensor q = tensors.input("q", given.q);
  const Tensor k = tensors.input("k", given.k);
  const Tensor v = tensors.input("v", given.v);
  AttentionOptions options = attentionOptions(given);
  options.kernel = caseOptions.kernel;
  const auto optionalInput = [&](const std::string& name, const std::optional<io::TensorData>& data) {
    return data ? tensors.input(name, *data) : Tensor{};
  };
  options.mask = optionalInput("mask", given.mask);
  options.bias = optionalInput("bias", given.bias);
  options.alibiSlopes = optionalInput("alibi_slopes", given.alibiSlopes);
  options.sink = optionalInput("sink", given.sink);
  if (given.seqlensQ) {
    options.seqlensQ = tensors.input("seqlens_q", file.requireInput("seqlens_q"));
  }
  if (given.seqlensK) {
    options.seqlensK = tensors.input("seqlens_k", file.requireInput("seqlens_k"));
  }
  const Shape rows = {given.batch, given.numHeadsQ, given.seqlenQ};
  const Dtype dtype = deviceDtype(given.q.dtype());
  const Shape outShape = {given.batch, given.numHeadsQ, given.seqlenQ, given.headDimV};
  const Tensor out = tensors.output("out", dtype, outShape);
  if (given.normalizer == io::Normalizer::Softmax) {
    options.lse = tensors.output("lse", Dtype::F32, rows);
  }
  const Shape probsShape = {given.batch, given.numHeadsQ, given.seqlenQ, given.seqlenK};
  if (file.expected.contains("probs")) {
    options.probs = tensors.output("probs", dtype, probsShape);
  }

  Stream stream(device);
  const PlanPtr plan = stream.attention(q, k, v, out, options);
  stream.wait();

  DeviceResults results;
  results.kernel = plan->info().kernel;
  results.tensors["out"] = download(out, outShape);
  if (options.lse) {
    results.tensors["lse"] = download(options.lse, rows);
  }
  if (options.probs) {
    results.tensors["probs"] = download(options.probs, probsShape);
  }
  results.overwritten = tensors.overwritten();
  return results;
}

}  // namespace saccade::check
