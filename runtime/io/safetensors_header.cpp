// SPDX-License-Identifier: Apache-2.0
#include "io/safetensors_header.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "io/file_error.hpp"
#include "text/formatted.hpp"

namespace saccade::io {

namespace {

constexpr std::size_t kMaxRank = 16;

// A hostile header may hold a name of megabytes.
std::string shortened(std::string_view text) {
  constexpr std::size_t kLongest = 120;
  return text.size() <= kLongest ? std::string(text) : formatted("{}...", text.substr(0, kLongest));
}

std::string inQuotes(std::string_view text) { return formatted("'{}'", shortened(text)); }

// Takes the parser's events one by one, so that a header is checked while it is read: no tree of JSON values
// is built, repeated keys are seen, and nesting or an endless shape is refused where it starts.
class HeaderReader {
 public:
  HeaderReader(const std::filesystem::path& path, std::uint64_t dataSize)
      : path_(path), dataSize_(dataSize) {}

  SafetensorsHeader take() { return std::move(header_); }

  bool null() { return refuse("null"); }
  bool boolean(bool value) { return refuse(value ? "true" : "false"); }
  bool number_integer(std::int64_t value) { return refuse(formatted("{}", value)); }
  bool number_float(double, const std::string& text) { return refuse(shortened(text)); }
  bool binary(std::vector<std::uint8_t>&) { return refuse("binary"); }

  bool number_unsigned(std::uint64_t value) {
    if (place_ == Place::Shape) {
      addDimension(value);
    } else if (place_ == Place::Offsets) {
      addOffset(value);
    } else {
      refuse(formatted("{}", value));
    }
    return true;
  }

  bool string(std::string& value) {
    if (place_ == Place::Metadata) {
      header_.metadata[key_] = value;
    } else if (place_ == Place::Tensor && key_ == "dtype") {
      entry_.dtype = requireDType(value);
      seenDType_ = true;
    } else {
      refuse(inQuotes(value));
    }
    return true;
  }

  bool start_object(std::size_t) {
    if (place_ == Place::Start) {
      place_ = Place::Top;
    } else if (place_ == Place::Top && key_ == "__metadata__") {
      place_ = Place::Metadata;
    } else if (place_ == Place::Top) {
      place_ = Place::Tensor;
      name_ = key_;
      entry_ = {};
      seenDType_ = seenShape_ = false;
      offsetCount_ = 0;
    } else {
      refuse("an object");
    }
    return true;
  }

  bool end_object() {
    if (place_ == Place::Tensor) {
      finishTensor();
    }
    place_ = place_ == Place::Top ? Place::End : Place::Top;
    return true;
  }

  bool start_array(std::size_t) {
    if (place_ == Place::Tensor && key_ == "shape") {
      place_ = Place::Shape;
      seenShape_ = true;
    } else if (place_ == Place::Tensor && key_ == "data_offsets") {
      place_ = Place::Offsets;
    } else {
      refuse("a list");
    }
    return true;
  }

  bool end_array() {
    place_ = Place::Tensor;
    return true;
  }

  bool key(std::string& value) {
    key_ = value;
    if (place_ == Place::Top) {
      if ((value == "__metadata__" && seenMetadata_) || header_.tensors.contains(value)) {
        throw FileError(path_, "header key", inQuotes(value), "it stands there twice");
      }
      seenMetadata_ = seenMetadata_ || value == "__metadata__";
    } else if (place_ == Place::Metadata && header_.metadata.contains(value)) {
      throw FileError(path_, "metadata key", inQuotes(value), "it stands there twice");
    } else if (place_ == Place::Tensor) {
      requireNewTensorKey(value);
    }
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception& error) {
    throw FileError(
        path_, "header", "not valid JSON",
        formatted("it must be one JSON object in UTF-8 (byte {}: {})", position, shortened(error.what())));
  }

 private:
  enum class Place { Start, Top, Metadata, Tensor, Shape, Offsets, End };

  std::string tensorField(std::string_view what) const {
    return formatted("{} of tensor {}", what, inQuotes(name_));
  }

  // Ends the reading: `found` stands where the format has something else.
  bool refuse(const std::string& found) const {
    switch (place_) {
      case Place::Metadata:
        throw FileError(path_, "metadata " + inQuotes(key_), found, "metadata values must be strings");
      case Place::Tensor:
        throw FileError(
            path_, tensorField(inQuotes(key_)), found,
            "a tensor has a string 'dtype', a list 'shape' and a list 'data_offsets' of two numbers");
      case Place::Shape:
        throw FileError(path_, tensorField("a dimension"), found,
                        "it must be a whole number from 0 to 2^63-1");
      case Place::Offsets:
        throw FileError(path_, tensorField("a data offset"), found,
                        "it must be a whole number from 0 to 2^64-1");
      default:
        throw FileError(path_, key_.empty() ? "header" : "header entry " + inQuotes(key_), found,
                        "it must be an object");
    }
  }

  DType requireDType(const std::string& value) const {
    const std::optional<DType> dtype = dtypeFromName(value);
    if (!dtype) {
      throw FileError(path_, tensorField("dtype"), inQuotes(value),
                      "only F64, F32, F16, BF16, I64, I32, U8, F8_E4M3 and I8 can be read");
    }
    return *dtype;
  }

