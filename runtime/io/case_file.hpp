// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "io/safetensors.hpp"

// Case files: one call of an operator with its expected result, in the format "saccade-case-1" that
// tests/cases/README.md describes.

namespace saccade::io {

// How close a result must come; section 4 of that page.
enum class CaseTolerance { Exact, Fp32, Fp16, Bf16 };

struct CaseFile {
  std::filesystem::path path;
  std::string name;
  std::string op;
  CaseTolerance tolerance = CaseTolerance::Fp32;
  Metadata metadata;  // everything the file says, the fields above included
  TensorMap inputs;
  TensorMap expected;  // may be empty: a case that is only to be run

  // What the format does not define for this operator: the operator itself, metadata keys, tensors, and
  // values of keys that allow only some words. A case with such an entry must be reported as not run, never
  // as passed.
  std::vector<std::string> unknown;

  // The tensor of that name, or nullptr.
  const TensorData* input(const std::string& tensor) const;
  // The same, but throws FileError naming the tensor if it is missing.
  const TensorData& requireInput(const std::string& tensor) const;
  // The same, and throws FileError unless it has that shape; a size of kAnySize fits every size.
  const TensorData& requireInput(const std::string& tensor, const Shape& shape) const;
  static constexpr std::int64_t kAnySize = -1;

  // Metadata values; std::nullopt if absent, FileError naming the key if not a (finite or infinite) number.
  std::optional<double> number(const std::string& key) const;
  std::optional<std::int64_t> integer(const std::string& key) const;
  // The same, but throw FileError if the key is absent.
  double requireNumber(const std::string& key) const;
  std::int64_t requireInteger(const std::string& key) const;
  std::string text(const std::string& key, const std::string& whenAbsent) const;
};

// Throws FileError if the file is no case file at all: not safetensors, another format, no name or operator,
// an unknown tolerance, or an input in a dtype that its operator does not take. Shapes are checked by whoever
// runs the case.
CaseFile readCaseFile(const std::filesystem::path& path);

// The same for a safetensors file that has been read.
CaseFile caseFileFrom(Safetensors file);

// How a kernel keeps the softmax weights until they are multiplied with V; decides which tolerance applies.
enum class PRounding { Fp32, Storage };

struct ResultInfo {
  std::string kernel;
  std::string device;
  PRounding pRounding = PRounding::Fp32;
};

// Writes results of `caseFile` for comparison by another program: tensors under the names and in the shapes
// of the expected ones, in whatever floating-point dtype they have. Complete file or none; throws FileError.
void writeResultFile(const std::filesystem::path& path, const CaseFile& caseFile, const TensorMap& results,
                     const ResultInfo& info);

}  // namespace saccade::io
