// SPDX-License-Identifier: Apache-2.0
#include "io/vit_weights.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "io/file_error.hpp"
#include "io/vit_metadata.hpp"
#include "io/vit_names.hpp"
#include "text/formatted.hpp"

namespace saccade::io {

namespace {

// Hands out tensors by name, with their shapes checked, and remembers which.
class Reader {
 public:
  Reader(const std::filesystem::path& path, const TensorMap& tensors, VitNames names)
      : path_(path), tensors_(tensors), names_(std::move(names)) {}

  const VitNames& names() const { return names_; }
  bool has(const std::string& name) const { return tensors_.contains(names_.prefix + name); }

  // Its sizes, for learning the geometry; throws unless there are `rank` of them, none beyond kMaxVitDimension.
  const Shape& look(const std::string& name, std::size_t rank) const {
    const TensorData& tensor = find(name);
    if (tensor.rank() != rank || std::ranges::any_of(tensor.shape(), [](auto size) { return size > kMaxVitDimension; })) {
      throw misshapen(name, tensor, formatted("{} dimensions of at most {} are expected", rank, kMaxVitDimension));
    }
    return tensor.shape();
  }

  // The tensor, in the shape `result` if that is given: the same elements under other sizes.
  TensorData take(const std::string& name, const Shape& shape, const Shape& result = {}) {
    const TensorData& tensor = find(name);
    if (tensor.shape() != shape) {
      throw misshapen(name, tensor, formatted("{} is expected", shapeText(shape)));
    }
    if (tensor.dtype() != DType::F64 && tensor.dtype() != DType::F32 && tensor.dtype() != DType::F16 &&
        tensor.dtype() != DType::BF16) {
      throw FileError(path_, formatted("dtype of tensor '{}'", names_.prefix + name),
                      std::string(dtypeName(tensor.dtype())), "weights are F64, F32, F16 or BF16");
    }
    used_.insert(names_.prefix + name);
    return result.empty() ? tensor : tensor.reshaped(result);
  }

  LinearWeights linear(const std::string& name, std::int64_t outputs, std::int64_t inputs) {
    return {take(name + "weight", {outputs, inputs}), take(name + "bias", {outputs})};
  }

  NormWeights norm(const std::string& name, std::int64_t size) {
    return {take(name + "weight", {size}), take(name + "bias", {size})};
  }

  // One more than the largest index in names like "blocks.3.norm1.weight".
  std::int64_t countBlocks() const {
    const std::string root = names_.prefix + names_.blocks;
    std::int64_t count = 0;
    for (auto at = tensors_.lower_bound(root); at != tensors_.end() && at->first.starts_with(root); ++at) {
      const std::string index = at->first.substr(root.size(), at->first.find('.', root.size()) - root.size());
      count = std::max(count, 1 + parseInteger(path_, formatted("block number in the tensor name '{}'", at->first),
                                               index, {0, kMaxVitDimension}));
    }
    return count;
  }

  // A tensor that nobody took would change the result in the model that it belongs to.
  void refuseTheRest() const {
    const auto isIgnored = [&](const std::string& name) {
      return std::ranges::any_of(names_.ignored, [&](const auto& part) { return name == names_.prefix + part; });
    };
    for (const auto& [name, tensor] : tensors_) {
      if (name.starts_with(names_.prefix) && !used_.contains(name) && !isIgnored(name)) {
        throw FileError(path_, formatted("tensor '{}'", name), "of no known use",
                        "a model that has it is another one than a plain Vision Transformer with its class token");
      }
    }
  }

 private:
  const TensorData& find(const std::string& name) const {
    const auto found = tensors_.find(names_.prefix + name);
    if (found == tensors_.end()) {
      throw FileError(path_, formatted("tensor '{}'", names_.prefix + name), "missing", "the model needs it");
    }
    return found->second;
  }

  FileError misshapen(const std::string& name, const TensorData& tensor, std::string allowed) const {
    return FileError(path_, formatted("shape of tensor '{}'", names_.prefix + name), shapeText(tensor.shape()),
                     std::move(allowed));
  }

