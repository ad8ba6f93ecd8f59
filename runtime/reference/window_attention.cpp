// SPDX-License-Identifier: Apache-2.0
#include "reference/window_attention.hpp"

#include <algorithm>

namespace saccade::reference {

namespace {

// One token of a window: where it stands in the window, in the picture, and in which region of the rolled
// picture.
struct Token {
  std::int64_t y = 0, x = 0;
  std::int64_t flatPosition = 0;
  std::int64_t region = 0;
};

std::int64_t regionOf(std::int64_t position, std::int64_t length, const WindowAttention& module) {
  if (module.shiftSize == 0 || position < length - module.windowSize) {
    return 0;
  }
  return position < length - module.shiftSize ? 1 : 2;
}

std::vector<Token> tokensOfWindow(const WindowAttention& module, std::int64_t windowY, std::int64_t windowX,
                                  std::int64_t height, std::int64_t width) {
  std::vector<Token> tokens;
  for (std::int64_t y = 0; y < module.windowSize; ++y) {
    for (std::int64_t x = 0; x < module.windowSize; ++x) {
      const std::int64_t rolledY = windowY * module.windowSize + y;
      const std::int64_t rolledX = windowX * module.windowSize + x;
      const std::int64_t pictureY = (rolledY + module.shiftSize) % height;
      const std::int64_t pictureX = (rolledX + module.shiftSize) % width;
      tokens.push_back({y, x, pictureY * width + pictureX,
                        3 * regionOf(rolledY, height, module) + regionOf(rolledX, width, module)});
    }
  }
  return tokens;
}

// What the tokens of a window add to each other's scores, and which of them see each other: [heads,w*w,w*w].
struct Pairs {
  std::vector<double> bias;
  std::vector<std::uint8_t> mask;
};

Pairs pairsOf(const WindowAttention& module, const std::vector<Token>& tokens) {
  const std::int64_t span = 2 * module.windowSize - 1;
  Pairs pairs;
  for (std::int64_t h = 0; h < module.numHeads; ++h) {
    for (const Token& query : tokens) {
      for (const Token& key : tokens) {
        const std::int64_t dy = query.y - key.y + module.windowSize - 1;
        const std::int64_t dx = query.x - key.x + module.windowSize - 1;
        pairs.bias.push_back(
            module.relativePositionBias[static_cast<std::size_t>((dy * span + dx) * module.numHeads + h)]);
        pairs.mask.push_back(query.region == key.region);
      }
    }
  }
  return pairs;
}

// Attention among the tokens of one window: x [w*w,C] before the first projection, result [w*w,C] after the
// last.
std::vector<double> attendInside(const WindowAttention& module, const std::vector<Token>& tokens,
                                 std::span<const double> x) {
  const std::int64_t channels = module.qkv.inputs;
  const std::int64_t heads = module.numHeads;
  const std::int64_t headDim = channels / heads;
  const auto count = static_cast<std::int64_t>(tokens.size());
  const std::vector<double> qkv = module.qkv(x, count);
  const Pairs pairs = pairsOf(module, tokens);

  AttentionProblem problem;
  problem.batch = 1;
  problem.numHeadsQ = problem.numHeadsKv = heads;
  problem.seqlenQ = problem.seqlenK = count;
  problem.headDimQk = problem.headDimV = headDim;
  problem.q = {qkv.data(), {0, headDim, 3 * channels, 1}};
  problem.k = {qkv.data() + channels, problem.q.strides};
  problem.v = {qkv.data() + 2 * channels, problem.q.strides};
  problem.bias = {pairs.bias.data(), broadcastStrides({1, heads, count, count})};
  problem.mask = {pairs.mask.data(), problem.bias.strides};
  const std::vector<double> attended = attention(problem).out;  // [heads,w*w,D]

  std::vector<double> joined;  // [w*w,C]
  for (std::int64_t t = 0; t < count; ++t) {
    for (std::int64_t h = 0; h < heads; ++h) {
      const auto first = attended.begin() + (h * count + t) * headDim;
      joined.insert(joined.end(), first, first + headDim);
    }
  }
  return module.proj(joined, count);
}

}  // namespace

std::vector<double> windowAttention(const WindowAttention& module, std::span<const double> x,
                                    std::int64_t batch, std::int64_t height, std::int64_t width) {
  const std::int64_t channels = module.qkv.inputs;
  std::vector<double> out(x.size());
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t windowY = 0; windowY < height / module.windowSize; ++windowY) {
      for (std::int64_t windowX = 0; windowX < width / module.windowSize; ++windowX) {
        const std::vector<Token> tokens = tokensOfWindow(module, windowY, windowX, height, width);
        std::vector<double> inside;
        for (const Token& token : tokens) {
          const auto first = x.begin() + (b * height * width + token.flatPosition) * channels;
          inside.insert(inside.end(), first, first + channels);
        }
        const std::vector<double> attended = attendInside(module, tokens, inside);
        for (std::size_t t = 0; t < tokens.size(); ++t) {
          std::copy_n(attended.begin() + static_cast<std::int64_t>(t) * channels, channels,
                      out.begin() + (b * height * width + tokens[t].flatPosition) * channels);
        }
      }
    }
  }
  return out;
}

}  // namespace saccade::reference
