// SPDX-License-Identifier: Apache-2.0
#include "io/picture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "expect_file_error.hpp"
#include "io/case_file.hpp"
#include "io/heat_map.hpp"
#include "temporary_folder.hpp"

namespace saccade::io {
namespace {

std::string asText(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Picture grey(std::int64_t width, std::int64_t height, std::vector<std::uint8_t> pixels) {
  return {width, height, 1, std::move(pixels)};
}

// Pixel (x, y) is (53 x + 97 y + 31 x y) mod 256.
Picture pattern(std::int64_t width, std::int64_t height) {
  Picture picture{width, height, 1, {}};
  for (std::int64_t y = 0; y < height; ++y) {
    for (std::int64_t x = 0; x < width; ++x) {
      picture.pixels.push_back(static_cast<std::uint8_t>(x * 53 + y * 97 + x * y * 31));
    }
  }
  return picture;
}

TEST(Picture, IsReadAsItWasWritten) {
  const TemporaryFolder folder;
  for (const Picture& picture : {pattern(7, 5), toRgb(pattern(4, 9))}) {
    writePng(folder / "p.png", picture);
    const Picture read = readPicture(folder / "p.png");
    EXPECT_EQ(read.width, picture.width);
    EXPECT_EQ(read.height, picture.height);
    EXPECT_EQ(read.channels, picture.channels);
    EXPECT_EQ(read.pixels, picture.pixels);
  }
}

TEST(Picture, IsRefusedWhenTheFileIsNone) {
  const TemporaryFolder folder;
  expectFileError([&] { readPicture(folder / "none.png"); }, {"none.png", "No such file"});
  expectFileError([&] { readPicture(folder.path()); }, {"folder"});
  expectFileError([&] { readPicture(folder.file("text.png", "hello, this is no picture")); },
                  {"text.png", "neither PNG nor JPEG"});
  expectFileError([&] { readPicture(folder.file("empty.png", "")); }, {"empty.png", "empty"});
}

TEST(Picture, IsRefusedWhereverItIsCutOff) {
  const TemporaryFolder folder;
  const std::string whole = asText(encodePng(pattern(8, 8)));
  for (std::size_t size = 0; size + 16 < whole.size(); ++size) {  // the last 16 bytes only close the file
    const auto path = folder.file("cut.png", whole.substr(0, size));
    expectFileError([&] { readPicture(path); }, {"cut.png"});
  }
}

TEST(Picture, IsRefusedBeforeDecodingWhenAChunkClaimsMoreThanTheFileHas) {
  const TemporaryFolder folder;
  std::string bytes = asText(encodePng(pattern(8, 8)));
  bytes.replace(33, 4, std::string("\x7f\xff\xff\xff", 4));  // the length of the first chunk after the header
  expectFileError([&] { readPicture(folder.file("lying.png", bytes)); }, {"lying.png", "PNG chunk", "2147483647 bytes", "only "});
}

TEST(Picture, IsRefusedWhenItsPixelsBeginWithAnEmptyChunk) {
  const TemporaryFolder folder;
  std::string bytes = asText(encodePng(pattern(8, 8)));
  bytes.insert(33, std::string("\0\0\0\0IDAT\x35\xaf\x06\x1e", 12));
  expectFileError([&] { readPicture(folder.file("hollow.png", bytes)); }, {"hollow.png", "first IDAT chunk", "0 bytes"});
}

TEST(Picture, MayBeFollowedByOtherBytes) {
  const TemporaryFolder folder;
  const Picture picture = pattern(8, 8);
  const std::string bytes = asText(encodePng(picture)) + "\x7f\xff\xff\xff and something else";
  EXPECT_EQ(readPicture(folder.file("longer.png", bytes)).pixels, picture.pixels);
}

TEST(Picture, IsRefusedBeforeDecodingWhenItIsTooLarge) {
  const TemporaryFolder folder;
  std::string bytes = asText(encodePng(pattern(8, 8)));
  bytes.replace(16, 8, std::string("\x00\x00\x40\x00\x00\x00\x10\x01", 8));  // the header's width and height
  expectFileError([&] { readPicture(folder.file("huge.png", bytes)); },
                  {"huge.png", "16384 x 4097", "67108864"});
}

TEST(Picture, LeavesAnExistingFileWhenItCannotBeWritten) {
  const TemporaryFolder folder;
  expectFileError([&] { writePng(folder / "missing/p.png", pattern(2, 2)); },
                  {"missing/p.png", "No such file"});
}

TEST(Grey, WeighsColoursAsTelevisionDid) {
  const Picture colours{4, 1, 3, {255, 0, 0, 0, 255, 0, 0, 0, 255, 255, 255, 255}};
  EXPECT_EQ(toGrey(colours).pixels, (std::vector<std::uint8_t>{76, 150, 29, 255}));
  EXPECT_EQ(toRgb(grey(2, 1, {7, 9})).pixels, (std::vector<std::uint8_t>{7, 7, 7, 9, 9, 9}));
}

// The numbers of the resize tests were computed with Pillow 11.3, Image.resize(size, Image.BICUBIC).
TEST(Resize, ShrinksAsPillowDoes) {
  EXPECT_EQ(resize(pattern(6, 5), 3, 2).pixels, (std::vector<std::uint8_t>{93, 104, 95, 113, 137, 148}));
  EXPECT_EQ(resize(pattern(6, 5), 1, 1).pixels, (std::vector<std::uint8_t>{115}));
  EXPECT_EQ(resize(pattern(6, 5), 4, 5).pixels,
            (std::vector<std::uint8_t>{15, 91, 184, 82,  134, 70,  117, 69,  141, 113,
                                       82, 54, 89,  125, 163, 199, 97,  168, 129, 184}));
}

TEST(Resize, EnlargesAsPillowDoes) {
  EXPECT_EQ(resize(pattern(6, 5), 9, 7).pixels,
            (std::vector<std::uint8_t>{0,   15,  56,  101, 139, 175, 220, 109, 0,   43,  94,  126, 48,
                                       74,  142, 198, 100, 0,   130, 150, 143, 56,  42,  82,  165, 83,
                                       0,   203, 121, 60,  161, 98,  34,  135, 74,  0,   63,  114, 152,
                                       91,  130, 171, 120, 154, 193, 62,  98,  137, 131, 175, 189, 93,
                                       177, 255, 144, 82,  65,  220, 211, 131, 67,  160, 255}));
}

TEST(Resize, ClampsTheOvershootAtAnEdge) {
  EXPECT_EQ(resize(grey(8, 1, {0, 0, 0, 0, 255, 255, 255, 255}), 16, 1).pixels,
            (std::vector<std::uint8_t>{0, 0, 0, 0, 0, 0, 0, 52, 203, 255, 255, 255, 255, 255, 255, 255}));
}

TEST(Resize, TreatsEachChannelByItself) {
  const Picture colours{3, 1, 3, {255, 0, 0, 0, 255, 0, 0, 0, 255}};
  EXPECT_EQ(resize(colours, 2, 1).pixels, (std::vector<std::uint8_t>{166, 99, 0, 0, 99, 166}));
}

TEST(Resize, KeepsAPictureOfTheSameSize) {
  EXPECT_EQ(resize(pattern(6, 5), 6, 5).pixels, pattern(6, 5).pixels);
}

TEST(ResizeShorterSide, KeepsTheProportions) {
  const Picture wide = resizeShorterSide(pattern(45, 30), 20);
  EXPECT_EQ(wide.width, 30);
  EXPECT_EQ(wide.height, 20);
  const Picture tall = resizeShorterSide(pattern(30, 45), 20);
  EXPECT_EQ(tall.width, 20);
  EXPECT_EQ(tall.height, 30);
}

TEST(CentreCrop, KeepsTheMiddle) {
  EXPECT_EQ(centreCrop(grey(4, 3, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}), 2, 1).pixels,
            (std::vector<std::uint8_t>{5, 6}));
  EXPECT_THROW(centreCrop(pattern(3, 3), 4, 1), std::invalid_argument);
}

TEST(Normalise, PutsChannelsOneAfterTheOther) {
  const Picture picture{2, 1, 3, {0, 51, 102, 255, 204, 153}};
  const std::vector<float> values =
      normalise(picture, std::vector{0.0, 0.2, 0.5}, std::vector{1.0, 0.5, 0.25});
  const std::vector<float> expected = {0, 1, 0, 1.2f, -0.4f, 0.4f};
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_NEAR(values[i], expected[i], 1e-6f) << i;
  }
}

// From the file on disk to the model's input: decoder, resize and normalisation together.
TEST(Normalise, GivesThePixelValuesOfTheGoldenPortrait) {
  const Picture portrait = readPicture(SACCADE_TEST_CASES "/../../models/dinov2/samples/astronaut.png");
  const std::vector<float> values = normalise(resize(portrait, 224, 224), std::vector{0.485, 0.456, 0.406},
                                              std::vector{0.229, 0.224, 0.225});
  const CaseFile file = readCaseFile(SACCADE_TEST_CASES "/real/dinov2s_astronaut.safetensors");
  const std::vector<float> expected = file.requireInput("pixel_values").toFloats();
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_NEAR(values[i], expected[i], 1e-6f) << i;
  }
}

