// SPDX-License-Identifier: Apache-2.0
#include "io/case_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>
#include <utility>

#include "io/case_format.hpp"
#include "io/file_error.hpp"

namespace saccade::io {

namespace {

constexpr const char* kFormat = "saccade-case-1";
// Of a tensor without elements a file can claim any size; this one keeps what is computed from sizes within int64.
constexpr std::int64_t kLargestSize = (std::int64_t{1} << 31) - 1;

const std::string& requireText(const std::filesystem::path& path, const Metadata& metadata,
                               const std::string& key) {
  const auto found = metadata.find(key);
  if (found == metadata.end()) {
    throw FileError(path, fmt::format("metadata '{}'", key), "missing", "every case file has it");
  }
  return found->second;
}

CaseTolerance readTolerance(const std::filesystem::path& path, const Metadata& metadata) {
  const std::string text = requireText(path, metadata, "tolerance");
  static const std::map<std::string, CaseTolerance> known = {{"exact", CaseTolerance::Exact},
                                                             {"fp32", CaseTolerance::Fp32},
                                                             {"fp16", CaseTolerance::Fp16},
                                                             {"bf16", CaseTolerance::Bf16}};
  const auto found = known.find(text);
  if (found == known.end()) {
    throw FileError(path, "metadata 'tolerance'", fmt::format("'{}'", text),
                    "it must be exact, fp32, fp16 or bf16");
  }
  return found->second;
}

// "atol_out", "atol_fp16_out" and "atol_out_rounded_p" belong to the expected tensor "out".
bool isToleranceKey(const std::string& key, const OperatorFormat& format) {
  constexpr std::string_view kPrefix = "atol_";
  if (!key.starts_with(kPrefix)) {
    return false;
  }
  std::string tensor = key.substr(kPrefix.size());
  if (tensor == "out_rounded_p") {
    return true;
  }
  if (tensor.starts_with("fp16_")) {
    tensor = tensor.substr(5);
  }
  return format.expected.contains(tensor);
}

void sortMetadata(const OperatorFormat& format, CaseFile& result) {
  static const std::set<std::string> common = {"format", "name",    "op",       "rule",
                                               "probes", "reading", "tolerance"};
  for (const auto& [key, value] : result.metadata) {
    const auto known = format.metadata.find(key);
    if (known == format.metadata.end()) {
      if (!common.contains(key) && !isToleranceKey(key, format)) {
        result.unknown.push_back(fmt::format("metadata key '{}'", key));
      }
      continue;
    }
    const std::vector<std::string>& words = known->second;
    if (!words.empty() && std::find(words.begin(), words.end(), value) == words.end()) {
      result.unknown.push_back(fmt::format("value '{}' of metadata key '{}'", value, key));
    }
  }
}

void sortTensors(const OperatorFormat& format, TensorMap tensors, CaseFile& result) {
  for (auto& [name, tensor] : tensors) {
    if (std::ranges::any_of(tensor.shape(), [](std::int64_t size) { return size > kLargestSize; })) {
      throw FileError(result.path, fmt::format("shape of tensor '{}'", name), shapeText(tensor.shape()),
                      fmt::format("each size of a case's tensor is at most {}", kLargestSize));
    }
    if (format.expected.contains(name)) {
      result.expected.emplace(name, std::move(tensor));
      continue;
    }
    const auto known = format.inputs.find(name);
    const bool isWeight = format.hasVitWeights && isVitWeightName(name);
    if (known == format.inputs.end() && !isWeight) {
      result.unknown.push_back(fmt::format("tensor '{}'", name));
      continue;
    }
    static const std::vector<DType> weightDTypes = {DType::F32, DType::F16, DType::BF16};
    const std::vector<DType>& allowed = isWeight ? weightDTypes : known->second;
    if (std::find(allowed.begin(), allowed.end(), tensor.dtype()) == allowed.end()) {
      std::vector<std::string_view> names;
      std::transform(allowed.begin(), allowed.end(), std::back_inserter(names), dtypeName);
      throw FileError(result.path, fmt::format("dtype of tensor '{}'", name),
                      std::string(dtypeName(tensor.dtype())),
                      fmt::format("it must be {}", fmt::join(names, " or ")));
    }
    result.inputs.emplace(name, std::move(tensor));
  }
}

template <typename Number>
std::optional<Number> parse(const CaseFile& file, const std::string& key, const char* expected) {
  const auto found = file.metadata.find(key);
  if (found == file.metadata.end()) {
    return std::nullopt;
  }
  const std::string& text = found->second;
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) {
    throw FileError(file.path, fmt::format("metadata '{}'", key), fmt::format("'{}'", text),
                    fmt::format("it must be {}", expected));
  }
  return value;
}

}  // namespace

