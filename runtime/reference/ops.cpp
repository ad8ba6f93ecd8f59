// SPDX-License-Identifier: Apache-2.0
#include "reference/ops.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>

#include "io/special_values.hpp"

namespace saccade::reference {

template <typename Real>
std::vector<Real> matmul(std::span<const Real> a, std::span<const Real> weight, WeightLayout layout,
                         std::span<const Real> bias, std::int64_t m, std::int64_t n, std::int64_t k) {
  // The inner loop runs along a row of [K,N], so that the compiler can vectorise it without reordering any
  // sum.
  std::vector<Real> byInput(static_cast<std::size_t>(k * n));
  for (std::int64_t i = 0; i < k; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      byInput[static_cast<std::size_t>(i * n + j)] =
          weight[static_cast<std::size_t>(layout == WeightLayout::Nk ? j * k + i : i * n + j)];
    }
  }
  std::vector<Real> out(static_cast<std::size_t>(m * n), Real{0});
  for (std::int64_t row = 0; row < m; ++row) {
    Real* to = out.data() + row * n;
    for (std::int64_t i = 0; i < k; ++i) {
      const Real factor = a[static_cast<std::size_t>(row * k + i)];
      const Real* from = byInput.data() + i * n;
      for (std::int64_t j = 0; j < n; ++j) {
        to[j] += factor * from[j];
      }
    }
    for (std::int64_t j = 0; j < n && !bias.empty(); ++j) {
      to[j] += bias[static_cast<std::size_t>(j)];
    }
  }
  return out;
}

template <typename Real>
std::vector<Real> gelu(std::span<const Real> x, Gelu form) {
  const auto exact = [](Real value) {
    return value / 2 * (1 + std::erf(value / std::numbers::sqrt2_v<Real>));
  };
  const auto approximate = [](Real value) {
    const Real factor = std::sqrt(2 * std::numbers::inv_pi_v<Real>);
    return value / 2 *
           (1 + std::tanh(factor * (value + static_cast<Real>(0.044715) * value * value * value)));
  };
  std::vector<Real> out(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    out[i] = form == Gelu::Exact ? exact(x[i]) : approximate(x[i]);
  }
  return out;
}

template <typename Real>
std::vector<Real> add(std::span<const Real> x, std::span<const Real> y) {
  std::vector<Real> out(x.size());
  std::transform(x.begin(), x.end(), y.begin(), out.begin(), std::plus<>());
  return out;
}

template <typename Real>
std::vector<Real> layerNorm(std::span<const Real> x, std::span<const Real> weight, std::span<const Real> bias,
                            std::int64_t rows, std::int64_t n, double epsilon) {
  std::vector<Real> out(x.size());
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::span<const Real> values =
        x.subspan(static_cast<std::size_t>(row * n), static_cast<std::size_t>(n));
    Real sum = 0;
    for (const Real value : values) {
      sum += value;
    }
    const Real mean = sum / static_cast<Real>(n);
    Real squares = 0;
    for (const Real value : values) {
      squares += (value - mean) * (value - mean);
    }
    const Real deviation = std::sqrt(squares / static_cast<Real>(n) + static_cast<Real>(epsilon));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const Real normal = (values[i] - mean) / deviation;
      out[static_cast<std::size_t>(row * n) + i] =
          (weight.empty() ? normal : normal * weight[i]) + (bias.empty() ? Real{0} : bias[i]);
    }
  }
  return out;
}

template <typename Real>
std::vector<Real> softmax(std::span<const Real> x, std::int64_t rows, std::int64_t n) {
  std::vector<Real> out(x.size(), Real{0});
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::span<const Real> values =
        x.subspan(static_cast<std::size_t>(row * n), static_cast<std::size_t>(n));
    Real highest = static_cast<Real>(-kInfinity);
    for (const Real value : values) {
      highest = std::isnan(value) || value > highest ? value : highest;
      if (std::isnan(highest)) {
        break;
      }
    }
    if (highest == -kInfinity) {
      continue;
    }
    Real* to = out.data() + row * n;
    Real sum = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      to[i] = std::exp(values[i] - highest);
      sum += to[i];
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      to[i] /= sum;
    }
  }
  return out;
}

template <typename Real>
std::vector<Real> patchEmbed(std::span<const Real> image, std::span<const Real> weight,
                             std::span<const Real> bias, const ImageSize& size, std::int64_t patchSize,
                             std::int64_t embedDim) {
  const std::int64_t down = size.height / patchSize;
  const std::int64_t across = size.width / patchSize;
  const std::int64_t inputs = size.channels * patchSize * patchSize;
  std::vector<Real> patches;  // [B, patches, C*P*P]: what one output looks at, in the order of the weight
  patches.reserve(static_cast<std::size_t>(size.batch * down * across * inputs));
  for (std::int64_t b = 0; b < size.batch; ++b) {
    for (std::int64_t patch = 0; patch < down * across; ++patch) {
      for (std::int64_t c = 0; c < size.channels; ++c) {
        for (std::int64_t y = 0; y < patchSize; ++y) {
          for (std::int64_t x = 0; x < patchSize; ++x) {
            const std::int64_t imageY = patch / across * patchSize + y;
            const std::int64_t imageX = patch % across * patchSize + x;
            patches.push_back(image[static_cast<std::size_t>(
                ((b * size.channels + c) * size.height + imageY) * size.width + imageX)]);
          }
        }
      }
    }
  }
  return matmul<Real>(patches, weight, WeightLayout::Nk, bias, size.batch * down * across, embedDim, inputs);
}

std::vector<double> sinusoidalPositions(std::int64_t positions, std::int64_t dim, double base,
                                        PositionLayout layout, std::int64_t start) {
  const std::int64_t pairs = (dim + 1) / 2;
  std::vector<double> out(static_cast<std::size_t>(positions * dim));
  for (std::int64_t t = 0; t < positions; ++t) {
    for (std::int64_t pair = 0; pair < pairs; ++pair) {
      const double exponent = -2.0 * static_cast<double>(pair) / static_cast<double>(dim);
      const double angle = static_cast<double>(start + t) * std::pow(base, exponent);
      const std::int64_t sine = layout == PositionLayout::Interleaved ? 2 * pair : pair;
      const std::int64_t cosine = layout == PositionLayout::Interleaved ? 2 * pair + 1 : pairs + pair;
      out[static_cast<std::size_t>(t * dim + sine)] = std::sin(angle);
      if (cosine < dim) {
        out[static_cast<std::size_t>(t * dim + cosine)] = std::cos(angle);
      }
    }
  }
  return out;
}

#define SACCADE_INSTANTIATE_OPS(Real)                                                                        \
  template std::vector<Real> matmul(std::span<const Real>, std::span<const Real>, WeightLayout,              \
                                    std::span<const Real>, std::int64_t, std::int64_t, std::int64_t);        \
  template std::vector<Real> gelu(std::span<const Real>, Gelu);                                              \
  template std::vector<Real> add(std::span<const Real>, std::span<const Real>);                              \
  template std::vector<Real> layerNorm(std::span<const Real>, std::span<const Real>, std::span<const Real>,  \
                                       std::int64_t, std::int64_t, double);                                  \
  template std::vector<Real> softmax(std::span<const Real>, std::int64_t, std::int64_t);                     \
  template std::vector<Real> patchEmbed(std::span<const Real>, std::span<const Real>, std::span<const Real>, \
                                        const ImageSize&, std::int64_t, std::int64_t);

SACCADE_INSTANTIATE_OPS(float)
SACCADE_INSTANTIATE_OPS(double)

}  // namespace saccade::reference
