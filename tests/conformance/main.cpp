// SPDX-License-Identifier: Apache-2.0
// Opens the device that SACCADE_DEVICE names, or the best one, and runs all tests on it. Without a device, or
// on another one than SACCADE_EXPECT_DEVICE (a part of its name) says, the program fails: a run that tested
// nothing must not look green.
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "check/check.hpp"
#include "field_cases.hpp"

namespace saccade::conformance {
namespace {

struct RegisteredTest : testing::Test {
  explicit RegisteredTest(std::function<void()> body_) : body(std::move(body_)) {}
  void TestBody() override {
    try {
      body();
    } catch (const Error& error) {
      if (!check::isStatedLimit(error)) throw;
      GTEST_SKIP() << error.what();
    }
  }
  std::function<void()> body;
};

// With SACCADE_VALIDATION=1, a message of the validation layer fails the test during which it came.
class ValidationListener : public testing::EmptyTestEventListener {
 public:
  explicit ValidationListener(const Device& device) : device_(device) {}
  void OnTestStart(const testing::TestInfo&) override { before_ = device_.validationMessageCount(); }
  void OnTestEnd(const testing::TestInfo&) override {
    EXPECT_EQ(device_.validationMessageCount(), before_) << "messages of the validation layer";
  }

 private:
  Device device_;
  std::uint64_t before_ = 0;
};

// What the registered tests run. Kept here and not in the tests' factories, which live until the program ends.
std::vector<std::function<void()>>& testBodies() {
  static std::vector<std::function<void()>> bodies;
  return bodies;
}

int runAll() {
  const Device device = Device::open({.cache = "off"});  // thousands of pipelines that nobody needs again
  const std::string name = device.summary().name;
  std::cout << "Device: " << name << " (" << device.summary().driver << ")"
            << (device.validation() ? ", with validation" : "") << std::endl;
  const char* expected = std::getenv("SACCADE_EXPECT_DEVICE");
  if (expected != nullptr && name.find(expected) == std::string::npos) {
    std::cerr << "SACCADE_EXPECT_DEVICE is \"" << expected << "\", but the device is \"" << name << "\"\n";
    return EXIT_FAILURE;
  }
  registerGuardTests(device);
  registerGoldenCases(device);
  registerVisibilityTests(device);
  registerLengthTests(device);
  registerValueTests(device);
  registerLayoutTests(device);
  registerShapeTests(device);
  registerTileTests(device);
  registerOptionTests(device);
  registerScaleTests(device);
  registerRecordingTests(device);
  registerRefusalTests(device);
  registerQuantisedTests(device);
  registerFieldCases(device);
  // Told of a test's end before the printer is, so that its failure still counts for that test.
  testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
  auto* listener = new ValidationListener(device);
  listeners.Append(listener);
  const int result = RUN_ALL_TESTS();
  // Both hold the device, which must close before main returns: later, the driver and its layers are gone.
  delete listeners.Release(listener);
  testBodies().clear();
  return result;
}

}  // namespace

void registerTest(const char* suite, const std::string& name, std::function<void()> body) {
  const std::size_t index = testBodies().size();
  testBodies().push_back(std::move(body));
  testing::RegisterTest(suite, name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                        [index]() -> testing::Test* { return new RegisteredTest(testBodies()[index]); });
}

}  // namespace saccade::conformance

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  try {
    return saccade::conformance::runAll();
  } catch (const std::exception& error) {
    std::cerr << "No test ran: " << error.what() << '\n';
    return EXIT_FAILURE;
  }
}
