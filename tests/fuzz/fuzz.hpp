// SPDX-License-Identifier: Apache-2.0
// What the fuzz targets share. A target feeds a reader or a validator with what libFuzzer makes up: it may refuse, in
// the way that its interface promises, or succeed; anything else ends the process, and libFuzzer reports the input.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>

#include "io/file_error.hpp"

namespace saccade::fuzz {

// Stands for the file's path in messages.
inline const char* const kPath = "fuzzed";

// libFuzzer hands out exactly `size` bytes of heap memory, so the address sanitizer sees any access beyond.
inline std::span<const std::byte> bytesOf(const std::uint8_t* data, std::size_t size) {
  return std::as_bytes(std::span(data, size));
}

inline void require(bool holds, const std::string& what) {
  if (!holds) {
    std::fprintf(stderr, "does not hold: %s\n", what.c_str());
    std::abort();
  }
}

// Calls a reader. A refusal has to name the file, the field, what was found and what is allowed.
template <class Reader>
void readOrRefuse(Reader&& reader) {
  try {
    reader();
  } catch (const io::FileError& error) {
    require(std::string(error.what()).starts_with(kPath), "the refusal names the file: " + std::string(error.what()));
    require(!error.field().empty(), "the refusal names a field: " + std::string(error.what()));
    require(!error.value().empty(), "the refusal says what was found: " + std::string(error.what()));
    require(!error.allowed().empty(), "the refusal says what is allowed: " + std::string(error.what()));
  }
}

}  // namespace saccade::fuzz
