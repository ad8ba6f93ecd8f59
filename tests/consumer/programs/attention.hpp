// SPDX-License-Identifier: Apache-2.0
// One attention on the standalone runtime, with a result that is known: with q = 0 every row of the output is the mean of V.
#pragma once

#include <cmath>
#include <cstdio>
#include <vector>

#include <saccade/nn.hpp>
#include <saccade/runtime.hpp>

inline bool attentionIsRight() {
  constexpr int kHeads = 2, kTokens = 5, kHeadDim = 8;
  const auto device = saccade::Device::open();
  const saccade::Shape shape{1, kHeads, kTokens, kHeadDim};
  std::vector<float> values(std::size_t{kHeads} * kTokens * kHeadDim);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i / kHeadDim % kTokens);
  const auto q = saccade::Tensor::empty(device, saccade::Dtype::F32, shape);
  const auto v = saccade::Tensor::empty(device, saccade::Dtype::F32, shape);
  q.upload(std::vector<float>(values.size(), 0.0f));
  v.upload(values);
  for (const float value : saccade::attention(device, q, v, v).download()) {
    if (!(std::abs(value - (kTokens - 1) / 2.0f) < 1e-5f)) {
      std::fprintf(stderr, "attention gave %g, expected the mean of V, %g\n", static_cast<double>(value), (kTokens - 1) / 2.0);
      return false;
    }
  }
  // An exception of the library is caught by its type, also where the library is a shared one.
  try {
    (void)saccade::nn::Vit::load(device, "/no/such/file.safetensors");
  } catch (const saccade::Error& error) {
    std::printf("%s: right, and it refuses: %s\n", device.summary().name.c_str(), error.what());
    return true;
  }
  std::fprintf(stderr, "a file that does not exist was loaded\n");
  return false;
}
