// SPDX-License-Identifier: Apache-2.0
#include "check/spec_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <utility>

#include "check/attention_call.hpp"
#include "check/device_case.hpp"
#include "check/shrink.hpp"
#include "reference/attention.hpp"
#include "reference/exact_zeros.hpp"
#include "reference/tolerance.hpp"

namespace saccade::check {

namespace {

using reference::TensorTolerance;

// Weights are written in the storage type: the tolerance of F32 weights, and one unit in the last place for
// rounding.
TensorTolerance probsTolerance(const TensorTolerance& fp32, io::DType storage) {
  if (storage == io::DType::F32) {
    return fp32;
  }
  return {.absolute = fp32.absolute, .relative = io::unitInLastPlace(storage, 1)};
}

class SpecCheck : public Check {
 public:
  SpecCheck(std::string kind, std::string name, std::string group, const AttentionSpec& spec,
            std::uint64_t seed)
      : Check(std::move(name), std::move(group), SACCADE_OPERATOR_ATTENTION),
        kind_(std::move(kind)),
        spec_(spec),
        seed_(seed) {}

  std::string description() const override { return formatSpec(spec_); }
  std::string only() const override { return kind_ + ":" + formatSpec(spec_); }
  std::string family() const override { return pipelineKey(spec_); }

  std::optional<Smaller> shrink(const Device& device, const std::string& kernel) override {
    const auto run = [&](const AttentionSpec& spec) {
      return makeSpecCheck(kind_, name(), group(), spec, seed_)->run(device, kernel);
    };
    const std::optional<Shrunk> shrunk = shrinkSpec(spec_, [&](const AttentionSpec& spec) {
      return specMistakeFor(kind_, spec).empty() && run(spec).state == State::Failed;
    });
    if (!shrunk) {
      return std::nullopt;
    }
    const std::string text = formatSpec(shrunk->spec);
    return Smaller{text, kind_ + ":" + text, run(shrunk->spec), shrunk->tries};
  }

 protected:
  const AttentionSpec& spec() const { return spec_; }
  std::uint64_t seed() const { return seed_; }

 private:
  std::string kind_;
  AttentionSpec spec_;
  std::uint64_t seed_;
};

// What the scalar path says of a problem; the same for every kernel and device.
struct Expectation {
  AttentionSample sample;
  reference::AttentionResult result;
  reference::AttentionTolerances tolerances;
  reference::ZeroMasks zeros;
};

class AttentionCheck final : public SpecCheck {
 public:
  using SpecCheck::SpecCheck;

 private:
  Outcome compute(const Device& device, const std::string& kernel) override {
    const Expectation& wanted = expectation();
    AttentionCall call(device, wanted.sample, kernel);
    const std::string ran = call.run();
    const AttentionOutputs outputs = call.outputs();
    std::vector<reference::TensorComparison> tensors;
    const auto add = [&](const std::string& name, const io::TensorData& got,
                         const std::vector<double>& expected, const TensorTolerance& tolerance) {
      const auto zero = wanted.zeros.find(name);
      tensors.push_back(reference::compareTensor(
          name, got, io::TensorData::fromDoubles(io::DType::F64, got.shape(), expected), tolerance,
          zero == wanted.zeros.end() ? std::span<const std::uint8_t>{}
                                     : std::span<const std::uint8_t>(zero->second)));
    };
    add("out", outputs.out, wanted.result.out,
        weightRounding(ran) == io::PRounding::Fp32 ? wanted.tolerances.out : wanted.tolerances.outRoundedP);
    if (spec().lse) {
      add("lse", outputs.lse, wanted.result.lse, wanted.tolerances.lse);
    }
    if (spec().probs) {
      add("probs", outputs.probs, wanted.result.probs, probsTolerance(wanted.tolerances.probs, spec().dtype));
    }
    return judge(tensors, call.overwritten());
  }

  const Expectation& expectation() {
    if (!expectation_) {
      Expectation wanted{.sample = makeSample(spec(), seed()), .result = {}, .tolerances = {}, .zeros = {}};
      const reference::OwnedProblem owned = reference::problemFromCase(wanted.sample.problem);
      wanted.result = reference::attention(owned.problem,
                                           spec().probs ? reference::Probs::Store : reference::Probs::Skip);
      wanted.tolerances = reference::attentionTolerances(owned.problem, spec().dtype, wanted.result);
      wanted.zeros = reference::exactZeros(owned.problem);
      expectation_ = std::move(wanted);
    }
    return *expectation_;
  }

  std::optional<Expectation> expectation_;
};

class PropertyCheck final : public SpecCheck {
 public:
  PropertyCheck(Probe probe, std::string kind, std::string name, std::string group, const AttentionSpec& spec,
                std::uint64_t seed)
      : SpecCheck(std::move(kind), std::move(name), std::move(group), spec, seed), probe_(probe) {}

 private:
  Outcome compute(const Device& device, const std::string& kernel) override {
    return probe_(device, kernel, spec(), seed());
  }

