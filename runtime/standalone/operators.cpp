// SPDX-License-Identifier: Apache-2.0
// The operators of a stream: a description from tensors, its plan, its buffers, the barrier before it.
#include <array>

#include <saccade/runtime.hpp>

#include "standalone/buffer.hpp"
#include "standalone/layout.hpp"
#include "standalone/stream_state.hpp"
#include "text/formatted.hpp"

namespace saccade {
namespace {

using runtime::Access;
using runtime::shapeText;

std::optional<TensorDesc> optionalDesc(const Tensor& tensor) {
  return tensor ? std::optional(tensor.desc()) : std::nullopt;
}

// lse without its last axis of size 1 is accepted.
Tensor normalisedLse(const Tensor& lse, const Tensor& q) {
  return lse && lse.rank() + 1 == q.rank() ? lse.unsqueeze(-1) : lse;
}

// [B, T, E] stands for [B, 1, T, E].
Tensor withHeadAxis(const Tensor& tensor) { return tensor.rank() == 3 ? tensor.unsqueeze(1) : tensor; }

// A contiguous I32 tensor of `shape`, and the host's copy of it, if there is one.
void checkIntegers(const char* name, const Tensor& tensor, const std::vector<std::int32_t>& known, const Shape& shape) {
  if (!tensor) {
    if (known.empty()) return;
    throw Error(Status::InvalidArgument, name,
                formatted("{} is absent, but the host's copy of it has {} entries; give both or neither", name,
                          known.size()));
  }
  if (tensor.dtype() != Dtype::I32 || tensor.shape() != shape || !tensor.isContiguous()) {
    throw Error(Status::InvalidArgument, name,
                formatted("{} has shape {}, but must be a contiguous I32 tensor of shape {}", name,
                          shapeText(tensor.shape()), shapeText(shape)));
  }
  if (!known.empty() && static_cast<std::int64_t>(known.size()) != tensor.elementCount()) {
    throw Error(Status::InvalidArgument, name,
                formatted("the host's copy of {} has {} entries, but must have {}", name, known.size(),
                          tensor.elementCount()));
  }
}

// Lengths, offsets and block tables: everything that a plan takes as a plain array of int32.
void checkIntegers(const AttentionOptions& options, const AttentionDesc& desc) {
  const std::int64_t batch = desc.sequences ? std::int64_t{*desc.sequences} : desc.q.sizes[0];
  if (static_cast<bool>(options.cuSeqlensQ) != static_cast<bool>(options.cuSeqlensK)) {
    const char* absent = options.cuSeqlensQ ? "cu_seqlens_k" : "cu_seqlens_q";
    throw Error(Status::InvalidArgument, absent,
                formatted("{} is absent, but packed sequences need both cu_seqlens_q and cu_seqlens_k", absent));
  }
  checkIntegers("seqlens_q", options.seqlensQ, options.hostSeqlensQ, {batch});
  checkIntegers("seqlens_k", options.seqlensK, options.hostSeqlensK, {batch});
  checkIntegers("cu_seqlens_q", options.cuSeqlensQ, options.hostCuSeqlensQ, {batch + 1});
  checkIntegers("cu_seqlens_k", options.cuSeqlensK, options.hostCuSeqlensK, {batch + 1});
  if (!options.hostBlockTable.empty()) {
    checkIntegers("block_table", options.blockTable, options.hostBlockTable,
                  options.blockTable ? Shape{batch, options.blockTable.size(-1)} : Shape{});
  }
}

const std::int32_t* dataOrNull(const std::vector<std::int32_t>& values) { return values.empty() ? nullptr : values.data(); }

// The tensors of one operator: checked, kept alive, and turned into accesses.
class Arguments {
 public:
  Arguments(runtime::StreamState& stream, const std::shared_ptr<runtime::DeviceState>& device)
      : stream_(stream), device_(device) {}

  BufferRange required(const char* name, const Tensor& tensor, bool write = false) {
    if (!tensor) {
      throw Error(Status::InvalidArgument, name, formatted("{} is absent, but must be given", name));
    }
    return optional(name, tensor, write);
  }

  BufferRange optional(const char* name, const Tensor& tensor, bool write = false) {
    if (!tensor) return {};
    if (tensor.storage()->device() != device_) {
      throw Error(Status::InvalidArgument, name,
                  formatted("{} is on another device than the stream", name));
    }
    accesses_[count_++] = runtime::accessOf(tensor, write);
    kept_.push_back(tensor.storage());
    return tensor.buffer();
  }

