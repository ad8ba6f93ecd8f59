// SPDX-License-Identifier: Apache-2.0
#include "common/weights.hpp"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

namespace example {
namespace {

// Whether the shape is that of the bytes; no product overflows, because it is divided instead.
bool fits(const Weight& weight) {
  VkDeviceSize left = weight.size / sizeof(float);
  for (const std::uint32_t dimension : weight.shape) {
    if (dimension == 0 || left % dimension != 0) return false;
    left /= dimension;
  }
  return !weight.shape.empty() && left == 1 && weight.size % sizeof(float) == 0;
}

}  // namespace

std::uint32_t Weight::dimension(std::size_t axis) const {
  if (axis >= shape.size()) throw std::runtime_error("a tensor of the model has fewer axes than that of a ViT");
  return shape[axis];
}

Weights::Weights(Gpu& gpu, const std::filesystem::path& file) : file_(file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw std::runtime_error(file.string() + " cannot be read");
  const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  std::uint64_t headerSize = 0;
  if (bytes.size() > sizeof headerSize) std::memcpy(&headerSize, bytes.data(), sizeof headerSize);
  if (headerSize == 0 || headerSize > bytes.size() - sizeof headerSize) {
    throw std::runtime_error(file.string() + " is not a safetensors file");
  }
  const std::string data = bytes.substr(sizeof headerSize + headerSize);
  try {
    const auto header = nlohmann::json::parse(bytes.substr(sizeof headerSize, headerSize));
    const Buffer buffer = gpu.buffer(std::max<VkDeviceSize>(data.size(), 4), Gpu::Memory::Upload);
    gpu.write(buffer, std::as_bytes(std::span(data)));
    for (const auto& [name, item] : header.items()) {
      if (name == "__metadata__") {
        metadata_ = item.get<std::map<std::string, std::string>>();
        continue;
      }
      const auto [begin, end] = item.at("data_offsets").get<std::pair<std::uint64_t, std::uint64_t>>();
      const Weight weight = {item.at("shape").get<std::vector<std::uint32_t>>(), buffer.address + begin, end - begin};
      if (item.at("dtype") != "F32") throw std::runtime_error("tensor " + name + " is not F32");
      if (begin > end || end > data.size()) throw std::runtime_error("tensor " + name + " lies outside of the file");
      if (begin % sizeof(float) != 0 || !fits(weight)) {
        throw std::runtime_error("tensor " + name + " has another number of bytes than its shape demands, or is misaligned");
      }
      tensors_[name] = weight;
    }
  } catch (const std::exception& error) {
    throw std::runtime_error(file.string() + ": " + error.what());
  }
}

std::runtime_error Weights::error(const std::string& what) const { return std::runtime_error(file_.string() + ": " + what); }

const Weight& Weights::operator[](const std::string& name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) throw error("there is no tensor " + name);
  return found->second;
}

const std::string& Weights::metadata(const std::string& key) const {
  const auto found = metadata_.find(key);
  if (found == metadata_.end()) throw error("there are no metadata " + key);
  return found->second;
}

std::uint32_t Weights::count(const std::string& key) const {
  const std::vector<float> value = numbers(key, 1);
  if (!(value[0] >= 1 && value[0] <= 1e6f)) throw error("metadata " + key + " must be a number from 1 to 1,000,000");
  return static_cast<std::uint32_t>(value[0]);
}

std::vector<float> Weights::numbers(const std::string& key, std::size_t count) const {
  std::vector<float> result;
  std::istringstream list(metadata(key));
  for (std::string item; std::getline(list, item, ',');) {
    char* end = nullptr;
    result.push_back(std::strtof(item.c_str(), &end));
    if (end == item.c_str() || *end != '\0') throw error("metadata " + key + " is no number: " + item);
  }
  if (result.size() == 1) result.assign(count, result[0]);
  if (result.size() != count) throw error("metadata " + key + " must be " + std::to_string(count) + " numbers");
  return result;
}

}  // namespace example
