// SPDX-License-Identifier: Apache-2.0
#include "check/attention_options.hpp"

namespace saccade::check {

namespace {

Causal causalOf(io::Causal causal) {
  switch (causal) {
    case io::Causal::None: break;
    case io::Causal::BottomRight: return Causal::BottomRight;
    case io::Causal::TopLeft: return Causal::TopLeft;
  }
  return Causal::None;
}

Normalizer normalizerOf(io::Normalizer normalizer) {
  switch (normalizer) {
    case io::Normalizer::Softmax: break;
    case io::Normalizer::Sigmoid: return Normalizer::Sigmoid;
    case io::Normalizer::Relu: return Normalizer::Relu;
  }
  return Normalizer::Softmax;
}

}  // namespace

AttentionOptions attentionOptions(const io::AttentionCase& given) {
  AttentionOptions options;
  options.causal = causalOf(given.causal);
  if (given.softmaxScale) {
    options.softmaxScale = static_cast<float>(*given.softmaxScale);
  }
  options.temperature = static_cast<float>(given.temperature);
  options.windowLeft = given.windowLeft;
  options.windowRight = given.windowRight;
  options.softcap = static_cast<float>(given.softcap);
  options.scaleBlock = static_cast<std::uint32_t>(given.scaleBlock);
  options.normalizer = normalizerOf(given.normalizer);
  options.sigmoidBias = static_cast<float>(given.sigmoidBias);
  return options;
}

}  // namespace saccade::check
