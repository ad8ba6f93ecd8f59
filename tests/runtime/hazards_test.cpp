// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "standalone/hazards.hpp"

namespace saccade::runtime {
namespace {

VkBuffer buffer(std::uintptr_t number) { return reinterpret_cast<VkBuffer>(number); }

Access read(std::uint64_t begin, std::uint64_t end) { return {buffer(1), begin, end, false}; }
Access write(std::uint64_t begin, std::uint64_t end) { return {buffer(1), begin, end, true}; }

bool add(Hazards& hazards, const Access& access) { return hazards.add({&access, 1}); }

TEST(Hazards, ReadAfterWriteNeedsABarrier) {
  Hazards hazards;
  EXPECT_FALSE(add(hazards, write(0, 16)));
  EXPECT_TRUE(add(hazards, read(15, 20)));
}

TEST(Hazards, WriteAfterReadNeedsABarrier) {
  Hazards hazards;
  EXPECT_FALSE(add(hazards, read(0, 16)));
  EXPECT_TRUE(add(hazards, write(8, 9)));
}

TEST(Hazards, WriteAfterWriteNeedsABarrier) {
  Hazards hazards;
  EXPECT_FALSE(add(hazards, write(0, 16)));
  EXPECT_TRUE(add(hazards, write(0, 16)));
}

TEST(Hazards, ReadersDoNotWaitForEachOther) {
  Hazards hazards;
  EXPECT_FALSE(add(hazards, read(0, 16)));
  EXPECT_FALSE(add(hazards, read(0, 16)));
}

TEST(Hazards, DisjointRangesAndOtherBuffersAreIndependent) {
  Hazards hazards;
  EXPECT_FALSE(add(hazards, write(0, 16)));
  EXPECT_FALSE(add(hazards, write(16, 32)));
  EXPECT_FALSE(add(hazards, {buffer(2), 0, 16, true}));
}

TEST(Hazards, ABarrierSettlesEverythingBeforeItButNotTheOperatorItself) {
  Hazards hazards;
  EXPECT_FALSE(add(hazards, write(0, 16)));
  EXPECT_FALSE(add(hazards, write(100, 116)));
  EXPECT_TRUE(add(hazards, read(0, 16)));
  EXPECT_FALSE(add(hazards, read(100, 116))) << "the barrier covered it";
  EXPECT_TRUE(add(hazards, write(0, 16))) << "the read came after the barrier";
}

TEST(Hazards, OneOperatorMayReadAndWriteTheSameBytes) {
  Hazards hazards;
  const Access inPlace[] = {read(0, 16), write(0, 16)};
  EXPECT_FALSE(hazards.add(inPlace));
  EXPECT_TRUE(hazards.add(inPlace));
}

TEST(Hazards, EmptyRangesTouchNothing) {
  Hazards hazards;
  EXPECT_FALSE(add(hazards, write(0, 16)));
  EXPECT_FALSE(add(hazards, read(4, 4)));
}

}  // namespace
}  // namespace saccade::runtime
