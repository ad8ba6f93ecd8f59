// SPDX-License-Identifier: Apache-2.0
// PNG and JPEG files.
#include "fuzz.hpp"
#include "io/picture.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace saccade;
  fuzz::readOrRefuse([&] {
    const io::Picture picture = io::decodePicture(fuzz::kPath, fuzz::bytesOf(data, size));
    fuzz::require(picture.channels == 1 || picture.channels == 3, "a picture is grey or coloured");
    fuzz::require(picture.pixels.size() == static_cast<std::size_t>(picture.width * picture.height * picture.channels),
                  "a picture has the pixels of its size");
  });
  return 0;
}
