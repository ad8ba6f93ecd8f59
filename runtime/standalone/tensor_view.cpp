// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <saccade/runtime.hpp>

#include "standalone/buffer.hpp"
#include "standalone/layout.hpp"
#include "text/formatted.hpp"

namespace saccade {
namespace {

using runtime::shapeText;

[[noreturn]] void refuse(const char* field, const std::string& text) {
  throw Error(Status::InvalidArgument, field, text);
}

void requireViewed(const Tensor& tensor) {
  if (!tensor) refuse("tensor", "the tensor is absent, so there is nothing to view");
}

std::size_t resolveAxis(int axis, std::size_t rank) {
  const int count = static_cast<int>(rank);
  if (axis < -count || axis >= count) {
    refuse("axis", formatted("axis is {}, but a tensor of {} axes has axes from {} to {}", axis, rank,
                             -count, count - 1));
  }
  return static_cast<std::size_t>(axis < 0 ? axis + count : axis);
}

// Replaces a size of -1 by what the others leave.
Shape resolveShape(const Shape& shape, std::int64_t elementCount) {
  Shape resolved = shape;
  const auto open = std::find(resolved.begin(), resolved.end(), -1);
  if (open != resolved.end()) {
    *open = 1;
    const std::int64_t others = runtime::checkedElementCount(resolved);
    *open = others > 0 ? elementCount / others : 0;
  }
  return resolved;
}

// Strides of `shape` over the same elements, or none if they would have to be moved.
std::optional<runtime::Strides> reshapedStrides(const Tensor& tensor, const Shape& shape) {
  if (tensor.isContiguous()) return runtime::contiguousStrides(shape);
  struct Axis {
    std::int64_t size, stride;
  };
  std::vector<Axis> axes;  // innermost first, those that continue each other merged
  for (std::size_t axis = tensor.rank(); axis-- > 0;) {
    const std::int64_t size = tensor.shape()[axis];
    const std::int64_t stride = tensor.strides()[axis];
    if (size == 1) continue;
    if (!axes.empty() && stride == axes.back().size * axes.back().stride) {
      axes.back().size *= size;
    } else {
      axes.push_back({size, stride});
    }
  }
  runtime::Strides strides(shape.size());
  std::size_t current = 0;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    if (current + 1 < axes.size() && axes[current].size == 1) ++current;
    Axis& source = axes[current];
    if (source.size % shape[axis] != 0) return std::nullopt;
    strides[axis] = source.stride;
    source.size /= shape[axis];
    source.stride *= shape[axis];
  }
  return strides;
}

}  // namespace

std::int64_t Tensor::size(int axis) const { return shape_[resolveAxis(axis, rank())]; }

Tensor Tensor::slice(int axis, std::int64_t begin, std::int64_t end) const {
  requireViewed(*this);
  const std::size_t at = resolveAxis(axis, rank());
  if (begin < 0 || end < begin || end > shape_[at]) {
    refuse("range", formatted("the range is [{}, {}), but axis {} of {} allows 0 <= begin <= end <= {}",
                              begin, end, axis, shapeText(shape_), shape_[at]));
  }
  Tensor view = *this;
  view.shape_[at] = end - begin;
  // An empty slice at the very end keeps its first element inside the memory.
  if (end > begin) view.offset_ += begin * strides_[at];
  return view;
}

Tensor Tensor::select(int axis, std::int64_t index) const {
  requireViewed(*this);
  const std::size_t at = resolveAxis(axis, rank());
  if (index < 0 || index >= shape_[at]) {
    refuse("index", formatted("index is {}, but axis {} of {} allows 0 to {}", index, axis,
                              shapeText(shape_), shape_[at] - 1));
  }
  Tensor view = *this;
  view.offset_ += index * strides_[at];
  view.shape_.erase(view.shape_.begin() + static_cast<std::ptrdiff_t>(at));
  view.strides_.erase(view.strides_.begin() + static_cast<std::ptrdiff_t>(at));
  return view;
}

Tensor Tensor::transpose(int axisA, int axisB) const {
  requireViewed(*this);
  const std::size_t a = resolveAxis(axisA, rank());
  const std::size_t b = resolveAxis(axisB, rank());
  Tensor view = *this;
  std::swap(view.shape_[a], view.shape_[b]);
  std::swap(view.strides_[a], view.strides_[b]);
  return view;
}

