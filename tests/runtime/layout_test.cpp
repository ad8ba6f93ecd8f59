// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>

#include "standalone/layout.hpp"

namespace saccade::runtime {
namespace {

TEST(Layout, ContiguityIgnoresAxesOfSizeOne) {
  EXPECT_TRUE(isContiguous({2, 1, 3}, {3, 99, 1}));
  EXPECT_FALSE(isContiguous({2, 3}, {4, 1}));
  EXPECT_TRUE(isContiguous({}, {}));
  EXPECT_TRUE(isContiguous({0, 3}, {7, 5})) << "no elements";
}

TEST(Layout, ElementsOfABroadcastOverlap) {
  EXPECT_FALSE(elementsAreDistinct({2, 3}, {0, 1}));
  EXPECT_FALSE(elementsAreDistinct({2, 3}, {2, 1}));
  EXPECT_TRUE(elementsAreDistinct({2, 3}, {1, 2}));
  EXPECT_TRUE(elementsAreDistinct({1, 3}, {0, 1}));
}

TEST(Layout, RefusesNegativeAndOverflowingShapes) {
  EXPECT_EQ(checkedElementCount({}), 1);
  EXPECT_EQ(checkedElementCount({3, 0, 5}), 0);
  EXPECT_THROW(checkedElementCount({3, -1}), Error);
  EXPECT_THROW(checkedElementCount({std::numeric_limits<std::int64_t>::max(), 2}), Error);
}

void expectRegion(const VkBufferCopy& region, std::uint64_t src, std::uint64_t dst, std::uint64_t bytes) {
  EXPECT_EQ(region.srcOffset, src);
  EXPECT_EQ(region.dstOffset, dst);
  EXPECT_EQ(region.size, bytes);
}

TEST(Layout, ContiguousCopiesAreOneRegion) {
  const auto regions = copyRegions({2, 3, 4}, 4, {64, {12, 4, 1}}, {0, {12, 4, 1}});
  ASSERT_EQ(regions.size(), 1u);
  expectRegion(regions[0], 0, 64, 96);
}

TEST(Layout, RunsEndWhereEitherSideJumps) {
  const auto regions = copyRegions({2, 3}, 2, {0, {3, 1}}, {10, {8, 1}});
  ASSERT_EQ(regions.size(), 2u);
  expectRegion(regions[0], 10, 0, 6);
  expectRegion(regions[1], 26, 6, 6);
}

TEST(Layout, TransposedCopiesGoElementByElement) {
  const auto regions = copyRegions({2, 2}, 4, {0, {2, 1}}, {0, {1, 2}});
  ASSERT_EQ(regions.size(), 4u);
  expectRegion(regions[1], 8, 4, 4);
  expectRegion(regions[2], 4, 8, 4);
}

TEST(Layout, BroadcastSourcesRepeat) {
  const auto regions = copyRegions({3, 4}, 1, {0, {4, 1}}, {5, {0, 1}});
  ASSERT_EQ(regions.size(), 3u);
  expectRegion(regions[2], 5, 8, 4);
}

TEST(Layout, NothingIsCopiedWhereThereAreNoElements) {
  EXPECT_TRUE(copyRegions({3, 0}, 4, {0, {0, 1}}, {0, {0, 1}}).empty());
}

}  // namespace
}  // namespace saccade::runtime
