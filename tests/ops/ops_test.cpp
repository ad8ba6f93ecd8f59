// SPDX-License-Identifier: Apache-2.0
#include "ops_test.hpp"

#include <optional>

#include "reference/tolerance.hpp"

namespace saccade::ops_test {
namespace {

std::optional<Device> shared;

// Closes the device before main returns: layers and drivers do not outlive that.
class CloseDevice : public testing::Environment {
 public:
  void TearDown() override { shared.reset(); }
};

const auto* const kCloseDevice = testing::AddGlobalTestEnvironment(new CloseDevice);

Device openOnce() {
  if (!shared) shared = Device::open({.validation = true});
  return *shared;
}

}  // namespace

OpsTest::OpsTest() : device(openOnce()), messagesBefore_(device.validationMessageCount()) {}

void OpsTest::TearDown() {
  EXPECT_EQ(device.validationMessageCount(), messagesBefore_) << "validation messages";
}

Tensor OpsTest::random(Dtype dtype, const Shape& shape, float mean) {
  std::normal_distribution<float> normal(mean);
  std::size_t count = 1;
  for (const std::int64_t size : shape) count *= static_cast<std::size_t>(size);
  Values values(count);
  for (float& value : values) value = normal(generator);
  guarded_.push_back(Tensor::from(device, dtype, shape, values, {.guard = true}));
  return guarded_.back();
}

Tensor OpsTest::output(Dtype dtype, const Shape& shape) const {
  guarded_.push_back(Tensor::empty(device, dtype, shape, {.guard = true}));
  return guarded_.back();
}

void OpsTest::requireKernel(const char* kernel) {
  for (const KernelInfo& known : device.kernels()) {
    if (std::string_view(known.name) == kernel && known.supported == VK_FALSE) GTEST_SKIP() << kernel << ": " << known.reason;
  }
}

void OpsTest::finish(Stream& stream) const {
  stream.wait();
  for (const Tensor& tensor : guarded_) EXPECT_TRUE(tensor.guardsIntact());
  guarded_.clear();
}

io::DType storage(Dtype dtype) {
  return dtype == Dtype::F32 ? io::DType::F32 : dtype == Dtype::F16 ? io::DType::F16 : io::DType::BF16;
}

std::string dtypeText(Dtype dtype) {
  return dtype == Dtype::F32 ? "f32" : dtype == Dtype::F16 ? "f16" : "bf16";
}

std::vector<MatmulVariant> matmulVariants() {
  std::vector<MatmulVariant> variants;
  for (const char* kernel : {"matmul_rows", "matmul_tiled"}) {
    for (const Dtype dtype : {Dtype::F32, Dtype::F16, Dtype::BF16}) variants.push_back({kernel, dtype});
  }
  variants.push_back({"matmul_coopmat", Dtype::F16});
  return variants;
}

std::string matmulVariantName(const testing::TestParamInfo<MatmulVariant>& variant) {
  return std::string(variant.param.kernel) + "_" + dtypeText(variant.param.dtype);
}

std::string dtypeName(const testing::TestParamInfo<Dtype>& dtype) { return dtypeText(dtype.param); }

Doubles doubles(const Values& values) { return {values.begin(), values.end()}; }

Doubles doubles(const Tensor& tensor) { return doubles(tensor.download()); }

void expectClose(const Tensor& result, const Doubles& expected, const Values& plain, double magnitude,
                 const std::string& what) {
  const std::vector<Doubles> plainResults{doubles(plain)};
  const auto tolerance =
      reference::toleranceFromPlain(storage(result.dtype()), expected, plainResults, magnitude);
  const auto got = io::TensorData::fromFloats(storage(result.dtype()), result.shape(), result.download());
  const auto want = io::TensorData::fromDoubles(io::DType::F64, result.shape(), expected);
  const reference::TensorComparison comparison = reference::compareTensor("out", got, want, tolerance);
  EXPECT_TRUE(comparison.passed) << what << ": " << comparison.reason;
}

}  // namespace saccade::ops_test
