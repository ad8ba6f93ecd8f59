// SPDX-License-Identifier: Apache-2.0
// Saccade as a contestant: attention cases, and DINOv2 as a `model` case. Tensors lie on the device before the
// first run; a run is what the caller of the standalone runtime waits for: recording, submitting, waiting.
#include <fmt/format.h>

#include <optional>
#include <stdexcept>

#include <saccade/nn.hpp>
#include <saccade/runtime.hpp>

#include "check/dtype.hpp"
#include "contestant.hpp"
#include "io/vit_weights.hpp"
#include "nn/vit_load.hpp"

namespace {

using namespace saccade;

peers::Identity identityOn(const Device& device, const std::string& note) {
  return {.name = "Saccade",
          .version = fmt::format("{}.{}.{}", SACCADE_VERSION_MAJOR, SACCADE_VERSION_MINOR, SACCADE_VERSION_PATCH),
          .device = device.summary().name,
          .driver = device.summary().driver,
          .note = note};
}

class AttentionContestant final : public peers::Contestant {
 public:
  AttentionContestant(const Device& device, const io::AttentionCase& problem)
      : device_(device),
        shape_{problem.batch, problem.numHeadsQ, problem.seqlenQ, problem.headDimV},
        q_(upload(problem.q)),
        k_(upload(problem.k)),
        v_(upload(problem.v)),
        out_(Tensor::empty(device, q_.dtype(), shape_)) {
    options_.causal = problem.causal == io::Causal::None ? Causal::None : Causal::BottomRight;
    if (problem.seqlensQ) {
      options_.seqlensQ = Tensor::fromInts(device, {problem.batch}, *problem.seqlensQ);
    }
    if (problem.seqlensK) {
      options_.seqlensK = Tensor::fromInts(device, {problem.batch}, *problem.seqlensK);
    }
  }

  void run() override {
    Stream stream(device_);
    plan_ = stream.attention(q_, k_, v_, out_, options_);
    stream.wait();
  }
  io::TensorMap result() override { return {{"out", check::download(out_, shape_)}}; }
  peers::Identity identity() const override { return identityOn(device_, plan_->info().kernel); }

 private:
  Tensor upload(const io::TensorData& data) const {
    return Tensor::fromBytes(device_, check::deviceDtype(data.dtype()), data.shape(), data.bytes());
  }

  Device device_;
  Shape shape_;
  Tensor q_, k_, v_, out_;
  AttentionOptions options_;
  PlanPtr plan_;
};

class ModelContestant final : public peers::Contestant {
 public:
  ModelContestant(const Device& device, const io::CaseFile& file, const std::string& weights)
      : device_(device), vit_(nn::uploadVit(device, io::readVitWeights(weights))), workspace_(device) {
    const nn::VitConfig& config = vit_.config();
    const std::int64_t any = io::CaseFile::kAnySize;
    const io::TensorData& pixels = file.requireInput("pixel_values", {1, config.channels, any, any});
    images_ = Tensor::fromBytes(device, check::deviceDtype(pixels.dtype()), pixels.shape(), pixels.bytes());
    const std::int64_t patches =
        pixels.shape()[2] / config.patchSize * (pixels.shape()[3] / config.patchSize);
    tokens_ = Tensor::empty(device, vit_.dtype(), {1, 1 + patches, config.embedDim});
  }

  void run() override {
    Stream stream(device_);
    vit_.forward(stream, workspace_, images_, {.tokens = tokens_});
    stream.wait();
  }
  io::TensorMap result() override {
    const std::int64_t seqlen = tokens_.size(1), width = tokens_.size(2);
    return {{"class_token", check::download(tokens_.slice(1, 0, 1), {width})},
            {"patch_tokens", check::download(tokens_.slice(1, 1, seqlen), {seqlen - 1, width})}};
  }
  peers::Identity identity() const override { return identityOn(device_, {}); }

 private:
  Device device_;
  nn::Vit vit_;
  nn::Workspace workspace_;
  Tensor images_, tokens_;
};

std::unique_ptr<peers::Contestant> make(const peers::Invitation& invitation) {
  if (invitation.file.op == "model") {
    if (invitation.weights.empty()) {
      throw std::invalid_argument("the model's weights are missing: --weights");
    }
    return std::make_unique<ModelContestant>(Device::open(), invitation.file, invitation.weights);
  }
  return std::make_unique<AttentionContestant>(Device::open(), peers::comparedAttention(invitation.file));
}

}  // namespace

int main(int argc, char** argv) { return saccade::peers::contest(argc, argv, make); }
