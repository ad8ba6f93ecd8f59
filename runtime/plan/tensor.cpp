// SPDX-License-Identifier: Apache-2.0
#include "plan/tensor.hpp"

#include <algorithm>

#include "api/message.hpp"

namespace saccade::core {
namespace {

constexpr uint64_t kMaxElements = 0xffffffffu;

std::string dtypeList(std::initializer_list<SaccadeDtype> dtypes) {
  std::string text;
  for (const SaccadeDtype dtype : dtypes) {
    if (!text.empty()) text += ", ";
    text += dtypeName(dtype);
  }
  return text;
}

void checkDtype(SaccadeDtype dtype, const std::string& field, std::initializer_list<SaccadeDtype> dtypes) {
  if (std::find(dtypes.begin(), dtypes.end(), dtype) != dtypes.end()) return;
  if (dtype == SACCADE_DTYPE_NONE) {
    refuse(field + ".dtype", "{}.dtype is SACCADE_DTYPE_NONE, but {} is required; set it to one of: {}", field, field,
           dtypeList(dtypes));
  }
  refuse(field + ".dtype", "{}.dtype is {} ({}); allowed: {}", field, static_cast<int>(dtype), dtypeName(dtype),
         dtypeList(dtypes));
}

// Elements between the first and the last one, both counted. Sizes are not 0.
uint64_t extentOf(const Tensor& tensor) {
  uint64_t extent = 1;
  for (size_t axis = 0; axis < 4; axis++) {
    extent += static_cast<uint64_t>(tensor.sizes[axis] - 1) * tensor.strides[axis];
  }
  return extent;
}

Tensor check(const SaccadeTensorDesc& desc, const std::string& field, std::initializer_list<SaccadeDtype> dtypes,
             Axes axes) {
  checkDtype(desc.dtype, field, dtypes);
  Tensor tensor;
  tensor.dtype = desc.dtype;
  for (size_t axis = 0; axis < 4; axis++) {
    const int64_t size = desc.sizes[axis];
    if (size < 0 || size > static_cast<int64_t>(kMaxElements)) {
      refuse(field + ".sizes", "{}.sizes[{}] is {}; a size is between 0 and 4294967295", field, axis, size);
    }
    tensor.sizes[axis] = static_cast<uint32_t>(size);
  }
  const bool contiguous = std::all_of(std::begin(desc.strides), std::end(desc.strides), [](int64_t s) { return s == 0; });
  uint64_t next = 1;
  for (size_t axis = 4; axis-- > 0;) {
    const int64_t stride = desc.strides[axis];
    if (stride < 0 || stride > static_cast<int64_t>(kMaxElements)) {
      refuse(field + ".strides", "{}.strides[{}] is {}; a stride counts elements and is between 0 and 4294967295", field,
             axis, stride);
    }
    const uint64_t value = contiguous ? std::min<uint64_t>(next, kMaxElements) : static_cast<uint64_t>(stride);
    tensor.strides[axis] = static_cast<uint32_t>(value);
    if (contiguous) next *= std::max<uint32_t>(tensor.sizes[axis], 1);
    if (next > kMaxElements) next = kMaxElements + 1;  // refused below unless the tensor is empty
  }
  if (axes == Axes::LastContiguous && tensor.strides[3] != 1 && tensor.sizes[3] > 1) {
    refuse(field + ".strides", "{}.strides[3] is {}; the last axis must be contiguous (stride 1)", field,
           tensor.strides[3]);
  }
  if (tensor.elements() > 0 && (extentOf(tensor) > kMaxElements || (contiguous && next > kMaxElements))) {
    refuse(field + ".sizes", "{} with sizes {} and its strides spans more than the 4294967295 elements that one tensor may span; "
           "split the call along batch or heads",
           field, sizesText({desc.sizes[0], desc.sizes[1], desc.sizes[2], desc.sizes[3]}));
  }
  return tensor;
}

// Sufficient for "no two elements share an address": each axis steps over all that the finer axes span.
void checkNoOverlap(const Tensor& tensor, const std::string& field) {
  std::array<size_t, 4> order{0, 1, 2, 3};
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return tensor.strides[a] < tensor.strides[b]; });
  uint64_t span = 1;
  for (const size_t axis : order) {
    if (tensor.sizes[axis] <= 1) continue;
    if (tensor.strides[axis] < span) {
      refuse(field + ".strides", "{}.strides[{}] is {}, but the axes with smaller strides span {} elements: elements of an output "
             "must not overlap", field, axis, tensor.strides[axis], span);
    }
    span += static_cast<uint64_t>(tensor.sizes[axis] - 1) * tensor.strides[axis];
  }
}

}  // namespace

