// SPDX-License-Identifier: Apache-2.0
#include "reference/exact_zeros.hpp"

#include <algorithm>

#include "io/attention_case.hpp"
#include "reference/visibility.hpp"

namespace saccade::reference {

namespace {

void fill(std::vector<std::uint8_t>& mask, std::int64_t first, std::int64_t count, bool zero) {
  std::fill_n(mask.begin() + first, count, static_cast<std::uint8_t>(zero));
}

bool isKeySeen(const AttentionProblem& problem, std::int64_t b, std::int64_t g, std::int64_t j) {
  for (std::int64_t h = 0; h < problem.numHeadsQ; ++h) {
    for (std::int64_t i = 0; problem.kvHead(h) == g && i < problem.seqlenQ; ++i) {
      if (isVisible(problem, b, h, i, j)) {
        return true;
      }
    }
  }
  return false;
}

ZeroMasks paddedZeros(const AttentionProblem& problem) {
  const std::int64_t rows = problem.batch * problem.numHeadsQ * problem.seqlenQ;
  const std::int64_t keys = problem.batch * problem.numHeadsKv * problem.seqlenK;
  std::vector<std::uint8_t> out(static_cast<std::size_t>(rows * problem.headDimV));
  std::vector<std::uint8_t> dq(static_cast<std::size_t>(rows * problem.headDimQk));
  std::vector<std::uint8_t> probs(static_cast<std::size_t>(rows * problem.seqlenK));
  std::vector<std::uint8_t> dk(static_cast<std::size_t>(keys * problem.headDimQk));
  std::vector<std::uint8_t> dv(static_cast<std::size_t>(keys * problem.headDimV));
  for (std::int64_t b = 0; b < problem.batch; ++b) {
    for (std::int64_t h = 0; h < problem.numHeadsQ; ++h) {
      for (std::int64_t i = 0; i < problem.seqlenQ; ++i) {
        const std::int64_t row = (b * problem.numHeadsQ + h) * problem.seqlenQ + i;
        for (std::int64_t j = 0; j < problem.seqlenK; ++j) {
          fill(probs, row * problem.seqlenK + j, 1, !isVisible(problem, b, h, i, j));
        }
        const bool empty = !seesAnyKey(problem, b, h, i);
        fill(out, row * problem.headDimV, problem.headDimV, empty);
        fill(dq, row * problem.headDimQk, problem.headDimQk, empty);
      }
    }
    for (std::int64_t g = 0; g < problem.numHeadsKv; ++g) {
      for (std::int64_t j = 0; j < problem.seqlenK; ++j) {
        const std::int64_t key = (b * problem.numHeadsKv + g) * problem.seqlenK + j;
        const bool unseen = !isKeySeen(problem, b, g, j);
        fill(dk, key * problem.headDimQk, problem.headDimQk, unseen);
        fill(dv, key * problem.headDimV, problem.headDimV, unseen);
      }
    }
  }
  return {{"out", out}, {"dq", dq}, {"probs", probs}, {"dk", dk}, {"dv", dv}};
}

// Tokens lie outside heads in packed tensors; what belongs to no sequence is zero.
ZeroMasks packedZeros(const AttentionProblem& packed) {
  ZeroMasks masks = {
      {"out", std::vector<std::uint8_t>(
                  static_cast<std::size_t>(packed.seqlenQ * packed.numHeadsQ * packed.headDimV), 1)},
      {"dq", std::vector<std::uint8_t>(
                 static_cast<std::size_t>(packed.seqlenQ * packed.numHeadsQ * packed.headDimQk), 1)},
      {"dk", std::vector<std::uint8_t>(
                 static_cast<std::size_t>(packed.seqlenK * packed.numHeadsKv * packed.headDimQk), 1)},
      {"dv", std::vector<std::uint8_t>(
                 static_cast<std::size_t>(packed.seqlenK * packed.numHeadsKv * packed.headDimV), 1)}};
  for (const Sequence& sequence : splitSequences(packed)) {
    const ZeroMasks parts = paddedZeros(sequence.problem);
    const auto place = [&](const char* name, std::int64_t heads, std::int64_t tokens, std::int64_t firstToken,
                           std::int64_t channels) {
      for (std::int64_t h = 0; h < heads; ++h) {
        for (std::int64_t t = 0; t < tokens; ++t) {
          std::copy_n(parts.at(name).begin() + (h * tokens + t) * channels, channels,
                      masks.at(name).begin() + ((firstToken + t) * heads + h) * channels);
        }
      }
    };
    place("out", packed.numHeadsQ, sequence.problem.seqlenQ, sequence.firstQuery, packed.headDimV);
    place("dq", packed.numHeadsQ, sequence.problem.seqlenQ, sequence.firstQuery, packed.headDimQk);
    place("dk", packed.numHeadsKv, sequence.problem.seqlenK, sequence.firstKey, packed.headDimQk);
    place("dv", packed.numHeadsKv, sequence.problem.seqlenK, sequence.firstKey, packed.headDimV);
  }
  return masks;
}

// The weights that the module's padding mask and causal flag hide: [B,H,Tq,Tk].
std::vector<std::uint8_t> hiddenByMha(const io::CaseFile& file) {
  const std::int64_t any = io::CaseFile::kAnySize;
  const io::Shape x = file.requireInput("x", {any, any, any}).shape();
  AttentionProblem problem;
  problem.batch = x[0];
  problem.numHeadsQ = problem.numHeadsKv = file.requireInteger("num_heads");
  problem.seqlenQ = x[1];
  problem.seqlenK =
      file.input("x_kv") == nullptr ? x[1] : file.requireInput("x_kv", {x[0], any, any}).shape()[1];
  problem.causal = io::causalOf(file);
  std::vector<std::uint8_t> mask;
  if (file.input("key_padding_mask") != nullptr) {
    mask = file.requireInput("key_padding_mask", {problem.batch, problem.seqlenK}).toBytes();
    problem.mask = {mask.data(), {problem.seqlenK, 0, 0, 1}};
  }
  return paddedZeros(problem).at("probs");
}

}  // namespace

ZeroMasks exactZeros(const AttentionProblem& problem) {
  return problem.packed() ? packedZeros(problem) : paddedZeros(problem);
}

ZeroMasks exactZeros(const io::CaseFile& file) {
  if (file.op == "attention" || file.op == "attention_backward" || file.op == "linear_attention") {
    return exactZeros(problemFromCase(io::readAttentionCase(file)).problem);
  }
  return file.op == "mha" ? ZeroMasks{{"probs", hiddenByMha(file)}} : ZeroMasks{};
}

}  // namespace saccade::reference
