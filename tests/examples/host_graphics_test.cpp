// SPDX-License-Identifier: Apache-2.0
// host_graphics on a display without a screen (Xvfb): what it shows, computes, counts, and what the validation layers say.
// Without Xvfb, xdotool or a Vulkan device that can present these tests fail.
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <regex>
#include <sstream>

#include "io/picture.hpp"
#include "io/vit_weights.hpp"
#include "reference/vit.hpp"
#include "unit/temporary_folder.hpp"

namespace saccade {
namespace {

const std::string kSources = SACCADE_SOURCE_DIR;
const std::string kPicture = kSources + "/models/fashion_vit/samples/9_ankle_boot_test0000.png";
const std::string kModel = kSources + "/models/fashion_vit/fashion_vit.safetensors";

struct Result {
  int exitCode = 0;
  std::string output;  // of both streams
};

// An X server without a screen, which chooses a free number for its display. It ends with these tests, however they end.
class Display : public testing::Environment {
 public:
  void SetUp() override {
    int numbers[2];
    ASSERT_EQ(pipe(numbers), 0);
    server_ = fork();
    if (server_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      const std::string descriptor = std::to_string(numbers[1]);
      execlp("Xvfb", "Xvfb", "-displayfd", descriptor.c_str(), "-screen", "0", "1280x800x24", "-nolisten", "tcp", nullptr);
      _exit(127);
    }
    close(numbers[1]);
    FILE* answer = fdopen(numbers[0], "r");
    int number = -1;
    const int found = fscanf(answer, "%d", &number);
    fclose(answer);
    ASSERT_EQ(found, 1) << "Xvfb (package xvfb) does not start";
    setenv("DISPLAY", (":" + std::to_string(number)).c_str(), 1);
    unsetenv("WAYLAND_DISPLAY");
  }
  void TearDown() override {
    if (server_ > 0) kill(server_, SIGTERM);
    if (server_ > 0) waitpid(server_, nullptr, 0);
  }

 private:
  pid_t server_ = 0;
};

const auto* const kDisplay = testing::AddGlobalTestEnvironment(new Display);

// Runs a shell command; ends it after a minute.
Result shell(const std::string& command) {
  const std::string line = "timeout -k 5 60 sh -c '" + command + "' 2>&1";
  FILE* pipe = popen(line.c_str(), "r");
  Result result;
  for (char part[4096]; const std::size_t count = fread(part, 1, sizeof part, pipe);) result.output.append(part, count);
  const int status = pclose(pipe);
  result.exitCode = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return result;
}

std::vector<double> valuesAfter(const std::string& output, const std::string& name) {
  std::istringstream line(output.substr(std::min(output.size(), output.find(name) + name.size())));
  std::vector<double> values;
  for (double value = 0; line.peek() != '\n' && line >> value;) values.push_back(value);
  return values;
}

double meanDifference(const io::Picture& a, const io::Picture& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.pixels.size(); ++i) sum += std::abs(static_cast<double>(a.pixels[i]) - b.pixels[i]);
  return sum / static_cast<double>(a.pixels.size());
}

// One run serves the tests that look at it.
class HostGraphics : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    screenshot_ = *folder_ / "screenshot.png";
    result_ = shell(HOST_GRAPHICS " --frames 30 --head 4 --screenshot " + screenshot_);
  }
  static void TearDownTestSuite() { delete folder_; }

  void SetUp() override { ASSERT_EQ(result_.exitCode, 0) << result_.output; }

  static inline TemporaryFolder* folder_ = nullptr;
  static inline std::string screenshot_;
  static inline Result result_;
};

TEST_F(HostGraphics, SubmitsOncePerFrameAndCopiesNothingToTheCpu) {
  EXPECT_TRUE(std::regex_search(result_.output, std::regex("30 frames, median [0-9.]+ ms .*; 30 submits, 0 copies to the CPU")))
      << result_.output;
}

