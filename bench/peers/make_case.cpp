// SPDX-License-Identifier: Apache-2.0
// Writes one attention call as case files: random inputs, what is right for them in double precision, and how far
// a result may be off. DIR/NAME.f32.safetensors is for contestants that compute in fp32, DIR/NAME.f16.safetensors
// for those that keep keys and values in fp16. Both hold the same values, all of which fp16 represents, so every
// contestant gets the same inputs to the bit, and only the tolerances differ.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include "check/random.hpp"
#include "io/attention_case.hpp"
#include "io/case_file.hpp"
#include "reference/attention.hpp"
#include "reference/tolerance.hpp"

namespace {

using saccade::io::DType;
using saccade::io::TensorData;

struct CaseShape {
  std::string name;
  std::int64_t batch = 1, heads = 1, headsKv = 1, seqlenQ = 1, seqlenK = 1, headDim = 64;
  bool causal = false;
  bool lengths = false;  // batch entries have 4, 3, 2 and 1 quarters of the queries and keys, in turns
};

// Of mean 0 and variance 1, as after a layer norm.
TensorData randomTensor(const saccade::io::Shape& shape, std::uint64_t stream) {
  saccade::check::Random random(1, stream);
  std::vector<double> values(static_cast<std::size_t>(saccade::io::elementCount(shape)));
  for (double& value : values) {
    value = random.normal();
  }
  return TensorData::fromDoubles(DType::F16, shape, values);
}

saccade::io::TensorMap inputsOf(const CaseShape& s) {
  saccade::io::TensorMap inputs{{"q", randomTensor({s.batch, s.heads, s.seqlenQ, s.headDim}, 1)},
                                {"k", randomTensor({s.batch, s.headsKv, s.seqlenK, s.headDim}, 2)},
                                {"v", randomTensor({s.batch, s.headsKv, s.seqlenK, s.headDim}, 3)}};
  if (s.lengths) {
    const auto lengths = [&](std::int64_t full) {
      std::vector<double> values;
      for (std::int64_t b = 0; b < s.batch; ++b) {
        values.push_back(static_cast<double>(full * (4 - b % 4) / 4));
      }
      return TensorData::fromDoubles(DType::I32, {s.batch}, values);
    };
    inputs["seqlens_q"] = lengths(s.seqlenQ);
    inputs["seqlens_k"] = lengths(s.seqlenK);
  }
  return inputs;
}

void makeCases(const CaseShape& s, const std::filesystem::path& folder) {
  saccade::io::CaseFile file;
  file.name = s.name;
  file.op = "attention";
  file.metadata = {{"causal", s.causal ? "bottom_right" : "none"}};
  file.inputs = inputsOf(s);
  const saccade::reference::OwnedProblem owned =
      saccade::reference::problemFromCase(saccade::io::readAttentionCase(file));
  const saccade::reference::AttentionResult expected = saccade::reference::attention(owned.problem);

  for (const DType dtype : {DType::F32, DType::F16}) {
    const auto tolerances = saccade::reference::attentionTolerances(owned.problem, dtype, expected);
    saccade::io::TensorMap tensors = file.inputs;
    for (const char* name : {"q", "k", "v"}) {
      tensors[name] = tensors[name].converted(dtype);
    }
    tensors["out"] =
        TensorData::fromDoubles(DType::F64, {s.batch, s.heads, s.seqlenQ, s.headDim}, expected.out);
    const std::string suffix = dtype == DType::F32 ? "f32" : "f16";
    saccade::io::Metadata metadata = file.metadata;
    metadata["format"] = "saccade-case-1";
    metadata["name"] = s.name + "." + suffix;
    metadata["op"] = file.op;
    metadata["tolerance"] = dtype == DType::F32 ? "fp32" : "fp16";
    metadata["atol_out"] = fmt::format("{}", tolerances.out.absolute);
    metadata["atol_out_rounded_p"] = fmt::format("{}", tolerances.outRoundedP.absolute);
    saccade::io::writeSafetensors(folder / (metadata["name"] + ".safetensors"), tensors, metadata);
  }
}

}  // namespace

int main(int argc, char** argv) {
  CaseShape shape;
  std::string folder;
  CLI::App app("Writes an attention call with its expected result for the comparison with other libraries");
  app.add_option("name", shape.name, "What the files are called")->required();
  app.add_option("folder", folder, "Where they go; it must exist")->required()->check(CLI::ExistingDirectory);
  const auto addSize = [&](const char* name, std::int64_t& value) {
    app.add_option(name, value)->check(CLI::Range(1, 1 << 20));
  };
  addSize("--batch", shape.batch);
  addSize("--heads", shape.heads);
  addSize("--heads-kv", shape.headsKv);
  addSize("--seqlen-q", shape.seqlenQ);
  addSize("--seqlen-k", shape.seqlenK);
  addSize("--head-dim", shape.headDim);
  app.add_flag("--causal", shape.causal, "A query sees the keys up to its own, counted from the end");
  app.add_flag("--lengths", shape.lengths, "Batch entries of different lengths");
  CLI11_PARSE(app, argc, argv);
  try {
    makeCases(shape, folder);
  } catch (const std::exception& error) {
    fmt::print(stderr, "peer_make_case: {}\n", error.what());
    return 1;
  }
  return 0;
}
