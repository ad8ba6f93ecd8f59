// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "io/attention_case.hpp"
#include "io/case_file.hpp"

// What every program that takes part in bench/peers/compare does, in C++ and (contestants/contestant.py) in
// Python. It is started as
//
//   PROGRAM CASE.safetensors RESULT.safetensors --threads N [--weights MODEL.safetensors]
//
// reads the case, computes its result once, and then prints a line of JSON: who it is, or
// {"refused": "why"}. From then on it obeys lines on its standard input: `run N` computes the result N times and
// answers {"ms": [...]}, what a caller waits for each; `write` writes the last result to RESULT.safetensors and
// answers {"written": true}. The end of the input ends it.

namespace saccade::peers {

// Who takes part, for the table.
struct Identity {
  std::string name;
  std::string version;
  std::string device;  // as the driver calls it
  std::string driver;  // and its version; empty for a library that needs none
  std::string note;    // what a reader of its figures must know; may be empty
  // How softmax weights are kept until they are multiplied with V; decides the tolerance.
  io::PRounding pRounding = io::PRounding::Fp32;
};

class Contestant {
 public:
  virtual ~Contestant() = default;
  virtual void run() = 0;  // until the result is there
  virtual io::TensorMap result() = 0;
  virtual Identity identity() const = 0;  // after the first run
};

struct Invitation {
  io::CaseFile file;
  int threads = 1;
  std::string weights;  // of a model whose weights are not in the case; may be empty
};

// Throws any std::exception to refuse the case; its text is the reason.
using MakeContestant = std::unique_ptr<Contestant> (*)(const Invitation& invitation);

// The attention call of a case. Throws std::invalid_argument for what the shapes of the comparison do not need,
// and contestants therefore do not pass on: anything but fp32 and fp16, causal, seqlens_q and seqlens_k.
io::AttentionCase comparedAttention(const io::CaseFile& file);

// The main function of a contestant.
int contest(int argc, char** argv, MakeContestant make);

}  // namespace saccade::peers
