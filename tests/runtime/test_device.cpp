// SPDX-License-Identifier: Apache-2.0
#include "test_device.hpp"

#include <optional>

namespace saccade {
namespace {

std::optional<Device> shared;

// Closes the device before main returns: layers and drivers do not outlive that.
class CloseDevice : public testing::Environment {
 public:
  void TearDown() override { shared.reset(); }
};

const auto* const kCloseDevice = testing::AddGlobalTestEnvironment(new CloseDevice);

}  // namespace

Device testDevice() {
  if (!shared) shared = Device::open({.validation = true});
  return *shared;
}

}  // namespace saccade