  BufferRange scratch(std::uint64_t bytes) {
    const std::shared_ptr<const runtime::Buffer> buffer = stream_.scratch(bytes);
    if (!buffer) return {};
    accesses_[count_++] = {buffer->handle(), 0, bytes, true};
    kept_.push_back(buffer);
    return {buffer->address(), buffer->size()};
  }

  template <typename Buffers>
  PlanPtr record(PlanPtr plan, const Buffers& buffers) {
    const VkCommandBuffer commands = stream_.record({accesses_.data(), count_});
    if (stream_.isWorthTiming(*plan)) {
      stream_.timed(plan, [&] { plan->record(commands, buffers); });
    } else {
      plan->record(commands, buffers);
    }
    for (auto& object : kept_) stream_.keep(std::move(object));
    stream_.keep(plan);
    return plan;
  }

 private:
  runtime::StreamState& stream_;
  const std::shared_ptr<runtime::DeviceState>& device_;
  std::array<Access, 18> accesses_{};  // attention: seventeen tensors and scratch
  std::size_t count_ = 0;
  std::vector<std::shared_ptr<const void>> kept_;
};

// Of packed sequences; offsets have an entry more than that.
std::optional<std::uint32_t> sequencesOf(const AttentionOptions& options) {
  const Tensor& offsets = options.cuSeqlensQ ? options.cuSeqlensQ : options.cuSeqlensK;
  if (!offsets) return std::nullopt;
  if (offsets.elementCount() == 0) {
    throw Error(Status::InvalidArgument, "cu_seqlens_q", "cu_seqlens_q has no entries; it must have one more than sequences");
  }
  return static_cast<std::uint32_t>(offsets.elementCount() - 1);
}

}  // namespace

AttentionDesc describeAttention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& out,
                                const AttentionOptions& options) {
  return {
      .q = q.desc(),
      .k = k.desc(),
      .v = v.desc(),
      .out = optionalDesc(out),
      .lse = optionalDesc(normalisedLse(options.lse, q)),
      .probs = optionalDesc(options.probs),
      .mask = optionalDesc(options.mask),
      .bias = optionalDesc(options.bias),
      .alibiSlopes = optionalDesc(options.alibiSlopes),
      .sink = optionalDesc(options.sink),
      .blockTable = optionalDesc(options.blockTable),
      .kScale = optionalDesc(options.kScale),
      .vScale = optionalDesc(options.vScale),
      .scaleBlock = options.scaleBlock,
      .seqlensQ = static_cast<bool>(options.seqlensQ),
      .seqlensK = static_cast<bool>(options.seqlensK),
      .sequences = sequencesOf(options),
      .causal = options.causal,
      .windowLeft = options.windowLeft,
      .windowRight = options.windowRight,
      .softmaxScale = options.softmaxScale,
      .temperature = options.temperature,
      .softcap = options.softcap,
      .dropout = options.dropout,
      .dropoutSeed = options.dropoutSeed,
      .dropoutOffset = options.dropoutOffset,
      .normalizer = options.normalizer,
      .sigmoidBias = options.sigmoidBias,
      .kernel = options.kernel,
  };
}

MatmulDesc describeMatmul(const Tensor& a, const Tensor& b, const Tensor& out, const MatmulOptions& options) {
  return {
      .a = a.desc(),
      .b = b.desc(),
      .bias = optionalDesc(options.bias),
      .residual = optionalDesc(options.residual),
      .out = optionalDesc(out),
      .activation = options.activation,
      .kernel = options.kernel,
  };
}

