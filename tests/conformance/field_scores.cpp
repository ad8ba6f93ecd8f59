// SPDX-License-Identifier: Apache-2.0
// Windows, softcap, ALiBi and sinks: the rules between the product and the softmax.
#include <cmath>

#include "field_cases.hpp"
#include "io/special_values.hpp"
#include "probes.hpp"

namespace saccade::conformance {
namespace {

AttentionCall windowed(const AttentionSizes& sizes, const Variant& variant, std::int64_t left,
                       std::int64_t right) {
  AttentionCall call = randomCall(sizes, variant);
  call.values.windowLeft = left;
  call.values.windowRight = right;
  return call;
}

// Against the scalar path, by the number of keys, and by what each key may change.
void checkWindow(const Device& device, const AttentionCall& call) {
  const AttentionResults results = execute(device, call);
  expectRight(call, results);
  probeKeyCount(device, call);
  for (const std::int64_t key : {std::int64_t{0}, call.values.seqlenK / 2, call.values.seqlenK - 1})
    probeKey(device, call, results, key, kNan);
}

// lse of a row, with q of 0, says how many keys it sees.
void expectKeyCounts(const Device& device, AttentionCall call, const std::vector<int>& counts) {
  call.values.q = constantTensor(call.values.q.dtype(), call.values.q.shape(), 0);
  const AttentionResults results = execute(device, call);
  ASSERT_EQ(results.lse.elementCount(), counts.size());
  for (std::size_t row = 0; row < counts.size(); ++row)
    EXPECT_NEAR(std::exp(results.lse.at(row)), counts[row], 1e-3) << "row " << row;
}

void aWindowOf2048(const Device& device, const Variant& variant) {
  const AttentionCall call = windowed({.seqlenQ = 3, .seqlenK = 4096}, variant, 2048, 0);
  checkCall(device, call);
  // The row itself and 2048 keys before it.
  expectKeyCounts(device, call, {2049, 2049, 2049});
}

void windowsWithoutBounds(const Device& device, const Variant& variant) {
  const AttentionSizes sizes{.seqlenQ = 7, .seqlenK = 9};
  AttentionCall full = randomCall(sizes, variant), causal = full;
  causal.values.causal = io::Causal::BottomRight;
  AttentionCall call = full;
  expectSameBits(execute(device, call), execute(device, full), "-1, -1");
  call.values.windowRight = 0;
  expectSameBits(execute(device, call), execute(device, causal), "-1, 0");
  call.values.windowLeft = 0;
  call.values.windowRight = -1;
  checkWindow(device, call);
  expectKeyCounts(device, call, {7, 6, 5, 4, 3, 2, 1});
}

// A cap leaves hidden keys at weight 0, however small it is.
void aCapKeepsTheMask(const Device& device, const Variant& variant) {
  AttentionCall call = randomCall({.seqlenQ = 2, .seqlenK = 2}, variant);
  call.values.softcap = 1;
  call.values.bias = tensorOf(variant.dtype, {1, 1, 2, 2}, [](auto, auto, auto i, auto j) {
    return i == 0 && j == 1 ? -kInfinity : 0.0f;
  });
  call.probs = true;
  const AttentionResults results = execute(device, call);
  expectRight(call, results);
  EXPECT_EQ(results.probs.at(1), 0);
  for (std::size_t d = 0; d < 16; ++d)
    EXPECT_EQ(results.out.at(d), call.values.v.at(d)) << "row 0 has one key";
}

void aCapKeepsTheDiagonal(const Device& device, const Variant& variant) {
  AttentionCall call = randomCall({.seqlenQ = 4, .seqlenK = 4}, variant);
  call.values.softcap = 1;
  call.values.causal = io::Causal::BottomRight;
  call.probs = true;
  const AttentionResults results = execute(device, call);
  expectRight(call, results);
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t j = i + 1; j < 4; ++j)
      EXPECT_EQ(results.probs.at(i * 4 + j), 0) << "row " << i << " key " << j;
  }
  for (const std::int64_t key : {1, 2, 3}) probeKey(device, call, results, key, kNan);
}

