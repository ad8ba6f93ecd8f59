// SPDX-License-Identifier: Apache-2.0
#include "io/idx_file.hpp"

#include <gtest/gtest.h>

#include "expect_file_error.hpp"
#include "temporary_folder.hpp"

namespace saccade {
namespace {

using namespace std::string_literals;

const std::string kTwoImages = "\0\0\x08\x03\0\0\0\x02\0\0\0\x01\0\0\0\x03"s + "abcdef";

// kTwoImages, packed by gzip with a file name in the header.
const std::string kPacked =
    "\x1f\x8b\x08\x08\x80\xda\x6b\x4c\x02\xff"
    "images\0"
    "\x63\x60\xe0\x60\x66\x60\x60\x60\x02\x62\x46\x20\x66\x4e\x4c\x4a\x4e\x49\x4d\x03\x00"
    "\x7b\x0d\x08\x34\x16\0\0\0"s;

std::vector<std::uint8_t> bytesOf(const io::TensorData& data) {
  std::vector<std::uint8_t> values;
  for (const std::byte byte : data.bytes()) {
    values.push_back(std::to_integer<std::uint8_t>(byte));
  }
  return values;
}

TEST(IdxFile, GivesTheImagesOfAPlainFile) {
  const TemporaryFolder folder;
  const io::TensorData images = io::readIdx(folder.file("images", kTwoImages), 3);
  EXPECT_EQ(images.shape(), (io::Shape{2, 1, 3}));
  EXPECT_EQ(bytesOf(images), (std::vector<std::uint8_t>{'a', 'b', 'c', 'd', 'e', 'f'}));
}

TEST(IdxFile, GivesTheImagesOfAGzippedFile) {
  const TemporaryFolder folder;
  const io::TensorData images = io::readIdx(folder.file("images.gz", kPacked), 3);
  EXPECT_EQ(images.shape(), (io::Shape{2, 1, 3}));
  EXPECT_EQ(bytesOf(images), (std::vector<std::uint8_t>{'a', 'b', 'c', 'd', 'e', 'f'}));
}

TEST(IdxFile, IsRefusedWhereItIsCutOffAnywhere) {
  const TemporaryFolder folder;
  for (const std::string* whole : {&kTwoImages, &kPacked}) {
    for (std::size_t size = 0; size < whole->size(); ++size) {
      const auto path = folder.file("cut", whole->substr(0, size));
      expectFileError([&] { io::readIdx(path, 3); }, {"cut"});
    }
  }
}

TEST(IdxFile, IsRefusedWhereAPackedByteIsWrong) {
  const TemporaryFolder folder;
  const std::size_t lastOfContent = kPacked.size() - 9;  // only its lowest bits carry something
  for (std::size_t index = kPacked.find('\x63'); index < kPacked.size(); ++index) {
    if (index == lastOfContent) {
      continue;
    }
    std::string damaged = kPacked;
    damaged[index] = static_cast<char>(damaged[index] ^ 0x10);
    const auto path = folder.file("damaged", damaged);
    EXPECT_THROW(io::readIdx(path, 3), io::FileError) << "byte " << index;
  }
}

TEST(IdxFile, IsRefusedWithAnotherNumberOfAxes) {
  const TemporaryFolder folder;
  const auto path = folder.file("images", kTwoImages);
  expectFileError([&] { io::readIdx(path, 1); }, {"00 00 08 03", "00 00 08 01"});
}

TEST(IdxFile, IsRefusedWhereItsSizesOverflow) {
  const TemporaryFolder folder;
  const auto path = folder.file("huge", "\0\0\x08\x03"s + std::string(12, '\xff') + "abcdef");
  expectFileError([&] { io::readIdx(path, 3); }, {"[4294967295,4294967295,4294967295]"});
}

TEST(IdxFile, OfNoPicturesMayNameAnySize) {
  const TemporaryFolder folder;
  const auto path = folder.file("none", "\0\0\x08\x03"s + std::string(8, '\xff') + std::string(4, '\0'));
  EXPECT_EQ(io::readIdx(path, 3).elementCount(), 0u);
}

}  // namespace
}  // namespace saccade
