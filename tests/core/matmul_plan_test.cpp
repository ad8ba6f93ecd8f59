// SPDX-License-Identifier: Apache-2.0
// What plans of matrix products choose on CPU devices, where loads are what costs.
#include <string>

#include "core_test.hpp"
#include "fake_devices.hpp"
#include "ops/matmul_plan.hpp"

namespace saccade::test {
namespace {

std::string tileOf(uint32_t subgroupSize, int64_t columns, SaccadeDtype dtype = SACCADE_DTYPE_F32) {
  core::DeviceFacts facts = cpuFacts();
  facts.subgroupSize = facts.minSubgroupSize = facts.maxSubgroupSize = subgroupSize;
  SaccadeMatmulDesc desc = saccadeMatmulDescDefault();
  desc.a = tensorDesc(dtype, {1, 1, 257, 384});
  desc.b = tensorDesc(dtype, {1, 1, columns, 384});
  desc.out.dtype = dtype;
  return core::planMatmul(facts, core::validateMatmul(desc), "").tile;
}

TEST(MatmulOnCpuDevices, SharesRowsOfWideSubgroupsAmongMoreColumns) {
  EXPECT_EQ(tileOf(8, 1536), "matmul_rows rows_each=1 columns_each=64 exchanged=0");
  EXPECT_EQ(tileOf(16, 1536), "matmul_rows rows_each=1 columns_each=96 exchanged=0");
  EXPECT_EQ(tileOf(16, 1536, SACCADE_DTYPE_F16), tileOf(8, 1536, SACCADE_DTYPE_F16));
}

TEST(MatmulOnCpuDevices, ComputesNoMoreColumnsThanItMust) {
  EXPECT_EQ(tileOf(16, 320), "matmul_rows rows_each=1 columns_each=64 exchanged=0");
  EXPECT_EQ(tileOf(16, 16), "matmul_rows rows_each=1 columns_each=96 exchanged=1");  // 257 "columns", 16 "rows"
}

}  // namespace
}  // namespace saccade::test
