// SPDX-License-Identifier: Apache-2.0
#include "check/attention_check.hpp"

#include <fmt/format.h>

#include <optional>

#include "check/attention_options.hpp"
#include "check/attention_sample.hpp"
#include "check/device_case.hpp"
#include "check/device_tensors.hpp"
#include "check/dtype.hpp"
#include "reference/attention.hpp"
#include "reference/exact_zeros.hpp"
#include "reference/tolerance.hpp"

namespace saccade::check {

namespace {

using reference::TensorTolerance;

// Weights are written in the storage type: the tolerance of F32 weights, and one unit in the last place for
// rounding.
TensorTolerance probsTolerance(const TensorTolerance& fp32, io::DType storage) {
  if (storage == io::DType::F32) {
    return fp32;
  }
  return {.absolute = fp32.absolute, .relative = io::unitInLastPlace(storage, 1)};
}

// What the scalar path says of a problem; the same for every kernel and device.
struct Expectation {
  reference::AttentionResult result;
  reference::AttentionTolerances tolerances;
  reference::ZeroMasks zeros;
};

// The tensors of a sample on a device.
struct DeviceCall {
  DeviceTensors tensors;
  Tensor q, k, v, out;
  AttentionOptions options;
};

Tensor stackedHeads(const Tensor& memory, std::int64_t first, std::int64_t count) {
  return memory.slice(2, first, first + count).transpose(1, 2);
}

void placeInputs(const Device& device, const AttentionSample& sample, DeviceCall& call) {
  const io::AttentionCase& p = sample.problem;
  if (sample.packing == Packing::Qkv) {
    const Dtype dtype = deviceDtype(p.q.dtype());
    const Tensor memory = Tensor::empty(
        device, dtype, {p.batch, p.seqlenQ, p.numHeadsQ + 2 * p.numHeadsKv, p.headDimQk}, {.guard = true});
    call.q = stackedHeads(memory, 0, p.numHeadsQ);
    call.k = stackedHeads(memory, p.numHeadsQ, p.numHeadsKv);
    call.v = stackedHeads(memory, p.numHeadsQ + p.numHeadsKv, p.numHeadsKv);
    call.q.uploadBytes(p.q.bytes());
    call.k.uploadBytes(p.k.bytes());
    call.v.uploadBytes(p.v.bytes());
    call.tensors.watch("qkv", memory, {call.q, call.k, call.v});
    return;
  }
  call.q = call.tensors.input("q", p.q, sample.q);
  if (sample.packing == Packing::Separate || p.k.elementCount() == 0) {
    call.k = call.tensors.input("k", p.k, sample.k);
    call.v = call.tensors.input("v", p.v, sample.v);
    return;
  }
  const auto sharedInput = [&](const std::string& name, const io::TensorData& data, Layout layout) {
    const io::Shape one = {1, 1, data.shape()[2], data.shape()[3]};
    const auto bytes =
        data.bytes().first(static_cast<std::size_t>(io::elementCount(one)) * io::dtypeSize(data.dtype()));
    const io::TensorData first(data.dtype(), one, std::vector<std::byte>(bytes.begin(), bytes.end()));
    return call.tensors.input(name, first, layout).expand(data.shape());
  };
  call.k = sharedInput("k", p.k, sample.k);
  call.v = sharedInput("v", p.v, sample.v);
}

DeviceCall place(const Device& device, const AttentionSample& sample, const std::string& kernel) {
  const io::AttentionCase& p = sample.problem;
  DeviceCall call{.tensors = DeviceTensors(device), .options = attentionOptions(p)};
  placeInputs(device, sample, call);
  const Dtype dtype = deviceDtype(p.q.dtype());
  call.out = call.tensors.output("out", dtype, {p.batch, p.numHeadsQ, p.seqlenQ, p.headDimV}, sample.out);
  const Layout scores = sample.keysFirst ? Layout::KeysFirst : Layout::Contiguous;
  if (p.mask) {
    call.options.mask = call.tensors.input("mask", *p.mask, scores);
  }
  if (p.bias) {
    call.options.bias = call.tensors.input("bias", *p.bias, scores);
  }
  const auto placeLengths = [&](const std::string& name,
                                const std::optional<std::vector<std::int32_t>>& lengths, Tensor& tensor,
                                std::vector<std::int32_t>& host) {
    if (lengths) {
      const std::vector<double> values(lengths->begin(), lengths->end());
      tensor = call.tensors.input(name, io::TensorData::fromDoubles(io::DType::I32, {p.batch}, values));
      host = sample.hostLengths ? *lengths : std::vector<std::int32_t>{};
    }
  };
  placeLengths("seqlens_q", p.seqlensQ, call.options.seqlensQ, call.options.hostSeqlensQ);
  placeLengths("seqlens_k", p.seqlensK, call.options.seqlensK, call.options.hostSeqlensK);
  if (sample.lse) {
    call.options.lse = call.tensors.output("lse", Dtype::F32, {p.batch, p.numHeadsQ, p.seqlenQ});
  }
  if (sample.probs) {
    call.options.probs = call.tensors.output("probs", dtype, {p.batch, p.numHeadsQ, p.seqlenQ, p.seqlenK});
  }
  call.options.kernel = kernel;
  return call;
}

class AttentionCheck final : public Check {
 public:
  AttentionCheck(std::uint64_t seed, std::uint64_t index)
      : Check(fmt::format("attention/{}", index), "sweep", SACCADE_OPERATOR_ATTENTION),
        sample_(attentionSample(seed, index)) {}

