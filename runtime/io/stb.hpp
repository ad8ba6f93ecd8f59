// SPDX-License-Identifier: Apache-2.0
#pragma once

// stb with nothing but what is used: PNG and JPEG decoding and PNG encoding, in memory.
#define STBI_ONLY_PNG
#define STBI_ONLY_JPEG
#define STBI_NO_STDIO
#define STBI_WRITE_NO_STDIO
#include <stb_image.h>
#include <stb_image_write.h>
