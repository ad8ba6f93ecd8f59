// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <saccade/runtime.hpp>

#include "io/attention_case.hpp"

namespace saccade::check {

// The options of a case that are no tensors: alignment, scale, window and so on.
AttentionOptions attentionOptions(const io::AttentionCase& given);

}  // namespace saccade::check
