// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <saccade/nn.hpp>

#include "exit_code.hpp"
#include "globals.hpp"
#include "io/file_error.hpp"
#include "io/idx_file.hpp"
#include "io/mapped_file.hpp"
#include "io/vit_weights.hpp"
#include "nn/vit_load.hpp"
#include "progress.hpp"
#include "vit_options.hpp"

namespace saccade::tool {

namespace {

constexpr std::int64_t kDataSetBatch = 250;

// A class per image, as bytes; from an idx file or a file of nothing else.
std::vector<std::uint8_t> classesFrom(const std::string& path, std::span<const std::byte> bytes, std::int64_t count) {
  if (bytes.size() != static_cast<std::size_t>(count)) {
    throw io::FileError(path, "number of classes", fmt::format("{}", bytes.size()),
                        fmt::format("there are {} images", count));
  }
  std::vector<std::uint8_t> classes(bytes.size());
  std::transform(bytes.begin(), bytes.end(), classes.begin(), std::to_integer<std::uint8_t>);
  return classes;
}

// Images [N,H,W] of bytes that suit the model.
io::TensorData readImages(const std::string& path, const io::VitConfig& config) {
  io::TensorData images = io::readIdx(path, 3);
  const std::int64_t side = config.gridSize * config.patchSize;
  if (images.shape()[1] != side || images.shape()[2] != side || config.inChannels != 1) {
    throw io::FileError(path, "size of the images", fmt::format("{} x {} x 1", images.shape()[1], images.shape()[2]),
                        fmt::format("the model takes {} x {} x {}", side, side, config.inChannels));
  }
  if (images.shape()[0] == 0) {
    throw io::FileError(path, "number of images", "0", "there must be one at least");
  }
  return images;
}

// The class with the largest logit for every image.
std::vector<std::uint8_t> classify(const nn::Vit& vit, Stream& stream, const io::TensorData& images,
                                   std::int64_t batch) {
  const Device device = stream.device();
  const nn::VitConfig& config = vit.config();
  nn::Workspace workspace(device);
  const std::int64_t count = images.shape()[0];
  const std::int64_t pixels = images.shape()[1] * images.shape()[2];
  ProgressBar progress("vit", static_cast<std::size_t>(count));
  std::vector<std::uint8_t> classes;
  for (std::int64_t begin = 0; begin < count; begin += batch) {
    const std::int64_t size = std::min(batch, count - begin);
    std::vector<float> values(static_cast<std::size_t>(size * pixels));
    const auto bytes = images.bytes().subspan(static_cast<std::size_t>(begin * pixels), values.size());
    for (std::size_t index = 0; index < values.size(); ++index) {
      const auto pixel = std::to_integer<std::uint8_t>(bytes[index]);
      values[index] = static_cast<float>((pixel / 255.0 - config.mean[0]) / config.std[0]);
    }
    const Tensor input = workspace.tensor("images", vit.dtype(), {size, 1, images.shape()[1], images.shape()[2]});
    const Tensor logits = workspace.tensor("logits", vit.dtype(), {size, config.numClasses});
    input.upload(values);
    vit.forward(stream, workspace, input, {.logits = logits});
    stream.submit();
    const std::vector<float> result = logits.download();
    for (std::int64_t n = 0; n < size; ++n) {
      const auto row = result.begin() + n * config.numClasses;
      classes.push_back(static_cast<std::uint8_t>(std::max_element(row, row + config.numClasses) - row));
      progress.advance();
    }
  }
  return classes;
}

std::int64_t countEqual(const std::vector<std::uint8_t>& a, const std::vector<std::uint8_t>& b) {
  std::int64_t equal = 0;
  for (std::size_t n = 0; n < a.size(); ++n) {
    equal += a[n] == b[n] ? 1 : 0;
  }
  return equal;
}

}  // namespace

int classifyDataSet(const Globals& globals, const VitOptions& options) {
  const io::VitWeights weights = io::readVitWeights(options.model);
  if (weights.config.numClasses < 1 || weights.config.numClasses > 256) {
    throw UsageError("--idx", fmt::format("a data set is classified by models of 1 to 256 classes; this one has {}",
                                          weights.config.numClasses));
  }
  const io::TensorData images = readImages(options.images, weights.config);
  const std::int64_t count = images.shape()[0];
  std::vector<std::uint8_t> labels, expected;
  if (!options.labels.empty()) {
    labels = classesFrom(options.labels, io::readIdx(options.labels, 1).bytes(), count);
  }
  if (!options.expected.empty()) {
    expected = classesFrom(options.expected, io::MappedFile(options.expected).bytes(), count);
  }

  const Device device = globals.openDevice();
  const nn::Vit vit = nn::uploadVit(device, weights);
  Stream stream(device);
  const auto start = std::chrono::steady_clock::now();
  const std::vector<std::uint8_t> classes =
      classify(vit, stream, images, options.batch == 0 ? kDataSetBatch : options.batch);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

  nlohmann::ordered_json report = {{"model", options.model}, {"device", device.summary().name}, {"images", count},
                                   {"seconds", seconds}, {"images_per_second", static_cast<double>(count) / seconds}};
  std::string text = fmt::format("{} images in {:.2f} s: {:.0f} per second on {}\n", count, seconds,
                                 static_cast<double>(count) / seconds, device.summary().name);
  bool passed = true;
  if (!labels.empty()) {
    const std::int64_t right = countEqual(classes, labels);
    const double accuracy = static_cast<double>(right) / static_cast<double>(count);
    report["right"] = right;
    report["accuracy"] = accuracy;
    text += fmt::format("accuracy {:.2f} %: {} of {} are right\n", 100 * accuracy, right, count);
  }
  if (!expected.empty()) {
    const std::int64_t agreement = countEqual(classes, expected);
    passed = agreement >= options.minAgreement.value_or(0);
    report["agreement"] = agreement;
    text += fmt::format("agreement with {}: {} of {}{}\n", options.expected, agreement, count,
                        passed ? "" : fmt::format(", fewer than {}", *options.minAgreement));
  }
  fmt::print("{}", globals.json ? report.dump(2) + "\n" : text);
  return passed ? kExitOk : kExitCheckFailed;
}

}  // namespace saccade::tool
