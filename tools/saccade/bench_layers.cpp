// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "bench_memory.hpp"
#include "bench_workload.hpp"
#include "check/dtype.hpp"
#include "reference/compare.hpp"
#include "reference/ops.hpp"
#include "reference/tolerance.hpp"

namespace saccade::tool {

namespace {

template <typename Value>
std::vector<Value> rowsOf(const std::vector<Value>& all, const std::vector<std::int64_t>& rows,
                          std::int64_t width) {
  std::vector<Value> chosen;
  for (const std::int64_t row : rows) {
    chosen.insert(chosen.end(), all.begin() + row * width, all.begin() + (row + 1) * width);
  }
  return chosen;
}

std::vector<double> widened(const std::vector<float>& values) { return {values.begin(), values.end()}; }

// Rows of a result against the double-precision rows, with the tolerance that plain fp32 sets.
Accuracy compareRows(const std::vector<double>& got, const std::vector<double>& expected,
                     const std::vector<float>& plain, io::DType dtype,
                     const std::vector<std::int64_t>& rows) {
  const io::Shape shape = {static_cast<std::int64_t>(expected.size())};
  const std::vector<double> plainResults[] = {widened(plain)};
  const auto tolerance =
      reference::toleranceFromPlain(dtype, expected, plainResults, reference::largestMagnitude(expected));
  const auto comparison =
      reference::compareTensor("out", io::TensorData::fromDoubles(io::DType::F64, shape, got),
                               io::TensorData::fromDoubles(io::DType::F64, shape, expected), tolerance);
  return {comparison.error, comparison.allowed, comparison.passed, sampleText(rows)};
}

std::string shapeText(const MatmulShape& s) { return fmt::format("M{} N{} K{}", s.m, s.n, s.k); }
std::string shapeText(const LayerNormShape& s) { return fmt::format("rows {} channels {}", s.rows, s.channels); }

// For a plan that refuses before gigabytes of inputs are made up.
TensorDesc descOf(io::DType dtype, std::int64_t rows, std::int64_t columns) {
  return {.dtype = check::deviceDtype(dtype), .sizes = {1, 1, rows, columns}};
}

// One operator with one plan, whose output is [rows, width].
class LayerWorkload : public Workload {
 public:
  using Workload::Workload;
  std::string kernel() const override { return plan_->info().kernel; }
  double flops() const override { return plan_->info().flops; }
  double bytes() const override { return plan_->info().bytes; }

 protected:
  static Tensor upload(const Device& device, const io::TensorData& data) {
    return Tensor::fromBytes(device, check::deviceDtype(data.dtype()), data.shape(), data.bytes());
  }
  std::vector<double> downloadRows(const std::vector<std::int64_t>& rows) const {
    return rowsOf(check::download(out_, out_.shape()).toDoubles(), rows, out_.size(-1));
  }

  Tensor out_;
  PlanPtr plan_;
};

class MatmulWorkload final : public LayerWorkload {
 public:
  MatmulWorkload(const Device& device, const MatmulShape& shape, io::DType dtype)
      : LayerWorkload("matmul", shape.name, shapeText(shape)),
        s_(shape),
        a_(randomTensor(dtype, {s_.m, s_.k}, 1)),
        weight_(randomTensor(dtype, {s_.n, s_.k}, 2)),
        deviceA_(upload(device, a_)),
        deviceWeight_(upload(device, weight_)) {
    out_ = Tensor::empty(device, deviceA_.dtype(), {s_.m, s_.n});
  }

  void record(Stream& stream) override { plan_ = stream.matmul(deviceA_, deviceWeight_, out_, {.kernel = kernel_}); }
  std::vector<Candidate> candidates() const override {
    return deviceA_.device().context().candidates(describeMatmul(deviceA_, deviceWeight_, out_));
  }
  void useKernel(const std::string& kernel) override { kernel_ = kernel; }

