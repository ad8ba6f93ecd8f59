// SPDX-License-Identifier: Apache-2.0
#include "check/sweep.hpp"

#include <fmt/format.h>

#include <charconv>
#include <string_view>

#include "check/attention_draw.hpp"
#include "check/layer_check.hpp"
#include "check/spec_check.hpp"

namespace saccade::check {

namespace {

struct Sweep {
  std::string prefix;
  std::unique_ptr<Check> (*make)(const LayerProblem& problem);
  std::uint32_t share;  // one check for that many of attention
};

template <typename Number>
bool parse(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() && !text.empty();
}

std::unique_ptr<Check> attentionSweepCheck(const LayerProblem& problem) {
  return makeSpecCheck("attention", fmt::format("attention/{}", problem.index), "sweep",
                       drawSpec(problem.seed, problem.index), problem.seed);
}

const std::vector<Sweep>& sweeps() {
  static const std::vector<Sweep> all = {
      {"attention/", attentionSweepCheck, 1},    {"matmul/", matmulSweepCheck, 3},
      {"layer_norm/", layerNormSweepCheck, 10},  {"softmax/", softmaxSweepCheck, 10},
      {"activation/", activationSweepCheck, 10}, {"patch_embed/", patchEmbedSweepCheck, 10},
  };
  return all;
}

}  // namespace

Checks sweepChecks(std::uint64_t seed, std::uint32_t attentionCount) {
  Checks checks;
  for (const Sweep& sweep : sweeps()) {
    const std::uint32_t count = (attentionCount + sweep.share - 1) / sweep.share;
    for (std::uint32_t index = 0; index < count; ++index) {
      checks.push_back(sweep.make({.seed = seed, .index = index}));
    }
  }
  return checks;
}

std::unique_ptr<Check> sweepCheck(std::uint64_t seed, const std::string& name) {
  for (const Sweep& sweep : sweeps()) {
    if (!name.starts_with(sweep.prefix)) {
      continue;
    }
    const std::string_view number = std::string_view(name).substr(sweep.prefix.size());
    const std::size_t at = number.find('@');
    LayerProblem problem{.seed = seed};
    const bool hasLimit = at != std::string_view::npos;
    if (parse(number.substr(0, at), problem.index) &&
        (!hasLimit || (sweep.make != attentionSweepCheck && parse(number.substr(at + 1), problem.sizeLimit) &&
                       problem.sizeLimit > 0))) {
      return sweep.make(problem);
    }
  }
  return nullptr;
}

Checks shapeChecks(std::uint64_t seed, bool thorough) {
  Checks checks;
  for (const AttentionSpec& spec : shapeSpecs(thorough)) {
    checks.push_back(
        makeSpecCheck("attention", fmt::format("shapes/{}", checks.size()), "shapes", spec, seed));
  }
  return checks;
}

std::vector<std::string> sweepExamples() {
  std::vector<std::string> names;
  for (const Sweep& sweep : sweeps()) {
    names.push_back(sweep.prefix + "0");
  }
  return names;
}

}  // namespace saccade::check
