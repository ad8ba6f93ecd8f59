// SPDX-License-Identifier: Apache-2.0
// Judges what a contestant computed by the rules that Saccade's own results are judged by: the tolerances of
// the case. Prints one JSON line. Exit code 0: right; 1: wrong; 2: the files cannot be compared.
//
// Usage: peer_check_result CASE.safetensors RESULT.safetensors
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "io/case_file.hpp"
#include "reference/compare.hpp"

namespace {

using saccade::io::TensorData;

// Rows at and past the length of their query sequence are padding. Saccade knows and writes zeros there; a
// library that is only told which keys to leave out computes something that nobody reads. Neither is judged.
TensorData withoutPadding(const TensorData& out, const std::vector<std::int32_t>& lengths) {
  std::vector<double> values = out.toDoubles();
  const std::int64_t heads = out.shape()[1], seqlen = out.shape()[2], width = out.shape()[3];
  for (std::size_t b = 0; b < lengths.size(); ++b) {
    for (std::int64_t h = 0; h < heads; ++h) {
      const auto head = values.begin() + ((static_cast<std::int64_t>(b) * heads + h) * seqlen) * width;
      std::fill(head + lengths[b] * width, head + seqlen * width, 0.0);
    }
  }
  return TensorData::fromDoubles(saccade::io::DType::F64, out.shape(), values);
}

// What of the case's expected tensors the contestant gave; something must be there.
nlohmann::ordered_json judge(const saccade::io::CaseFile& file, const saccade::io::Safetensors& result) {
  saccade::io::TensorMap tensors = result.tensors;
  const auto out = tensors.find("out");
  if (out != tensors.end() && file.input("seqlens_q") != nullptr &&
      out->second.shape() == file.expected.at("out").shape()) {
    out->second = withoutPadding(out->second, file.input("seqlens_q")->toInt32s());
  }
  const auto rounding = result.metadata.find("p_rounding");
  const bool roundsP = rounding != result.metadata.end() && rounding->second == "storage";
  const auto comparison = saccade::reference::compareCase(
      file, tensors, roundsP ? saccade::io::PRounding::Storage : saccade::io::PRounding::Fp32);
  bool passed = !comparison.tensors.empty();
  std::vector<std::string> compared;
  std::string reason = passed ? "" : "the result holds none of the tensors that the case expects";
  for (const auto& tensor : comparison.tensors) {
    passed = passed && tensor.passed;
    compared.push_back(tensor.tensor);
    reason = tensor.passed || !reason.empty() ? reason : tensor.reason;
  }
  const auto* worst = comparison.worst();
  return {{"passed", passed},
          {"error", worst == nullptr ? 0 : worst->error},
          {"allowed", worst == nullptr ? 0 : worst->allowed},
          {"tensors", compared},
          {"reason", reason}};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: {} CASE.safetensors RESULT.safetensors\n", argv[0]);
    return 2;
  }
  try {
    const auto verdict = judge(saccade::io::readCaseFile(argv[1]), saccade::io::readSafetensors(argv[2]));
    fmt::print("{}\n", verdict.dump());
    return verdict["passed"].get<bool>() ? 0 : 1;
  } catch (const std::exception& error) {
    fmt::print("{}\n", nlohmann::json{{"passed", false}, {"reason", error.what()}}.dump());
    return 2;
  }
}