// The slopes of the paper: a geometric sequence over the next lower power of two of heads, and every other
// one of the sequence for twice as many.
std::vector<float> slopesOfThePaper(std::int64_t heads) {
  std::int64_t power = 1;
  while (power * 2 <= heads) power *= 2;
  std::vector<float> slopes;
  for (std::int64_t h = 0; h < heads; ++h) {
    const double exponent = h < power
                                ? 8.0 * static_cast<double>(h + 1) / static_cast<double>(power)
                                : 4.0 * static_cast<double>(2 * (h - power) + 1) / static_cast<double>(power);
    slopes.push_back(static_cast<float>(std::exp2(-exponent)));
  }
  return slopes;
}

AttentionCall alibiCall(const AttentionSizes& sizes, const Variant& variant) {
  AttentionCall call = randomCall(sizes, variant);
  call.values.alibiSlopes =
      io::TensorData::fromFloats(kF32, {1, sizes.headsQ}, slopesOfThePaper(sizes.headsQ));
  return call;
}

void headCountsThatAreNoPowerOfTwo(const Device& device, const Variant& variant) {
  for (const std::int64_t heads : {6, 12, 40}) {
    AttentionCall call =
        alibiCall({.headsQ = heads, .headsKv = heads, .seqlenQ = 19, .seqlenK = 19}, variant);
    for (const io::Causal causal : {io::Causal::None, io::Causal::BottomRight}) {
      call.values.causal = causal;
      checkCall(device, call, std::to_string(heads) + " heads");
    }
  }
}

// The distance counts from the diagonal of the last query, so a decoded token gets what it gets among others.
void oneQueryHasTheDistancesOfFive(const Device& device, const Variant& variant) {
  AttentionCall five = randomCall({.seqlenQ = 5, .seqlenK = 9}, variant);
  const float slope[] = {0.5f};
  five.values.alibiSlopes = io::TensorData::fromFloats(kF32, {1, 1}, slope);
  AttentionCall one = five;
  one.values.seqlenQ = 1;
  const std::vector<float> q = five.values.q.toFloats();
  one.values.q = io::TensorData::fromFloats(variant.dtype, {1, 1, 1, 16}, std::span(q).subspan(4 * 16, 16));
  const AttentionResults all = execute(device, five), single = execute(device, one);
  expectRight(five, all);
  expectRight(one, single);
  for (std::size_t d = 0; d < 16; ++d) EXPECT_NEAR(single.out.at(d), all.out.at(4 * 16 + d), 1e-6);
}

void headsAloneHaveTheirOwnSlopes(const Device& device, const Variant& variant) {
  const AttentionCall call = alibiCall({.headsQ = 8, .headsKv = 8, .seqlenQ = 11, .seqlenK = 13}, variant);
  const AttentionResults all = execute(device, call);
  PreparedCall prepared = prepare(device, call);
  for (Tensor* tensor : {&prepared.q, &prepared.k, &prepared.v, &prepared.out})
    *tensor = tensor->slice(1, 4, 8);
  prepared.options.lse = {};
  prepared.options.alibiSlopes = prepared.options.alibiSlopes.slice(1, 4, 8);
  Stream stream(device);
  stream.attention(prepared.q, prepared.k, prepared.v, prepared.out, prepared.options);
  stream.wait();
  const std::vector<float> got = prepared.out.download(), expected = all.out.toFloats();
  EXPECT_TRUE(std::equal(got.begin(), got.end(), expected.begin() + 4 * 11 * 16));
}

// Scores of 0 and a sink of 2: its exponential stands in the denominator, not the sink itself.
void aSinkIsExponentiated(const Device& device, const Variant& variant) {
  AttentionCall call = randomCall({.seqlenQ = 1, .seqlenK = 2}, variant);
  call.values.q = constantTensor(variant.dtype, call.values.q.shape(), 0);
  const float sink[] = {2};
  call.values.sink = io::TensorData::fromFloats(kF32, {1}, sink);
  call.probs = true;
  const AttentionResults results = execute(device, call);
  expectRight(call, results);
  for (std::size_t j = 0; j < 2; ++j) EXPECT_NEAR(results.probs.at(j), 1 / (2 + std::exp(2.0)), 1e-6);
  EXPECT_NEAR(results.lse.at(0), std::log(2 + std::exp(2.0)), 1e-5);
}

