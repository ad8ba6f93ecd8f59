// SPDX-License-Identifier: Apache-2.0
// Attention without a Vulkan line: the standalone runtime opens a device, and one call computes. The first token attends to
// itself alone, so its output is its value; the second weighs both tokens by exp(q k / sqrt(head_dim)).
#include <array>
#include <cmath>
#include <cstdio>
#include <exception>

#include <saccade/runtime.hpp>

int main() try {
  using saccade::Dtype, saccade::Tensor;
  const auto device = saccade::Device::open();  // the best device, or SACCADE_DEVICE
  const saccade::Shape shape{1, 1, 2, 4};       // batch, heads, tokens, head_dim
  const auto q = Tensor::from(device, Dtype::F32, shape, std::array{1.f, 0.f, 0.f, 0.f, 2.f, 0.f, 0.f, 0.f});
  const auto k = Tensor::from(device, Dtype::F32, shape, std::array{1.f, 1.f, 0.f, 0.f, 0.f, 0.f, 1.f, 1.f});
  const auto v = Tensor::from(device, Dtype::F32, shape, std::array{1.f, 2.f, 3.f, 4.f, 5.f, 6.f, 7.f, 8.f});
  const auto out = saccade::attention(device, q, k, v, {.causal = saccade::Causal::BottomRight}).download();
  const float weight = 1 / (1 + std::exp(1.f));  // of key 1 for query 1: exp(0) beside exp(2 / sqrt(4))
  bool right = true;
  for (std::size_t d = 0; d < 4; ++d) {
    const float value = static_cast<float>(d + 1);
    right = right && std::abs(out[d] - value) < 1e-6f && std::abs(out[4 + d] - (value + 4 * weight)) < 1e-6f;
  }
  std::printf("%s: %s\n", device.summary().name.c_str(), right ? "right" : "wrong");
  return right ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "cpp_runtime: %s\n", error.what());
  return 1;
}
