// SPDX-License-Identifier: Apache-2.0
// idx files (MNIST and its kin), gzipped or not.
#include "fuzz.hpp"
#include "io/idx_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace saccade;
  for (const std::size_t rank : {1u, 3u}) {
    fuzz::readOrRefuse([&] {
      const io::TensorData tensor = io::parseIdx(fuzz::kPath, fuzz::bytesOf(data, size), nullptr, rank);
      fuzz::require(tensor.rank() == rank, "the tensor has the axes that were asked for");
    });
  }
  return 0;
}
