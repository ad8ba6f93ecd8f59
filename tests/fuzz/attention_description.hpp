// SPDX-License-Identifier: Apache-2.0
// Attention descriptions made from what libFuzzer hands out.
#pragma once

#include <fuzzer/FuzzedDataProvider.h>

#include "saccade/saccade.h"

namespace saccade::fuzz {

// A legal description with sizes of a few elements: any mix of features, any strides.
SaccadeAttentionDesc describeLegalAttention(FuzzedDataProvider& provider);

// Puts a value that no description or hardly one should have into one field; the name of a kernel lives in the program.
void disturb(SaccadeAttentionDesc& desc, FuzzedDataProvider& provider);

// Small numbers, limits and their neighbours, and anything else.
std::int64_t pickInteger(FuzzedDataProvider& provider);

}  // namespace saccade::fuzz
