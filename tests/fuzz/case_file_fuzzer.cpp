// SPDX-License-Identifier: Apache-2.0
// Case files as bytes: the reader and, for attention, the check that the tensors fit each other.
#include "fuzz.hpp"
#include "io/attention_case.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace saccade;
  fuzz::readOrRefuse([&] {
    const io::CaseFile file = io::caseFileFrom(io::parseSafetensors(fuzz::kPath, fuzz::bytesOf(data, size), nullptr));
    for (const auto& [key, value] : file.metadata) {
      fuzz::readOrRefuse([&] { file.number(key); });
      fuzz::readOrRefuse([&] { file.integer(key); });
    }
    if (file.unknown.empty() && file.op.find("attention") != std::string::npos) {
      io::readAttentionCase(file);
    }
  });
  return 0;
}
