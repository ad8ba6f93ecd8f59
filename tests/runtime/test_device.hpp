// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <saccade/runtime.hpp>

namespace saccade {

// The device that all tests of the program share: SACCADE_DEVICE or the best one, with validation.
Device testDevice();

// Fails the test during which the validation layer had something to say.
class DeviceTest : public testing::Test {
 protected:
  DeviceTest() : device(testDevice()), messagesBefore_(device.validationMessageCount()) {}
  void TearDown() override {
    EXPECT_EQ(device.validationMessageCount(), messagesBefore_) << "validation messages";
  }

  Device device;

 private:
  std::uint64_t messagesBefore_;
};

// 0, 1, 2, ...
inline std::vector<float> counting(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i);
  return values;
}

// Runs `call`, which must throw an Error of `status`, and returns its text.
template <typename Call>
std::string refusal(Status status, Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), status) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "nothing was refused";
  return "";
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace saccade
