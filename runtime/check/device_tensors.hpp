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

// What lies between the elements of inputs where a layout leaves gaps.
enum class Gaps { Nan, Zero };

// The tensors of one call, each with margins. Where a layout leaves gaps between the elements, those hold the
// same bytes as the margins: 0xff, NaN in every floating-point format; with Gaps::Zero, those of inputs hold
// 0. Outputs begin as NaN throughout.
class DeviceTensors {
 public:
  explicit DeviceTensors(const Device& device, Gaps gaps = Gaps::Nan) : device_(device), gaps_(gaps) {}

  Tensor input(const std::string& name, const io::TensorData& data);
  Tensor output(const std::string& name, Dtype dtype, const Shape& shape);
  // Rank 4 only.
  Tensor input(const std::string& name, const io::TensorData& data, Layout layout);
  Tensor output(const std::string& name, Dtype dtype, const Shape& shape, Layout layout);
  // An input whose elements the caller uploads; until then they hold what gaps do.
  Tensor emptyInput(const std::string& name, Dtype dtype, const Shape& shape, Layout layout);
  // Memory for several inputs that are views of it; to be watched by the caller.
  Tensor emptyMemory(Dtype dtype, const Shape& shape) const;

  // Watches memory from emptyMemory that the caller filled itself.
  void watch(const std::string& name, const Tensor& memory, const std::vector<Tensor>& views);

  // The byte that fills the gaps of inputs.
  std::byte gap() const { return gaps_ == Gaps::Nan ? std::byte{0xff} : std::byte{0}; }

  // Names of the tensors whose margins or gaps no longer hold what they held: somebody wrote outside a
  // tensor.
  std::vector<std::string> overwritten() const;

 private:
  struct Entry {
    std::string name;
    Tensor memory;              // all of the allocation
    std::vector<Tensor> views;  // the elements that may be written; empty: all of memory
    std::byte gap;              // what the others must hold
  };

  Tensor viewOf(const std::string& name, const Tensor& memory, const Shape& shape, Layout layout,
                std::byte gap);

  Device device_;
  Gaps gaps_;
  std::vector<Entry> entries_;
};

}  // namespace saccade::check