  std::string description() const override { return sample_.description; }

 private:
  Outcome compute(const Device& device, const std::string& kernel) override {
    DeviceCall call = place(device, sample_, kernel);
    Stream stream(device);
    stream.attention(call.q, call.k, call.v, call.out, call.options);
    stream.wait();
    return compare(call);
  }

  Outcome compare(const DeviceCall& call) {
    const Expectation& wanted = expectation();
    const io::DType storage = sample_.problem.q.dtype();
    std::vector<reference::TensorComparison> tensors;
    const auto add = [&](const std::string& name, const Tensor& got, const std::vector<double>& expected,
                         const TensorTolerance& tolerance) {
      const auto zero = wanted.zeros.find(name);
      tensors.push_back(reference::compareTensor(
          name, download(got, got.shape()),
          io::TensorData::fromDoubles(io::DType::F64, got.shape(), expected), tolerance,
          zero == wanted.zeros.end() ? std::span<const std::uint8_t>{}
                                     : std::span<const std::uint8_t>(zero->second)));
    };
    add("out", call.out, wanted.result.out,
        kPRounding == io::PRounding::Fp32 ? wanted.tolerances.out : wanted.tolerances.outRoundedP);
    if (call.options.lse) {
      add("lse", call.options.lse, wanted.result.lse, wanted.tolerances.lse);
    }
    if (call.options.probs) {
      add("probs", call.options.probs, wanted.result.probs, probsTolerance(wanted.tolerances.probs, storage));
    }
    return judge(tensors, call.tensors.overwritten());
  }

  const Expectation& expectation() {
    if (!expectation_) {
      const reference::OwnedProblem owned = reference::problemFromCase(sample_.problem);
      Expectation wanted;
      wanted.result = reference::attention(owned.problem,
                                           sample_.probs ? reference::Probs::Store : reference::Probs::Skip);
      wanted.tolerances =
          reference::attentionTolerances(owned.problem, sample_.problem.q.dtype(), wanted.result);
      wanted.zeros = reference::exactZeros(owned.problem);
      expectation_ = std::move(wanted);
    }
    return *expectation_;
  }

  AttentionSample sample_;
  std::optional<Expectation> expectation_;
};

}  // namespace

std::unique_ptr<Check> attentionSweepCheck(std::uint64_t seed, std::uint64_t index) {
  return std::make_unique<AttentionCheck>(seed, index);
}

}  // namespace saccade::check
