// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>

#include <saccade/nn.hpp>

#include "check/case_runners.hpp"
#include "check/device_tensors.hpp"
#include "check/dtype.hpp"
#include "io/file_error.hpp"
#include "io/vit_weights.hpp"
#include "nn/vit_load.hpp"

namespace saccade::check {

namespace {

// A module takes many plans; what a case may choose is the kernel of its attention.
std::string kernelText(const CaseOptions& options) {
  return options.kernel.empty() ? "planner's choice" : options.kernel;
}

nn::MultiheadAttention mhaModule(DeviceTensors& tensors, const io::CaseFile& file) {
  const auto linear = [&](const std::string& name) {
    return nn::Linear{tensors.input(name + "_weight", file.requireInput(name + "_weight", {kAny, kAny})),
                      tensors.input(name + "_bias", file.requireInput(name + "_bias", {kAny}))};
  };
  const std::int64_t heads = file.requireInteger("num_heads");
  const std::int64_t headsKv = file.integer("num_kv_heads").value_or(heads);
  if (file.input("in_proj_weight") != nullptr) {
    return nn::MultiheadAttention::fused(linear("in_proj"), linear("out_proj"), heads, headsKv);
  }
  return nn::MultiheadAttention::separate(linear("q_proj"), linear("k_proj"), linear("v_proj"),
                                          linear("out_proj"), heads, headsKv);
}

Causal causalOfModel(const io::CaseFile& file) {
  const std::string causal = file.text("causal", "none");
  return causal == "bottom_right" ? Causal::BottomRight
         : causal == "top_left"   ? Causal::TopLeft
                                  : Causal::None;
}

io::TensorData doubles(const io::Shape& shape, const std::vector<double>& values) {
  return io::TensorData::fromDoubles(io::DType::F64, shape, values);
}

// What the case wants to know of the states [depth + 1, 1, T, E]: norms of all of each, and the class token
// after each block.
void addStates(io::TensorMap& results, const Tensor& states) {
  const std::vector<float> values = states.download();
  const auto count = static_cast<std::size_t>(states.shape()[0]);
  const auto width = static_cast<std::size_t>(states.shape()[3]);
  const std::size_t size = values.size() / count;
  std::vector<double> norms, classStates;
  for (std::size_t n = 0; n < count; ++n) {
    double squares = 0;
    for (std::size_t i = n * size; i < (n + 1) * size; ++i) {
      squares += static_cast<double>(values[i]) * values[i];
    }
    norms.push_back(std::sqrt(squares));
    if (n > 0) {
      classStates.insert(classStates.end(), values.begin() + static_cast<std::ptrdiff_t>(n * size),
                         values.begin() + static_cast<std::ptrdiff_t>(n * size + width));
    }
  }
  const auto depth = static_cast<std::int64_t>(count) - 1;
  results["embedding_norm"] = doubles({1}, {norms.front()}).converted(io::DType::F32);
  norms.erase(norms.begin());
  results["block_norms"] = doubles({depth}, norms).converted(io::DType::F32);
  results["class_states"] = doubles({depth, states.shape()[3]}, classStates).converted(io::DType::F32);
}

}  // namespace

DeviceOutcome runMhaCase(const Device& device, const io::CaseFile& file, const CaseOptions& options) {
  const io::TensorData& xData = file.requireInput("x", {kAny, kAny, kAny});
  DeviceTensors tensors(device);
  const Tensor x = tensors.input("x", xData);
  const nn::MultiheadAttention module = mhaModule(tensors, file);
  nn::MultiheadAttentionOptions call;
  call.causal = causalOfModel(file);
  call.kernel = options.kernel;
  std::int64_t seqlenK = xData.shape()[1];
  if (file.input("x_kv") != nullptr) {
    const io::TensorData& keysFrom = file.requireInput("x_kv", {xData.shape()[0], kAny, kAny});
    call.keysFrom = tensors.input("x_kv", keysFrom);
    seqlenK = keysFrom.shape()[1];
  }
  if (file.input("key_padding_mask") != nullptr) {
    call.keyPaddingMask =
        tensors.input("key_padding_mask", file.requireInput("key_padding_mask", {xData.shape()[0], seqlenK}));
  }
  const Tensor out = tensors.output("out", x.dtype(), xData.shape());
  const Shape probsShape = {xData.shape()[0], module.numHeads(), xData.shape()[1], seqlenK};
  if (file.expected.contains("probs")) {
    call.probs = tensors.output("probs", x.dtype(), probsShape);
  }
  Stream stream(device);
  nn::Workspace workspace(device);
  module.forward(stream, workspace, x, out, call);
  stream.wait();
  DeviceResults results;
  results.kernel = kernelText(options);
  results.tensors["out"] = download(out, xData.shape());
  if (call.probs) {
    results.tensors["probs"] = download(call.probs, probsShape);
  }
  results.overwritten = tensors.overwritten();
  return results;
}

DeviceOutcome runVitCase(const Device& device, const io::CaseFile& file, const CaseOptions& options) {
  io::TensorMap weights = file.inputs;
  weights.erase("images");
  const io::TensorData& images = file.requireInput("images", {kAny, kAny, kAny, kAny});
  const nn::Vit vit = nn::uploadVit(device, io::vitWeightsFrom(file.path, weights, file.metadata),
                                    deviceDtype(images.dtype()));
  DeviceTensors tensors(device);
  const nn::VitConfig& config = vit.config();
  const std::int64_t batch = images.shape()[0];
  const std::int64_t patches = images.shape()[2] / config.patchSize * (images.shape()[3] / config.patchSize);
  nn::VitOutputs outputs;
  if (config.numClasses > 0) {
    outputs.logits = tensors.output("logits", vit.dtype(), {batch, config.numClasses});
  }
  const Shape probsShape = {batch, config.numHeads, 1 + patches, 1 + patches};
  if (file.expected.contains("probs_layer0")) {
    outputs.probs[0] = tensors.output("probs_layer0", vit.dtype(), probsShape);
  }
  Stream stream(device);
  nn::Workspace workspace(device);
  vit.forward(stream, workspace, tensors.input("images", images), outputs, options.kernel);
  stream.wait();
  DeviceResults results;
  results.kernel = kernelText(options);
  if (outputs.logits) {
    results.tensors["logits"] = download(outputs.logits, outputs.logits.shape());
  }
  if (outputs.probs.contains(0)) {
    results.tensors["probs_layer0"] = download(outputs.probs[0], probsShape);
  }
  results.overwritten = tensors.overwritten();
  return results;
}

DeviceOutcome runModelCase(const Device& device, const io::CaseFile& file, const CaseOptions& options) {
  if (options.weights.empty()) {
    return NotRun{"its weights are in another file: give it with --weights"};
  }
  const io::TensorData& pixels = file.requireInput("pixel_values", {1, kAny, kAny, kAny});
  const nn::Vit vit = nn::uploadVit(device, io::readVitWeights(options.weights), deviceDtype(pixels.dtype()));
  const nn::VitConfig& config = vit.config();
  const std::int64_t seqlen =
      1 + pixels.shape()[2] / config.patchSize * (pixels.shape()[3] / config.patchSize);
  DeviceTensors tensors(device);
  nn::VitOutputs outputs;
  outputs.tokens = tensors.output("tokens", vit.dtype(), {1, seqlen, config.embedDim});
  outputs.classAttention = tensors.output("class_attention", vit.dtype(), {1, config.numHeads, seqlen});
  outputs.states = tensors.output("states", vit.dtype(), {config.depth + 1, 1, seqlen, config.embedDim});
  Stream stream(device);
  nn::Workspace workspace(device);
  vit.forward(stream, workspace, tensors.input("pixel_values", pixels), outputs, options.kernel);
  stream.wait();
  DeviceResults results;
  results.kernel = kernelText(options);
  results.tensors["class_token"] = download(outputs.tokens.slice(1, 0, 1), {config.embedDim});
  results.tensors["patch_tokens"] =
      download(outputs.tokens.slice(1, 1, seqlen), {seqlen - 1, config.embedDim});
  results.tensors["class_attention"] = download(outputs.classAttention, {config.numHeads, seqlen});
  addStates(results.tensors, outputs.states);
  results.overwritten = tensors.overwritten();
  return results;
}

}  // namespace saccade::check
