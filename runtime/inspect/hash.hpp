// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace saccade::inspect {

// FNV-1a of 64 bits (RFC 9923): the same everywhere, of which std::hash says nothing. To go on with more bytes, pass what the first gave.
inline std::uint64_t hashed(const void* data, std::size_t size, std::uint64_t hash = 0xcbf29ce484222325) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  for (std::size_t i = 0; i < size; i++) hash = (hash ^ bytes[i]) * 0x100000001b3;
  return hash;
}

}  // namespace saccade::inspect
