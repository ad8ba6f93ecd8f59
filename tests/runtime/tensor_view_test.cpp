// SPDX-License-Identifier: Apache-2.0
#include "test_device.hpp"

namespace saccade {
namespace {

using Strides = std::vector<std::int64_t>;
using Values = std::vector<float>;

class TensorView : public DeviceTest {
 protected:
  Tensor counted(const Shape& shape) {
    std::size_t count = 1;
    for (std::int64_t size : shape) count *= static_cast<std::size_t>(size);
    return Tensor::from(device, Dtype::F32, shape, counting(count));
  }
};

TEST_F(TensorView, SliceTakesARangeOfAnAxis) {
  EXPECT_EQ(counted({2, 4}).slice(1, 1, 3).download(), (Values{1, 2, 5, 6}));
  EXPECT_EQ(counted({2, 4}).slice(-2, 1, 2).download(), (Values{4, 5, 6, 7}));
  EXPECT_EQ(counted({2, 4}).slice(1, 4, 4).download(), Values{});
}

TEST_F(TensorView, SelectDropsTheAxis) {
  const Tensor view = counted({2, 3, 2}).select(1, 2);
  EXPECT_EQ(view.shape(), (Shape{2, 2}));
  EXPECT_EQ(view.download(), (Values{4, 5, 10, 11}));
}

TEST_F(TensorView, TransposeAndPermuteReorderAxes) {
  EXPECT_EQ(counted({2, 3}).transpose(0, 1).download(), (Values{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(counted({1, 2, 3}).permute({2, 0, 1}).shape(), (Shape{3, 1, 2}));
  EXPECT_EQ(counted({1, 2, 3}).permute({2, 0, 1}).download(), (Values{0, 3, 1, 4, 2, 5}));
}

TEST_F(TensorView, ExpandRepeats) {
  const Tensor view = counted({2, 1}).expand({2, 2, 3});
  EXPECT_EQ(view.strides(), (Strides{0, 1, 0}));
  EXPECT_EQ(view.download(), (Values{0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1}));
}

TEST_F(TensorView, ReshapeWorksWhereNoElementHasToMove) {
  EXPECT_EQ(counted({2, 6}).reshape({3, -1}).shape(), (Shape{3, 4}));
  const Tensor heads = counted({2, 5, 6}).slice(1, 0, 2);  // a token range of each batch entry
  const Tensor view = heads.reshape({2, 2, 3, 2});
  EXPECT_EQ(view.strides(), (Strides{30, 6, 2, 1}));
  EXPECT_EQ(view.download(), heads.download());
}

TEST_F(TensorView, ReshapeRefusesWhatWouldNeedACopy) {
  EXPECT_TRUE(
      contains(refusal(Status::InvalidArgument, [&] { counted({2, 3}).transpose(0, 1).reshape({6}); }),
               "copy to a contiguous tensor first"));
  EXPECT_TRUE(
      contains(refusal(Status::InvalidArgument, [&] { counted({2, 3}).reshape({7}); }), "6 elements"));
  refusal(Status::InvalidArgument, [&] { counted({2, 3}).reshape({-1, 4}); });
}

TEST_F(TensorView, UnsqueezeAddsAnAxis) {
  EXPECT_EQ(counted({2, 3}).unsqueeze(0).shape(), (Shape{1, 2, 3}));
  EXPECT_EQ(counted({2, 3}).unsqueeze(-1).shape(), (Shape{2, 3, 1}));
}

TEST_F(TensorView, AsStridedSeesAnyPartOfTheMemoryButNothingOutside) {
  const Tensor all = counted({10});
  EXPECT_EQ(all.asStrided({2, 3}, {4, 1}, 3).download(), (Values{3, 4, 5, 7, 8, 9}));
  EXPECT_TRUE(contains(refusal(Status::InvalidArgument, [&] { all.asStrided({2, 3}, {4, 1}, 4); }),
                       "leaves the memory"));
  refusal(Status::InvalidArgument, [&] { all.asStrided({2}, {std::int64_t{1} << 62}); });
  refusal(Status::InvalidArgument, [&] { all.asStrided({2}, {1}, -1); });
  refusal(Status::InvalidArgument, [&] { all.asStrided({2}, {-1}, 5); });
}

TEST_F(TensorView, RefusesAxesAndRangesOutsideTheShape) {
  const Tensor tensor = counted({2, 3});
  EXPECT_TRUE(contains(refusal(Status::InvalidArgument, [&] { tensor.slice(2, 0, 1); }), "axis is 2"));
  EXPECT_TRUE(contains(refusal(Status::InvalidArgument, [&] { tensor.slice(1, 0, 4); }), "<= 3"));
  EXPECT_TRUE(contains(refusal(Status::InvalidArgument, [&] { tensor.select(0, 2); }), "index is 2"));
  refusal(Status::InvalidArgument, [&] { tensor.permute({0, 0}); });
  refusal(Status::InvalidArgument, [&] { tensor.expand({2, 4}); });
  refusal(Status::InvalidArgument, [] { Tensor().slice(0, 0, 0); });
}

TEST_F(TensorView, DescHasFourAxesWithOnesInFront) {
  const Tensor packed = Tensor::empty(device, Dtype::F16, {2, 5, 3, 4, 8});
  const TensorDesc key = packed.select(2, 1).transpose(1, 2).desc();
  EXPECT_EQ(key.dtype, Dtype::F16);
  EXPECT_EQ(key.sizes, (std::array<std::int64_t, 4>{2, 4, 5, 8}));
  EXPECT_EQ(key.strides, (std::array<std::int64_t, 4>{480, 8, 96, 1}));
  const TensorDesc row = counted({3}).desc();
  EXPECT_EQ(row.sizes, (std::array<std::int64_t, 4>{1, 1, 1, 3}));
  EXPECT_EQ(row.strides, (std::array<std::int64_t, 4>{3, 3, 3, 1}));
  EXPECT_EQ(Tensor().desc().dtype, Dtype::None);
}

TEST_F(TensorView, DescRefusesWhatFourStridesCannotSay) {
  EXPECT_TRUE(
      contains(refusal(Status::InvalidArgument, [&] { counted({1, 1, 1, 2, 2}).desc(); }), "at most 4 axes"));
  refusal(Status::InvalidArgument, [&] { counted({1}).expand({2, 2, 2, 2}).desc(); });
  EXPECT_EQ(counted({1}).expand({2, 3}).desc().strides, (std::array<std::int64_t, 4>{1, 1, 0, 0}));
}

TEST_F(TensorView, BufferReachesFromTheFirstElementToTheEnd) {
  const Tensor tensor = counted({10});  // 40 bytes, in a buffer of 48
  EXPECT_EQ(tensor.buffer().size, 48u);
  EXPECT_EQ(tensor.slice(0, 3, 5).buffer().address, tensor.buffer().address + 12);
  EXPECT_EQ(tensor.slice(0, 3, 5).buffer().size, 36u);
  EXPECT_EQ(tensor.buffer().address % 16, 0u);
  EXPECT_EQ(Tensor().buffer().address, 0u);
}

}  // namespace
}  // namespace saccade
