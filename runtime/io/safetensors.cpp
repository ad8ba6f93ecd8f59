// SPDX-License-Identifier: Apache-2.0
#include "io/safetensors.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "io/atomic_file.hpp"
#include "io/file_error.hpp"
#include "io/mapped_file.hpp"
#include "io/safetensors_header.hpp"
#include "text/formatted.hpp"

static_assert(std::endian::native == std::endian::little,
              "safetensors data is little-endian and read in place");

namespace saccade::io {

namespace {

constexpr std::size_t kLengthBytes = 8;
constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;  // the format's own limit

}  // namespace

const TensorData& Safetensors::tensor(const std::string& name) const {
  const auto found = tensors.find(name);
  if (found == tensors.end()) {
    throw FileError(path, formatted("tensor '{}'", name), "missing", "the file must hold it");
  }
  return found->second;
}

Safetensors readSafetensors(const std::filesystem::path& path) {
  const auto file = std::make_shared<const MappedFile>(path);
  return parseSafetensors(path, file->bytes(), file);
}

Safetensors parseSafetensors(const std::filesystem::path& path, std::span<const std::byte> bytes,
                             const std::shared_ptr<const void>& owner) {
  if (bytes.size() < kLengthBytes) {
    throw FileError(path, "file size", formatted("{} bytes", bytes.size()),
                    "a safetensors file starts with 8 bytes of header length");
  }
  std::uint64_t headerBytes = 0;
  std::memcpy(&headerBytes, bytes.data(), kLengthBytes);
  const std::uint64_t available = bytes.size() - kLengthBytes;
  if (headerBytes > available) {
    throw FileError(path, "header length", formatted("{} bytes", headerBytes),
                    formatted("only {} bytes follow it", available));
  }
  if (headerBytes > kMaxHeaderBytes) {
    throw FileError(path, "header length", formatted("{} bytes", headerBytes),
                    formatted("the format allows at most {}", kMaxHeaderBytes));
  }
  const std::string_view json(reinterpret_cast<const char*>(bytes.data()) + kLengthBytes, headerBytes);
  const std::span<const std::byte> data = bytes.subspan(kLengthBytes + headerBytes);

  SafetensorsHeader header = parseSafetensorsHeader(path, json, data.size());
  Safetensors result{path, std::move(header.metadata), {}};
  for (auto& [name, entry] : header.tensors) {
    result.tensors.emplace(name, TensorData(entry.dtype, std::move(entry.shape),
                                            data.subspan(entry.begin, entry.end - entry.begin), owner));
  }
  return result;
}

void writeSafetensors(const std::filesystem::path& path, const TensorMap& tensors, const Metadata& metadata) {
  std::vector<std::pair<const std::string*, const TensorData*>> ordered;
  for (const auto& [name, tensor] : tensors) {
    ordered.emplace_back(&name, &tensor);
  }
  std::stable_sort(ordered.begin(), ordered.end(), [](const auto& left, const auto& right) {
    return dtypeSize(left.second->dtype()) > dtypeSize(right.second->dtype());
  });

  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) {
    header["__metadata__"] = metadata;
  }
  std::uint64_t offset = 0;
  for (const auto& [name, tensor] : ordered) {
    if (*name == "__metadata__") {
      throw FileError(path, "tensor name", "'__metadata__'", "the format keeps that name for itself");
    }
    const std::uint64_t end = offset + tensor->bytes().size();
    header[*name] = {
        {"dtype", dtypeName(tensor->dtype())}, {"shape", tensor->shape()}, {"data_offsets", {offset, end}}};
    offset = end;
  }

  std::string json;
  try {
    json = header.dump();
  } catch (const nlohmann::json::type_error& error) {
    throw FileError(path, "a tensor name or metadata string", "not UTF-8",
                    formatted("the header is UTF-8 ({})", error.what()));
  }
  json.resize((json.size() + 7) / 8 * 8, ' ');  // keeps the tensors aligned in the file

  AtomicFile file(path);
  const auto headerBytes = static_cast<std::uint64_t>(json.size());
  file.write(std::as_bytes(std::span(&headerBytes, 1)));
  file.write(std::as_bytes(std::span(json)));
  for (const auto& [name, tensor] : ordered) {
    file.write(tensor->bytes());
  }
  file.commit();
}

}  // namespace saccade::io
