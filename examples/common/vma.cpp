// SPDX-License-Identifier: Apache-2.0
// The host's own copy of VMA.
#define VMA_IMPLEMENTATION
#include "common/gpu.hpp"
