// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "test_device.hpp"

namespace saccade {
namespace {

using Values = std::vector<float>;

class TensorMemory : public DeviceTest {};

TEST_F(TensorMemory, ReturnsWhatWasUploadedInEveryDtype) {
  const Values values = {0, 1, 2, 255};
  for (Dtype dtype : {Dtype::F32, Dtype::F16, Dtype::BF16, Dtype::U8, Dtype::I32}) {
    const Tensor tensor = Tensor::from(device, dtype, {2, 2}, values);
    EXPECT_EQ(tensor.dtype(), dtype);
    EXPECT_EQ(tensor.download(), values) << "dtype " << static_cast<int>(dtype);
  }
}

TEST_F(TensorMemory, RoundsFloatsOnceToNearestEven) {
  const Values values = {1.00048828125f, 1.00146484375f, 65520.0f,
                         -0.0f};  // halfway, halfway, halfway to infinity
  const Values half = Tensor::from(device, Dtype::F16, {4}, values).download();
  EXPECT_EQ(half[0], 1.0f);
  EXPECT_EQ(half[1], 1.001953125f);
  EXPECT_EQ(half[2], std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::signbit(half[3]));
  EXPECT_EQ(Tensor::from(device, Dtype::BF16, {1}, Values{1.01171875f}).download()[0], 1.015625f);
}

TEST_F(TensorMemory, RoundsAndSaturatesWhatIsQuantised) {
  EXPECT_EQ(Tensor::from(device, Dtype::I8, {6}, Values{0.5f, 1.5f, -2.5f, 126.6f, 1e9f, -std::numeric_limits<float>::infinity()}).download(),
            (Values{0, 2, -2, 127, 127, -128}));
  EXPECT_EQ(Tensor::from(device, Dtype::I8, {2}, Values{-128, 127}).downloadInts(), (std::vector<std::int32_t>{-128, 127}));
  EXPECT_EQ(Tensor::from(device, Dtype::F8E4M3, {4}, Values{1.0625f, 1.1875f, 1e9f, -std::numeric_limits<float>::infinity()}).download(),
            (Values{1, 1.25f, 448, -448}));
  EXPECT_TRUE(std::isnan(Tensor::from(device, Dtype::F8E4M3, {1}, Values{std::nanf("")}).download()[0]));
  refusal(Status::InvalidArgument, [&] { Tensor::from(device, Dtype::I8, {1}, Values{std::nanf("")}); });
}

TEST_F(TensorMemory, RefusesIntegersThatAreNotExact) {
  EXPECT_TRUE(contains(
      refusal(Status::InvalidArgument, [&] { Tensor::from(device, Dtype::U8, {1}, Values{256}); }), "256"));
  refusal(Status::InvalidArgument, [&] { Tensor::from(device, Dtype::I32, {1}, Values{0.5f}); });
  refusal(Status::InvalidArgument, [&] { Tensor::from(device, Dtype::I32, {1}, Values{std::nanf("")}); });
}

TEST_F(TensorMemory, KeepsIntegersExact) {
  const std::vector<std::int32_t> values = {std::numeric_limits<std::int32_t>::min(), -1, 16777217};
  EXPECT_EQ(Tensor::fromInts(device, {3}, values).downloadInts(), values);
  refusal(Status::InvalidArgument, [&] { Tensor::zeros(device, Dtype::F32, {1}).downloadInts(); });
}

TEST_F(TensorMemory, UploadsMoreThanTheStagingBufferHolds) {
  const Values values = counting(5'000'001);  // 20 MB, an odd number of halves
  const Tensor tensor = Tensor::from(device, Dtype::F32, {5'000'001}, values);
  EXPECT_EQ(tensor.download(), values);
}

TEST_F(TensorMemory, UploadsIntoStridedViews) {
  const Tensor tensor = Tensor::zeros(device, Dtype::F16, {2, 3});
  tensor.transpose(0, 1).slice(0, 1, 3).upload(Values{1, 2, 3, 4});
  EXPECT_EQ(tensor.download(), (Values{0, 1, 3, 0, 2, 4}));
}

TEST_F(TensorMemory, RefusesWrongCountsAndOverlappingElements) {
  const Tensor tensor = Tensor::zeros(device, Dtype::F32, {2, 1});
  EXPECT_TRUE(contains(refusal(Status::InvalidArgument, [&] { tensor.upload(Values{1}); }), "exactly 2"));
  refusal(Status::InvalidArgument, [&] { tensor.expand({2, 2}).upload(Values{1, 2, 3, 4}); });
  refusal(Status::InvalidArgument, [&] { Tensor::fromBytes(device, Dtype::F32, {1}, {}); });
}

TEST_F(TensorMemory, ZeroSizesAndScalarsAreTensors) {
  const Tensor none = Tensor::zeros(device, Dtype::F32, {3, 0, 2});
  EXPECT_EQ(none.elementCount(), 0);
  EXPECT_EQ(none.download(), Values{});
  EXPECT_NE(none.buffer().address, 0u);
  EXPECT_EQ(Tensor::full(device, Dtype::F32, {}, 7.0f).download(), Values{7});
}

TEST_F(TensorMemory, RefusesShapesThatNoMemoryHolds) {
  refusal(Status::InvalidArgument, [&] { Tensor::empty(device, Dtype::F32, {-1}); });
  refusal(Status::InvalidArgument, [&] { Tensor::empty(device, Dtype::None, {1}); });
  refusal(Status::InvalidArgument, [&] { Tensor::empty(device, Dtype::F32, {std::int64_t{1} << 62, 4}); });
  refusal(Status::OutOfMemory, [&] { Tensor::empty(device, Dtype::F32, {std::int64_t{1} << 62}); });
  EXPECT_TRUE(contains(
      refusal(Status::OutOfMemory, [&] { Tensor::empty(device, Dtype::U8, {std::int64_t{1} << 50}); }),
      "1125899906842624 bytes"));
  EXPECT_EQ(Tensor::full(device, Dtype::F32, {1}, 1.0f).download(), Values{1})
      << "the device is still usable";
}

TEST_F(TensorMemory, AbsentTensorsAreFalse) {
  EXPECT_FALSE(Tensor());
  EXPECT_EQ(Tensor().elementCount(), 0);
  refusal(Status::InvalidArgument, [] { Tensor().download(); });
  refusal(Status::InvalidArgument, [] { Tensor().upload({}); });
  refusal(Status::InvalidArgument, [] { Tensor().device(); });
}

TEST_F(TensorMemory, CountsCurrentAndPeakBytes) {
  Tensor::zeros(device, Dtype::F32, {1}).download();  // staging exists from here on
  const std::uint64_t before = device.memory().currentBytes;
  device.resetPeakMemory();
  {
    const Tensor a = Tensor::empty(device, Dtype::F32, {1000});
    const Tensor b = Tensor::empty(device, Dtype::U8, {1});
    EXPECT_EQ(device.memory().currentBytes, before + 4000 + 16);
    const Tensor view = a.slice(0, 0, 10);
    EXPECT_EQ(device.memory().currentBytes, before + 4000 + 16) << "views share memory";
  }
  EXPECT_EQ(device.memory().currentBytes, before);
  EXPECT_EQ(device.memory().peakBytes, before + 4000 + 16);
}

TEST_F(TensorMemory, GuardsNoticeAByteWrittenOutside) {
  const Tensor tensor = Tensor::empty(device, Dtype::F16, {3}, {.guard = true});
  for (float value : tensor.download()) EXPECT_TRUE(std::isnan(value)) << "nobody wrote it";
  EXPECT_TRUE(tensor.guardsIntact());
  EXPECT_EQ(tensor.buffer().size, 8u);
  tensor.upload(Values{1, 2, 3});
  EXPECT_TRUE(tensor.guardsIntact());
  EXPECT_EQ(tensor.download(), (Values{1, 2, 3}));
}

TEST_F(TensorMemory, ATensorKeepsItsDeviceAlive) {
  Tensor tensor;
  {
    const Device own = Device::open();
    tensor = Tensor::full(own, Dtype::F32, {2}, 3.0f);
  }
  EXPECT_EQ(tensor.download(), (Values{3, 3}));
}

}  // namespace
}  // namespace saccade
