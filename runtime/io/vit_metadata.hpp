// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/file_error.hpp"
#include "io/safetensors.hpp"

namespace saccade::io {

// No published Vision Transformer has more of anything; keeps products of sizes far from the limits of int64.
inline constexpr std::int64_t kMaxVitDimension = 1'000'000;

struct IntegerRange {
  std::int64_t smallest = 0;
  std::int64_t largest = 0;
};

// A decimal number; throws FileError naming `field` for anything else.
std::int64_t parseInteger(const std::filesystem::path& path, const std::string& field, std::string_view text,
                          const IntegerRange& range);

// What a model's metadata say of its geometry and its pictures. A key that is absent gives std::nullopt; a
// value that makes no sense throws FileError naming the key. Looks at its arguments, which must outlive it.
class VitMetadata {
 public:
  VitMetadata(const std::filesystem::path& path, const Metadata& metadata) : path_(path), metadata_(metadata) {}

  std::optional<std::int64_t> dimension(const std::string& key) const;  // 0 .. kMaxVitDimension
  std::optional<double> positive(const std::string& key) const;         // above 0, up to kMaxVitDimension
  // One of `allowed`; the first of them if the key is absent.
  std::string word(const std::string& key, std::initializer_list<std::string_view> allowed) const;
  // Comma-separated numbers, one for each channel or one for all. Of "std" each is above 0.
  std::optional<std::vector<double>> perChannel(const std::string& key, std::int64_t channels) const;
  std::vector<std::string> classNames(std::int64_t numClasses) const;  // empty if the file has none

  FileError error(const std::string& key, std::string value, std::string allowed) const;

 private:
  const std::string* find(const std::string& key) const;

  const std::filesystem::path& path_;
  const Metadata& metadata_;
};

}  // namespace saccade::io