// Without a sink nothing is added; a sink of 0 adds 1, one of -inf nothing.
void aSinkThatIsNotGivenAddsNothing(const Device& device, const Variant& variant) {
  AttentionCall call = randomCall({.seqlenQ = 3, .seqlenK = 5}, variant);
  const AttentionResults without = execute(device, call);
  expectRight(call, without);
  for (const float value : {0.0f, -kInfinity}) {
    const float sink[] = {value};
    call.values.sink = io::TensorData::fromFloats(kF32, {1}, sink);
    const AttentionResults with = execute(device, call);
    if (value == 0) expectRight(call, with, "sink of 0");
    else expectSameBits(with, without, "sink of -inf");
  }
}

}  // namespace

void registerScoreCases(const Device& device) {
  const auto window = [&](int row, const char* name, const std::vector<io::DType>& dtypes,
                          const AttentionSizes& sizes, std::int64_t left, std::int64_t right) {
    fieldCase(device, {row}, name, dtypes, [=](const Device& d, const Variant& variant) {
      checkWindow(d, windowed(sizes, variant, left, right));
    });
  };
  fieldCase(device, {187}, "a_window_of_2048_is_2049_keys", {kF16}, aWindowOf2048);
  fieldCase(device, {188}, "a_symmetric_window", {kF32}, [](const Device& d, const Variant& variant) {
    const AttentionCall call = windowed({.seqlenQ = 9, .seqlenK = 9}, variant, 2, 2);
    checkWindow(d, call);
    expectKeyCounts(d, call, {3, 4, 5, 5, 5, 5, 5, 4, 3});
  });
  window(190, "a_window_that_ends_at_the_diagonal", {kF32}, {.seqlenQ = 16, .seqlenK = 16}, 3, 0);
  window(191, "a_symmetric_window_of_128_in_2048_keys", {kF16}, {.seqlenQ = 300, .seqlenK = 2048}, 128, 128);
  fieldCase(device, {193}, "a_window_of_three_keys", {kF32}, [](const Device& d, const Variant& variant) {
    const AttentionCall call = windowed({.seqlenQ = 8, .seqlenK = 8}, variant, 2, 0);
    checkWindow(d, call);
    expectKeyCounts(d, call, {1, 2, 3, 3, 3, 3, 3, 3});
  });
  fieldCase(device, {194}, "windows_without_bounds", {kF32}, windowsWithoutBounds);
  fieldCase(device, {196}, "a_cap_keeps_a_bias_of_minus_infinity", {kF32}, aCapKeepsTheMask);
  fieldCase(device, {197}, "a_cap_keeps_the_diagonal", {kF32, kF16}, aCapKeepsTheDiagonal);
  fieldCase(device, {200}, "slopes_of_6_12_and_40_heads", {kF32}, headCountsThatAreNoPowerOfTwo);
  fieldCase(device, {202}, "slopes_of_40_heads_over_77_tokens", {kF16},
            [](const Device& d, const Variant& variant) {
              checkCall(d, alibiCall({.headsQ = 40, .headsKv = 40, .seqlenQ = 77, .seqlenK = 77}, variant));
            });
  fieldCase(device, {203}, "one_query_has_the_distances_of_five", {kF32}, oneQueryHasTheDistancesOfFive);
  fieldCase(device, {205}, "heads_alone_have_their_own_slopes", {kF32}, headsAloneHaveTheirOwnSlopes);
  fieldCase(device, {206}, "a_sink_is_exponentiated", {kF32}, aSinkIsExponentiated);
  fieldCase(device, {208}, "a_sink_that_is_not_given_adds_nothing", {kF32}, aSinkThatIsNotGivenAddsNothing);
}

}  // namespace saccade::conformance
