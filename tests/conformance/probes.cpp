// SPDX-License-Identifier: Apache-2.0
#include "probes.hpp"

#include <cmath>

#include "reference/visibility.hpp"

namespace saccade::conformance {
namespace {

bool allNan(const io::TensorData& tensor, std::int64_t row, std::int64_t width) {
  for (std::int64_t c = 0; c < width; ++c) {
    if (!std::isnan(tensor.at(static_cast<std::size_t>(row * width + c)))) return false;
  }
  return true;
}

}  // namespace

void probeKey(const Device& device, const AttentionCall& call, const AttentionResults& before,
              std::int64_t key, float value) {
  AttentionCall changedCall = call;
  changedCall.values.k = withRows(call.values.k, -1, key, key + 1, value);
  changedCall.values.v = withRows(call.values.v, -1, key, key + 1, value);
  const AttentionResults after = execute(device, changedCall);
  const reference::OwnedProblem owned = reference::problemFromCase(call.values);
  const io::AttentionCase& s = call.values;
  for (std::int64_t row = 0; row < s.batch * s.numHeadsQ * s.seqlenQ; ++row) {
    const std::int64_t i = row % s.seqlenQ, h = row / s.seqlenQ % s.numHeadsQ,
                       b = row / s.seqlenQ / s.numHeadsQ;
    const auto where = [&] {
      return ::testing::Message() << "batch " << b << " head " << h << " row " << i << " with key " << key
                                  << " set to " << value;
    };
    if (!reference::isVisible(owned.problem, b, h, i, key)) {
      EXPECT_TRUE(sameRow(after.out, before.out, row, s.headDimV)) << where() << ": out changed";
      EXPECT_TRUE(sameRow(after.lse, before.lse, row, 1)) << where() << ": lse changed";
      if (call.probs) {
        EXPECT_TRUE(sameRow(after.probs, before.probs, row, s.seqlenK)) << where() << ": probs changed";
      }
    } else if (std::isnan(value)) {
      EXPECT_TRUE(allNan(after.out, row, s.headDimV)) << where() << ": a visible NaN was lost";
      EXPECT_TRUE(allNan(after.lse, row, 1)) << where() << ": lse lost a visible NaN";
    }
    if (testing::Test::HasFailure()) return;  // one row says enough
  }
}

void probeKeyCount(const Device& device, AttentionCall call) {
  call.values.q = constantTensor(call.values.q.dtype(), call.values.q.shape(), 0);
  call.values.v = constantTensor(call.values.v.dtype(), call.values.v.shape(), 1);
  const AttentionResults results = execute(device, call);
  expectRight(call, results);
  const io::AttentionCase& s = call.values;
  const reference::OwnedProblem owned = reference::problemFromCase(s);
  for (std::int64_t row = 0; row < s.batch * s.numHeadsQ * s.seqlenQ; ++row) {
    const std::int64_t i = row % s.seqlenQ, h = row / s.seqlenQ % s.numHeadsQ,
                       b = row / s.seqlenQ / s.numHeadsQ;
    std::int64_t count = 0;
    for (std::int64_t j = 0; j < s.seqlenK; ++j) count += reference::isVisible(owned.problem, b, h, i, j);
    if (count == 0) continue;
    ASSERT_NEAR(results.lse.at(static_cast<std::size_t>(row)), std::log(static_cast<double>(count)),
                2e-6 * 12)
        << "row " << i << " of " << count << " keys";
    ASSERT_NEAR(results.out.at(static_cast<std::size_t>(row * s.headDimV)), 1, 1e-6)
        << "row " << i << " of " << count << " keys";
  }
}

void probeHeads(const Device& device, const Variant& variant, std::int64_t headsQ, std::int64_t headsKv) {
  AttentionCall call =
      randomCall({.batch = 2, .headsQ = headsQ, .headsKv = headsKv, .seqlenQ = 7, .seqlenK = 19}, variant);
  const std::int64_t perHead = 19 * kHeadDim;
  call.values.v = changed(call.values.v, [&](std::vector<float>& values) {
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<float>(static_cast<std::int64_t>(i) / perHead % headsKv + 1);
  });
  const AttentionResults results = execute(device, call);
  for (std::size_t i = 0; i < results.out.elementCount(); ++i) {
    const std::int64_t head = static_cast<std::int64_t>(i) / (7 * kHeadDim) % headsQ;
    ASSERT_NEAR(results.out.at(i), static_cast<double>(head * headsKv / headsQ + 1), 1e-3)
        << "query head " << head;
  }
}

}  // namespace saccade::conformance