// Patches, 31 operators of Saccade and their barriers, against double precision: the weights of the last block's class token.
TEST_F(HostGraphics, ComputesWhatTheScalarPathDoes) {
  const io::VitWeights weights = io::readVitWeights(kModel);
  const io::Picture picture = io::readPicture(kPicture);
  const std::vector<float> values = io::normalise(picture, weights.config.mean, weights.config.std);
  const std::vector<double> image(values.begin(), values.end());
  const auto expected = reference::vitForward<double>(
      weights, image, {{1, picture.channels, picture.height, picture.width}, weights.config.depth - 1});
  for (std::int64_t head = 0; head < weights.config.numHeads; ++head) {
    const std::vector<double> row = valuesAfter(result_.output, "attention of head " + std::to_string(head + 1) + ":");
    ASSERT_EQ(row.size(), static_cast<std::size_t>(expected.seqlen)) << result_.output;
    for (std::int64_t token = 0; token < expected.seqlen; ++token) {
      const double right = expected.probs[static_cast<std::size_t>(head * expected.seqlen * expected.seqlen + token)];
      EXPECT_NEAR(row[static_cast<std::size_t>(token)], right, 1e-6 + 1e-4 * right)
          << "head " << head + 1 << ", token " << token;
    }
  }
  const std::vector<double> logits = valuesAfter(result_.output, "logits of picture 1:");
  ASSERT_EQ(logits.size(), expected.logits.size()) << result_.output;
  for (std::size_t i = 0; i < logits.size(); ++i) EXPECT_NEAR(logits[i], expected.logits[i], 5e-5) << "class " << i;
}

// Drivers filter and rasterise a little differently: on average a channel may be off by 1 of 255, and one channel in 1,000 by
// more than 16.
TEST_F(HostGraphics, ShowsThePictureOfTheDocumentation) {
  const io::Picture shown = io::toRgb(io::readPicture(screenshot_));
  const io::Picture expected = io::toRgb(io::readPicture(kSources + "/docs/images/host_graphics.png"));
  ASSERT_EQ(shown.width, expected.width);
  ASSERT_EQ(shown.height, expected.height);
  EXPECT_LE(meanDifference(shown, expected), 1.0);
  std::size_t far = 0;
  for (std::size_t i = 0; i < shown.pixels.size(); ++i) far += std::abs(shown.pixels[i] - expected.pixels[i]) > 16 ? 1 : 0;
  EXPECT_LE(far, shown.pixels.size() / 1000);
}

// What a command begins with, so that the layers look at it, and the loader says that they do.
#define VALIDATION "export VK_INSTANCE_LAYERS=VK_LAYER_KHRONOS_validation VK_LOADER_DEBUG=layer; " \
                   "export VK_KHRONOS_VALIDATION_VALIDATE_SYNC=true; "

void expectSilence(const Result& result) {
  EXPECT_NE(result.output.find("Insert instance layer \"VK_LAYER_KHRONOS_validation\""), std::string::npos) << result.output;
  EXPECT_FALSE(std::regex_search(result.output, std::regex("VUID-|SYNC-HAZARD|Validation (Error|Warning)"))) << result.output;
}

// From head 0 by key to head 4, in a window that becomes smaller: then it looks like the first run, but for its size.
TEST_F(HostGraphics, FollowsKeysAndTheSizeOfTheWindow) {
  const std::string screenshot = *folder_ / "smaller.png";
  const Result result = shell(
      VALIDATION HOST_GRAPHICS " --screenshot " + screenshot +
      " & window=$(xdotool search --sync --onlyvisible --name Saccade) && xdotool windowfocus --sync $window "
      "key 9 key 4 windowsize --sync $window 500 300 sleep 1 key Escape; wait $!");
  ASSERT_EQ(result.exitCode, 0) << result.output;
  expectSilence(result);
  const io::Picture shown = io::toRgb(io::readPicture(screenshot));
  ASSERT_EQ(shown.width, 500);
  ASSERT_EQ(shown.height, 300);
  EXPECT_LE(meanDifference(shown, io::toRgb(io::resize(io::readPicture(screenshot_), 500, 300))), 3.0);
}

TEST_F(HostGraphics, LeavesTheValidationLayersNothingToSay) {
  const Result result = shell(VALIDATION HOST_GRAPHICS " --frames 10 --screenshot " + (*folder_ / "it.png").string());
  ASSERT_EQ(result.exitCode, 0) << result.output;
  expectSilence(result);
}

TEST(HostGraphicsErrors, NameWhatIsWrong) {
  const auto expectRefusal = [](const std::string& arguments, const std::string& text) {
    const Result result = shell(HOST_GRAPHICS " --frames 1 " + arguments);
    EXPECT_NE(result.exitCode, 0) << arguments;
    EXPECT_NE(result.output.find(text), std::string::npos) << arguments << ": " << result.output;
  };
  expectRefusal("--head 5", "the model has 4 heads");
  expectRefusal("--model " + kPicture, kPicture + " is not a safetensors file");
  expectRefusal("--picture " + kModel, kModel + " cannot be read");
  expectRefusal("--colour red", "--colour");
}

}  // namespace
}  // namespace saccade
