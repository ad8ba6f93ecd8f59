// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <set>

#include "check/probe_rows.hpp"
#include "check/spec_check.hpp"
#include "io/special_values.hpp"

// Probes of what has influence and what has none: each compares runs on one device bit for bit.

namespace saccade::check {

namespace {

// Keys on both sides of the edges of tiles and of sequences, and a few more.
std::set<std::int64_t> probedKeys(const io::AttentionCase& problem) {
  std::set<std::int64_t> keys;
  for (const std::int64_t edge : {0, 1, 8, 16, 32, 64, 128, 256}) {
    keys.insert({edge - 1, edge});
  }
  keys.insert({3, 11, 21, problem.seqlenK - 1});
  if (problem.cuSeqlensK) {
    for (const std::int32_t first : *problem.cuSeqlensK) {
      keys.insert({first - 1, first});
    }
  }
  std::erase_if(keys, [&](std::int64_t key) { return key < 0 || key >= problem.seqlenK; });
  return keys;
}

// Token `key` of every head and batch entry set to `value`.
io::TensorData withKey(const io::TensorData& data, std::int64_t key, double value) {
  const io::Shape& shape = data.shape();
  const std::size_t axis = shape.size() == 3 ? 0 : 2;  // packed: [T,H,D]
  const io::TensorData row = io::TensorData::fromDoubles(
      data.dtype(), {shape.back()}, std::vector<double>(static_cast<std::size_t>(shape.back()), value));
  std::vector<std::byte> bytes(data.bytes().begin(), data.bytes().end());
  const std::size_t rowBytes = row.bytes().size();
  for (std::size_t r = 0; r * rowBytes < bytes.size(); ++r) {
    const io::Shape at = io::unflatten(r * static_cast<std::size_t>(shape.back()), shape);
    if (at[axis] == key) {
      std::memcpy(bytes.data() + r * rowBytes, row.bytes().data(), rowBytes);
    }
  }
  return io::TensorData(data.dtype(), shape, std::move(bytes));
}

bool sameElements(const io::TensorData& a, const io::TensorData& b, std::size_t first, std::size_t count) {
  const std::size_t size = io::dtypeSize(a.dtype());
  return std::memcmp(a.bytes().data() + first * size, b.bytes().data() + first * size, count * size) == 0;
}

// The first element of [first, first + count) that differs, or that is not NaN where `mustBeNan`.
std::optional<std::size_t> firstWrong(const io::TensorData& got, const io::TensorData& before,
                                      std::size_t first, std::size_t count, bool mustBeNan) {
  if (!mustBeNan && sameElements(got, before, first, count)) {
    return std::nullopt;
  }
  for (std::size_t i = first; i < first + count; ++i) {
    if (mustBeNan ? !std::isnan(got.at(i)) : !sameElements(got, before, i, 1)) {
      return i;
    }
  }
  return std::nullopt;
}

// What is wrong after key `key` was changed to `value`, if anything.
std::optional<reference::TensorComparison> judgeInfluence(const ProbeRows& rows,
                                                          const io::AttentionCase& problem,
                                                          const AttentionOutputs& before,
                                                          const AttentionOutputs& after, std::int64_t key,
                                                          double value) {
  std::optional<reference::TensorComparison> wrong;
  const auto headDim = static_cast<std::size_t>(problem.headDimV);
  rows.forEach([&](std::int64_t b, std::int64_t h, std::int64_t i) {
    const std::size_t row = rows.row(b, h, i);
    const bool sees = rows.sees(row, key), mustBeNan = sees && std::isnan(value);
    if (wrong || (sees && !mustBeNan)) {
      return;
    }
    const std::string what = fmt::format("key {}, which row {} {}, was changed to {}", key, i,
                                         sees ? "sees" : "does not see", value);
    const auto report = [&](const char* tensor, const io::TensorData& got, const io::TensorData& old,
                            std::size_t at) {
      wrong = differing(tensor, got, at, mustBeNan ? kNan : old.at(at), what);
    };
    if (const auto at = firstWrong(after.out, before.out, row * headDim, headDim, mustBeNan)) {
      report("out", after.out, before.out, *at);
    } else if (before.lse.elementCount() > 0) {
      if (const auto lse = firstWrong(after.lse, before.lse, rows.lseIndex(b, h, i), 1, mustBeNan)) {
        report("lse", after.lse, before.lse, *lse);
      }
    }
  });
  return wrong;
}

Outcome repeatRuns(const Device& device, const std::string& kernel, const AttentionSpec& spec,
                   std::uint64_t seed, int runs) {
  AttentionCall call(device, makeSample(spec, seed), kernel);
  call.run();
  const AttentionOutputs first = call.outputs();
  std::vector<reference::TensorComparison> tensors;
  for (int run = 1; run < runs; ++run) {
    call.run();
    tensors = compareAllBits(call.outputs(), first, fmt::format("run {} differs from the first", run + 1));
    if (judge(tensors, {}).state == State::Failed) {
      break;
    }
  }
  return judge(tensors, call.overwritten());
}

}  // namespace

Outcome probeCausality(const Device& device, const std::string& kernel, const AttentionSpec& spec,
                       std::uint64_t seed) {
  const AttentionSample sample = makeSample(spec, seed);
  const io::AttentionCase& problem = sample.problem;
  const ProbeRows rows(problem);
  AttentionCall call(device, sample, kernel);
  call.run();
  const AttentionOutputs before = call.outputs();
  std::vector<reference::TensorComparison> tensors = {compareBits("out", before.out, before.out, "")};
  for (const std::int64_t key : probedKeys(problem)) {
    for (const double value : {1.5, double{kNan}, double{kInfinity}}) {
      call.uploadKeys(withKey(problem.k, key, value), withKey(problem.v, key, value));
      call.run();
      if (const auto wrong = judgeInfluence(rows, problem, before, call.outputs(), key, value)) {
        return judge({*wrong}, call.overwritten());
      }
    }
  }
  return judge(tensors, call.overwritten());
}

Outcome probePadding(const Device& device, const std::string& kernel, const AttentionSpec& spec,
                     std::uint64_t seed) {
  const auto run = [&](Hidden hidden, Gaps gaps) {
    AttentionSpec changed = spec;
    changed.hidden = hidden;
    AttentionCall call(device, makeSample(changed, seed), kernel, gaps);
    call.run();
    return std::pair(call.outputs(), call.overwritten());
  };
  const auto [zeros, overwrittenZeros] = run(Hidden::Zero, Gaps::Zero);
  const auto [poisoned, overwritten] = run(Hidden::Nan, Gaps::Nan);
  std::vector<reference::TensorComparison> tensors =
      compareAllBits(poisoned, zeros, "padding and hidden values were NaN instead of 0");
  // Both runs began with outputs of NaN: an element that neither wrote would go unnoticed.
  for (const auto& [name, data] : {std::pair("out", &zeros.out), {"lse", &zeros.lse}}) {
    for (std::size_t i = 0; i < data->elementCount(); ++i) {
      if (std::isnan(data->at(i))) {
        tensors.push_back(differing(name, *data, i, 0, "nothing but zeros and ordinary numbers went in"));
        break;
      }
    }
  }
  return judge(tensors, overwritten.empty() ? overwrittenZeros : overwritten);
}

Outcome probeLayout(const Device& device, const std::string& kernel, const AttentionSpec& spec,
                    std::uint64_t seed) {
  std::vector<reference::TensorComparison> tensors;
  std::vector<std::string> overwritten;
  const auto run = [&](const AttentionSample& sample) {
    AttentionCall call(device, sample, kernel);
    call.run();
    overwritten = overwritten.empty() ? call.overwritten() : overwritten;
    return call.outputs();
  };
  const auto compare = [&](AttentionLayout layout, const std::string& what) {
    AttentionSpec changed = spec;
    layout.hostLengths = spec.layout.hostLengths;
    changed.layout = layout;
    if (!specMistake(changed).empty()) {
      return;
    }
    AttentionSample sample = makeSample(changed, seed);
    const AttentionOutputs got = run(sample);
    sample.layout = {};
    for (auto& comparison : compareAllBits(got, run(sample), what + " instead of contiguous tensors")) {
      tensors.push_back(std::move(comparison));
    }
  };
  for (const Layout layout : {Layout::TokensFirst, Layout::PaddedRows, Layout::CacheSlice}) {
    compare({.q = layout, .k = layout, .v = layout, .out = layout}, layoutName(layout));
  }
  compare({.packing = Packing::Qkv}, "packed q, k and v");
  compare({.packing = Packing::SharedKv}, "k and v with strides of 0");
  compare({.packing = Packing::InterleavedKv}, "a pool of interleaved k and v");
  compare(spec.layout, "the layout of the description");
  return judge(tensors, overwritten);
}

Outcome probeRepeat(const Device& device, const std::string& kernel, const AttentionSpec& spec,
                    std::uint64_t seed) {
  return repeatRuns(device, kernel, spec, seed, 20);
}

Outcome probeRepeat1000(const Device& device, const std::string& kernel, const AttentionSpec& spec,
                        std::uint64_t seed) {
  return repeatRuns(device, kernel, spec, seed, 1000);
}

}  // namespace saccade::check