PlanPtr Stream::attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& out,
                          const AttentionOptions& options) {
  Arguments arguments(*state_, device_);
  AttentionBuffers buffers{
      .q = arguments.required("q", q),
      .k = arguments.required("k", k),
      .v = arguments.required("v", v),
      .out = arguments.required("out", out, true),
      .lse = arguments.optional("lse", options.lse, true),
      .probs = arguments.optional("probs", options.probs, true),
      .mask = arguments.optional("mask", options.mask),
      .bias = arguments.optional("bias", options.bias),
      .alibiSlopes = arguments.optional("alibi_slopes", options.alibiSlopes),
      .sink = arguments.optional("sink", options.sink),
      .blockTable = arguments.optional("block_table", options.blockTable),
      .kScale = arguments.optional("k_scale", options.kScale),
      .vScale = arguments.optional("v_scale", options.vScale),
      .seqlensQ = arguments.optional("seqlens_q", options.seqlensQ),
      .seqlensK = arguments.optional("seqlens_k", options.seqlensK),
      .cuSeqlensQ = arguments.optional("cu_seqlens_q", options.cuSeqlensQ),
      .cuSeqlensK = arguments.optional("cu_seqlens_k", options.cuSeqlensK),
      .hostSeqlensQ = dataOrNull(options.hostSeqlensQ),
      .hostSeqlensK = dataOrNull(options.hostSeqlensK),
      .hostCuSeqlensQ = dataOrNull(options.hostCuSeqlensQ),
      .hostCuSeqlensK = dataOrNull(options.hostCuSeqlensK),
      .hostBlockTable = dataOrNull(options.hostBlockTable),
  };
  const AttentionDesc desc = describeAttention(q, k, v, out, options);
  checkIntegers(options, desc);
  PlanPtr plan = device().plan(desc);
  buffers.scratch = arguments.scratch(plan->info().scratchBytes);
  return arguments.record(std::move(plan), buffers);
}

PlanPtr Stream::matmul(const Tensor& a, const Tensor& b, const Tensor& out, const MatmulOptions& options) {
  Arguments arguments(*state_, device_);
  const MatmulBuffers buffers{
      .a = arguments.required("a", a),
      .b = arguments.required("b", b),
      .bias = arguments.optional("bias", options.bias),
      .residual = arguments.optional("residual", options.residual),
      .out = arguments.required("out", out, true),
  };
  return arguments.record(device().plan(describeMatmul(a, b, out, options)), buffers);
}

PlanPtr Stream::layerNorm(const Tensor& x, const Tensor& out, const LayerNormOptions& options) {
  Arguments arguments(*state_, device_);
  const LayerNormBuffers buffers{
      .x = arguments.required("x", x),
      .weight = arguments.optional("weight", options.weight),
      .bias = arguments.optional("bias", options.bias),
      .out = arguments.required("out", out, true),
  };
  const LayerNormDesc desc{
      .x = x.desc(),
      .weight = optionalDesc(options.weight),
      .bias = optionalDesc(options.bias),
      .out = out.desc(),
      .epsilon = options.epsilon,
      .kernel = options.kernel,
  };
  return arguments.record(device().plan(desc), buffers);
}

PlanPtr Stream::softmax(const Tensor& x, const Tensor& out, const SoftmaxOptions& options) {
  Arguments arguments(*state_, device_);
  const SoftmaxBuffers buffers{.x = arguments.required("x", x), .out = arguments.required("out", out, true)};
  const SoftmaxDesc desc{.x = x.desc(), .out = out.desc(), .kernel = options.kernel};
  return arguments.record(device().plan(desc), buffers);
}

PlanPtr Stream::activation(const Tensor& x, const Tensor& out, const ActivationOptions& options) {
  Arguments arguments(*state_, device_);
  const ActivationBuffers buffers{.x = arguments.required("x", x),
                                  .out = arguments.required("out", out, true)};
  const ActivationDesc desc{
      .x = x.desc(), .out = out.desc(), .activation = options.activation, .kernel = options.kernel};
  return arguments.record(device().plan(desc), buffers);
}

PlanPtr Stream::patchEmbed(const Tensor& image, const Tensor& weight, const Tensor& out,
                           const PatchEmbedOptions& options) {
  Arguments arguments(*state_, device_);
  PatchEmbedBuffers buffers{
      .image = arguments.required("image", image),
      .weight = arguments.required("weight", weight),
      .bias = arguments.optional("bias", options.bias),
      .residual = arguments.optional("residual", options.residual),
      .out = arguments.required("out", out, true),
  };
  if (weight.rank() != 4 || weight.size(2) != weight.size(3)) {
    throw Error(Status::InvalidArgument, "weight",
                formatted("weight has shape {}, but must be [embedding, channels, patch, patch]",
                          shapeText(weight.shape())));
  }
  const PatchEmbedDesc desc{
      .image = image.desc(),
      .weight = weight.desc(),
      .bias = optionalDesc(options.bias),
      .residual = optionalDesc(options.residual ? withHeadAxis(options.residual) : options.residual),
      .out = withHeadAxis(out).desc(),
      .patchSize = static_cast<std::uint32_t>(weight.size(3)),
      .kernel = options.kernel,
  };
  PlanPtr plan = device().plan(desc);
  buffers.scratch = arguments.scratch(plan->info().scratchBytes);
  return arguments.record(std::move(plan), buffers);
}

}  // namespace saccade
