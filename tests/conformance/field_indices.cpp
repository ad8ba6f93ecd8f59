// SPDX-License-Identifier: Apache-2.0
// Indices at which 15, 16, 31 or 32 bits are used up. What cannot be had without the memory is in the tests
// of plans.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <iostream>

#include "check/dtype.hpp"
#include "field_cases.hpp"

namespace saccade::conformance {
namespace {

// Long sequences, each row with its last 16 keys; every value known without arithmetic: q is 0, and
// values repeat with a period of 8 keys.
void longSequences(const Device& device, const Variant& variant, const AttentionSizes& sizes) {
  AttentionCall call = randomCall(sizes, variant);
  call.values.causal = io::Causal::BottomRight;
  call.values.windowLeft = 15;
  call.values.q = constantTensor(variant.dtype, call.values.q.shape(), 0);
  call.values.v = tensorOf(variant.dtype, call.values.v.shape(),
                           [](auto, auto, auto j, auto) { return static_cast<float>(j % 8); });
  const AttentionResults results = execute(device, call);
  for (std::int64_t row = 0; row < sizes.batch * sizes.headsQ * sizes.seqlenQ; ++row) {
    const std::int64_t i = row % sizes.seqlenQ, keys = std::min<std::int64_t>(i + 1, 16);
    double sum = 0;
    for (std::int64_t j = i + 1 - keys; j <= i; ++j) sum += static_cast<double>(j % 8);
    ASSERT_NEAR(results.lse.at(static_cast<std::size_t>(row)), std::log(static_cast<double>(keys)), 1e-5)
        << "row " << row;
    ASSERT_NEAR(results.out.at(static_cast<std::size_t>(row * sizes.headDimV)),
                sum / static_cast<double>(keys), 0.02)
        << "row " << row;
  }
}

// Column indices beyond 2^15: a bias leaves the last 1024 keys, and the values before them are 10.
void columnsBeyond32767(const Device& device, const Variant& variant) {
  for (const std::int64_t keys : {36864, 66048}) {
    AttentionCall call = randomCall({.seqlenQ = 2, .seqlenK = keys}, variant);
    call.values.bias = tensorOf(variant.dtype, {1, 1, 1, keys},
                                [&](auto, auto, auto, auto j) { return j < keys - 1024 ? -1e4f : 0.0f; });
    call.values.v = withRows(call.values.v, -1, 0, keys - 1024, 10);
    checkCall(device, call, std::to_string(keys) + " keys");
  }
}

void pagesBeyond65535(const Device& device, const Variant& variant) {
  constexpr std::int64_t kPages = 70001;
  constexpr std::int32_t kTable[] = {65535, 65536, 70000, 0};
  AttentionCall call = randomCall({.seqlenQ = 2, .seqlenK = 4}, variant);
  const AttentionResults expected = execute(device, call);
  expectRight(call, expected);
  PreparedCall prepared = prepare(device, call);
  const auto pool = [&](const io::TensorData& values) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(kPages) * 16 * io::dtypeSize(variant.dtype),
                                 std::byte{0xff});
    const std::size_t row = 16 * io::dtypeSize(variant.dtype);
    for (std::size_t j = 0; j < 4; ++j)
      std::memcpy(&bytes[static_cast<std::size_t>(kTable[j]) * row], &values.bytes()[j * row], row);
    return prepared.tensors.input("pages",
                                  io::TensorData(variant.dtype, {kPages, 1, 1, 16}, std::move(bytes)));
  };
  prepared.k = pool(call.values.k);
  prepared.v = pool(call.values.v);
  prepared.options.blockTable = Tensor::fromInts(device, {1, 4}, kTable, {.guard = true});
  expectSameBits(execute(device, prepared), expected, "pages of one key");
}

