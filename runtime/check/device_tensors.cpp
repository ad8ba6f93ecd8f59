// SPDX-License-Identifier: Apache-2.0
#include "check/device_tensors.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "check/dtype.hpp"

namespace saccade::check {

namespace {

constexpr TensorOptions kGuarded{.guard = true};
constexpr std::int64_t kRowPadding =
    3;  // elements; odd, so that rows of 16-bit types are not aligned to words
constexpr std::int64_t kTokensBefore = 2;  // of a cache slice
constexpr std::int64_t kTokensAfter = 5;

// Calls `visit` with the offset of every element from the start of the allocation.
template <typename Visit>
void forEachElement(const Tensor& view, Visit visit) {
  const std::size_t rank = view.rank();
  if (view.elementCount() == 0) {
    return;
  }
  Shape index(rank, 0);
  for (;;) {
    std::int64_t offset = view.offset();
    for (std::size_t axis = 0; axis < rank; ++axis) {
      offset += index[axis] * view.strides()[axis];
    }
    visit(static_cast<std::size_t>(offset));
    std::size_t axis = rank;
    while (axis > 0 && ++index[axis - 1] == view.shape()[axis - 1]) {
      index[--axis] = 0;
    }
    if (axis == 0) {
      return;
    }
  }
}

bool gapsIntact(const Tensor& memory, const std::vector<Tensor>& views, std::byte gap) {
  const std::vector<std::byte> bytes = memory.downloadBytes();
  const std::size_t size = dtypeSize(memory.dtype());
  std::vector<bool> mayDiffer(bytes.size() / size);
  for (const Tensor& view : views) {
    forEachElement(view, [&](std::size_t element) { mayDiffer[element] = true; });
  }
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (!mayDiffer[i / size] && bytes[i] != gap) {
      return false;
    }
  }
  return true;
}

Shape memoryShape(const Shape& shape, Layout layout) {
  Shape larger = shape;
  switch (layout) {
    case Layout::Contiguous: break;
    case Layout::TokensFirst: std::swap(larger[1], larger[2]); break;
    case Layout::PaddedRows: larger[3] += kRowPadding; break;
    case Layout::CacheSlice: larger[2] += kTokensBefore + kTokensAfter; break;
    case Layout::KeysFirst: std::swap(larger[2], larger[3]); break;
  }
  return larger;
}

}  // namespace

const char* layoutName(Layout layout) {
  switch (layout) {
    case Layout::Contiguous: return "bhsd";
    case Layout::TokensFirst: return "bshd";
    case Layout::PaddedRows: return "padded";
    case Layout::CacheSlice: return "slice";
    case Layout::KeysFirst: return "keys_first";
  }
  return "unknown";
}

Tensor DeviceTensors::input(const std::string& name, const io::TensorData& data) {
  const Tensor tensor =
      Tensor::fromBytes(device_, deviceDtype(data.dtype()), data.shape(), data.bytes(), kGuarded);
  entries_.push_back({name, tensor, {}, std::byte{0xff}});
  return tensor;
}

Tensor DeviceTensors::output(const std::string& name, Dtype dtype, const Shape& shape) {
  const Tensor tensor = Tensor::empty(device_, dtype, shape, kGuarded);
  entries_.push_back({name, tensor, {}, std::byte{0xff}});
  return tensor;
}

Tensor DeviceTensors::input(const std::string& name, const io::TensorData& data, Layout layout) {
  if (layout == Layout::Contiguous) {
    return input(name, data);
  }
  const Tensor tensor = emptyInput(name, deviceDtype(data.dtype()), data.shape(), layout);
  tensor.uploadBytes(data.bytes());
  return tensor;
}

Tensor DeviceTensors::output(const std::string& name, Dtype dtype, const Shape& shape, Layout layout) {
  return viewOf(name, Tensor::empty(device_, dtype, memoryShape(shape, layout), kGuarded), shape, layout,
                std::byte{0xff});
}

Tensor DeviceTensors::emptyInput(const std::string& name, Dtype dtype, const Shape& shape, Layout layout) {
  return viewOf(name, emptyMemory(dtype, memoryShape(shape, layout)), shape, layout, gap());
}

Tensor DeviceTensors::emptyMemory(Dtype dtype, const Shape& shape) const {
  const Tensor memory = Tensor::empty(device_, dtype, shape, kGuarded);
  if (gaps_ == Gaps::Zero) {
    const auto size = static_cast<std::size_t>(memory.elementCount()) * dtypeSize(dtype);
    memory.uploadBytes(std::vector<std::byte>(size, std::byte{0}));
  }
  return memory;
}

Tensor DeviceTensors::viewOf(const std::string& name, const Tensor& memory, const Shape& shape, Layout layout,
                             std::byte gap) {
  Tensor view = memory;
  if (layout == Layout::TokensFirst) {
    view = memory.transpose(1, 2);
  } else if (layout == Layout::KeysFirst) {
    view = memory.transpose(2, 3);
  } else if (layout == Layout::PaddedRows) {
    view = memory.slice(3, 0, shape[3]);
  } else if (layout == Layout::CacheSlice) {
    view = memory.slice(2, kTokensBefore, kTokensBefore + shape[2]);
  }
  entries_.push_back({name, memory, {view}, gap});
  return view;
}

void DeviceTensors::watch(const std::string& name, const Tensor& memory, const std::vector<Tensor>& views) {
  entries_.push_back({name, memory, views, gap()});
}

std::vector<std::string> DeviceTensors::overwritten() const {
  std::vector<std::string> names;
  for (const Entry& entry : entries_) {
    if (!entry.memory.guardsIntact() ||
        (!entry.views.empty() && !gapsIntact(entry.memory, entry.views, entry.gap))) {
      names.push_back(entry.name);
    }
  }
  return names;
}

}  // namespace saccade::check
