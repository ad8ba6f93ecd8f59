// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <vector>

namespace saccade::io {

bool isGzip(std::span<const std::byte> bytes);

// The content of a gzip file (RFC 1952) with one member, checked against its length and CRC-32. `path` is for
// messages. Throws FileError if the bytes are damaged or claim more than 1 GiB.
std::vector<std::byte> unpackGzip(const std::filesystem::path& path, std::span<const std::byte> bytes);

}  // namespace saccade::io
