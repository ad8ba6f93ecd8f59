// SPDX-License-Identifier: Apache-2.0
#include "info_choices.hpp"

#include "attention/choice.hpp"

namespace saccade::tool {

namespace {

struct Use {
  const char* name;
  std::int64_t heads, headsKv, seqlenQ, seqlenK;
};
constexpr Use kUses[] = {{"prefill", 32, 8, 2048, 2048}, {"decode", 32, 8, 1, 4096}};

struct StorageType {
  const char* name;
  Dtype dtype;
};
constexpr StorageType kStorageTypes[] = {{"f16", Dtype::F16}, {"f32", Dtype::F32}};

// Of the first line of a reason: "scalar_tiled: chosen: tiles in shared memory ...".
std::string whyChosen(const std::string& reason) {
  const std::string line = reason.substr(0, reason.find('\n')), mark = ": chosen: ";
  const std::size_t at = line.find(mark);
  return at == std::string::npos ? line : line.substr(at + mark.size());
}

}  // namespace

nlohmann::ordered_json attentionChoices(const DeviceFacts& facts) {
  nlohmann::ordered_json choices = nlohmann::ordered_json::array();
  for (const Use& use : kUses) {
    for (const StorageType& type : kStorageTypes) {
      for (const std::int64_t headDim : {64, 128}) {
        AttentionDesc desc{.q = {type.dtype, {1, use.heads, use.seqlenQ, headDim}},
                           .k = {type.dtype, {1, use.headsKv, use.seqlenK, headDim}},
                           .v = {type.dtype, {1, use.headsKv, use.seqlenK, headDim}}};
        desc.causal = Causal::BottomRight;
        const core::AttentionChoice choice = core::chooseAttention(facts, core::validateAttention(desc.toC()), "");
        choices.push_back({{"use", use.name},
                           {"dtype", type.name},
                           {"head_dim", headDim},
                           {"kernel", choice.kernel},
                           {"tile", choice.tileText},
                           {"why", whyChosen(choice.reason)}});
      }
    }
  }
  return choices;
}

}  // namespace saccade::tool
