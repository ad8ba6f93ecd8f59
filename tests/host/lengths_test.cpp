// SPDX-License-Identifier: Apache-2.0
// Lengths that an earlier dispatch of the host writes: the host neither knows them nor records anew when they change.
#include <algorithm>

#include "work.hpp"

// The shaders, made by glslang; they include nothing.
#include "advance.h"
#include "lengths.h"

namespace saccade::host {
namespace {

constexpr uint32_t kSequences = 3, kMaxLength = 24;

// Of lengths.comp.
struct Push {
  VkDeviceAddress tokens, lengths, cuSeqlens;
  uint32_t sequences = kSequences, maxLength = kMaxLength;
};

class LengthsOfTheDevice : public HostTest {
 protected:
  // Sequence s gets counts[s] tokens.
  static void setTokens(const Memory& tokens, const std::vector<int>& counts) {
    for (uint32_t s = 0; s < kSequences; s++) {
      for (uint32_t i = 0; i < kMaxLength; i++) {
        tokens.as<int32_t>()[s * kMaxLength + i] = static_cast<int>(i) < counts[s] ? 5 : 0;
      }
    }
  }

  HostPipeline pipeline{host, lengths_spirv, sizeof lengths_spirv, sizeof(Push)};
  Memory queryTokens{host, kSequences * kMaxLength * 4}, keyTokens{host, kSequences * kMaxLength * 4};
  Memory unused{host, (kSequences + 1) * 4};
};

TEST_F(LengthsOfTheDevice, AsSeqlens) {
  Work work(host, context, {.batch = kSequences, .seqlenQ = kMaxLength, .seqlenK = kMaxLength, .lengths = true});
  Commands commands(host);
  const Push queries{queryTokens.address, work.seqlensQ.address, unused.address};
  const Push keys{keyTokens.address, work.seqlensK.address, unused.address};
  pipeline.dispatch(commands, &queries, 1);
  commands.barrier();  // also keeps `unused` to one dispatch at a time
  pipeline.dispatch(commands, &keys, 1);
  commands.barrier();
  work.record(commands);
  commands.end();
  for (const auto& [q, k] : {std::pair<std::vector<int>, std::vector<int>>{{24, 1, 7}, {24, 24, 9}}, {{0, 24, 3}, {5, 11, 0}}}) {
    setTokens(queryTokens, q);
    setTokens(keyTokens, k);
    work.fill(static_cast<unsigned>(k[0]));
    host.run({commands});
    EXPECT_TRUE(std::equal(k.begin(), k.end(), work.seqlensK.as<int32_t>()));
    work.expectRight("seqlens_k[0] = " + std::to_string(k[0]));
  }
}

TEST_F(LengthsOfTheDevice, AsCuSeqlens) {
  Work work(host, context, {.seqlenQ = 50, .seqlenK = 60, .sequences = kSequences});
  Commands commands(host);
  const Push queries{queryTokens.address, unused.address, work.cuSeqlensQ.address};
  const Push keys{keyTokens.address, unused.address, work.cuSeqlensK.address};
  pipeline.dispatch(commands, &queries, 1);
  commands.barrier();
  pipeline.dispatch(commands, &keys, 1);
  commands.barrier();
  work.record(commands);
  commands.end();
  for (const auto& [q, k] : {std::pair<std::vector<int>, std::vector<int>>{{20, 1, 24}, {24, 20, 16}}, {{9, 0, 3}, {1, 11, 24}}}) {
    setTokens(queryTokens, q);
    setTokens(keyTokens, k);
    work.fill(static_cast<unsigned>(k[0]));
    host.run({commands});
    EXPECT_EQ(work.cuSeqlensK.as<int32_t>()[kSequences], k[0] + k[1] + k[2]);
    work.expectRight("cu_seqlens_k[1] = " + std::to_string(k[0]));
  }
}

// The example decode_loop decodes 1,000 tokens with the kernel that the planner takes.
class GrowingCache : public HostTest, public testing::WithParamInterface<const char*> {};

TEST_P(GrowingCache, IsReadAsFarAsItIsFilled) {
  constexpr int kSteps = 8, kCapacity = 40;
  Work work(host, context, {.batch = 2, .headsQ = 4, .seqlenQ = 1, .seqlenK = kCapacity, .lengths = true, .kernel = GetParam()});
  const HostPipeline advance(host, advance_spirv, sizeof advance_spirv, sizeof(VkDeviceAddress));
  Commands commands(host);
  for (int step = 0; step < kSteps; step++) {
    advance.dispatch(commands, &work.seqlensK.address, 2);
    commands.barrier();
    work.record(commands);
    commands.barrier();
  }
  commands.end();
  work.seqlensK.as<int32_t>()[0] = 0;
  work.seqlensK.as<int32_t>()[1] = 11;
  for (int batch = 1; batch <= 3; batch++) {
    host.run({commands});
    EXPECT_EQ(work.seqlensK.as<int32_t>()[0], batch * kSteps);
    EXPECT_EQ(work.seqlensK.as<int32_t>()[1], 11 + batch * kSteps);
    work.expectRight("after batch " + std::to_string(batch));
  }
}

INSTANTIATE_TEST_SUITE_P(With, GrowingCache, testing::Values("scalar_rows", "scalar_tiled", "flash_decode", "split_kv"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace saccade::host
