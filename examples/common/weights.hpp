// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/gpu.hpp"

namespace example {

// An fp32 tensor of a file, in device memory.
struct Weight {
  std::vector<std::uint32_t> shape;  // at least one axis, no size of 0
  VkDeviceAddress address = 0;
  VkDeviceSize size = 0;  // bytes

  std::uint32_t dimension(std::size_t axis) const;  // throws if there is no such axis
  // As a matrix: the first axis, and all others together.
  std::uint32_t rows() const { return dimension(0); }
  std::uint32_t columns() const { return static_cast<std::uint32_t>(size / sizeof(float)) / rows(); }
};

// A safetensors file with fp32 tensors: read and brought to the device as one buffer.
class Weights {
 public:
  // Throws std::runtime_error, naming the file, for one that is no such file or has other tensors than fp32.
  Weights(Gpu& gpu, const std::filesystem::path& file);

  const Weight& operator[](const std::string& name) const;  // throws, naming the tensor, if there is none
  std::uint32_t count(const std::string& key) const;        // a positive whole number of the metadata
  // Metadata with comma-separated numbers, `count` of them or one for all.
  std::vector<float> numbers(const std::string& key, std::size_t count) const;

 private:
  const std::string& metadata(const std::string& key) const;
  std::runtime_error error(const std::string& what) const;

  std::filesystem::path file_;
  std::map<std::string, Weight> tensors_;
  std::map<std::string, std::string> metadata_;
};

}  // namespace example
