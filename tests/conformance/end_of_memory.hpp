// SPDX-License-Identifier: Apache-2.0
// Runs a call on memory behind which there is nothing: every tensor ends where its allocation ends, and the
// page after it may not be touched. Where the device executes on the host's pages, as CPU devices do, a read
// or write beyond the end stops the program.
#pragma once

#include <memory>

#include "attention_call.hpp"

namespace saccade::conformance {

class EndOfMemory {
 public:
  // A device of its own beside the given one. nullptr: it cannot use host memory
  // (VK_EXT_external_memory_host).
  static std::unique_ptr<EndOfMemory> create(const Device& device);
  ~EndOfMemory();
  EndOfMemory(const EndOfMemory&) = delete;
  EndOfMemory& operator=(const EndOfMemory&) = delete;

  AttentionResults execute(const AttentionCall& call);

 private:
  struct State;
  explicit EndOfMemory(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace saccade::conformance
