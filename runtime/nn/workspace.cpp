// SPDX-License-Identifier: Apache-2.0
#include <saccade/nn.hpp>

#include <functional>
#include <numeric>

namespace saccade::nn {

Tensor Workspace::tensor(const std::string& name, Dtype dtype, const Shape& shape) {
  const std::int64_t count = std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
  Tensor& memory = memory_[name];
  if (!memory || memory.dtype() != dtype || memory.elementCount() < count) {
    memory = Tensor::empty(device_, dtype, {count});
  }
  return memory.slice(0, 0, count).reshape(shape);
}

}  // namespace saccade::nn
