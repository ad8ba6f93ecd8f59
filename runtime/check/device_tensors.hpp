// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <saccade/runtime.hpp>

#include "io/tensor_data.hpp"

namespace saccade::check {

// How a tensor [B,H,T,D] lies in device memory.
enum class Layout {
  Contiguous,   // [B,H,T,D]
  TokensFirst,  // [B,T,H,D]
  PaddedRows,   // rows longer than D
  CacheSlice,   // tokens from the middle of a longer buffer
  KeysFirst,    // [B,H,D,T]: scores, masks and biases as columns
};

const char* layoutName(Layout layout);

// The tensors of one call, each with margins. Where a layout leaves gaps between the elements, those hold the
// same bytes as the margins: 0xff, NaN in every floating-point format. Outputs begin as NaN throughout.
class DeviceTensors {
 public:
  explicit DeviceTensors(const Device& device) : device_(device) {}

  Tensor input(const std::string& name, const io::TensorData& data);
  Tensor output(const std::string& name, Dtype dtype, const Shape& shape);
  // Rank 4 only.
  Tensor input(const std::string& name, const io::TensorData& data, Layout layout);
  Tensor output(const std::string& name, Dtype dtype, const Shape& shape, Layout layout);

  // Watches memory that the caller allocated with a guard and filled itself.
  void watch(const std::string& name, const Tensor& memory, const std::vector<Tensor>& views);

  // Names of the tensors whose margins or gaps no longer hold what they held: somebody wrote outside a
  // tensor.
  std::vector<std::string> overwritten() const;

 private:
  struct Entry {
    std::string name;
    Tensor memory;              // all of the allocation
    std::vector<Tensor> views;  // the elements that may be written; empty: all of memory
  };

  Tensor allocate(const std::string& name, Dtype dtype, const Shape& shape, Layout layout);

  Device device_;
  std::vector<Entry> entries_;
};

}  // namespace saccade::check
