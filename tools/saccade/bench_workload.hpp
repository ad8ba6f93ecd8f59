// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <saccade/runtime.hpp>

#include "io/tensor_data.hpp"

// What is measured: by `saccade bench`, and by the Google Benchmark program in bench/.

namespace saccade::tool {

// The error of the output that was timed, against the scalar path in double precision.
struct Accuracy {
  double error = 0;    // the largest |difference|
  double allowed = 0;  // where it lies closest to its tolerance
  bool passed = false;
  std::string sample;  // what was compared, e.g. "32 sampled rows"
};

// Inputs on a device and the operators to run on them.
class Workload {
 public:
  Workload(std::string op, std::string name, std::string shape)
      : op_(std::move(op)), name_(std::move(name)), shape_(std::move(shape)) {}
  virtual ~Workload() = default;
  Workload(const Workload&) = delete;
  Workload& operator=(const Workload&) = delete;

  const std::string& op() const { return op_; }        // "attention"
  const std::string& name() const { return name_; }    // "S3"
  const std::string& shape() const { return shape_; }  // "B1 H3 T1024 D64"

  virtual void record(Stream& stream) = 0;  // one run

  // What could compute it here, the built-in choice first; nothing where there is no choice. useKernel makes later runs use
  // one of them.
  virtual std::vector<Candidate> candidates() const { return {}; }
  virtual void useKernel(const std::string&) {}

  // After the first run:
  virtual std::string kernel() const = 0;
  virtual double flops() const = 0;
  virtual double bytes() const = 0;  // inputs read and outputs written once
  // Those that the result depends on: less than flops() where padding is counted there.
  virtual double usefulFlops() const { return flops(); }
  // Device memory that the workload itself holds beyond inputs and outputs.
  virtual std::uint64_t intermediateBytes() const { return 0; }
  // Waits for nothing: whatever was recorded must have finished.
  virtual Accuracy check() const = 0;

 private:
  std::string op_, name_, shape_;
};

struct AttentionShape {
  std::string name;
  std::string standsFor;  // "ViT-Tiny"; may be empty
  std::int64_t batch = 1, heads = 1, headsKv = 1, seqlenQ = 128, seqlenK = 128, headDim = 64, headDimV = 64;
  Causal causal = Causal::None;
  std::int64_t windowLeft = -1, windowRight = -1;
  // Of the keys of each batch entry, and of its queries where seqlenQ == seqlenK; empty: all are full.
  std::vector<std::int32_t> lengths = {};
  std::optional<io::DType> kvDtype = {};  // of quantised keys and values
  std::int64_t scaleBlock = 0;            // tokens that share a scale; 0: all
  bool fused = true;  // false: a matrix product, softmax and a matrix product, with all scores in memory
};

struct MatmulShape {
  std::string name;
  std::string standsFor = {};
  std::int64_t m = 1024, n = 1024, k = 1024;
};

struct LayerNormShape {
  std::string name;
  std::string standsFor = {};
  std::int64_t rows = 197, channels = 768;
};

// Pictures of 224 x 224 in patches of 16, 1000 classes, random weights.
struct VitShape {
  std::string name;
  std::string standsFor = {};
  std::int64_t batch = 1, embedDim = 192, depth = 12, heads = 3;
};

// Throw Error or MemoryShortage (bench_memory.hpp). A kernel is forced by the device (DeviceOptions::kernel).
std::unique_ptr<Workload> makeWorkload(const Device& device, const AttentionShape& shape, io::DType dtype);
std::unique_ptr<Workload> makeWorkload(const Device& device, const MatmulShape& shape, io::DType dtype);
std::unique_ptr<Workload> makeWorkload(const Device& device, const LayerNormShape& shape, io::DType dtype);
std::unique_ptr<Workload> makeWorkload(const Device& device, const VitShape& shape, io::DType dtype);

// Throws Error or MemoryShortage where makeWorkload would, before anything is allocated: what a device, a kernel or its
// memory cannot do.
void requireWorkload(const Device& device, const AttentionShape& shape, io::DType dtype);
void requireWorkload(const Device& device, const MatmulShape& shape, io::DType dtype);
void requireWorkload(const Device& device, const LayerNormShape& shape, io::DType dtype);
void requireWorkload(const Device& device, const VitShape& shape, io::DType dtype);

// Uniform in [-width, width], rounded to dtype; the same for the same seed.
io::TensorData randomTensor(io::DType dtype, const io::Shape& shape, std::uint64_t seed,
                            double width = 1.7320508);

// Rows of a result that are compared with the scalar path.
inline constexpr std::int64_t kSampledRows = 32;

// `count` numbers below `total`, evenly spread and with both ends; all of them if there are no more.
std::vector<std::int64_t> sampledIndices(std::int64_t total, std::int64_t count);
std::string sampleText(const std::vector<std::int64_t>& rows);  // "32 sampled rows"

}  // namespace saccade::tool
