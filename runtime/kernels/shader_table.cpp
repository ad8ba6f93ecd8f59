// SPDX-License-Identifier: Apache-2.0
// Modules are stored deflated (RFC 1951), with the end of a gzip file behind them: CRC-32 and size in bytes (RFC 1952). That
// makes the library less than half as big, for some tenths of a millisecond before a driver compiles a module.
#include "kernels/shader_table.hpp"

#include <cstring>

#include "api/message.hpp"

// stb's reader of PNG files has an inflater; nothing else of it is compiled, and nothing of it is visible elsewhere.
#if defined(__GNUC__)
#  pragma GCC diagnostic ignored "-Wunused-function"
#endif
#define STB_IMAGE_STATIC
#define STB_IMAGE_IMPLEMENTATION
#define STBI_ONLY_PNG
#define STBI_NO_STDIO
#define STBI_NO_FAILURE_STRINGS
#include <stb_image.h>

namespace saccade::core {

std::vector<std::uint32_t> spirvOf(const ShaderModuleCode& shader) {
  std::uint32_t size = 0;  // little-endian, as every system that has Vulkan
  std::memcpy(&size, shader.end - sizeof size, sizeof size);
  std::vector<std::uint32_t> words(size / sizeof words[0]);
  const auto stored = static_cast<int>(shader.end - shader.begin);
  const int written = stbi_zlib_decode_noheader_buffer(reinterpret_cast<char*>(words.data()), static_cast<int>(size),
                                                       reinterpret_cast<const char*>(shader.begin), stored);
  if (written < 0 || static_cast<std::uint32_t>(written) != size) {
    throw Refusal(SACCADE_ERROR_DRIVER, "kernel", formatted("the library's module {} is damaged", shader.name));
  }
  return words;
}

}  // namespace saccade::core