const TensorData* CaseFile::input(const std::string& tensor) const {
  const auto found = inputs.find(tensor);
  return found == inputs.end() ? nullptr : &found->second;
}

const TensorData& CaseFile::requireInput(const std::string& tensor) const {
  if (const TensorData* found = input(tensor)) {
    return *found;
  }
  throw FileError(path, fmt::format("tensor '{}'", tensor), "missing",
                  fmt::format("operator '{}' needs it", op));
}

const TensorData& CaseFile::requireInput(const std::string& tensor, const Shape& shape) const {
  const TensorData& found = requireInput(tensor);
  bool fits = found.rank() == shape.size();
  std::vector<std::string> sizes;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    fits = fits && (shape[axis] == kAnySize || shape[axis] == found.shape()[axis]);
    sizes.push_back(shape[axis] == kAnySize ? "any" : fmt::format("{}", shape[axis]));
  }
  if (!fits) {
    throw FileError(path, fmt::format("shape of tensor '{}'", tensor), shapeText(found.shape()),
                    fmt::format("it must be [{}]", fmt::join(sizes, ",")));
  }
  return found;
}

std::optional<double> CaseFile::number(const std::string& key) const {
  return parse<double>(*this, key, "a number");
}

std::optional<std::int64_t> CaseFile::integer(const std::string& key) const {
  return parse<std::int64_t>(*this, key, "a whole number");
}

double CaseFile::requireNumber(const std::string& key) const {
  requireText(path, metadata, key);
  return *number(key);
}

std::int64_t CaseFile::requireInteger(const std::string& key) const {
  requireText(path, metadata, key);
  return *integer(key);
}

std::string CaseFile::text(const std::string& key, const std::string& whenAbsent) const {
  const auto found = metadata.find(key);
  return found == metadata.end() ? whenAbsent : found->second;
}

CaseFile readCaseFile(const std::filesystem::path& path) { return caseFileFrom(readSafetensors(path)); }

CaseFile caseFileFrom(Safetensors file) {
  const std::filesystem::path& path = file.path;
  const std::string format = requireText(path, file.metadata, "format");
  if (format != kFormat) {
    throw FileError(path, "metadata 'format'", fmt::format("'{}'", format),
                    fmt::format("it must be '{}'", kFormat));
  }
  CaseFile result;
  result.path = path;
  result.name = requireText(path, file.metadata, "name");
  result.op = requireText(path, file.metadata, "op");
  result.tolerance = readTolerance(path, file.metadata);
  result.metadata = std::move(file.metadata);

  const OperatorFormat* known = operatorFormat(result.op);
  if (known == nullptr) {
    result.unknown.push_back(fmt::format("operator '{}'", result.op));
    return result;
  }
  sortMetadata(*known, result);
  sortTensors(*known, std::move(file.tensors), result);
  return result;
}

void writeResultFile(const std::filesystem::path& path, const CaseFile& caseFile, const TensorMap& results,
                     const ResultInfo& info) {
  writeSafetensors(path, results,
                   {{"name", caseFile.name},
                    {"op", caseFile.op},
                    {"kernel", info.kernel},
                    {"device", info.device},
                    {"p_rounding", info.pRounding == PRounding::Fp32 ? "fp32" : "storage"}});
}

}  // namespace saccade::io