  Probe probe_;
};

struct Kind {
  const char* name;
  Probe probe;             // nullptr: AttentionCheck
  const char* builtIn[7];  // problems, up to the first nullptr
};

// Few head dims and few sets of options, so that the properties share pipelines; token counts on both sides
// of the edges of tiles.
constexpr Kind kKinds[] = {
    {"attention", nullptr, {}},
    {"causality",
     probeCausality,
     {"f32,B1,Hq2,Hkv1,Tq33,Tk40,Dqk8,Dv8,causal,lse", "f16,B1,Hq3,Hkv1,Tq17,Tk16,Dqk64,Dv64,causal,lse",
      "bf16,B2,Hq2,Hkv2,Tq20,Tk13,Dqk8,Dv8,causal=top_left,lse",
      "f32,B1,Hq2,Hkv1,Tq31,Tk33,Dqk8,Dv8,window=5:2,lse",
      "f16,B3,Hq2,Hkv1,Tq30,Tk40,Dqk8,Dv8,causal,cu_q=0/7/7/28,cu_k=0/19/24/40,lse",
      "bf16,B2,Hq2,Hkv1,Tq9,Tk32,Dqk8,Dv8,causal,seqlens_k=31/18,page=16,lse"}},
    {"padding",
     probePadding,
     {"f32,B3,Hq2,Hkv1,Tq33,Tk65,Dqk8,Dv8,seqlens_q=33/0/16,seqlens_k=65/31/"
      "0,lse,q=padded,k=slice,v=padded,out=slice",
      "f16,B2,Hq3,Hkv1,Tq17,Tk129,Dqk20,Dv20,seqlens_k=128/33,lse,q=slice,k=padded,v=slice,out=padded",
      "bf16,B2,Hq2,Hkv2,Tq16,Tk66,Dqk8,Dv8,seqlens_k=65/1,page=3,lse,k=padded,v=slice,out=padded",
      "f16,B2,Hq2,Hkv1,Tq5,Tk64,Dqk8,Dv8,seqlens_k=63/16,page=16,packing=interleaved_kv,lse",
      "f32,B3,Hq2,Hkv1,Tq40,Tk50,Dqk8,Dv8,causal,cu_q=0/17/17/36,cu_k=0/16/33/"
      "45,lse,q=slice,k=slice,v=padded",
      "f32,B3,Hq2,Hkv1,Tq40,Tk50,Dqk8,Dv8,cu_q=0/17/17/36,cu_k=0/16/33/45,page=16,lse",
      "f16,B2,Hq2,Hkv1,Tq5,Tk64,Dqk8,Dv8,seqlens_k=63/16,page=16,kv=f8e4m3,k_scale=bht,v_scale=-h-,scale_block=8,lse"}},
    {"heads",
     probeHeads,
     {"f32,B1,Hq12,Hkv2,Tq5,Tk17,Dqk8,Dv8,lse", "f16,B2,Hq10,Hkv5,Tq3,Tk33,Dqk8,Dv8,lse",
      "bf16,B1,Hq28,Hkv4,Tq1,Tk9,Dqk8,Dv8,lse", "f32,B1,Hq40,Hkv8,Tq1,Tk65,Dqk8,Dv8,lse",
      "f16,B2,Hq12,Hkv1,Tq4,Tk32,Dqk8,Dv8,seqlens_k=20/31,page=16,lse"}},
    {"key_count",
     probeKeyCount,
     {"f32,B2,Hq2,Hkv1,Tq17,Tk65,Dqk8,Dv8,seqlens_k=64/33,lse",
      "f16,B1,Hq2,Hkv1,Tq33,Tk129,Dqk64,Dv64,causal,lse", "f32,B1,Hq2,Hkv1,Tq33,Tk31,Dqk8,Dv8,window=5:2,lse",
      "bf16,B2,Hq4,Hkv2,Tq16,Tk40,Dqk8,Dv8,mask=b-qk,lse",
      "f32,B3,Hq2,Hkv1,Tq40,Tk50,Dqk8,Dv8,causal,cu_q=0/17/17/36,cu_k=0/16/33/45,lse",
      "bf16,B2,Hq2,Hkv1,Tq9,Tk32,Dqk8,Dv8,causal,seqlens_k=31/18,page=16,lse"}},
    {"one_key",
     probeOneKey,
     {"f32,B2,Hq3,Hkv1,Tq17,Tk1,Dqk8,Dv8,lse", "f16,B1,Hq4,Hkv2,Tq3,Tk1,Dqk8,Dv8,lse",
      "bf16,B2,Hq2,Hkv2,Tq1,Tk1,Dqk8,Dv8,softcap=30,lse",
      "f32,B1,Hq2,Hkv1,Tq31,Tk33,Dqk8,Dv8,window=0:0,lse"}},
    {"layout",
     probeLayout,
     {"f32,B2,Hq3,Hkv1,Tq33,Tk33,Dqk8,Dv8,lse", "f16,B2,Hq4,Hkv2,Tq17,Tk65,Dqk64,Dv64,causal,lse",
      "bf16,B2,Hq2,Hkv2,Tq33,Tk33,Dqk8,Dv8,lse",
      "f16,B2,Hq2,Hkv1,Tq5,Tk64,Dqk8,Dv8,seqlens_k=63/16,page=16,lse",
      "f32,B3,Hq2,Hkv1,Tq40,Tk40,Dqk8,Dv8,causal,cu_q=0/17/17/36,cu_k=0/16/33/40,lse",
      "f16,B2,Hq4,Hkv2,Tq17,Tk65,Dqk8,Dv8,kv=i8,k_scale=bht,v_scale=bht,scale_block=16,lse"}},
    {"repeat",
     probeRepeat,
     {"f32,B1,Hq4,Hkv2,Tq65,Tk129,Dqk8,Dv8,lse", "f16,B2,Hq3,Hkv1,Tq33,Tk40,Dqk64,Dv64,causal,lse",
      "bf16,B1,Hq2,Hkv1,Tq1,Tk257,Dqk8,Dv8,lse",
      "f16,B1,Hq4,Hkv2,Tq1,Tk257,Dqk8,Dv8,kv=f8e4m3,k_scale=bht,v_scale=bht,scale_block=64,lse"}},
    {"repeat1000", probeRepeat1000, {}},
};

const Kind* findKind(std::string_view name) {
  const auto found =
      std::find_if(std::begin(kKinds), std::end(kKinds), [&](const Kind& k) { return k.name == name; });
  return found == std::end(kKinds) ? nullptr : found;
}

}  // namespace

const std::vector<std::string>& specKinds() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Kind& kind : kKinds) {
      all.emplace_back(kind.name);
    }
    return all;
  }();
  return names;
}