uint64_t Tensor::elements() const {
  uint64_t product = 1;
  for (const uint32_t size : sizes) {
    if (size == 0) return 0;
    // Saturates: only compared with 0 and with the limit of 2^32.
    product = product > UINT64_MAX / size ? UINT64_MAX : product * size;
  }
  return product;
}

uint64_t Tensor::bytes() const { return elements() == 0 ? 0 : extentOf(*this) * dtypeBytes(dtype); }

uint32_t dtypeBytes(SaccadeDtype dtype) {
  switch (dtype) {
    case SACCADE_DTYPE_F32:
    case SACCADE_DTYPE_I32: return 4;
    case SACCADE_DTYPE_F16:
    case SACCADE_DTYPE_BF16: return 2;
    case SACCADE_DTYPE_U8:
    case SACCADE_DTYPE_F8E4M3:
    case SACCADE_DTYPE_I8: return 1;
    default: return 0;
  }
}

const char* dtypeName(SaccadeDtype dtype) {
  switch (dtype) {
    case SACCADE_DTYPE_NONE: return "none";
    case SACCADE_DTYPE_F32: return "f32";
    case SACCADE_DTYPE_F16: return "f16";
    case SACCADE_DTYPE_BF16: return "bf16";
    case SACCADE_DTYPE_U8: return "u8";
    case SACCADE_DTYPE_I32: return "i32";
    case SACCADE_DTYPE_F8E4M3: return "f8e4m3";
    case SACCADE_DTYPE_I8: return "i8";
    case SACCADE_DTYPE_MAX_ENUM: break;
  }
  return "unknown";
}

std::string sizesText(const Sizes& sizes) {
  return formatted("[{}, {}, {}, {}]", sizes[0], sizes[1], sizes[2], sizes[3]);
}

Tensor checkInput(const SaccadeTensorDesc& desc, const std::string& field, std::initializer_list<SaccadeDtype> dtypes,
                  Axes axes) {
  return check(desc, field, dtypes, axes);
}

Tensor checkOutput(const SaccadeTensorDesc& desc, const std::string& field, std::initializer_list<SaccadeDtype> dtypes,
                   const Sizes& expected) {
  SaccadeTensorDesc filled = desc;
  if (std::all_of(std::begin(desc.sizes), std::end(desc.sizes), [](int64_t size) { return size == 0; })) {
    std::copy(expected.begin(), expected.end(), filled.sizes);
  }
  Tensor tensor = check(filled, field, dtypes, Axes::LastContiguous);
  requireSizes(tensor, field, expected, "the inputs demand them");
  checkNoOverlap(tensor, field);
  return tensor;
}

void requireSizes(const Tensor& tensor, const std::string& field, const Sizes& expected, const std::string& meaning) {
  for (size_t axis = 0; axis < 4; axis++) {
    if (tensor.sizes[axis] != expected[axis]) {
      refuse(field + ".sizes", "{}.sizes is [{}, {}, {}, {}], but must be {}: {}", field, tensor.sizes[0], tensor.sizes[1],
             tensor.sizes[2], tensor.sizes[3], sizesText(expected), meaning);
    }
  }
}

void broadcastTo(Tensor& tensor, const std::string& field, const Sizes& full) {
  for (size_t axis = 0; axis < 4; axis++) {
    if (tensor.sizes[axis] == 1) {
      tensor.strides[axis] = 0;
    } else if (tensor.sizes[axis] != full[axis]) {
      refuse(field + ".sizes", "{}.sizes[{}] is {}; it must be {} or 1 (broadcast)", field, axis, tensor.sizes[axis],
             full[axis]);
    }
  }
}

}  // namespace saccade::core
