// SPDX-License-Identifier: Apache-2.0
// The one place where stb's code is compiled; picture.cpp only declares it.
#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include "io/stb.hpp"