std::string specMistakeFor(const std::string& kind, const AttentionSpec& spec) {
  if (const std::string mistake = specMistake(spec); !mistake.empty()) {
    return mistake;
  }
  const bool hasSink = spec.sink, hasScores = spec.bias || spec.alibi != Slopes::None;
  if ((kind == "heads" || kind == "key_count" || kind == "one_key") &&
      (hasSink || spec.visibleNan || spec.probs)) {
    return kind + " excludes sink, nan and probs";
  }
  if (kind == "key_count" && hasScores) {
    return "key_count excludes bias and alibi";
  }
  // They replace keys and values by some that quantised tensors cannot hold.
  if ((kind == "causality" || kind == "heads" || kind == "key_count" || kind == "one_key") && spec.kvDtype) {
    return kind + " excludes kv";
  }
  if (kind == "causality" && (spec.layout.packing == Packing::SharedKv || spec.visibleNan || spec.probs)) {
    return "causality excludes packing=shared_kv, nan and probs";
  }
  if (kind == "padding" && (spec.visibleNan || spec.probs || spec.layout.packing == Packing::SharedKv)) {
    return "padding excludes packing=shared_kv, nan and probs";
  }
  return "";
}

std::unique_ptr<Check> makeSpecCheck(const std::string& kind, std::string name, std::string group,
                                     const AttentionSpec& spec, std::uint64_t seed) {
  const Kind* found = findKind(kind);
  if (found == nullptr) {
    throw std::invalid_argument(fmt::format("'{}' is no kind of check", kind));
  }
  if (found->probe == nullptr) {
    return std::make_unique<AttentionCheck>(kind, std::move(name), std::move(group), spec, seed);
  }
  return std::make_unique<PropertyCheck>(found->probe, kind, std::move(name), std::move(group), spec, seed);
}

std::unique_ptr<Check> parseSpecCheck(std::string_view text, std::uint64_t seed) {
  const std::size_t colon = text.find(':');
  const Kind* kind = colon == std::string_view::npos ? nullptr : findKind(text.substr(0, colon));
  if (kind == nullptr) {
    return nullptr;
  }
  const AttentionSpec spec = parseSpec(text.substr(colon + 1));
  if (const std::string mistake = specMistakeFor(kind->name, spec); !mistake.empty()) {
    throw std::invalid_argument(fmt::format("'{}': {}", text, mistake));
  }
  return makeSpecCheck(kind->name, std::string(text), kind->probe == nullptr ? "sweep" : "properties", spec,
                       seed);
}

Checks propertyChecks(std::uint64_t seed, bool thorough) {
  Checks checks;
  for (const Kind& kind : kKinds) {
    const std::string name = thorough && kind.probe == probeRepeat ? "repeat1000" : kind.name;
    for (int i = 0; i < static_cast<int>(std::size(kind.builtIn)) && kind.builtIn[i] != nullptr; ++i) {
      checks.push_back(
          makeSpecCheck(name, fmt::format("{}/{}", name, i), "properties", parseSpec(kind.builtIn[i]), seed));
    }
  }
  return checks;
}

}  // namespace saccade::check
