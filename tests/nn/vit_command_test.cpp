// SPDX-License-Identifier: Apache-2.0
// `saccade vit` from outside: exit codes, what it prints, the files it leaves.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "io/picture.hpp"
#include "small_model.hpp"
#include "tool/program.hpp"
#include "unit/temporary_folder.hpp"

namespace saccade::test {
namespace {

using nlohmann::json;
using namespace std::string_literals;

const std::filesystem::path kFashion = SACCADE_MODELS "/fashion_vit";

class VitCommand : public testing::Test {
 protected:
  VitCommand() {
    for (const auto& entry : std::filesystem::directory_iterator(kFashion / "samples")) {
      samples.push_back(entry.path().string());
    }
    std::sort(samples.begin(), samples.end());
  }

  static ProgramResult vit(const std::string& model, const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"vit", "--model", model};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return saccade(arguments);
  }

  // The class of a sample is the number that its name starts with.
  static int classOf(const std::string& sample) { return std::stoi(std::filesystem::path(sample).filename()); }

  void expectRefused(const std::string& model, const std::vector<std::string>& more, const std::string& reason) {
    const ProgramResult result = vit(model, more);
    EXPECT_EQ(result.exitCode, 2) << testing::PrintToString(more) << result.err;
    EXPECT_TRUE(contains(result.err, reason));
    EXPECT_EQ(result.out, "");
  }

  // The samples as a data set: idx files of images and labels.
  std::string images() const {
    std::string file = "\0\0\x08\x03\0\0\0\x0a\0\0\0\x1c\0\0\0\x1c"s;
    for (const std::string& sample : samples) {
      const io::Picture picture = io::readPicture(sample);
      file.append(picture.pixels.begin(), picture.pixels.end());
    }
    return folder.file("images", file);
  }
  std::string classes() const {
    std::string bytes;
    for (const std::string& sample : samples) {
      bytes += static_cast<char>(classOf(sample));
    }
    return bytes;
  }

  std::string smallBackbone(const std::string& without = "") const {
    io::Safetensors file = smallDinov2("dinov2.");
    file.tensors.erase(without);
    const std::filesystem::path path = folder / "small.safetensors";
    io::writeSafetensors(path, file.tensors, file.metadata);
    return path;
  }

