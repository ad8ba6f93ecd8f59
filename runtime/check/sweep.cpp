// SPDX-License-Identifier: Apache-2.0
#include "check/sweep.hpp"

#include <fmt/format.h>

#include <charconv>

#include "check/attention_draw.hpp"
#include "check/layer_check.hpp"
#include "check/spec_check.hpp"

namespace saccade::check {

namespace {

struct Sweep {
  std::string prefix;
  std::unique_ptr<Check> (*make)(std::uint64_t seed, std::uint64_t index);
  std::uint32_t share;  // one check for that many of attention
};

std::unique_ptr<Check> attentionSweepCheck(std::uint64_t seed, std::uint64_t index) {
  return makeSpecCheck("attention", fmt::format("attention/{}", index), "sweep", drawSpec(seed, index), seed);
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
      checks.push_back(sweep.make(seed, index));
    }
  }
  return checks;
}

std::unique_ptr<Check> sweepCheck(std::uint64_t seed, const std::string& name) {
  for (const Sweep& sweep : sweeps()) {
    if (!name.starts_with(sweep.prefix)) {
      continue;
    }
    std::uint64_t index = 0;
    const char* begin = name.data() + sweep.prefix.size();
    const char* end = name.data() + name.size();
    const auto [stop, error] = std::from_chars(begin, end, index);
    if (error == std::errc{} && stop == end && begin != end) {
      return sweep.make(seed, index);
    }
  }
  return nullptr;
}

Checks shapeChecks(std::uint64_t seed, bool thorough) {
  Checks checks;
  for (const AttentionSpec& spec : shapeSpecs(thorough)) {
    checks.push_back(makeSpecCheck("attention", fmt::format("shapes/{}", checks.size()), "shapes", spec, seed));
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
