// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "check/case_runners.hpp"
#include "check/device_tensors.hpp"
#include "check/dtype.hpp"
#include "io/file_error.hpp"

namespace saccade::check {

namespace {

Tensor optionalInput(DeviceTensors& tensors, const io::CaseFile& file, const std::string& name) {
  const io::TensorData* data = file.input(name);
  return data != nullptr ? tensors.input(name, *data) : Tensor{};
}

void requireRank(const io::CaseFile& file, const std::string& name, std::size_t least, std::size_t most) {
  const std::size_t rank = file.requireInput(name).rank();
  if (rank < least || rank > most) {
    throw io::FileError(file.path, fmt::format("rank of tensor '{}'", name), fmt::format("{}", rank),
                        fmt::format("it must be from {} to {}", least, most));
  }
}

DeviceResults finish(const DeviceTensors& tensors, const PlanPtr& plan, const Tensor& out,
                     const io::Shape& shape) {
  DeviceResults results;
  results.kernel = plan->info().kernel;
  results.tensors["out"] = download(out, shape);
  results.overwritten = tensors.overwritten();
  return results;
}

// Operators that work on the last axis alone, or on none, take any rank in a file: leading axes become one.
Tensor asRows(const Tensor& tensor) {
  return tensor.rank() > 1 ? tensor.reshape({tensor.elementCount() == 0 ? 0 : -1, tensor.shape().back()})
                           : tensor;
}

}  // namespace

DeviceOutcome runMatmulCase(const Device& device, const io::CaseFile& file, const CaseOptions& options) {
  requireRank(file, "a", 2, 4);
  DeviceTensors tensors(device);
  const Tensor a = tensors.input("a", file.requireInput("a"));
  Tensor weight = tensors.input("weight", file.requireInput("weight", {kAny, kAny}));
  if (file.text("weight_layout", "nk") == "kn") {
    weight = weight.transpose(0, 1);
  }
  const Tensor bias = optionalInput(tensors, file, "bias");
  Shape shape = a.shape();
  shape.back() = weight.shape()[0];
  const Tensor out = tensors.output("out", a.dtype(), shape);
  Stream stream(device);
  const PlanPtr plan = stream.matmul(a, weight, out, {.bias = bias, .kernel = options.kernel});
  stream.wait();
  return finish(tensors, plan, out, shape);
}

DeviceOutcome runGeluCase(const Device& device, const io::CaseFile& file, const CaseOptions& options) {
  requireRank(file, "x", 1, 8);
  DeviceTensors tensors(device);
  const io::TensorData& data = file.requireInput("x");
  const Tensor x = tensors.input("x", data);
  const Tensor out = tensors.output("out", x.dtype(), data.shape());
  const Activation activation =
      file.text("approximate", "none") == "tanh" ? Activation::GeluTanh : Activation::Gelu;
  Stream stream(device);
  const PlanPtr plan =
      stream.activation(asRows(x), asRows(out), {.activation = activation, .kernel = options.kernel});
  stream.wait();
  return finish(tensors, plan, out, data.shape());
}

DeviceOutcome runLayerNormCase(const Device& device, const io::CaseFile& file, const CaseOptions& options) {
  requireRank(file, "x", 1, 8);
  DeviceTensors tensors(device);
  const io::TensorData& data = file.requireInput("x");
  const Tensor x = tensors.input("x", data);
  const Tensor out = tensors.output("out", x.dtype(), data.shape());
  LayerNormOptions layerNorm;
  layerNorm.weight = optionalInput(tensors, file, "weight");
  layerNorm.bias = optionalInput(tensors, file, "bias");
  layerNorm.epsilon = static_cast<float>(file.requireNumber("epsilon"));
  layerNorm.kernel = options.kernel;
  Stream stream(device);
  const PlanPtr plan = stream.layerNorm(asRows(x), asRows(out), layerNorm);
  stream.wait();
  return finish(tensors, plan, out, data.shape());
}

DeviceOutcome runPatchEmbedCase(const Device& device, const io::CaseFile& file, const CaseOptions& options) {
  DeviceTensors tensors(device);
  const Tensor image = tensors.input("image", file.requireInput("image", {kAny, kAny, kAny, kAny}));
  const Tensor weight = tensors.input("weight", file.requireInput("weight", {kAny, kAny, kAny, kAny}));
  const Tensor bias = optionalInput(tensors, file, "bias");
  const std::int64_t patch = file.requireInteger("patch_size");
  if (patch < 1 || weight.shape()[3] != patch) {
    throw io::FileError(file.path, "metadata 'patch_size'", fmt::format("{}", patch),
                        fmt::format("it must be the last size of 'weight', {}", weight.shape()[3]));
  }
  const Shape shape = {image.shape()[0], (image.shape()[2] / patch) * (image.shape()[3] / patch),
                       weight.shape()[0]};
  const Tensor out = tensors.output("out", image.dtype(), shape);
  Stream stream(device);
  const PlanPtr plan = stream.patchEmbed(image, weight, out, {.bias = bias, .kernel = options.kernel});
  stream.wait();
  return finish(tensors, plan, out, shape);
}

}  // namespace saccade::check