  const std::filesystem::path& path_;
  const TensorMap& tensors_;
  VitNames names_;
  std::set<std::string> used_;
};

// Rows one below the other, in the dtype of the first part.
TensorData joinRows(const std::vector<TensorData>& parts) {
  std::vector<std::byte> bytes;
  Shape shape = parts.front().shape();
  shape[0] = 0;
  for (const TensorData& part : parts) {
    const TensorData same = part.converted(parts.front().dtype());
    bytes.insert(bytes.end(), same.bytes().begin(), same.bytes().end());
    shape[0] += part.shape()[0];
  }
  return TensorData(parts.front().dtype(), std::move(shape), std::move(bytes));
}

LinearWeights readQkv(Reader& reader, const std::string& block, std::int64_t dim) {
  const std::vector<std::string>& names = reader.names().qkv;
  if (names.size() == 1) {
    return reader.linear(block + names[0], 3 * dim, dim);
  }
  std::vector<TensorData> weights, biases;
  for (const std::string& name : names) {
    LinearWeights part = reader.linear(block + name, dim, dim);
    weights.push_back(std::move(part.weight));
    biases.push_back(std::move(part.bias));
  }
  return {joinRows(weights), joinRows(biases)};
}

VitBlockWeights readBlock(Reader& reader, const VitConfig& config, std::int64_t number, bool scaled) {
  const VitNames& names = reader.names();
  const std::string block = formatted("{}{}.", names.blocks, number);
  const std::int64_t dim = config.embedDim;
  VitBlockWeights weights;
  weights.norm1 = reader.norm(block + names.norm1, dim);
  weights.qkv = readQkv(reader, block, dim);
  weights.proj = reader.linear(block + names.proj, dim, dim);
  weights.norm2 = reader.norm(block + names.norm2, dim);
  weights.fc1 = reader.linear(block + names.fc1, config.mlpDim, dim);
  weights.fc2 = reader.linear(block + names.fc2, dim, config.mlpDim);
  if (scaled) {
    weights.scale1 = reader.take(block + names.scale1, {dim});
    weights.scale2 = reader.take(block + names.scale2, {dim});
  }
  return weights;
}

// Sizes that the metadata name decide, so that the tensor that does not fit them is the one that is refused.
void readSizes(VitConfig& config, const VitMetadata& metadata, const Reader& reader) {
  const VitNames& names = reader.names();
  const Shape& patch = reader.look(names.patch + "weight", 4);
  config.embedDim = metadata.dimension("embed_dim").value_or(patch[0]);
  config.inChannels = metadata.dimension("in_channels").value_or(patch[1]);
  config.patchSize = metadata.dimension("patch_size").value_or(patch[2]);
  config.depth = metadata.dimension("depth").value_or(reader.countBlocks());

  const std::int64_t tokens = reader.look(names.positions, 3)[1];
  config.gridSize = std::llround(std::sqrt(static_cast<double>(std::max<std::int64_t>(tokens - 1, 0))));
  if (const auto imageSize = metadata.dimension("image_size")) {
    if (config.patchSize == 0 || *imageSize % config.patchSize != 0) {
      throw metadata.error("image_size", std::to_string(*imageSize),
                           formatted("it must be a multiple of the patch size {}", config.patchSize));
    }
    config.gridSize = *imageSize / config.patchSize;
  }

  const std::int64_t hidden = reader.look(formatted("{}0.{}weight", names.blocks, names.fc1), 2)[0];
  const std::optional<double> ratio = metadata.positive("mlp_ratio");
  config.mlpDim = ratio ? std::llround(*ratio * static_cast<double>(config.embedDim)) : hidden;

  const bool hasHead = !names.head.empty() && (reader.has(names.head + "weight") || reader.has(names.head + "bias"));
  config.numClasses =
      metadata.dimension("num_classes").value_or(hasHead ? reader.look(names.head + "weight", 2)[0] : 0);
}

void readTheRest(VitConfig& config, const VitMetadata& metadata, bool isDinov2) {
  if (const auto heads = metadata.dimension("num_heads")) {
    config.numHeads = *heads;
  } else {
    config.numHeads = config.embedDim / 64;
    config.assumptions.push_back(formatted("{} heads of 64 channels (num_heads is not given)", config.numHeads));
  }
  if (config.numHeads < 1 || config.embedDim % config.numHeads != 0) {
    throw metadata.error("num_heads", std::to_string(config.numHeads),
                         formatted("it must divide the width {} of the model; where it is not given, heads are "
                                   "taken to have 64 channels", config.embedDim));
  }
  if (const auto epsilon = metadata.positive("epsilon")) {
    config.epsilon = *epsilon;
  } else {
    config.assumptions.push_back(formatted("layer norm epsilon {} (epsilon is not given)", config.epsilon));
  }
  config.geluTanh = metadata.word("approximate", {"none", "tanh"}) == "tanh";
  metadata.word("pool", {"token"});

  const bool imageNet = isDinov2 && config.inChannels == 3;
  const std::vector<double> half(static_cast<std::size_t>(config.inChannels), 0.5);
  const auto mean = metadata.perChannel("mean", config.inChannels);
  const auto std = metadata.perChannel("std", config.inChannels);
  config.mean = mean.value_or(imageNet ? std::vector{0.485, 0.456, 0.406} : half);
  config.std = std.value_or(imageNet ? std::vector{0.229, 0.224, 0.225} : half);
  if (!mean || !std) {
    config.assumptions.push_back(imageNet ? "pictures normalised as ImageNet's (mean and std are not given)"
                                          : "pictures normalised with 0.5 (mean and std are not given)");
  }
  config.classNames = metadata.classNames(config.numClasses);
}

}  // namespace

VitWeights vitWeightsFrom(const std::filesystem::path& path, const TensorMap& tensors, const Metadata& metadata) {
  Reader reader(path, tensors, detectVitNames(path, tensors));
  const VitNames& names = reader.names();
  const VitMetadata facts(path, metadata);
  const bool isDinov2 = names.qkv.size() > 1;
  VitWeights weights;
  VitConfig& config = weights.config;
  readSizes(config, facts, reader);
  readTheRest(config, facts, isDinov2);

  const std::int64_t dim = config.embedDim;
  const std::int64_t count = 1 + config.gridSize * config.gridSize;
  weights.patch.weight =
      reader.take(names.patch + "weight", {dim, config.inChannels, config.patchSize, config.patchSize});
  weights.patch.bias = reader.take(names.patch + "bias", {dim});
  weights.classToken = reader.take(names.classToken, {1, 1, dim}, {dim});
  weights.positions = reader.take(names.positions, {1, count, dim}, {count, dim});
  // timm's plain models have no LayerScale, its DINOv2 has.
  const bool scaled = isDinov2 || reader.has(formatted("{}0.{}", names.blocks, names.scale1));
  for (std::int64_t number = 0; number < config.depth; ++number) {
    weights.blocks.push_back(readBlock(reader, config, number, scaled));
  }
  weights.norm = reader.norm(names.norm, dim);
  if (config.numClasses > 0) {
    weights.head = reader.linear(names.head, config.numClasses, dim);
  }
  reader.refuseTheRest();
  return weights;
}

VitWeights readVitWeights(const std::filesystem::path& path) {
  const Safetensors file = readSafetensors(path);
  return vitWeightsFrom(path, file.tensors, file.metadata);
}

}  // namespace saccade::io
