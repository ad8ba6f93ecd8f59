// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

// The layers around attention, as a textbook writes them. Arrays are row-major and contiguous. Every function
// exists for double, which is the definition of right, and for float, whose error shows what plain fp32 can
// give.

namespace saccade::reference {

enum class WeightLayout { Nk, Kn };  // weight [N,K] (a times its transpose) or [K,N]
enum class Gelu { Exact, Tanh };

// a [M,K] times weight, plus bias [N] if not empty; returns [M,N].
template <typename Real>
std::vector<Real> matmul(std::span<const Real> a, std::span<const Real> weight, WeightLayout layout,
                         std::span<const Real> bias, std::int64_t m, std::int64_t n, std::int64_t k);

// x / 2 * (1 + erf(x / sqrt(2))), or the usual approximation of it by tanh.
template <typename Real>
std::vector<Real> gelu(std::span<const Real> x, Gelu form);

// Element-wise sum; the residual connection.
template <typename Real>
std::vector<Real> add(std::span<const Real> x, std::span<const Real> y);

// Over the last dimension of x [rows,N]: (x - mean) / sqrt(variance + epsilon), the variance divided by N;
// then times weight plus bias, [N] each, if not empty.
template <typename Real>
std::vector<Real> layerNorm(std::span<const Real> x, std::span<const Real> weight, std::span<const Real> bias,
                            std::int64_t rows, std::int64_t n, double epsilon);

// Over the last dimension of x [rows,N]: exp(x - max) / sum. A row of -inf gives zeros; NaN or +inf makes its
// row NaN.
template <typename Real>
std::vector<Real> softmax(std::span<const Real> x, std::int64_t rows, std::int64_t n);

struct ImageSize {
  std::int64_t batch = 0;
  std::int64_t channels = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
};

// image [B,C,H,W], weight [E,C,P,P], bias [E]: a convolution with stride P. H and W are multiples of P.
// Returns [B,(H/P)*(W/P),E], patches row by row.
template <typename Real>
std::vector<Real> patchEmbed(std::span<const Real> image, std::span<const Real> weight,
                             std::span<const Real> bias, const ImageSize& size, std::int64_t patchSize,
                             std::int64_t embedDim);

enum class PositionLayout { Interleaved, Halves };

// Returns [positions,dim]. Pair n has the angle (start + t) * base^(-2n/dim). Interleaved: its sine in
// channel 2n, its cosine in 2n+1; halves: all sines, then all cosines. With an odd dim the last cosine is
// missing.
std::vector<double> sinusoidalPositions(std::int64_t positions, std::int64_t dim, double base,
                                        PositionLayout layout, std::int64_t start);

}  // namespace saccade::reference
