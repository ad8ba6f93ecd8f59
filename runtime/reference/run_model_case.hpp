// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "io/case_file.hpp"
#include "io/vit_weights.hpp"

namespace saccade::reference {

// A `vit` case: pictures and weights in one file. Returns F64 `logits` and `probs_layer0`. Throws
// io::FileError if a tensor or key is missing or does not fit.
io::TensorMap runVitCase(const io::CaseFile& file);

// A `model` case: the file holds one picture and what the model gives for it, the weights come from
// elsewhere. Returns F64 `class_token`, `patch_tokens`, `class_attention`, `class_states`, `block_norms`,
// `embedding_norm`.
io::TensorMap runModelCase(const io::CaseFile& file, const io::VitWeights& weights);

}  // namespace saccade::reference