double brightness(const std::array<std::uint8_t, 3>& colour) {
  return 0.2126 * colour[0] + 0.7152 * colour[1] + 0.0722 * colour[2];
}

TEST(HeatColour, GetsBrighterWithTheValue) {
  for (int step = 0; step < 100; ++step) {
    EXPECT_LT(brightness(heatColour(step / 100.0)), brightness(heatColour((step + 1) / 100.0))) << step;
  }
  EXPECT_EQ(heatColour(-5), heatColour(0));
  EXPECT_EQ(heatColour(5), heatColour(1));
  EXPECT_EQ(heatColour(std::nan("")), (std::array<std::uint8_t, 3>{128, 128, 128}));
}

TEST(HeatMap, IsBrightestWhereTheWeightIs) {
  std::vector<double> weights(16, 0.0);
  weights[1 * 4 + 2] = 1;  // second row, third column
  const Picture map = heatMapOver(grey(40, 40, std::vector<std::uint8_t>(1600, 100)), weights, 4, 4);
  ASSERT_EQ(map.width, 40);
  ASSERT_EQ(map.channels, 3);
  std::int64_t brightestX = 0, brightestY = 0;
  for (std::int64_t y = 0; y < 40; ++y) {
    for (std::int64_t x = 0; x < 40; ++x) {
      if (map.at(x, y, 1) > map.at(brightestX, brightestY, 1)) {
        brightestX = x;
        brightestY = y;
      }
    }
  }
  EXPECT_NEAR(static_cast<double>(brightestX), 25, 1);
  EXPECT_NEAR(static_cast<double>(brightestY), 15, 1);
}

TEST(HeatMap, IsEvenWhenAllWeightsAreEqual) {
  const Picture map =
      heatMapOver(grey(8, 8, std::vector<std::uint8_t>(64, 100)), std::vector<double>(4, 0.25), 2, 2);
  EXPECT_TRUE(std::equal(map.pixels.begin() + 3, map.pixels.end(), map.pixels.begin()));
}

TEST(Grid, PlacesPicturesRowByRowOnWhite) {
  const Picture dark = grey(2, 1, {0, 0});
  const Picture grid = placeInGrid({dark, dark, dark}, 2, 1);
  EXPECT_EQ(grid.width, 5);
  EXPECT_EQ(grid.height, 3);
  const std::vector<std::vector<int>> expected = {
      {0, 0, 255, 0, 0}, {255, 255, 255, 255, 255}, {0, 0, 255, 255, 255}};
  for (std::int64_t y = 0; y < 3; ++y) {
    for (std::int64_t x = 0; x < 5; ++x) {
      EXPECT_EQ(grid.at(x, y, 0), expected[static_cast<std::size_t>(y)][static_cast<std::size_t>(x)])
          << x << "," << y;
    }
  }
}

}  // namespace
}  // namespace saccade::io
