// SPDX-License-Identifier: Apache-2.0
// Case files as values: tensors that mostly fit each other, with whatever they hold, through the reader, the scalar
// path and the comparator. What the scalar path computes must pass when it is expected.
#include <fuzzer/FuzzedDataProvider.h>

#include <limits>
#include <map>
#include <vector>

#include "fuzz.hpp"
#include "io/case_file.hpp"
#include "io/special_values.hpp"
#include "reference/compare.hpp"
#include "reference/run_case.hpp"

namespace saccade::fuzz {
namespace {

using io::DType;
using io::TensorData;

// One operator with its inputs: a tensor's name and a letter for each of its sizes. A tensor with ? may be absent; a
// size in capitals may be 1 instead.
struct Template {
  const char* op;
  std::vector<std::pair<std::string, std::string>> tensors;
  std::map<std::string, std::vector<std::string>> metadata;
};

const std::vector<std::string> kNumbers = {"0", "1", "2", "-1", "3", "0.5", "-2", "1e30", "nan", "inf", "1e-300", "4611686018427387904", "x", ""};
const std::map<std::string, std::vector<std::string>> kAttentionMetadata = {
    {"causal", {"none", "bottom_right", "top_left"}}, {"window_left", kNumbers},
    {"window_right", kNumbers},                       {"softmax_scale", kNumbers},
    {"temperature", kNumbers},                        {"softcap", kNumbers},
    {"normalizer", {"softmax", "sigmoid", "relu"}},   {"sigmoid_bias", kNumbers}};

const std::vector<Template>& templates() {
  static const std::vector<Template> all = {
      {"attention",
       {{"q", "bhqd"}, {"k", "bgkd"}, {"v", "bgkv"}, {"bias?", "BHQK"}, {"mask?", "BHQK"}, {"seqlens_q?", "b"},
        {"seqlens_k?", "b"}, {"alibi_slopes?", "Bh"}, {"sink?", "h"}},
       kAttentionMetadata},
      {"attention",
       {{"q", "qhd"}, {"k", "kgd"}, {"v", "kgv"}, {"cu_seqlens_q", "n"}, {"cu_seqlens_k", "n"},
        {"alibi_slopes?", "Bh"}, {"sink?", "h"}},
       kAttentionMetadata},
      {"linear_attention",
       {{"q", "bhqd"}, {"k", "bgkd"}, {"v", "bgkv"}, {"seqlens_k?", "b"}},
       {{"causal", {"none", "bottom_right", "top_left"}}, {"feature_map", {"elu+1"}}}},
      {"mha",
       {{"x", "bqd"}, {"in_proj_weight", "td"}, {"in_proj_bias", "t"}, {"out_proj_weight", "dd"}, {"out_proj_bias", "d"},
        {"key_padding_mask?", "bq"}},
       {{"num_heads", kNumbers}, {"num_kv_heads", kNumbers}, {"causal", {"none", "bottom_right", "top_left"}}}},
      {"mha",
       {{"x", "bqd"}, {"x_kv?", "bkv"}, {"q_proj_weight", "dd"}, {"q_proj_bias", "d"}, {"k_proj_weight", "dv"},
        {"k_proj_bias", "d"}, {"v_proj_weight", "dv"}, {"v_proj_bias", "d"}, {"out_proj_weight", "dd"},
        {"out_proj_bias", "d"}, {"key_padding_mask?", "bk"}},
       {{"num_heads", kNumbers}, {"num_kv_heads", kNumbers}, {"causal", {"none", "bottom_right", "top_left"}}}},
      {"layer_norm", {{"x", "bqd"}, {"weight?", "d"}, {"bias?", "d"}}, {{"epsilon", kNumbers}}},
      {"gelu", {{"x", "bqd"}}, {{"approximate", {"none", "tanh"}}}},
      {"matmul", {{"a", "bqd"}, {"weight", "vd"}, {"bias?", "v"}}, {{"weight_layout", {"nk"}}}},
      {"matmul", {{"a", "qd"}, {"weight", "dv"}, {"bias?", "v"}}, {{"weight_layout", {"kn"}}}},
      {"patch_embed", {{"image", "bhqk"}, {"weight", "dhvv"}, {"bias", "d"}}, {{"patch_size", kNumbers}}},
      {"sinusoidal_positions",
       {},
       {{"positions", kNumbers},
        {"dim", kNumbers},
        {"base", kNumbers},
        {"layout", {"interleaved", "halves"}},
        {"start", kNumbers}}},
      {"window_attention",
       {{"x", "bqkd"}, {"qkv_weight", "td"}, {"qkv_bias", "t"}, {"proj_weight", "dd"}, {"proj_bias", "d"},
        {"relative_position_bias_table", "wh"}},
       {{"num_heads", kNumbers}, {"window_size", kNumbers}, {"shift_size", kNumbers}}},
  };
  return all;
}

std::int64_t pickSize(FuzzedDataProvider& provider) {
  constexpr std::int64_t usual[] = {1, 2, 3, 4, 5, 6, 8, 1, 2, 4, 3, 2, 0};
  constexpr std::int64_t rare[] = {0, 9, 25, std::int64_t{1} << 31, std::int64_t{1} << 40, (std::int64_t{1} << 62) - 1};
  return provider.ConsumeProbability<float>() < 0.97f ? provider.PickValueInArray(usual)
                                                       : provider.PickValueInArray(rare);
}

std::map<char, std::int64_t> pickSizes(FuzzedDataProvider& provider) {
  std::map<char, std::int64_t> sizes;
  for (const char letter : {'b', 'g', 'q', 'k', 'd', 'v', 'n'}) {
    sizes[letter] = pickSize(provider);
  }
  const std::int64_t group = provider.ConsumeIntegralInRange(1, 3);
  constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
  sizes['h'] = sizes['g'] > kLargest / group ? sizes['g'] : sizes['g'] * group;
  sizes['t'] = sizes['d'] > kLargest / 3 ? sizes['d'] : 3 * sizes['d'];
  sizes['w'] = provider.PickValueInArray<std::int64_t>({1, 9, 25});
  return sizes;
}

io::Shape pickShape(FuzzedDataProvider& provider, const std::string& letters,
                    const std::map<char, std::int64_t>& sizes) {
  io::Shape shape;
  for (const char letter : letters) {
    const bool one = letter < 'a' && provider.ConsumeBool();
    shape.push_back(one ? 1 : sizes.at(static_cast<char>(letter | 0x20)));
  }
  if (provider.ConsumeProbability<float>() < 0.02f) {
    shape.resize(provider.ConsumeIntegralInRange<std::size_t>(0, 5), pickSize(provider));
  }
  return shape;
}

// -1 where a file could not hold the tensor, or it would be too large for a test.
std::int64_t smallElementCount(const io::Shape& shape) {
  std::int64_t product = 1;
  bool empty = false;
  for (const std::int64_t size : shape) {
    empty = empty || size == 0;
    if (size > 1 && product > std::numeric_limits<std::int64_t>::max() / 8 / size) {
      return -1;
    }
    product *= std::max<std::int64_t>(size, 1);
  }
  return empty ? 0 : product <= 4096 ? product : -1;
}

// Values that decide something, with what the input has to say mixed in.
TensorData pickTensor(FuzzedDataProvider& provider, DType dtype, const io::Shape& shape, std::int64_t count) {
  std::vector<double> values(static_cast<std::size_t>(count));
  const std::string bytes = provider.ConsumeBytesAsString(provider.ConsumeIntegralInRange<std::size_t>(1, 24));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const int byte = bytes.empty() ? 1 : static_cast<unsigned char>(bytes[i % bytes.size()]);
    if (dtype == DType::U8) {
      values[i] = byte % 3;
    } else if (dtype == DType::I32 || dtype == DType::I64) {
      values[i] = byte < 200 ? std::min<int>(byte % 8, static_cast<int>(i)) : byte - 203;
    } else if (byte >= 252) {
      constexpr double special[] = {kInfinity, -kInfinity, kNan, -3.4028235e38};
      values[i] = special[byte - 252];
    } else {
      values[i] = (byte - 128) / 16.0;
    }
  }
  return TensorData::fromDoubles(dtype, shape, values);
}

DType pickDType(FuzzedDataProvider& provider, const std::string& name, DType floats) {
  if (provider.ConsumeProbability<float>() < 0.01f) {
    return provider.PickValueInArray({DType::F64, DType::I64, DType::U8, DType::I32, DType::F16});
  }
  if (name.find("seqlens") != std::string::npos) {
    return DType::I32;
  }
  return name.find("mask") != std::string::npos               ? DType::U8
         : name == "sink" || name.starts_with("alibi_slopes") ? DType::F32
                                                              : floats;
}

// Empty metadata: nothing that a file could hold came about.
io::Safetensors pickFile(FuzzedDataProvider& provider) {
  const Template& chosen = templates()[provider.ConsumeIntegralInRange<std::size_t>(0, templates().size() - 1)];
  const std::map<char, std::int64_t> sizes = pickSizes(provider);
  const DType floats = provider.PickValueInArray({DType::F32, DType::F16, DType::BF16});
  io::Safetensors file{kPath, {}, {}};
  for (auto [name, letters] : chosen.tensors) {
    if (name.ends_with('?')) {
      name.pop_back();
      if (provider.ConsumeBool()) {
        continue;
      }
    }
    const io::Shape shape = pickShape(provider, letters, sizes);
    const std::int64_t count = smallElementCount(shape);
    if (count < 0) {
      return {};
    }
    file.tensors[name] = pickTensor(provider, pickDType(provider, name, floats), shape, count);
  }
  file.metadata = {{"format", "saccade-case-1"}, {"name", kPath}, {"op", chosen.op}};
  file.metadata["tolerance"] = provider.PickValueInArray({"exact", "fp32", "fp16", "bf16"});
  for (const auto& [key, values] : chosen.metadata) {
    if (provider.ConsumeProbability<float>() < (values == kNumbers ? 0.5f : 0.9f)) {
      file.metadata[key] = values[provider.ConsumeIntegralInRange<std::size_t>(0, values.size() - 1)];
    }
  }
  return file;
}

void runCase(FuzzedDataProvider& provider) {
  io::Safetensors file = pickFile(provider);
  if (file.metadata.empty()) {
    return;
  }
  const reference::CaseOutcome outcome = reference::runCaseOnReference(io::caseFileFrom(file));
  const auto* const results = std::get_if<io::TensorMap>(&outcome);
  if (results == nullptr) {
    return;
  }
  for (const auto& [name, tensor] : *results) {
    file.tensors.insert_or_assign(name, tensor);
  }
  const reference::CaseComparison comparison =
      reference::compareCase(io::caseFileFrom(file), *results, io::PRounding::Fp32);
  for (const reference::TensorComparison& tensor : comparison.tensors) {
    require(tensor.passed || tensor.compared == 0, tensor.tensor + " passes when it is expected: " + tensor.reason);
  }
  require(comparison.missing.empty(), "everything that is expected is among the results");
}

}  // namespace
}  // namespace saccade::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzedDataProvider provider(data, size);
  saccade::fuzz::readOrRefuse([&] { saccade::fuzz::runCase(provider); });
  return 0;
}