Tensor Tensor::permute(const std::vector<int>& axes) const {
  requireViewed(*this);
  Tensor view = *this;
  std::vector<bool> used(rank(), false);
  if (axes.size() != rank()) {
    refuse("axes", formatted("{} axes were given, but {} has {}", axes.size(), shapeText(shape_), rank()));
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::size_t from = resolveAxis(axes[i], rank());
    if (used[from]) {
      refuse("axes", formatted("axis {} is named twice, but each must be named once", axes[i]));
    }
    used[from] = true;
    view.shape_[i] = shape_[from];
    view.strides_[i] = strides_[from];
  }
  return view;
}

Tensor Tensor::unsqueeze(int axis) const {
  requireViewed(*this);
  const auto at = static_cast<std::ptrdiff_t>(resolveAxis(axis, rank() + 1));
  Tensor view = *this;
  view.shape_.insert(view.shape_.begin() + at, 1);
  view.strides_.insert(view.strides_.begin() + at, 1);
  return view;
}

Tensor Tensor::expand(const Shape& shape) const {
  requireViewed(*this);
  runtime::checkedElementCount(shape);
  if (shape.size() < rank()) {
    refuse("shape", formatted("shape is {}, but expanding {} keeps at least its {} axes", shapeText(shape),
                              shapeText(shape_), rank()));
  }
  const std::size_t added = shape.size() - rank();
  Tensor view = *this;
  view.shape_ = shape;
  view.strides_.assign(shape.size(), 0);
  for (std::size_t axis = added; axis < shape.size(); ++axis) {
    const std::int64_t own = shape_[axis - added];
    if (own != 1 && own != shape[axis]) {
      refuse("shape", formatted("shape is {}, but only sizes of 1 in {} can grow", shapeText(shape),
                                shapeText(shape_)));
    }
    if (own == shape[axis]) view.strides_[axis] = strides_[axis - added];
  }
  return view;
}

Tensor Tensor::reshape(const Shape& shape) const {
  requireViewed(*this);
  const Shape resolved = resolveShape(shape, elementCount());
  if (runtime::checkedElementCount(resolved) != elementCount()) {
    refuse("shape", formatted("shape is {}, but {} has {} elements", shapeText(shape), shapeText(shape_),
                              elementCount()));
  }
  const std::optional<runtime::Strides> strides = reshapedStrides(*this, resolved);
  if (!strides) {
    refuse("shape",
           formatted("shape is {}, but the elements of {} lie apart (strides {}) and a view cannot move "
                     "them; copy to a contiguous tensor first",
                     shapeText(shape), shapeText(shape_), shapeText(strides_)));
  }
  Tensor view = *this;
  view.shape_ = resolved;
  view.strides_ = *strides;
  return view;
}

Tensor Tensor::asStrided(const Shape& shape, const std::vector<std::int64_t>& strides,
                         std::int64_t offset) const {
  requireViewed(*this);
  if (strides.size() != shape.size()) {
    refuse("strides", formatted("{} strides were given for {} axes", strides.size(), shape.size()));
  }
  const bool hasElements = runtime::checkedElementCount(shape) > 0;
  const auto elements = static_cast<std::int64_t>(storage_->bytes() / dtypeSize(dtype_));
  std::int64_t room = elements - offset_ - 1;  // for the offset of the last element from this tensor's first
  bool fits = offset >= 0 && (!hasElements || offset <= room);
  room -= offset;
  for (std::size_t axis = 0; fits && axis < shape.size(); ++axis) {
    if (strides[axis] < 0) {
      refuse("strides", formatted("strides are {}, but they must be at least 0", shapeText(strides)));
    }
    if (!hasElements || shape[axis] == 1 || strides[axis] == 0) continue;
    fits = shape[axis] - 1 <= room / strides[axis];
    if (fits) room -= (shape[axis] - 1) * strides[axis];
  }
  if (!fits) {
    refuse("strides",
           formatted("a view of shape {} with strides {} at offset {} leaves the memory of {} elements",
                     shapeText(shape), shapeText(strides), offset, elements));
  }
  Tensor view = *this;
  view.shape_ = shape;
  view.strides_ = strides;
  if (hasElements) view.offset_ += offset;
  return view;
}

}  // namespace saccade
