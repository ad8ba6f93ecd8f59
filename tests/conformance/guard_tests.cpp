// SPDX-License-Identifier: Apache-2.0
// The margins that all these tests rely on: they are there, and what they are there for fails a test.
#include <cmath>

#include <gtest/gtest-spi.h>

#include "field_cases.hpp"

namespace saccade::conformance {
namespace {

AttentionCall smallCall() {
  return randomCall({.batch = 2, .headsQ = 2, .headsKv = 1, .seqlenQ = 3, .seqlenK = 8},
                    {"scalar_rows", kF32});
}

void everyTensorHasMargins(const Device& device) {
  AttentionCall padded = smallCall();
  padded.values.mask = randomMask({1, 1, 3, 8}, 1);
  padded.values.bias = randomTensor(kF32, {1, 1, 3, 8}, 1);
  padded.values.alibiSlopes = randomTensor(kF32, {1, 2}, 1);
  padded.values.sink = randomTensor(kF32, {2}, 1);
  padded.values.seqlensQ = {3, 2};
  padded.values.seqlensK = {8, 5};
  padded.pageSize = 4;
  padded.probs = true;
  AttentionCall packed = randomCall({.seqlenQ = 4, .seqlenK = 6}, {"scalar_rows", kF32});
  packSequences(packed, {0, 1, 4}, {0, 2, 6});
  for (const AttentionCall& call : {padded, packed}) {
    const PreparedCall prepared = prepare(device, call);
    const AttentionOptions& o = prepared.options;
    int tensors = 0;
    for (const Tensor& tensor :
         {prepared.q, prepared.k, prepared.v, prepared.out, o.lse, o.probs, o.mask, o.bias, o.alibiSlopes,
          o.sink, o.blockTable, o.seqlensQ, o.seqlensK, o.cuSeqlensQ, o.cuSeqlensK}) {
      if (!tensor) continue;
      ++tensors;
      EXPECT_TRUE(tensor.guarded());
    }
    EXPECT_EQ(tensors, call.values.packed ? 7 : 13);
  }
}

void elementsNotWrittenFail(const Device& device) {
  const AttentionCall call = smallCall();
  const PreparedCall prepared = prepare(device, call);
  const AttentionResults results = downloadResults(prepared);  // nothing has run
  for (const double value : results.out.toDoubles()) ASSERT_TRUE(std::isnan(value));
  AttentionResults outAlone = execute(device, call), lseAlone = outAlone;
  outAlone.out = results.out;
  lseAlone.lse = results.lse;
  EXPECT_NONFATAL_FAILURE(expectRight(call, outAlone), "out");
  EXPECT_NONFATAL_FAILURE(expectRight(call, lseAlone), "lse");
}

void writesOutsideFail(const Device& device) {
  AttentionCall call = smallCall();
  call.layout = check::Layout::PaddedRows;
  const PreparedCall prepared = prepare(device, call);
  ASSERT_EQ(prepared.tensors.overwritten(), std::vector<std::string>{});
  Shape wider = prepared.out.shape();
  wider.back() += 1;
  Stream stream(device);
  stream.fill(prepared.out.asStrided(wider, prepared.out.strides()), 1);
  stream.wait();
  EXPECT_EQ(prepared.tensors.overwritten(), std::vector<std::string>{"out"});
  EXPECT_NONFATAL_FAILURE(downloadResults(prepared), "written outside");
}

}  // namespace

void registerGuardTests(const Device& device) {
  registerTest("guards", "surround_every_tensor", [device] { everyTensorHasMargins(device); });
  registerTest("guards", "show_elements_that_nobody_wrote", [device] { elementsNotWrittenFail(device); });
  registerTest("guards", "show_writes_outside", [device] { writesOutsideFail(device); });
}

}  // namespace saccade::conformance