  Accuracy check() const override {
    const std::vector<std::int64_t> rows = sampledIndices(s_.m, kSampledRows);
    const auto count = static_cast<std::int64_t>(rows.size());
    const auto expected = reference::matmul<double>(rowsOf(a_.toDoubles(), rows, s_.k), weight_.toDoubles(),
                                                    reference::WeightLayout::Nk, {}, count, s_.n, s_.k);
    const auto plain = reference::matmul<float>(rowsOf(a_.toFloats(), rows, s_.k), weight_.toFloats(),
                                                reference::WeightLayout::Nk, {}, count, s_.n, s_.k);
    return compareRows(downloadRows(rows), expected, plain, a_.dtype(), rows);
  }

 private:
  MatmulShape s_;
  io::TensorData a_, weight_;
  Tensor deviceA_, deviceWeight_;
  std::string kernel_;
};

class LayerNormWorkload final : public LayerWorkload {
 public:
  LayerNormWorkload(const Device& device, const LayerNormShape& shape, io::DType dtype)
      : LayerWorkload("layernorm", shape.name, shapeText(shape)),
        s_(shape),
        x_(randomTensor(dtype, {s_.rows, s_.channels}, 1)),
        weight_(randomTensor(dtype, {s_.channels}, 2)),
        bias_(randomTensor(dtype, {s_.channels}, 3)),
        deviceX_(upload(device, x_)) {
    options_ = {.weight = upload(device, weight_), .bias = upload(device, bias_)};
    out_ = Tensor::empty(device, deviceX_.dtype(), {s_.rows, s_.channels});
  }

  void record(Stream& stream) override { plan_ = stream.layerNorm(deviceX_, out_, options_); }

  Accuracy check() const override {
    const std::vector<std::int64_t> rows = sampledIndices(s_.rows, kSampledRows);
    const auto count = static_cast<std::int64_t>(rows.size());
    const auto epsilon = static_cast<double>(options_.epsilon);
    const auto expected = reference::layerNorm<double>(rowsOf(x_.toDoubles(), rows, s_.channels),
                                                       weight_.toDoubles(), bias_.toDoubles(), count,
                                                       s_.channels, epsilon);
    const auto plain = reference::layerNorm<float>(rowsOf(x_.toFloats(), rows, s_.channels),
                                                   weight_.toFloats(), bias_.toFloats(), count, s_.channels,
                                                   epsilon);
    return compareRows(downloadRows(rows), expected, plain, x_.dtype(), rows);
  }

 private:
  LayerNormShape s_;
  io::TensorData x_, weight_, bias_;
  Tensor deviceX_;
  LayerNormOptions options_;
};

}  // namespace

void requireWorkload(const Device& device, const MatmulShape& shape, io::DType dtype) {
  device.plan(MatmulDesc{.a = descOf(dtype, shape.m, shape.k), .b = descOf(dtype, shape.n, shape.k)});
  const std::uint64_t inputs = static_cast<std::uint64_t>((shape.m + shape.n) * shape.k) * io::dtypeSize(dtype);
  const std::uint64_t output = static_cast<std::uint64_t>(shape.m * shape.n) * io::dtypeSize(dtype);
  requireMemory(device, shapeText(shape), inputs + output, inputs + output);
}

void requireWorkload(const Device& device, const LayerNormShape& shape, io::DType dtype) {
  const TensorDesc perChannel = descOf(dtype, 1, shape.channels);
  device.plan(LayerNormDesc{
      .x = descOf(dtype, shape.rows, shape.channels), .weight = perChannel, .bias = perChannel});
  const std::uint64_t bytes = 2 * static_cast<std::uint64_t>(shape.rows * shape.channels) * io::dtypeSize(dtype);
  requireMemory(device, shapeText(shape), bytes, bytes);
}

std::unique_ptr<Workload> makeWorkload(const Device& device, const MatmulShape& shape, io::DType dtype) {
  requireWorkload(device, shape, dtype);
  return std::make_unique<MatmulWorkload>(device, shape, dtype);
}

std::unique_ptr<Workload> makeWorkload(const Device& device, const LayerNormShape& shape, io::DType dtype) {
  requireWorkload(device, shape, dtype);
  return std::make_unique<LayerNormWorkload>(device, shape, dtype);
}

}  // namespace saccade::tool
