// SPDX-License-Identifier: Apache-2.0
// Where the elements of strided tensors lie.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <saccade/runtime.hpp>

#include "standalone/hazards.hpp"

namespace saccade::runtime {

using Strides = std::vector<std::int64_t>;

Strides contiguousStrides(const Shape& shape);
bool isContiguous(const Shape& shape, const Strides& strides);

// The number of elements of a shape. Throws Error InvalidArgument: a negative size, or more than 2^63 - 1 of
// them.
std::int64_t checkedElementCount(const Shape& shape);

// True if no two indices may name one element. Interleavings that only a search could prove disjoint count as
// overlapping.
bool elementsAreDistinct(const Shape& shape, const Strides& strides);

// Offset of the last element from the first, in elements; 0 for no elements.
std::int64_t lastOffset(const Shape& shape, const Strides& strides);

std::string shapeText(const Shape& shape);  // "[2, 3, 64]"

// Bytes of the buffer from the tensor's first element to the end of its last.
Access accessOf(const Tensor& tensor, bool write);

// One side of a copy: where its first element lies, in bytes, and its strides in elements.
struct Side {
  std::uint64_t begin = 0;
  Strides strides;
};

// The longest runs of bytes that lie side by side on both sides, in row-major order.
std::vector<VkBufferCopy> copyRegions(const Shape& shape, std::size_t elementBytes, const Side& dst,
                                      const Side& src);

Side sideOf(const Tensor& tensor);

}  // namespace saccade::runtime
