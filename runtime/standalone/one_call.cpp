// SPDX-License-Identifier: Apache-2.0
// Operators as functions: allocate the output, run, wait.

#include <saccade/runtime.hpp>

#include "standalone/layout.hpp"
#include "text/formatted.hpp"

namespace saccade {
namespace {

void requireAxes(const char* name, const Tensor& tensor, std::size_t least) {
  if (!tensor || tensor.rank() < least) {
    throw Error(Status::InvalidArgument, name,
                formatted("{} has shape {}, but needs at least {} axes", name,
                          runtime::shapeText(tensor.shape()), least));
  }
}

template <typename Record>
Tensor run(const Device& device, Tensor out, Record record) {
  Stream stream(device);
  record(stream, out);
  stream.wait();
  return out;
}

}  // namespace

Tensor attention(const Device& device, const Tensor& q, const Tensor& k, const Tensor& v,
                 const AttentionOptions& options) {
  requireAxes("q", q, 2);
  requireAxes("v", v, 2);
  Shape shape = q.shape();
  shape.back() = v.size(-1);
  return run(device, Tensor::empty(device, q.dtype(), shape),
             [&](Stream& stream, const Tensor& out) { stream.attention(q, k, v, out, options); });
}

Tensor matmul(const Device& device, const Tensor& a, const Tensor& b, const MatmulOptions& options) {
  requireAxes("a", a, 2);
  requireAxes("b", b, 2);
  Shape shape = a.shape();
  shape.back() = b.size(-2);
  return run(device, Tensor::empty(device, a.dtype(), shape),
             [&](Stream& stream, const Tensor& out) { stream.matmul(a, b, out, options); });
}

Tensor layerNorm(const Device& device, const Tensor& x, const LayerNormOptions& options) {
  requireAxes("x", x, 1);
  return run(device, Tensor::empty(device, x.dtype(), x.shape()),
             [&](Stream& stream, const Tensor& out) { stream.layerNorm(x, out, options); });
}

Tensor softmax(const Device& device, const Tensor& x, const SoftmaxOptions& options) {
  requireAxes("x", x, 1);
  return run(device, Tensor::empty(device, x.dtype(), x.shape()),
             [&](Stream& stream, const Tensor& out) { stream.softmax(x, out, options); });
}

Tensor gelu(const Device& device, const Tensor& x, Activation activation) {
  requireAxes("x", x, 0);
  return run(device, Tensor::empty(device, x.dtype(), x.shape()), [&](Stream& stream, const Tensor& out) {
    stream.activation(x, out, {.activation = activation});
  });
}

Tensor patchEmbed(const Device& device, const Tensor& image, const Tensor& weight,
                  const PatchEmbedOptions& options) {
  requireAxes("image", image, 4);
  requireAxes("weight", weight, 4);
  const std::int64_t patch = weight.size(-1);
  if (patch == 0) {
    throw Error(Status::InvalidArgument, "weight", "weight has a patch size of 0, but it must be at least 1");
  }
  const Shape shape = {image.size(0), 1, (image.size(2) / patch) * (image.size(3) / patch), weight.size(0)};
  return run(device, Tensor::empty(device, image.dtype(), shape),
             [&](Stream& stream, const Tensor& out) { stream.patchEmbed(image, weight, out, options); });
}

}  // namespace saccade
