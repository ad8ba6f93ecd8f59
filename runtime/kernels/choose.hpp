// SPDX-License-Identifier: Apache-2.0
// How an operator chooses among its variants: the kernel that was asked for by name, else what measurements on this device found
// best for such problems, else the lowest estimate.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "api/message.hpp"
#include "device/facts.hpp"
#include "kernels/registry.hpp"
#include "kernels/tile.hpp"

namespace saccade::core {

struct Estimate {
  double cost;      // relative to the other variants of the operator; the lowest is taken
  const char* why;  // one clause for people
};

// Of operators whose kernels have no sizes to choose.
struct NoTile {};

template <class Problem, class Tile = NoTile>
struct Variant {
  const char* name;  // an entry of the registry
  // Why it cannot compute this problem on this device; "" if it can. Device limits are in the registry's entry.
  std::string (*refusal)(const DeviceFacts& facts, const Problem& problem);
  Estimate (*estimate)(const DeviceFacts& facts, const Problem& problem);
  // The tile that is taken unless another is asked for.
  Tile (*builtIn)(const DeviceFacts& facts, const Problem& problem) = nullptr;
  // What of the tile may be asked for. Where some of it was, `settle` fills in what follows from it and says why such a tile
  // cannot compute the problem here; "" if it can.
  std::span<const TileField<Tile>> fields = {};
  std::string (*settle)(const DeviceFacts& facts, const Problem& problem, Tile& tile) = nullptr;
  // Tiles worth measuring here beside the built-in one. Those that settle refuses are dropped.
  std::vector<Tile> (*others)(const DeviceFacts& facts, const Problem& problem) = nullptr;
};

template <class Tile>
struct Choice {
  size_t index;
  Tile tile;
  std::string reason;  // a line per variant
};

// Why a variant cannot compute a problem on a device; "" if it can.
template <class Problem, class Tile>
std::string variantRefusal(const Variant<Problem, Tile>& variant, const DeviceFacts& facts, const Problem& problem) {
  const std::string device = kernelEntry(variant.name).deviceRefusal(facts);
  return device.empty() ? variant.refusal(facts, problem) : device;
}

// What may be asked of a variant's tile, and what it takes by itself for a problem that it can compute: for people.
struct TileFieldInfo {
  const char* name;
  uint32_t least, most, step;
  std::optional<uint32_t> builtIn;
};
struct VariantInfo {
  std::string refusal;  // why it cannot compute the problem on this device; "" if it can
  std::vector<TileFieldInfo> tile;
};

// The position of a variant; the number of variants if none has the name.
template <class Problem, class Tile>
size_t findVariant(std::span<const Variant<Problem, Tile>> variants, const std::string& name) {
  return static_cast<size_t>(std::find_if(variants.begin(), variants.end(), [&](const auto& v) { return name == v.name; }) -
                             variants.begin());
}

// `name` is that of one of the variants.
template <class Problem, class Tile>
VariantInfo describeVariant(std::span<const Variant<Problem, Tile>> variants, const std::string& name, const DeviceFacts& facts,
                            const Problem& problem) {
  const Variant<Problem, Tile>& variant = variants[findVariant(variants, name)];
  VariantInfo info{variantRefusal(variant, facts, problem), {}};
  std::optional<Tile> builtIn;
  if (info.refusal.empty() && variant.builtIn != nullptr) builtIn = variant.builtIn(facts, problem);
  for (const TileField<Tile>& field : variant.fields) {
    info.tile.push_back({field.name, field.least, field.most, field.step, {}});
    if (builtIn) info.tile.back().builtIn = (*builtIn).*(field.member);
  }
  return info;
}

// Sets the tile that is asked for. Returns why it cannot run; "" if it can.
template <class Problem, class Tile>
std::string makeTile(const Variant<Problem, Tile>& variant, const DeviceFacts& facts, const Problem& problem,
                     const KernelRequest& request, Tile& tile) {
  tile = variant.builtIn == nullptr ? Tile{} : variant.builtIn(facts, problem);
  if (request.tile.empty()) return "";
  if (std::string refusal = tileRefusal(facts, variant.fields, request); !refusal.empty()) return refusal;
  for (const KernelRequest::Field& asked : request.tile) {
    for (const TileField<Tile>& field : variant.fields) {
      if (asked.name == field.name) tile.*(field.member) = asked.value;
    }
  }
  return variant.settle(facts, problem, tile);
}

template <class Problem, class Tile>
Choice<Tile> chooseNamed(std::span<const Variant<Problem, Tile>> variants, const DeviceFacts& facts, const Problem& problem,
                         const KernelRequest& request) {
  const size_t index = findVariant(variants, request.kernel);
  if (index == variants.size()) {
    std::string names;
    for (const auto& variant : variants) names += (names.empty() ? "" : ", ") + std::string(variant.name);
    refuse("kernel", "kernel is \"{}\", which is not a variant of this operator; it has: {}", request.kernel, names);
  }
  if (const std::string refusal = variantRefusal(variants[index], facts, problem); !refusal.empty()) {
    refuseUnsupported("kernel", "kernel \"{}\" was asked for, but cannot run here: {}", request.kernel, refusal);
  }
  Choice<Tile> choice{index, {}, request.kernel + ": chosen: asked for by name"};
  if (const std::string refusal = makeTile(variants[index], facts, problem, request, choice.tile); !refusal.empty()) {
    refuse("kernel", "kernel \"{}\" was asked for with a tile that cannot run here: {}", request.kernel, refusal);
  }
  return choice;
}

template <class Problem, class Tile>
Choice<Tile> chooseByEstimate(std::span<const Variant<Problem, Tile>> variants, const DeviceFacts& facts, const Problem& problem) {
  size_t best = variants.size();
  Estimate bestEstimate{};
  std::string others;
  for (size_t i = 0; i < variants.size(); i++) {
    if (const std::string refusal = variantRefusal(variants[i], facts, problem); !refusal.empty()) {
      others += std::string("\n") + variants[i].name + ": cannot run: " + refusal;
      continue;
    }
    const Estimate estimate = variants[i].estimate(facts, problem);
    size_t loser = i;
    Estimate loserEstimate = estimate;
    if (best == variants.size() || estimate.cost < bestEstimate.cost) {
      loser = best;
      loserEstimate = bestEstimate;
      best = i;
      bestEstimate = estimate;
    }
    if (loser < variants.size()) {
      others += std::string("\n") + variants[loser].name + ": not taken: " + loserEstimate.why;
    }
  }
  if (best == variants.size()) {
    refuseUnsupported("kernel", "no kernel of this operator can run here:{}", others);
  }
  Choice<Tile> choice{best, {}, std::string(variants[best].name) + ": chosen: " + bestEstimate.why + others};
  makeTile(variants[best], facts, problem, {}, choice.tile);
  return choice;
}

// `asked` is the description's kernel, `forced` the context's; both may be empty. A forced kernel binds only the
// operator that has a variant of its name; an asked one must be such a variant. `tuned` is what measurements found best for such
// problems, or null; where it cannot run, the reason says so and the estimates decide.
template <class Problem, class Tile = NoTile>
Choice<Tile> choose(std::span<const Variant<Problem, Tile>> variants, const DeviceFacts& facts, const Problem& problem,
                    const std::string& asked, const std::string& forced, const KernelRequest* tuned = nullptr) {
  if (!asked.empty()) return chooseNamed(variants, facts, problem, parseKernelRequest(asked));
  if (!forced.empty()) {
    const KernelRequest request = parseKernelRequest(forced);
    if (findVariant(variants, request.kernel) < variants.size()) return chooseNamed(variants, facts, problem, request);
  }
  std::string passedOver;
  if (tuned != nullptr) {
    Choice<Tile> choice{findVariant(variants, tuned->kernel), {}, tuned->kernel + ": chosen: tuned: measured fastest on this device"};
    if (choice.index == variants.size()) {
      passedOver = "it is not a variant of this operator";
    } else {
      passedOver = variantRefusal(variants[choice.index], facts, problem);
      if (passedOver.empty()) passedOver = makeTile(variants[choice.index], facts, problem, *tuned, choice.tile);
    }
    if (passedOver.empty()) return choice;
    passedOver = "\ntuned: " + tuned->kernel + " passed over: " + passedOver;
  }
  Choice<Tile> choice = chooseByEstimate(variants, facts, problem);
  choice.reason += passedOver;
  return choice;
}

// Variants whose estimate is further than this from the lowest are not worth measuring: a CPU device would spend the whole time on one.
inline constexpr double kHopelessCost = 8;

// Kernels with tiles, as tileText gives them, that are worth measuring for a problem. The built-in choice comes first, then the other
// tiles of its kernel, then the other kernels as their estimates rank them: who has little time measures the first few.
template <class Problem, class Tile>
std::vector<std::string> listCandidates(std::span<const Variant<Problem, Tile>> variants, const DeviceFacts& facts,
                                        const Problem& problem) {
  const Choice<Tile> builtIn = chooseByEstimate(variants, facts, problem);
  const double lowest = variants[builtIn.index].estimate(facts, problem).cost;
  std::vector<std::string> texts{tileText(variants[builtIn.index].name, variants[builtIn.index].fields, builtIn.tile)};
  const auto add = [&](const Variant<Problem, Tile>& variant, const Tile& tile) {
    std::string text = tileText(variant.name, variant.fields, tile);
    if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(std::move(text));
  };
  std::vector<const Variant<Problem, Tile>*> ranked;
  for (const Variant<Problem, Tile>& variant : variants) {
    const bool hopeless = variant.estimate(facts, problem).cost >= kHopelessCost * lowest;
    if (!hopeless && variantRefusal(variant, facts, problem).empty()) ranked.push_back(&variant);
  }
  std::stable_sort(ranked.begin(), ranked.end(), [&](const auto* a, const auto* b) {
    return a->estimate(facts, problem).cost < b->estimate(facts, problem).cost;
  });
  for (const Variant<Problem, Tile>* variant : ranked) {
    add(*variant, variant->builtIn(facts, problem));
    for (Tile tile : variant->others(facts, problem)) {
      if (variant->settle(facts, problem, tile).empty()) add(*variant, tile);
    }
  }
  return texts;
}

}  // namespace saccade::core
