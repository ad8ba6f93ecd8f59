// SPDX-License-Identifier: Apache-2.0
// One attention with its plan, its memory and the values that the scalar path computes for what the memory holds.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "host.hpp"

namespace saccade::host {

struct WorkOptions {
  int64_t batch = 1, headsQ = 2, headsKv = 1, seqlenQ = 19, seqlenK = 37, headDim = 32;
  SaccadeDtype dtype = SACCADE_DTYPE_F32;
  SaccadeCausal causal = SACCADE_CAUSAL_BOTTOM_RIGHT;
  bool mask = false;
  bool lengths = false;    // seqlens of queries and keys
  uint32_t sequences = 0;  // packed, with cu_seqlens; batch is 1
  const char* kernel = nullptr;
};

// Of two dispatches with scratch memory between them.
inline constexpr WorkOptions kSplit{.seqlenQ = 3, .seqlenK = 200, .kernel = "split_kv"};

SaccadeAttentionDesc describe(const WorkOptions& options);

class Work {
 public:
  Work(const Host& host, SaccadeContext context, const WorkOptions& options = {});
  ~Work();
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  // Random values into q, k, v and the mask, the same for the same seed; NaN into out. The constructor does it with seed 1.
  void fill(unsigned seed);

  // The query is what `other` writes.
  void takeQueryFrom(const Work& other);

  void record(VkCommandBuffer commandBuffer) const;

  // Compares what out holds with what the scalar path computes from inputs and lengths as they stand in memory now.
  void expectRight(const std::string& what) const;

  SaccadePlanInfo info() const;

  const WorkOptions options;
  SaccadePlan plan = nullptr;
  Memory q, k, v, out, mask;
  Memory seqlensQ, seqlensK, cuSeqlensQ, cuSeqlensK;  // int32; at first as long as the tensors, and empty sequences
  std::unique_ptr<Memory> scratch;                    // as large as the plan wants it
  SaccadeAttentionBuffers buffers;                    // all of the above

 private:
  void fill(const Memory& memory, unsigned seed) const;
  std::vector<double> valuesOf(const Memory& memory) const;

  const Memory* query_ = &q;
};

// Host and context, and the assertion that the validation layer stayed silent.
class HostTest : public testing::Test {
 protected:
  explicit HostTest(const HostOptions& options = {}) : host(options) {
    if (host.hasQueue()) context = host.createContext();
  }
  void TearDown() override {
    for (const std::string& message : host.messages()) ADD_FAILURE() << message;
  }
  ~HostTest() override { saccadeDestroyContext(context); }

  Host host;
  SaccadeContext context = nullptr;
};

}  // namespace saccade::host
