// SPDX-License-Identifier: Apache-2.0
#include <thread>

#include "standalone/buffer.hpp"
#include "standalone/stream_state.hpp"
#include "test_device.hpp"

namespace saccade {
namespace {

using Values = std::vector<float>;

class StreamTest : public DeviceTest {
 protected:
  StreamTest() : stream(device) {}
  Stream stream;
};

TEST_F(StreamTest, CopiesBetweenViewsOfAnyStrides) {
  const Tensor src = Tensor::from(device, Dtype::F16, {2, 3}, Values{0, 1, 2, 3, 4, 5});
  const Tensor dst = Tensor::zeros(device, Dtype::F16, {3, 4});
  stream.copy(dst.slice(1, 1, 3), src.transpose(0, 1));
  stream.wait();
  EXPECT_EQ(dst.download(), (Values{0, 0, 3, 0, 0, 1, 4, 0, 0, 2, 5, 0}));
}

TEST_F(StreamTest, CopiesABroadcast) {
  const Tensor row = Tensor::from(device, Dtype::F32, {2}, Values{1, 2});
  const Tensor dst = Tensor::empty(device, Dtype::F32, {3, 2});
  stream.copy(dst, row.expand({3, 2}));
  stream.wait();
  EXPECT_EQ(dst.download(), (Values{1, 2, 1, 2, 1, 2}));
}

TEST_F(StreamTest, CopiesMoreRunsThanOneCommandTakes) {
  const Values values = counting(70'000);
  const Tensor src = Tensor::from(device, Dtype::F32, {70'000, 1}, values);
  const Tensor dst = Tensor::zeros(device, Dtype::F32, {70'000, 2});
  stream.copy(dst.slice(1, 1, 2), src);
  stream.wait();
  EXPECT_EQ(dst.slice(1, 1, 2).download(), values);
  EXPECT_EQ(dst.slice(1, 0, 1).download(), Values(70'000, 0.0f));
}

TEST_F(StreamTest, FillsExactlyTheElementsOfAView) {
  for (Dtype dtype : {Dtype::U8, Dtype::F16, Dtype::BF16, Dtype::F32}) {
    const Tensor tensor = Tensor::empty(device, dtype, {3, 5}, {.guard = true});
    stream.fill(tensor, 1.0f);
    stream.fill(tensor.slice(1, 1, 4).slice(0, 1, 2), 2.0f);
    stream.fill(tensor.transpose(0, 1).select(0, 0), 3.0f);
    stream.wait();
    EXPECT_EQ(tensor.download(), (Values{3, 1, 1, 1, 1, 3, 2, 2, 2, 1, 3, 1, 1, 1, 1}));
    EXPECT_TRUE(tensor.guardsIntact()) << "dtype " << static_cast<int>(dtype);
  }
}

TEST_F(StreamTest, FillsLongRunsThatAreNotAligned) {
  const Tensor tensor = Tensor::zeros(device, Dtype::U8, {300'001});
  stream.fill(tensor.slice(0, 1, 300'000), 7.0f);
  stream.wait();
  Values expected(300'001, 7.0f);
  expected.front() = expected.back() = 0.0f;
  EXPECT_EQ(tensor.download(), expected);
}

TEST_F(StreamTest, OrdersDependentWork) {
  const Tensor a = Tensor::zeros(device, Dtype::F32, {1 << 16});
  const Tensor b = Tensor::zeros(device, Dtype::F32, {1 << 16});
  for (int i = 1; i <= 20; ++i) {
    stream.fill(a, static_cast<float>(i));
    stream.copy(b, a);
  }
  stream.wait();
  EXPECT_EQ(b.download(), Values(1 << 16, 20.0f));
}

TEST_F(StreamTest, LaterSubmissionsSeeEarlierOnesOfOtherStreams) {
  Stream other(device);
  const Tensor a = Tensor::zeros(device, Dtype::F32, {1 << 16});
  const Tensor b = Tensor::empty(device, Dtype::F32, {1 << 16});
  stream.fill(a, 5.0f);
  stream.submit();
  other.copy(b, a);
  other.submit();
  EXPECT_EQ(b.download(), Values(1 << 16, 5.0f)) << "a download waits for what was submitted";
}

TEST_F(StreamTest, RecordedWorkHasNotHappenedYet) {
  const Tensor a = Tensor::zeros(device, Dtype::F32, {4});
  stream.fill(a, 1.0f);
  EXPECT_EQ(a.download(), Values(4, 0.0f));
  stream.wait();
  EXPECT_EQ(a.download(), Values(4, 1.0f));
}

TEST_F(StreamTest, SubmissionNumbersGrow) {
  EXPECT_EQ(stream.submit(), 0u) << "nothing was recorded";
  const Tensor a = Tensor::zeros(device, Dtype::F32, {4});
  stream.fill(a, 1.0f);
  const std::uint64_t first = stream.submit();
  stream.fill(a, 2.0f);
  EXPECT_EQ(stream.submit(), first + 1);
  stream.wait(first);
  stream.wait();
  EXPECT_EQ(stream.submit(), first + 1);
  EXPECT_TRUE(contains(refusal(Status::InvalidArgument, [&] { stream.wait(first + 2); }), "last one is 2"));
}

TEST_F(StreamTest, KeepsTensorsAliveUntilTheWorkHasFinished) {
  const Tensor dst = Tensor::zeros(device, Dtype::F32, {1 << 20});
  stream.copy(dst, Tensor::full(device, Dtype::F32, {1 << 20}, 4.0f));
  stream.submit();
  Tensor::full(device, Dtype::F32, {1 << 20}, 9.0f);  // would land in the freed memory
  EXPECT_EQ(dst.download(), Values(1 << 20, 4.0f));
  const std::uint64_t before = device.memory().currentBytes;
  stream.wait();
  EXPECT_EQ(device.memory().currentBytes, before - (4u << 20)) << "and no longer";
}

TEST_F(StreamTest, DropsWhatWasNeverSubmitted) {
  const Tensor a = Tensor::zeros(device, Dtype::F32, {4});
  {
    Stream dropped(device);
    dropped.fill(a, 1.0f);
  }
  EXPECT_EQ(a.download(), Values(4, 0.0f));
}

TEST_F(StreamTest, MovesToAnotherDevice) {
  const Device second = Device::open();
  const Tensor onSecond = Tensor::zeros(second, Dtype::F32, {1});
  EXPECT_TRUE(
      contains(refusal(Status::InvalidArgument, [&] { stream.fill(onSecond, 1.0f); }), "another device"));
  stream = Stream(second);
  stream.fill(onSecond, 1.0f);
  stream.wait();
  EXPECT_EQ(onSecond.download(), Values{1});
}

TEST_F(StreamTest, RefusesMismatchedAndOverlappingCopies) {
  const Tensor a = Tensor::zeros(device, Dtype::F32, {4, 4});
  refusal(Status::InvalidArgument, [&] { stream.copy(a, a.slice(0, 0, 2)); });
  refusal(Status::InvalidArgument, [&] { stream.copy(a, Tensor::zeros(device, Dtype::F16, {4, 4})); });
  refusal(Status::InvalidArgument, [&] { stream.copy(a.slice(0, 0, 2), a.slice(0, 1, 3)); });
  refusal(Status::InvalidArgument, [&] { stream.copy(a.select(0, 0).expand({4, 4}), a); });
  refusal(Status::InvalidArgument, [&] { stream.fill(Tensor(), 0.0f); });
  stream.copy(a.slice(0, 0, 2), a.slice(0, 2, 4));  // disjoint halves of one memory
  stream.wait();
}

TEST_F(StreamTest, TimestampsMeasureTheWorkBetweenThem) {
  const Tensor a = Tensor::empty(device, Dtype::F32, {1 << 22});
  const Timestamp begin = stream.timestamp();
  for (int i = 0; i < 8; ++i) stream.fill(a, static_cast<float>(i));
  const Timestamp middle = stream.timestamp();
  stream.fill(a.slice(0, 0, 4), 1.0f);
  const Timestamp end = stream.timestamp();
  EXPECT_TRUE(
      contains(refusal(Status::InvalidArgument, [&] { stream.milliseconds(begin, end); }), "submit()"));
  stream.submit();
  EXPECT_GT(stream.milliseconds(begin, middle), 0.0);
  EXPECT_LT(stream.milliseconds(begin, middle), 60'000.0);
  EXPECT_GE(stream.milliseconds(middle, end), 0.0);
  EXPECT_NEAR(stream.milliseconds(begin, end),
              stream.milliseconds(begin, middle) + stream.milliseconds(middle, end), 1e-3);
  refusal(Status::InvalidArgument, [&] { Stream(device).milliseconds(begin, end); });
  refusal(Status::InvalidArgument, [&] { stream.milliseconds(Timestamp(), end); });
}

TEST_F(StreamTest, TakesAnyNumberOfTimestampsAcrossSubmissions) {
  const Timestamp first = stream.timestamp();
  std::vector<Timestamp> stamps;
  for (int i = 0; i < 200; ++i) stamps.push_back(stream.timestamp());
  stream.submit();
  for (int i = 0; i < 100; ++i) stamps.push_back(stream.timestamp());
  stream.wait();
  double last = 0.0;
  for (const Timestamp& stamp : stamps) {
    const double now = stream.milliseconds(first, stamp);
    EXPECT_GE(now, last);
    last = now;
  }
}

TEST_F(StreamTest, ReusesCommandBuffers) {
  const Tensor a = Tensor::zeros(device, Dtype::F32, {16});
  for (int i = 0; i < 300; ++i) {
    stream.fill(a, static_cast<float>(i));
    stream.submit();
  }
  stream.wait();
  EXPECT_EQ(a.download(), Values(16, 299.0f));
}

TEST_F(StreamTest, ThreadsUseTheirOwnStreamsAndSharedTensors) {
  std::vector<std::thread> threads;
  std::vector<Values> results(4);
  for (std::size_t i = 0; i < results.size(); ++i) {
    threads.emplace_back([this, i, &results] {
      Stream own(device);
      const Tensor tensor = Tensor::zeros(device, Dtype::F32, {1000});
      for (int round = 0; round < 20; ++round) {
        own.fill(tensor, static_cast<float>(i));
        own.submit();
      }
      own.wait();
      results[i] = tensor.download();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < results.size(); ++i) EXPECT_EQ(results[i], Values(1000, static_cast<float>(i)));
}

TEST_F(StreamTest, GuardsNoticeABufferOverrun) {
  const Tensor tensor = Tensor::zeros(device, Dtype::F32, {4}, {.guard = true});
  runtime::StreamState raw(*device.state());
  const runtime::Storage& storage = *tensor.storage();
  raw.fillWords(storage.buffer(), storage.begin() + storage.bytes(), 4, 0);  // one element too far
  raw.wait(raw.submit());
  EXPECT_FALSE(tensor.guardsIntact());
}

}  // namespace
}  // namespace saccade
