// SPDX-License-Identifier: Apache-2.0
#include "io/vit_metadata.hpp"
#include "text/formatted.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

namespace saccade::io {

namespace {

std::vector<std::string> splitAtCommas(const std::string& text) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (true) {
    const std::size_t comma = text.find(',', begin);
    parts.push_back(text.substr(begin, comma - begin));
    if (comma == std::string::npos) {
      return parts;
    }
    begin = comma + 1;
  }
}

std::optional<double> parseFinite(std::string_view text) {
  while (!text.empty() && text.front() == ' ') {
    text.remove_prefix(1);
  }
  double value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

}  // namespace

std::int64_t parseInteger(const std::filesystem::path& path, const std::string& field, std::string_view text,
                          const IntegerRange& range) {
  std::int64_t value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc() || end != text.data() + text.size() || value < range.smallest || value > range.largest) {
    throw FileError(path, field, formatted("'{}'", text),
                    formatted("it must be an integer from {} to {}", range.smallest, range.largest));
  }
  return value;
}

const std::string* VitMetadata::find(const std::string& key) const {
  const auto found = metadata_.find(key);
  return found == metadata_.end() ? nullptr : &found->second;
}

FileError VitMetadata::error(const std::string& key, std::string value, std::string allowed) const {
  return FileError(path_, formatted("metadata '{}'", key), std::move(value), std::move(allowed));
}

std::optional<std::int64_t> VitMetadata::dimension(const std::string& key) const {
  const std::string* text = find(key);
  if (text == nullptr) {
    return std::nullopt;
  }
  return parseInteger(path_, formatted("metadata '{}'", key), *text, {0, kMaxVitDimension});
}

std::optional<double> VitMetadata::positive(const std::string& key) const {
  const std::string* text = find(key);
  if (text == nullptr) {
    return std::nullopt;
  }
  const std::optional<double> value = parseFinite(*text);
  if (!value || *value <= 0 || *value > static_cast<double>(kMaxVitDimension)) {
    throw error(key, formatted("'{}'", *text),
                formatted("it must be a number above 0, at most {}", kMaxVitDimension));
  }
  return value;
}

std::string VitMetadata::word(const std::string& key, std::initializer_list<std::string_view> allowed) const {
  const std::string* text = find(key);
  if (text == nullptr) {
    return std::string(*allowed.begin());
  }
  if (std::find(allowed.begin(), allowed.end(), *text) == allowed.end()) {
    throw error(key, formatted("'{}'", *text), formatted("this version knows {}", joined(allowed, " and ")));
  }
  return *text;
}

std::optional<std::vector<double>> VitMetadata::perChannel(const std::string& key, std::int64_t channels) const {
  const std::string* text = find(key);
  if (text == nullptr) {
    return std::nullopt;
  }
  std::vector<double> values;
  for (const std::string& part : splitAtCommas(*text)) {
    const std::optional<double> value = parseFinite(part);
    if (!value || (key == "std" && *value <= 0)) {
      throw error(key, formatted("'{}'", *text),
                  formatted("it must be numbers{}, separated by commas", key == "std" ? " above 0" : ""));
    }
    values.push_back(*value);
  }
  if (values.size() == 1) {
    values.resize(static_cast<std::size_t>(channels), values[0]);
  }
  if (values.size() != static_cast<std::size_t>(channels)) {
    throw error(key, formatted("'{}'", *text), formatted("the model has {} channels", channels));
  }
  return values;
}

std::vector<std::string> VitMetadata::classNames(std::int64_t numClasses) const {
  const std::string* text = find("class_names");
  if (text == nullptr) {
    return {};
  }
  std::vector<std::string> names = splitAtCommas(*text);
  if (names.size() != static_cast<std::size_t>(numClasses)) {
    throw error("class_names", formatted("a list of {} names", names.size()),
                formatted("the model has {} classes", numClasses));
  }
  return names;
}

}  // namespace saccade::io
