// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <numeric>
#include <saccade/nn.hpp>

#include "exit_code.hpp"
#include "globals.hpp"
#include "io/file_error.hpp"
#include "io/vit_weights.hpp"
#include "nn/vit_load.hpp"
#include "progress.hpp"
#include "vit_attention_maps.hpp"
#include "vit_options.hpp"

namespace saccade::tool {

namespace {

using nlohmann::ordered_json;

constexpr std::int64_t kBackboneSize = 224;
constexpr std::int64_t kPictureBatch = 8;
// Enlarging a picture of a few rows until its shorter side fits would take gigabytes for what is cropped
// again.
constexpr std::int64_t kMostOblong = 20;

// What the model says of one picture.
struct Finding {
  std::vector<float> logits;     // [classes]; empty for a backbone
  std::vector<float> features;   // [E]; empty for a model with classes
  std::vector<float> attention;  // [heads, T], if asked for
};

std::int64_t chooseSize(const io::VitConfig& config, std::int64_t asked) {
  if (asked == 0) {
    const std::int64_t trained = config.gridSize * config.patchSize;
    const std::int64_t usual = std::max(kBackboneSize / config.patchSize, std::int64_t{1}) * config.patchSize;
    return config.numClasses > 0 ? trained : usual;
  }
  if (asked % config.patchSize != 0) {
    throw UsageError("--size", fmt::format("{} is not a multiple of the patch size {}; {} is", asked, config.patchSize,
                                           std::max(asked / config.patchSize, std::int64_t{1}) * config.patchSize));
  }
  return asked;
}

// A picture with the model's channels and `size` pixels on both sides. One of another size is scaled so that
// the middle square of that share of the shorter side has this size: 256 pixels and a crop of 224, as is
// customary.
io::Picture fit(const std::string& path, std::int64_t channels, std::int64_t size, double share) {
  io::Picture picture = io::readPicture(path);
  if (channels == 1) {
    picture = io::toGrey(picture);
  } else if (channels == 3) {
    picture = io::toRgb(picture);
  } else {
    throw UsageError("--model", fmt::format("it takes pictures of {} channels; PNG and JPEG have 1 or 3", channels));
  }
  if (picture.width == size && picture.height == size) {
    return picture;
  }
  const auto [shorter, longer] = std::minmax(picture.width, picture.height);
  if (longer > kMostOblong * shorter) {
    throw io::FileError(path, "size of the picture", fmt::format("{} x {}", picture.width, picture.height),
                        fmt::format("one side may be at most {} times as long as the other", kMostOblong));
  }
  const std::int64_t shorterSide = std::llround(static_cast<double>(size) / share);
  return io::centreCrop(io::resizeShorterSide(picture, shorterSide), size, size);
}

std::vector<float> part(const std::vector<float>& values, std::int64_t index, std::int64_t count) {
  const auto begin = static_cast<std::ptrdiff_t>(index * (static_cast<std::int64_t>(values.size()) / count));
  const auto size = static_cast<std::ptrdiff_t>(values.size()) / count;
  return {values.begin() + begin, values.begin() + begin + size};
}

// Runs the model over all pictures, `batch` at a time.
std::vector<Finding> look(const Device& device, const nn::Vit& vit, const io::VitConfig& config,
                          const std::vector<io::Picture>& pictures, std::int64_t batch, bool withAttention) {
  Stream stream(device);
  nn::Workspace workspace(device);
  ProgressBar progress("vit", pictures.size());
  std::vector<Finding> findings;
  for (std::size_t begin = 0; begin < pictures.size(); begin += static_cast<std::size_t>(batch)) {
    const auto count = std::min(batch, static_cast<std::int64_t>(pictures.size() - begin));
    const std::int64_t size = pictures[begin].width;
    std::vector<float> pixels;
    for (std::size_t n = begin; n < begin + static_cast<std::size_t>(count); ++n) {
      const std::vector<float> values = io::normalise(pictures[n], config.mean, config.std);
      pixels.insert(pixels.end(), values.begin(), values.end());
    }
    const Tensor images = Tensor::from(device, vit.dtype(), {count, config.inChannels, size, size}, pixels);
    const std::int64_t tokens = 1 + (size / config.patchSize) * (size / config.patchSize);
    nn::VitOutputs outputs;
    if (config.numClasses > 0) {
      outputs.logits = workspace.tensor("logits", vit.dtype(), {count, config.numClasses});
    } else {
      outputs.features = workspace.tensor("features", vit.dtype(), {count, config.embedDim});
    }
    if (withAttention) {
      outputs.classAttention = workspace.tensor("weights", vit.dtype(), {count, config.numHeads, tokens});
    }
    vit.forward(stream, workspace, images, outputs);
    stream.wait();
    const auto download = [](const Tensor& tensor) { return tensor ? tensor.download() : std::vector<float>{}; };
    const std::vector<float> logits = download(outputs.logits);
    const std::vector<float> features = download(outputs.features);
    const std::vector<float> attention = download(outputs.classAttention);
    for (std::int64_t n = 0; n < count; ++n) {
      findings.push_back({part(logits, n, count), part(features, n, count), part(attention, n, count)});
      progress.advance();
    }
  }
  return findings;
}

std::vector<double> softmax(const std::vector<float>& logits) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  std::vector<double> weights;
  for (const float logit : logits) {
    weights.push_back(std::exp(static_cast<double>(logit) - largest));
  }
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& weight : weights) {
    weight /= sum;
  }
  return weights;
}

