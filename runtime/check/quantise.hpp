// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "io/case_file.hpp"
#include "io/tensor_data.hpp"

namespace saccade::check {

struct Quantised {
  io::TensorData stored;  // F8_E4M3 or I8, of the shape given
  io::TensorData scales;  // F32 [B,Hkv,blocks,1]; packed, B is 1
};

// Keys or values [B,H,T,D], or packed [T,H,D], as `dtype` with a scale per batch entry, head and block of `block` tokens (0: all of
// them): the largest magnitude of the block becomes the largest number that is stored, 127 or 448.
Quantised quantise(const io::TensorData& values, io::DType dtype, std::int64_t block);

// The same case of attention with keys and values quantised.
io::CaseFile quantised(const io::CaseFile& file, io::DType dtype, std::int64_t block);

}  // namespace saccade::check
