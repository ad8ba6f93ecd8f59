// SPDX-License-Identifier: Apache-2.0
// io::parseSafetensors: whatever is accepted uses every byte behind the header exactly once.
#include <cstring>

#include "fuzz.hpp"
#include "io/safetensors.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace saccade;
  const std::span<const std::byte> bytes = fuzz::bytesOf(data, size);
  fuzz::readOrRefuse([&] {
    const io::Safetensors file = io::parseSafetensors(fuzz::kPath, bytes, nullptr);
    std::size_t covered = 0;
    for (const auto& [name, tensor] : file.tensors) {
      const std::span<const std::byte> inside = tensor.bytes();
      fuzz::require(inside.empty() || (inside.data() >= bytes.data() + 8 &&
                                       inside.data() + inside.size() <= bytes.data() + bytes.size()),
                    "tensor '" + name + "' lies in the file");
      fuzz::require(tensor.toDoubles().size() == static_cast<std::size_t>(io::elementCount(tensor.shape())),
                    "tensor '" + name + "' has the elements of its shape");
      covered += inside.size();
    }
    std::uint64_t header = 0;
    std::memcpy(&header, data, sizeof header);
    fuzz::require(covered + 8 + header == size, "the tensors cover the file");
  });
  return 0;
}