  void requireNewTensorKey(const std::string& value) const {
    const bool known = value == "dtype" || value == "shape" || value == "data_offsets";
    if (!known) {
      throw FileError(path_, tensorField("a key"), inQuotes(value),
                      "it must be dtype, shape or data_offsets");
    }
    if ((value == "dtype" && seenDType_) || (value == "shape" && seenShape_) ||
        (value == "data_offsets" && offsetCount_ != 0)) {
      throw FileError(path_, tensorField("key"), inQuotes(value), "it stands there twice");
    }
  }

  void addDimension(std::uint64_t value) {
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      refuse(formatted("{}", value));
    }
    if (entry_.shape.size() == kMaxRank) {
      throw FileError(path_, tensorField("number of dimensions"), formatted("more than {}", kMaxRank),
                      formatted("at most {} are read", kMaxRank));
    }
    entry_.shape.push_back(static_cast<std::int64_t>(value));
  }

  void addOffset(std::uint64_t value) {
    if (offsetCount_ == 0) {
      entry_.begin = value;
    } else if (offsetCount_ == 1) {
      entry_.end = value;
    } else {
      throw FileError(path_, tensorField("data_offsets"), "more than two numbers", "it must be [begin, end]");
    }
    ++offsetCount_;
  }

  void finishTensor() {
    if (!seenDType_ || !seenShape_ || offsetCount_ != 2) {
      const char* missing = !seenDType_ ? "dtype" : !seenShape_ ? "shape" : "data_offsets";
      throw FileError(path_, tensorField(missing), "missing or incomplete",
                      "every tensor has a dtype, a shape and data_offsets [begin, end]");
    }
    if (entry_.begin > entry_.end || entry_.end > dataSize_) {
      throw FileError(
          path_, tensorField("data_offsets"), formatted("[{},{}]", entry_.begin, entry_.end),
          formatted("begin <= end <= {} must hold: that many bytes follow the header", dataSize_));
    }
    // Sizes of 0 are left out of the product, so that [0, 2^62, 2^62] cannot smuggle an overflow past the
    // check.
    auto elements = std::uint64_t{1};
    bool empty = false;
    const std::uint64_t limit = std::numeric_limits<std::int64_t>::max() / dtypeSize(entry_.dtype);
    for (const std::int64_t size : entry_.shape) {
      const auto factor = static_cast<std::uint64_t>(size);
      empty = empty || factor == 0;
      if (factor > 1 && elements > limit / factor) {
        throw FileError(path_, tensorField("shape"), shapeText(entry_.shape),
                        "its number of bytes exceeds 2^63");
      }
      elements *= std::max(factor, std::uint64_t{1});
    }
    const std::uint64_t needed = empty ? 0 : elements * dtypeSize(entry_.dtype);
    if (needed != entry_.end - entry_.begin) {
      throw FileError(path_, tensorField("data_offsets"), formatted("[{},{}]", entry_.begin, entry_.end),
                      formatted("dtype {} and shape {} need {} bytes", dtypeName(entry_.dtype),
                                shapeText(entry_.shape), needed));
    }
    header_.tensors[name_] = std::move(entry_);
  }

  std::filesystem::path path_;
  std::uint64_t dataSize_;
  SafetensorsHeader header_;
  Place place_ = Place::Start;
  std::string key_;   // the last key read
  std::string name_;  // the tensor being read
  TensorEntry entry_;
  bool seenMetadata_ = false;
  bool seenDType_ = false;
  bool seenShape_ = false;
  int offsetCount_ = 0;
};

// The format leaves no byte unused and none used twice.
void requireFullCover(const std::filesystem::path& path, const SafetensorsHeader& header,
                      std::uint64_t dataSize) {
  std::vector<std::pair<const std::string*, const TensorEntry*>> byOffset;
  for (const auto& [name, entry] : header.tensors) {
    byOffset.emplace_back(&name, &entry);
  }
  std::sort(byOffset.begin(), byOffset.end(), [](const auto& left, const auto& right) {
    return std::pair(left.second->begin, left.second->end) <
           std::pair(right.second->begin, right.second->end);
  });
  std::uint64_t covered = 0;
  for (const auto& [name, entry] : byOffset) {
    if (entry->begin != covered) {
      throw FileError(path, formatted("data_offsets of tensor {}", inQuotes(*name)),
                      formatted("[{},{}]", entry->begin, entry->end),
                      formatted("the tensor before it ends at {}: there must be no {}", covered,
                                entry->begin < covered ? "overlap" : "gap"));
    }
    covered = entry->end;
  }
  if (covered != dataSize) {
    throw FileError(path, "number of bytes after the header", formatted("{}", dataSize),
                    formatted("the tensors end at {}", covered));
  }
}

}  // namespace

SafetensorsHeader parseSafetensorsHeader(const std::filesystem::path& path, std::string_view json,
                                         std::uint64_t dataSize) {
  if (json.empty() || json.front() != '{') {
    throw FileError(
        path, "first character of the header",
        json.empty() ? "missing" : formatted("0x{:02x}", static_cast<unsigned char>(json.front())),
        "it must be '{'");
  }
  HeaderReader reader(path, dataSize);
  nlohmann::json::sax_parse(json.begin(), json.end(), &reader);
  SafetensorsHeader header = reader.take();
  requireFullCover(path, header, dataSize);
  return header;
}

}  // namespace saccade::io