double dot(const std::vector<float>& a, const std::vector<float>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

double cosineSimilarity(const std::vector<float>& a, const std::vector<float>& b) {
  return dot(a, b) / std::sqrt(dot(a, a) * dot(b, b));
}

ordered_json describeClasses(const Finding& finding, const io::VitConfig& config, std::int64_t top) {
  const std::vector<double> probabilities = softmax(finding.logits);
  std::vector<std::size_t> order(probabilities.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return finding.logits[a] > finding.logits[b]; });
  order.resize(std::min(order.size(), static_cast<std::size_t>(top)));
  ordered_json classes = ordered_json::array();
  for (const std::size_t index : order) {
    const std::string name = config.classNames.empty() ? fmt::format("class {}", index) : config.classNames[index];
    classes.push_back({{"class", index}, {"name", name}, {"probability", probabilities[index]}});
  }
  return {{"classes", classes}};
}

ordered_json describeFeatures(std::size_t index, const std::vector<Finding>& findings,
                              const std::vector<std::string>& names) {
  const std::vector<float>& own = findings[index].features;
  ordered_json result = {{"feature_norm", std::sqrt(dot(own, own))}};
  std::size_t nearest = index;
  double similarity = -2;
  for (std::size_t other = 0; other < findings.size(); ++other) {
    const double value = other == index ? -2 : cosineSimilarity(own, findings[other].features);
    if (value > similarity) {
      nearest = other;
      similarity = value;
    }
  }
  if (nearest != index) {
    result["nearest"] = {{"picture", names[nearest]}, {"cosine_similarity", similarity}};
  }
  return result;
}

void print(const ordered_json& picture) {
  fmt::print("{}\n", picture["picture"].get<std::string>());
  if (picture.contains("classes")) {
    for (const ordered_json& entry : picture["classes"]) {
      fmt::print("  {:5.1f} %  {}\n", 100 * entry["probability"].get<double>(), entry["name"].get<std::string>());
    }
  } else {
    fmt::print("  feature norm {:.3f}", picture["feature_norm"].get<double>());
    if (picture.contains("nearest")) {
      fmt::print(", nearest {} (cosine similarity {:.3f})", picture["nearest"]["picture"].get<std::string>(),
                 picture["nearest"]["cosine_similarity"].get<double>());
    }
    fmt::print("\n");
  }
  if (picture.contains("attention")) {
    fmt::print("  attention map {}\n", picture["attention"].get<std::string>());
  }
}

}  // namespace

int lookAtPictures(const Globals& globals, const VitOptions& options) {
  const io::VitWeights weights = io::readVitWeights(options.model);
  const io::VitConfig& config = weights.config;
  for (const std::string& assumption : config.assumptions) {
    fmt::print(stderr, "saccade: {}: taken for granted: {}\n", options.model, assumption);
  }
  const std::int64_t size = chooseSize(config, options.size);
  std::vector<io::Picture> pictures;
  for (const std::string& path : options.pictures) {
    pictures.push_back(fit(path, config.inChannels, size, options.crop));
  }
  const bool withAttention = !options.attention.empty();
  if (withAttention) {
    makeFolder(options.attention);
  }

  const Device device = globals.openDevice();
  const nn::Vit vit = nn::uploadVit(device, weights);
  const std::vector<Finding> findings =
      look(device, vit, config, pictures, options.batch == 0 ? kPictureBatch : options.batch, withAttention);

  const auto paths = mapPaths(options.attention, options.pictures);
  ordered_json report = {{"model", options.model},
                         {"device", device.summary().name},
                         {"pictures", ordered_json::array()}};
  for (std::size_t n = 0; n < findings.size(); ++n) {
    ordered_json entry = {{"picture", options.pictures[n]}};
    entry.update(config.numClasses > 0 ? describeClasses(findings[n], config, options.top)
                                       : describeFeatures(n, findings, options.pictures));
    if (withAttention) {
      const std::int64_t grid = size / config.patchSize;
      io::writePng(paths[n], attentionMap(pictures[n], {findings[n].attention, config.numHeads, grid, grid}));
      entry["attention"] = paths[n].string();
    }
    if (!globals.json) {
      print(entry);
    }
    report["pictures"].push_back(std::move(entry));
  }
  if (globals.json) {
    fmt::print("{}\n", report.dump(2));
  }
  return kExitOk;
}

}  // namespace saccade::tool
