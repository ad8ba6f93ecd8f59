// SPDX-License-Identifier: Apache-2.0
// Mutations for files that begin with the length of their header: header and data are changed one at a time, and the
// length is made to fit in most cases. Without it nearly every input is refused at its first eight bytes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t maxSize);
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t maxSize,
                                               unsigned int seed);

namespace {

constexpr std::size_t kLengthBytes = 8;

// At most `most` bytes made from `part`.
std::vector<std::uint8_t> mutated(std::vector<std::uint8_t> part, std::size_t most) {
  const std::size_t size = part.size();
  part.resize(std::max(most, size));
  part.resize(LLVMFuzzerMutate(part.data(), size, part.size()));
  return part;
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t maxSize,
                                               unsigned int seed) {
  std::minstd_rand random(seed);
  std::uint64_t length = 0;
  if (size > kLengthBytes) {
    std::memcpy(&length, data, kLengthBytes);
  }
  if (size <= kLengthBytes || maxSize < size || length > size - kLengthBytes || random() % 16 == 0) {
    return LLVMFuzzerMutate(data, size, maxSize);
  }
  const std::uint8_t* const begin = data + kLengthBytes;
  std::vector<std::uint8_t> header(begin, begin + length);
  std::vector<std::uint8_t> content(begin + length, begin + (size - kLengthBytes));
  const std::size_t room = maxSize - size;
  if (content.empty() || random() % 4 != 0) {
    header = mutated(std::move(header), header.size() + room);
  } else {
    content = mutated(std::move(content), content.size() + room);
  }
  length = header.size();
  std::memcpy(data, &length, kLengthBytes);
  std::copy(header.begin(), header.end(), data + kLengthBytes);
  std::copy(content.begin(), content.end(), data + kLengthBytes + header.size());
  return kLengthBytes + header.size() + content.size();
}
