// SPDX-License-Identifier: Apache-2.0
// ggml's flash attention on its Vulkan backend, on the shape that `compare` sets against Saccade: B1 H3 T1024
// D64, query and output fp32, K and V fp16 (ggml's Vulkan kernels take no fp32 there). Prints one JSON line:
// the milliseconds of every run, and the error of the last run's output against double precision.
//
// Usage: peer_ggml_attention [RUNS]. ggml leaves CPU devices out unless GGML_VK_VISIBLE_DEVICES names them.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <ggml-backend.h>
#include <ggml.h>

namespace {

constexpr std::int64_t kHeads = 3, kTokens = 1024, kHeadDim = 64;
constexpr std::int64_t kElements = kHeads * kTokens * kHeadDim;
constexpr std::int64_t kSampledRows = 32;

std::vector<float> randomValues(unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1.7320508f, 1.7320508f);
  std::vector<float> values(kElements);
  std::generate(values.begin(), values.end(), [&] { return uniform(random); });
  return values;
}

std::vector<ggml_fp16_t> toHalf(const std::vector<float>& values) {
  std::vector<ggml_fp16_t> halves(values.size());
  ggml_fp32_to_fp16_row(values.data(), halves.data(), kElements);
  return halves;
}

// Of evenly spread rows of `out`, which ggml lays out as [token, head, channel].
double worstError(const std::vector<float>& q, const std::vector<ggml_fp16_t>& k,
                  const std::vector<ggml_fp16_t>& v, const std::vector<float>& out) {
  double worst = 0;
  for (std::int64_t sample = 0; sample < kSampledRows; ++sample) {
    const std::int64_t row = sample * (kHeads * kTokens - 1) / (kSampledRows - 1), h = row / kTokens,
                       i = row % kTokens;
    std::vector<double> scores(kTokens), expected(kHeadDim);
    double largest = -INFINITY, total = 0;
    for (std::int64_t j = 0; j < kTokens; ++j) {
      double dot = 0;
      for (std::int64_t d = 0; d < kHeadDim; ++d) {
        dot += static_cast<double>(q[static_cast<std::size_t>(row * kHeadDim + d)]) *
               ggml_fp16_to_fp32(k[static_cast<std::size_t>((h * kTokens + j) * kHeadDim + d)]);
      }
      scores[static_cast<std::size_t>(j)] = dot / 8;  // the root of 64
      largest = std::max(largest, dot / 8);
    }
    for (std::int64_t j = 0; j < kTokens; ++j) {
      const double weight = std::exp(scores[static_cast<std::size_t>(j)] - largest);
      total += weight;
      for (std::int64_t d = 0; d < kHeadDim; ++d) {
        expected[static_cast<std::size_t>(d)] +=
            weight * ggml_fp16_to_fp32(v[static_cast<std::size_t>((h * kTokens + j) * kHeadDim + d)]);
      }
    }
    for (std::int64_t d = 0; d < kHeadDim; ++d) {
      const double error = std::abs(out[static_cast<std::size_t>((i * kHeads + h) * kHeadDim + d)] -
                                    expected[static_cast<std::size_t>(d)] / total);
      worst = std::isnan(error) ? error : std::max(worst, error);
    }
  }
  return worst;
}

ggml_backend_dev_t vulkanDevice() {
  ggml_backend_load_all();
  for (std::size_t i = 0; i < ggml_backend_dev_count(); ++i) {
    ggml_backend_dev_t device = ggml_backend_dev_get(i);
    if (std::string(ggml_backend_dev_name(device)).find("Vulkan") == 0) return device;
  }
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  const int runs = argc > 1 ? std::atoi(argv[1]) : 5;
  ggml_backend_dev_t device = vulkanDevice();
  if (runs < 1 || device == nullptr) {
    std::fprintf(stderr, "%s\n",
                 runs < 1 ? "RUNS must be a number from 1"
                          : "ggml has no Vulkan device; a CPU device needs GGML_VK_VISIBLE_DEVICES=0");
    return EXIT_FAILURE;
  }
  const std::unique_ptr<ggml_backend, decltype(&ggml_backend_free)> backend(
      ggml_backend_dev_init(device, nullptr), ggml_backend_free);
  const ggml_init_params params{16 * ggml_tensor_overhead() + ggml_graph_overhead(), nullptr, true};
  const std::unique_ptr<ggml_context, decltype(&ggml_free)> context(ggml_init(params), ggml_free);
  ggml_tensor* q = ggml_new_tensor_3d(context.get(), GGML_TYPE_F32, kHeadDim, kTokens, kHeads);
  ggml_tensor* k = ggml_new_tensor_3d(context.get(), GGML_TYPE_F16, kHeadDim, kTokens, kHeads);
  ggml_tensor* v = ggml_new_tensor_3d(context.get(), GGML_TYPE_F16, kHeadDim, kTokens, kHeads);
  ggml_tensor* out = ggml_flash_attn_ext(context.get(), q, k, v, nullptr, 0.125f, 0, 0);
  if (!ggml_backend_dev_supports_op(device, out)) {
    std::fprintf(stderr, "%s cannot run this attention\n", ggml_backend_dev_description(device));
    return EXIT_FAILURE;
  }
  ggml_cgraph* graph = ggml_new_graph(context.get());
  ggml_build_forward_expand(graph, out);
  const std::unique_ptr<ggml_backend_buffer, decltype(&ggml_backend_buffer_free)> buffer(
      ggml_backend_alloc_ctx_tensors(context.get(), backend.get()), ggml_backend_buffer_free);

  const std::vector<float> queries = randomValues(1);
  const std::vector<ggml_fp16_t> keys = toHalf(randomValues(2)), values = toHalf(randomValues(3));
  ggml_backend_tensor_set(q, queries.data(), 0, ggml_nbytes(q));
  ggml_backend_tensor_set(k, keys.data(), 0, ggml_nbytes(k));
  ggml_backend_tensor_set(v, values.data(), 0, ggml_nbytes(v));

  std::printf("{\"device\": \"%s\", \"ms\": [", ggml_backend_dev_description(device));
  double first = 0;
  for (int run = -1; run < runs; ++run) {
    const auto start = std::chrono::steady_clock::now();
    if (ggml_backend_graph_compute(backend.get(), graph) != GGML_STATUS_SUCCESS) return EXIT_FAILURE;
    ggml_backend_synchronize(backend.get());
    const double ms =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    if (run < 0)
      first = ms;  // compiles its pipelines
    else
      std::printf("%s%.3f", run > 0 ? ", " : "", ms);
  }
  std::vector<float> result(kElements);
  ggml_backend_tensor_get(out, result.data(), 0, ggml_nbytes(out));
  std::printf("], \"first_ms\": %.1f, \"error\": %.2e}\n", first, worstError(queries, keys, values, result));
  return EXIT_SUCCESS;
}
