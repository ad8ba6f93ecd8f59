// SPDX-License-Identifier: Apache-2.0
#include "standalone/layout.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "standalone/buffer.hpp"
#include "text/formatted.hpp"

namespace saccade::runtime {

Strides contiguousStrides(const Shape& shape) {
  Strides strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    strides[axis] = stride;
    stride *= std::max<std::int64_t>(shape[axis], 1);
  }
  return strides;
}

bool isContiguous(const Shape& shape, const Strides& strides) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return true;
  std::int64_t expected = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    if (shape[axis] != 1 && strides[axis] != expected) return false;
    expected *= shape[axis];
  }
  return true;
}

std::int64_t checkedElementCount(const Shape& shape) {
  std::int64_t count = 1;
  for (std::int64_t size : shape) {
    if (size < 0) {
      throw Error(Status::InvalidArgument, "shape",
                  formatted("shape is {}, but sizes must be at least 0", shapeText(shape)));
    }
    if (size > 0 && count > std::numeric_limits<std::int64_t>::max() / size) {
      throw Error(Status::InvalidArgument, "shape",
                  formatted("shape is {}, which is more than 2^63 - 1 elements", shapeText(shape)));
    }
    count *= size;
  }
  return count;
}

bool elementsAreDistinct(const Shape& shape, const Strides& strides) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return true;
  std::vector<std::size_t> axes(shape.size());
  std::iota(axes.begin(), axes.end(), std::size_t{0});
  std::sort(axes.begin(), axes.end(), [&](std::size_t a, std::size_t b) { return strides[a] < strides[b]; });
  std::int64_t span = 1;  // elements from the first to the last of all axes so far
  for (std::size_t axis : axes) {
    if (shape[axis] == 1) continue;
    if (strides[axis] < span) return false;
    span += (shape[axis] - 1) * strides[axis];
  }
  return true;
}

std::int64_t lastOffset(const Shape& shape, const Strides& strides) {
  std::int64_t offset = 0;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] == 0) return 0;
    offset += (shape[axis] - 1) * strides[axis];
  }
  return offset;
}

std::string shapeText(const Shape& shape) { return formatted("[{}]", joined(shape, ", ")); }

Side sideOf(const Tensor& tensor) {
  const std::uint64_t elementBytes = dtypeSize(tensor.dtype());
  return {tensor.storage()->begin() + static_cast<std::uint64_t>(tensor.offset()) * elementBytes,
          tensor.strides()};
}

Access accessOf(const Tensor& tensor, bool write) {
  const std::uint64_t elementBytes = dtypeSize(tensor.dtype());
  const std::uint64_t begin = sideOf(tensor).begin;
  std::uint64_t end = begin;
  if (tensor.elementCount() > 0) {
    end += (static_cast<std::uint64_t>(lastOffset(tensor.shape(), tensor.strides())) + 1) * elementBytes;
  }
  return {tensor.storage()->buffer().handle(), begin, end, write};
}

std::vector<VkBufferCopy> copyRegions(const Shape& shape, std::size_t elementBytes, const Side& dst,
                                      const Side& src) {
  struct Axis {
    std::int64_t size, dstStride, srcStride;
  };
  // Axes that continue the next inner one on both sides merge with it. Innermost first.
  std::vector<Axis> axes = {{1, 1, 1}};
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    if (shape[axis] == 0) return {};
    if (shape[axis] == 1) continue;
    Axis& inner = axes.back();
    if (dst.strides[axis] == inner.size * inner.dstStride &&
        src.strides[axis] == inner.size * inner.srcStride) {
      inner.size *= shape[axis];
    } else {
      axes.push_back({shape[axis], dst.strides[axis], src.strides[axis]});
    }
  }
  const auto bytes = static_cast<std::int64_t>(elementBytes);
  std::size_t count = 1;
  for (std::size_t axis = 1; axis < axes.size(); ++axis) count *= static_cast<std::size_t>(axes[axis].size);
  std::vector<VkBufferCopy> regions;
  regions.reserve(count);
  std::vector<std::int64_t> index(axes.size(), 0);
  std::int64_t dstOffset = 0;
  std::int64_t srcOffset = 0;
  for (;;) {
    regions.push_back({src.begin + static_cast<std::uint64_t>(srcOffset * bytes),
                       dst.begin + static_cast<std::uint64_t>(dstOffset * bytes),
                       static_cast<std::uint64_t>(axes[0].size * bytes)});
    std::size_t axis = 1;
    for (; axis < axes.size(); ++axis) {
      dstOffset += axes[axis].dstStride;
      srcOffset += axes[axis].srcStride;
      if (++index[axis] < axes[axis].size) break;
      dstOffset -= axes[axis].dstStride * axes[axis].size;
      srcOffset -= axes[axis].srcStride * axes[axis].size;
      index[axis] = 0;
    }
    if (axis == axes.size()) return regions;
  }
}

}  // namespace saccade::runtime
