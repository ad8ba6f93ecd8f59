// SPDX-License-Identifier: Apache-2.0
#define VMA_IMPLEMENTATION
#include "standalone/vma.hpp"
