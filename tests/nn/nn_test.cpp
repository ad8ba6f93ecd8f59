// SPDX-License-Identifier: Apache-2.0
#include "nn_test.hpp"

#include <map>
#include <random>

namespace saccade::nn {
namespace {

std::map<std::string, Device> devices;

// Closes the devices before main returns: layers and drivers do not outlive that.
class CloseDevices : public testing::Environment {
 public:
  void TearDown() override { devices.clear(); }
};

const auto* const kCloseDevices = testing::AddGlobalTestEnvironment(new CloseDevices);

}  // namespace

Device testDevice(const std::string& kernel) {
  const auto found = devices.find(kernel);
  if (found != devices.end()) {
    return found->second;
  }
  return devices.emplace(kernel, Device::open({.kernel = kernel, .validation = true})).first->second;
}

std::vector<float> randomValues(std::size_t count, std::uint32_t seed, float scale) {
  std::mt19937 generator(seed);
  std::vector<float> values(count);
  for (float& value : values) {
    // The distributions of the standard library differ from one to the next.
    value = scale * (static_cast<float>(generator() >> 8) / 8388608.0f - 1.0f);
  }
  return values;
}

io::TensorData downloaded(const Tensor& tensor, const io::Shape& shape) {
  return io::TensorData::fromFloats(io::DType::F32, shape, tensor.download());
}

void expectNear(const std::string& name, const Tensor& result, const io::Shape& shape,
                std::span<const double> expected, const reference::TensorTolerance& tolerance) {
  const auto comparison =
      reference::compareTensor(name, downloaded(result, shape),
                               io::TensorData::fromDoubles(io::DType::F64, shape, expected), tolerance);
  EXPECT_TRUE(comparison.passed) << comparison.reason;
  testing::Test::RecordProperty(name + "_error_by_tolerance", std::to_string(comparison.ratio));
}

}  // namespace saccade::nn