// Memory of which most is never touched, so that most of it need not exist: as much as the device gives in
// one buffer, but no more than `bytes`. Empty if it has no such memory.
Tensor vast(const Device& device, Dtype dtype, std::uint64_t bytes) {
  constexpr std::uint64_t kRest = 1 << 20;  // the runtime rounds buffers up
  const DeviceFacts& facts = device.facts();
  std::uint64_t given = std::min(bytes, facts.maxMemoryAllocationSize - kRest);
  if (facts.maxBufferSize > 0) given = std::min(given, facts.maxBufferSize - kRest);
  if (given < bytes) std::cout << "    the device gives " << given << " bytes instead of " << bytes << '\n';
  try {
    return Tensor::empty(device, dtype, {static_cast<std::int64_t>(given) / (dtype == Dtype::U8 ? 1 : 2)});
  } catch (const Error& error) {
    std::cout << "    no memory of " << given << " bytes: " << error.what() << '\n';
    return {};
  }
}

// Three mask rows as far apart as the device's buffers allow: up to 4 GiB, with elements on both sides of
// 2^31.
void maskRowsFarApart(const Device& device, const Variant& variant) {
  AttentionCall call = randomCall({.seqlenQ = 3, .seqlenK = 33}, variant);
  call.values.mask = randomMask({1, 1, 3, 33}, 5);
  const AttentionResults expected = execute(device, call);
  expectRight(call, expected);
  const Tensor memory = vast(device, Dtype::U8, 0xffffffff);
  if (!memory) GTEST_SKIP() << "no memory for it";
  const std::int64_t pitch = (memory.elementCount() - 33) / 2;
  PreparedCall prepared = prepare(device, call);
  prepared.options.mask = memory.asStrided({1, 1, 3, 33}, {0, 0, pitch, 1});
  for (std::int64_t i = 0; i < 3; ++i) {
    memory.slice(0, i * pitch, i * pitch + 33)
        .uploadBytes(call.values.mask->bytes().subspan(static_cast<std::size_t>(i) * 33, 33));
  }
  expectSameBits(execute(device, prepared), expected, "mask rows far apart");
}

// The first and the last page of a pool as large as the device gives, up to 8 GiB.
void pagesFarApart(const Device& device, const Variant& variant) {
  constexpr std::int64_t kPage = 16 * 16;  // elements: 16 keys of 16 channels
  AttentionCall call = randomCall({.seqlenQ = 2, .seqlenK = 32}, variant);
  const Tensor memory = vast(device, check::deviceDtype(variant.dtype), std::uint64_t{8} << 30);
  if (!memory) GTEST_SKIP() << "no memory for it";
  const std::int64_t pages = std::min<std::int64_t>(memory.elementCount() / kPage, 0xffffffff / kPage);
  const Tensor pool = memory.slice(0, 0, pages * kPage).reshape({pages, 1, 16, 16});
  PreparedCall prepared = prepare(device, call);
  const std::int32_t table[] = {static_cast<std::int32_t>(pages - 1), 0};
  prepared.options.blockTable = Tensor::fromInts(device, {1, 2}, table, {.guard = true});
  // Keys and values are the same rows: there is one pool.
  call.values.v = call.values.k;
  const std::size_t pageBytes = call.values.k.bytes().size() / 2;
  for (std::size_t page = 0; page < 2; ++page)
    pool.slice(0, table[page], table[page] + 1)
        .uploadBytes(call.values.k.bytes().subspan(page * pageBytes, pageBytes));
  prepared.k = prepared.v = pool;
  expectRight(call, execute(device, prepared));
}

}  // namespace

void registerIndexCases(const Device& device) {
  fieldCase(device, {151, 160, 169}, "mask_rows_far_apart", {kF32}, maskRowsFarApart);
  fieldCase(device, {152}, "columns_beyond_32767", {kF16}, columnsBeyond32767);
  fieldCase(device, {154}, "65537_tokens", {kBf16}, [](const Device& d, const Variant& variant) {
    longSequences(d, variant, {.seqlenQ = 65537, .seqlenK = 65537});
  });
  fieldCase(device, {164}, "pages_far_apart", {kF16}, pagesFarApart);
  fieldCase(device, {166}, "pages_beyond_65535", {kF16}, pagesBeyond65535);
  fieldCase(device, {167}, "more_than_2_to_30_scores", {kF32}, [](const Device& d, const Variant& variant) {
    longSequences(d, variant, {.headsQ = 4, .headsKv = 4, .seqlenQ = 16400, .seqlenK = 16400});
  });
}

}  // namespace saccade::conformance