  TemporaryFolder folder;
  std::vector<std::string> samples;
  std::string fashion = kFashion / "fashion_vit.safetensors";
};

TEST_F(VitCommand, NamesTheClassesOfTheSamplesAndDrawsTheirAttention) {
  std::vector<std::string> arguments = samples;
  const std::filesystem::path maps = folder / "maps/of/samples";
  arguments.insert(arguments.end(), {"--attention", maps, "--json", "--top", "2", "--batch", "3"});
  const ProgramResult result = vit(fashion, arguments);
  ASSERT_EQ(result.exitCode, 0) << result.err;
  const json pictures = json::parse(result.out)["pictures"];
  ASSERT_EQ(pictures.size(), 10u);
  for (std::size_t n = 0; n < 10; ++n) {
    EXPECT_EQ(pictures[n]["picture"], samples[n]);
    ASSERT_EQ(pictures[n]["classes"].size(), 2u);
    EXPECT_EQ(pictures[n]["classes"][0]["class"], classOf(samples[n])) << samples[n];
    EXPECT_GT(pictures[n]["classes"][0]["probability"], pictures[n]["classes"][1]["probability"]);
    // The picture, four heads and their mean, each enlarged eight times, with gaps of four pixels.
    const io::Picture map = io::readPicture(pictures[n]["attention"].get<std::string>());
    EXPECT_EQ(map.width, 6 * 224 + 5 * 4);
    EXPECT_EQ(map.height, 224);
  }
}

TEST_F(VitCommand, PrintsTheSameForPeople) {
  const ProgramResult result = vit(fashion, {samples[9], "--top", "1"});
  EXPECT_EQ(result.exitCode, 0);
  EXPECT_TRUE(startsWith(result.out, samples[9] + "\n"));
  EXPECT_TRUE(contains(result.out, " %  Ankle boot\n"));
}

TEST_F(VitCommand, GivesEveryPictureAMapOfItsOwn) {
  std::filesystem::create_directory(folder / "other");
  const std::string copy = folder / "other" / std::filesystem::path(samples[0]).filename();
  std::filesystem::copy_file(samples[0], copy);
  const ProgramResult result = vit(fashion, {samples[0], copy, "--attention", folder / "maps", "--json"});
  ASSERT_EQ(result.exitCode, 0) << result.err;
  const json pictures = json::parse(result.out)["pictures"];
  EXPECT_NE(pictures[0]["attention"], pictures[1]["attention"]);
  EXPECT_TRUE(std::filesystem::exists(pictures[1]["attention"].get<std::string>()));
}

TEST_F(VitCommand, TellsWhichPicturesAreAlikeIfTheModelHasNoClasses) {
  const ProgramResult result =
      vit(smallBackbone(), {samples[0], samples[0], samples[1], "--attention", folder / "maps", "--json"});
  ASSERT_EQ(result.exitCode, 0) << result.err;
  const json pictures = json::parse(result.out)["pictures"];
  EXPECT_GT(pictures[0]["feature_norm"], 0.0);
  EXPECT_EQ(pictures[0]["nearest"]["picture"], samples[0]);
  EXPECT_NEAR(pictures[0]["nearest"]["cosine_similarity"].get<double>(), 1.0, 1e-6);
  EXPECT_LT(pictures[2]["nearest"]["cosine_similarity"].get<double>(), 1.0);
  EXPECT_EQ(io::readPicture(pictures[0]["attention"].get<std::string>()).width, 5 * 224 + 4 * 4);
}

TEST_F(VitCommand, TakesPicturesOfTheSizeThatIsAskedFor) {
  const ProgramResult result =
      vit(smallBackbone(), {samples[0], "--size", "300", "--attention", folder / "maps", "--json"});
  ASSERT_EQ(result.exitCode, 0) << result.err;
  EXPECT_EQ(io::readPicture(folder / "maps" / std::filesystem::path(samples[0]).filename()).height, 300);
  expectRefused(smallBackbone(), {samples[0], "--size", "301"},
                "--size: 301 is not a multiple of the patch size 4; 300 is");
}

TEST_F(VitCommand, LooksAtAPictureToItsEdgesIfAskedTo) {
  const auto pixelsOf = [&](const std::vector<std::string>& more) {
    io::writePng(folder / "wide.png", io::resize(io::readPicture(samples[0]), 36, 30));
    std::vector<std::string> arguments = {folder / "wide.png", "--attention", folder / "maps"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    EXPECT_EQ(vit(fashion, arguments).exitCode, 0);
    return io::readPicture(folder / "maps/wide.png").pixels;
  };
  EXPECT_EQ(pixelsOf({}), pixelsOf({"--crop", "0.875"}));
  EXPECT_NE(pixelsOf({}), pixelsOf({"--crop", "1"}));
}

TEST_F(VitCommand, ClassifiesADataSetAndCountsAgreement) {
  const std::string labels = folder.file("labels", "\0\0\x08\x01\0\0\0\x0a"s + classes());
  std::string expected = classes();
  const std::vector<std::string> arguments = {"--idx", images(), "--labels", labels, "--batch", "4", "--json",
                                              "--expect", folder.file("expected", expected), "--min-agreement", "10"};
  const ProgramResult right = vit(fashion, arguments);
  EXPECT_EQ(right.exitCode, 0) << right.err;
  const json report = json::parse(right.out);
  EXPECT_EQ(report["images"], 10);
  EXPECT_EQ(report["right"], 10);
  EXPECT_EQ(report["agreement"], 10);

  expected[3] = 9;
  folder.file("expected", expected);
  const ProgramResult wrong = vit(fashion, arguments);
  EXPECT_EQ(wrong.exitCode, 1);
  EXPECT_EQ(json::parse(wrong.out)["agreement"], 9);
}

TEST_F(VitCommand, RefusesWhatIsNoPicture) {
  const std::string text = folder.file("text.png", "this is not a picture");
  expectRefused(fashion, {samples[0], text}, "text.png");
  expectRefused(fashion, {folder / "missing.png"}, "missing.png");
  expectRefused(fashion, {folder.path()}, folder.path());
  io::writePng(folder / "line.png", {3000, 1, 1, std::vector<std::uint8_t>(3000)});
  expectRefused(fashion, {folder / "line.png"}, "3000 x 1");
}

TEST_F(VitCommand, RefusesAModelThatLacksATensor) {
  const std::string missing = "dinov2.encoder.layer.1.mlp.fc1.bias";
  expectRefused(smallBackbone(missing), {samples[0]}, "'" + missing + "'");
  expectRefused(folder / "missing.safetensors", {samples[0]}, "missing.safetensors");
  expectRefused(samples[0], {samples[0]}, samples[0]);
}

TEST_F(VitCommand, RefusesDataSetsThatDoNotFit) {
  expectRefused(fashion, {"--idx", folder.file("short", "\0\0\x08\x03"s)}, "short");
  expectRefused(fashion, {"--idx", images(), "--labels", folder.file("labels", "\0\0\x08\x01\0\0\0\x01\x05"s)},
                "there are 10 images");
  expectRefused(fashion, {"--idx", images(), "--expect", folder.file("expected", "abc")}, "there are 10 images");
  expectRefused(smallBackbone(), {"--idx", images()}, "--idx");
}

TEST_F(VitCommand, RefusesOptionsThatDoNotGoTogether) {
  expectRefused(fashion, {}, "pictures");
  expectRefused(fashion, {samples[0], "--idx", images()}, "--idx");
  expectRefused(fashion, {samples[0], "--labels", images()}, "--idx");
  expectRefused(fashion, {samples[0], "--top", "0"}, "--top");
}

TEST_F(VitCommand, LeavesNothingHalfWritten) {
  const std::string inTheWay = folder.file("maps", "a file, not a folder");
  expectRefused(fashion, {samples[0], "--attention", inTheWay}, inTheWay);
  EXPECT_EQ(contentOf(inTheWay), "a file, not a folder");

  const std::filesystem::path maps = folder / "folder";
  std::filesystem::create_directories(maps / std::filesystem::path(samples[0]).filename());
  expectRefused(fashion, {samples[0], "--attention", maps}, "only a regular file can be written");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(maps), {}), 1);
}

}  // namespace
}  // namespace saccade::test
