// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "io/case_file.hpp"
#include "reference/mha.hpp"

// Cases of the layers around attention on the scalar path. Each function takes a case of its operator whose
// `unknown` is empty and returns F64 results under the names of the expected tensors. They throw
// io::FileError naming a tensor or key that is missing or does not fit.

namespace saccade::reference {

io::TensorMap runMhaCase(const io::CaseFile& file);
io::TensorMap runLayerNormCase(const io::CaseFile& file);
io::TensorMap runGeluCase(const io::CaseFile& file);
io::TensorMap runMatmulCase(const io::CaseFile& file);
io::TensorMap runPatchEmbedCase(const io::CaseFile& file);
io::TensorMap runSinusoidalPositionsCase(const io::CaseFile& file);
io::TensorMap runWindowAttentionCase(const io::CaseFile& file);

}  // namespace saccade::reference
