// SPDX-License-Identifier: Apache-2.0

/// \file
/// Saccade's C API (saccade.h, which is the manual) as C++20: handles are move-only types, descriptions are
/// structs for designated initialisers, and failures are exceptions of type saccade::Error. Header-only; adds
/// nothing to what saccade.h can do, and every function that may throw says so.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <saccade/saccade.h>

/// Saccade in C++.
namespace saccade {

/// \copybrief SaccadeStatus
enum class Status {
  Ok = SACCADE_OK,  ///< \copybrief SACCADE_OK
  InvalidArgument = SACCADE_ERROR_INVALID_ARGUMENT,  ///< \copybrief SACCADE_ERROR_INVALID_ARGUMENT
  Unsupported = SACCADE_ERROR_UNSUPPORTED,  ///< \copybrief SACCADE_ERROR_UNSUPPORTED
  DeviceRequirements = SACCADE_ERROR_DEVICE_REQUIREMENTS,  ///< \copybrief SACCADE_ERROR_DEVICE_REQUIREMENTS
  OutOfMemory = SACCADE_ERROR_OUT_OF_MEMORY,  ///< \copybrief SACCADE_ERROR_OUT_OF_MEMORY
  DeviceLost = SACCADE_ERROR_DEVICE_LOST,  ///< \copybrief SACCADE_ERROR_DEVICE_LOST
  Driver = SACCADE_ERROR_DRIVER,  ///< \copybrief SACCADE_ERROR_DRIVER
};

/// \copybrief SaccadeDtype
enum class Dtype {
  None = SACCADE_DTYPE_NONE,  ///< \copybrief SACCADE_DTYPE_NONE
  F32 = SACCADE_DTYPE_F32,  ///< \copybrief SACCADE_DTYPE_F32
  F16 = SACCADE_DTYPE_F16,  ///< \copybrief SACCADE_DTYPE_F16
  BF16 = SACCADE_DTYPE_BF16,  ///< \copybrief SACCADE_DTYPE_BF16
  U8 = SACCADE_DTYPE_U8,  ///< \copybrief SACCADE_DTYPE_U8
  I32 = SACCADE_DTYPE_I32,  ///< \copybrief SACCADE_DTYPE_I32
  F8E4M3 = SACCADE_DTYPE_F8E4M3,  ///< \copybrief SACCADE_DTYPE_F8E4M3
  I8 = SACCADE_DTYPE_I8,  ///< \copybrief SACCADE_DTYPE_I8
};

/// \copybrief SaccadeCausal
enum class Causal {
  None = SACCADE_CAUSAL_NONE,  ///< \copybrief SACCADE_CAUSAL_NONE
  BottomRight = SACCADE_CAUSAL_BOTTOM_RIGHT,  ///< \copybrief SACCADE_CAUSAL_BOTTOM_RIGHT
  TopLeft = SACCADE_CAUSAL_TOP_LEFT,  ///< \copybrief SACCADE_CAUSAL_TOP_LEFT
};

/// \copybrief SaccadeNormalizer
enum class Normalizer {
  Softmax = SACCADE_NORMALIZER_SOFTMAX,  ///< \copybrief SACCADE_NORMALIZER_SOFTMAX
  Sigmoid = SACCADE_NORMALIZER_SIGMOID,  ///< \copybrief SACCADE_NORMALIZER_SIGMOID
  Relu = SACCADE_NORMALIZER_RELU,  ///< \copybrief SACCADE_NORMALIZER_RELU
};

/// \copybrief SaccadeActivation
enum class Activation {
  None = SACCADE_ACTIVATION_NONE,  ///< \copybrief SACCADE_ACTIVATION_NONE
  Gelu = SACCADE_ACTIVATION_GELU,  ///< \copybrief SACCADE_ACTIVATION_GELU
  GeluTanh = SACCADE_ACTIVATION_GELU_TANH,  ///< \copybrief SACCADE_ACTIVATION_GELU_TANH
};

/// What every throwing function of this header throws. what() is a sentence for people: the field, its value,
/// what is allowed and the way out.
class [[gnu::visibility("default")]] Error : public std::runtime_error {  // one library throws it, another catches it
 public:
  /// For a refusal of `field`; `text` becomes what().
  Error(Status status, std::string field, const std::string& text)
      : std::runtime_error(text), status_(status), field_(std::move(field)) {}

  /// Never Ok.
  Status status() const noexcept { return status_; }
  /// The field of the description that was refused, e.g. "k.strides"; empty if there is none.
  const std::string& field() const noexcept { return field_; }

 private:
  Status status_;
  std::string field_;
};

namespace detail {

template <typename Call>
void check(Call&& call) {
  SaccadeMessage message{};
  const SaccadeStatus status = call(&message);
  if (status != SACCADE_OK) {
    const char* text = message.text[0] != '\0' ? message.text : saccadeGetStatusName(status);
    throw Error(static_cast<Status>(status), message.field, text);
  }
}

template <typename Item, typename Call>
std::vector<Item> enumerate(Call&& call) {
  std::uint32_t count = 0;
  check([&](SaccadeMessage* message) { return call(&count, static_cast<Item*>(nullptr), message); });
  std::vector<Item> items(count);
  check([&](SaccadeMessage* message) { return call(&count, items.data(), message); });
  items.resize(count);
  return items;
}

inline VkBool32 toBool(bool value) { return value ? VK_TRUE : VK_FALSE; }
inline const char* toKernel(const std::string& name) { return name.empty() ? nullptr : name.c_str(); }

}  // namespace detail

// Structures of the C API that need no other form.
using BufferRange = SaccadeBuffer;                   ///< address and size in bytes
using Candidate = SaccadeCandidate;                  ///< \copybrief SaccadeCandidate
using DeviceFacts = SaccadeDeviceFacts;              ///< \copybrief SaccadeDeviceFacts
using KernelInfo = SaccadeKernelInfo;                ///< \copybrief SaccadeKernelInfo
using PlanInfo = SaccadePlanInfo;                    ///< \copybrief SaccadePlanInfo
using ContextStatistics = SaccadeContextStatistics;  ///< \copybrief SaccadeContextStatistics
using Requirement = SaccadeRequirement;              ///< \copybrief SaccadeRequirement
using ContextInfo = SaccadeContextInfo;              ///< \copybrief SaccadeContextInfo

/// Bytes of one element; 0 for None.
constexpr std::size_t dtypeSize(Dtype dtype) {
  switch (dtype) {
    case Dtype::F32:
    case Dtype::I32: return 4;
    case Dtype::F16:
    case Dtype::BF16: return 2;
    case Dtype::U8:
    case Dtype::F8E4M3:
    case Dtype::I8: return 1;
    case Dtype::None: break;
  }
  return 0;
}

/// Sizes and strides in elements; strides of all 0 mean row-major and contiguous. An output whose sizes are
/// all 0 has the sizes that the inputs demand.
struct TensorDesc {
  Dtype dtype = Dtype::F32;              ///< None: absent
  std::array<std::int64_t, 4> sizes{};   ///< elements along each axis
  std::array<std::int64_t, 4> strides{}; ///< in elements

  /// For the C API.
  SaccadeTensorDesc toC() const {
    SaccadeTensorDesc desc{};
    desc.dtype = static_cast<SaccadeDtype>(dtype);
    for (std::size_t axis = 0; axis < 4; ++axis) {
      desc.sizes[axis] = sizes[axis];
      desc.strides[axis] = strides[axis];
    }
    return desc;
  }
};

namespace detail {

inline SaccadeTensorDesc toC(const std::optional<TensorDesc>& tensor) {
  return tensor ? tensor->toC() : SaccadeTensorDesc{};
}

/// An output that is not described is contiguous, of the sizes that the inputs demand and of `dtype`.
inline SaccadeTensorDesc outputToC(const std::optional<TensorDesc>& tensor, Dtype dtype) {
  return tensor ? tensor->toC() : TensorDesc{.dtype = dtype}.toC();
}

}  // namespace detail

/// An attention: see SaccadeAttentionDesc.
///
/// The descriptions below mirror those of saccade.h field by field; shapes and meaning stand there. An
/// optional that is empty means: absent (tensors), the default (values), contiguous with the sizes and dtype
/// that follow from the inputs (`out`). `kernel` empty means the context's choice.
struct AttentionDesc {
  TensorDesc q{};  ///< \copybrief SaccadeAttentionDesc::q
  TensorDesc k{};  ///< \copybrief SaccadeAttentionDesc::k
  TensorDesc v{};  ///< \copybrief SaccadeAttentionDesc::v
  std::optional<TensorDesc> out{};  ///< \copybrief SaccadeAttentionDesc::out
  std::optional<TensorDesc> lse{};  ///< \copybrief SaccadeAttentionDesc::lse
  std::optional<TensorDesc> probs{};  ///< \copybrief SaccadeAttentionDesc::probs
  std::optional<TensorDesc> mask{};  ///< \copybrief SaccadeAttentionDesc::mask
  std::optional<TensorDesc> bias{};  ///< \copybrief SaccadeAttentionDesc::bias
  std::optional<TensorDesc> alibiSlopes{};  ///< \copybrief SaccadeAttentionDesc::alibiSlopes
  std::optional<TensorDesc> sink{};  ///< \copybrief SaccadeAttentionDesc::sink
  std::optional<TensorDesc> blockTable{};  ///< paged K/V
  std::optional<TensorDesc> kScale{};  ///< \copybrief SaccadeAttentionDesc::kScale
  std::optional<TensorDesc> vScale{};  ///< \copybrief SaccadeAttentionDesc::vScale
  std::uint32_t scaleBlock = 0;  ///< \copybrief SaccadeAttentionDesc::scaleBlock
  bool seqlensQ = false;  ///< record with AttentionBuffers::seqlensQ
  bool seqlensK = false;  ///< record with AttentionBuffers::seqlensK
  std::optional<std::uint32_t> sequences{};  ///< packed: record with cuSeqlensQ and cuSeqlensK, one entry more each
  Causal causal = Causal::None;  ///< \copybrief SaccadeAttentionDesc::causal
  std::int64_t windowLeft = -1;  ///< \copybrief SaccadeAttentionDesc::windowLeft
  std::int64_t windowRight = -1;  ///< \copybrief SaccadeAttentionDesc::windowRight
  std::optional<float> softmaxScale{};  ///< empty: 1/sqrt(head_dim_qk)
  float temperature = 1.0f;  ///< \copybrief SaccadeAttentionDesc::temperature
  float softcap = 0.0f;  ///< \copybrief SaccadeAttentionDesc::softcap
  float dropout = 0.0f;  ///< \copybrief SaccadeAttentionDesc::dropout
  std::uint64_t dropoutSeed = 0;  ///< \copybrief SaccadeAttentionDesc::dropoutSeed
  std::uint64_t dropoutOffset = 0;  ///< \copybrief SaccadeAttentionDesc::dropoutOffset
  Normalizer normalizer = Normalizer::Softmax;  ///< \copybrief SaccadeAttentionDesc::normalizer
  float sigmoidBias = 0.0f;  ///< \copybrief SaccadeAttentionDesc::sigmoidBias
  std::string kernel{};  ///< \copybrief SaccadeAttentionDesc::kernel

  /// For the C API. Its pointers live as long as *this.
  SaccadeAttentionDesc toC() const {
    SaccadeAttentionDesc desc = saccadeAttentionDescDefault();
    desc.q = q.toC();
    desc.k = k.toC();
    desc.v = v.toC();
    desc.out = detail::outputToC(out, q.dtype);
    desc.lse = detail::toC(lse);
    desc.probs = detail::toC(probs);
    desc.mask = detail::toC(mask);
    desc.bias = detail::toC(bias);
    desc.alibiSlopes = detail::toC(alibiSlopes);
    desc.sink = detail::toC(sink);
    desc.blockTable = detail::toC(blockTable);
    desc.kScale = detail::toC(kScale);
    desc.vScale = detail::toC(vScale);
    desc.scaleBlock = scaleBlock;
    desc.hasSeqlensQ = detail::toBool(seqlensQ);
    desc.hasSeqlensK = detail::toBool(seqlensK);
    desc.hasCuSeqlens = detail::toBool(sequences.has_value());
    desc.numSequences = sequences.value_or(0);
    desc.causal = static_cast<SaccadeCausal>(causal);
    desc.windowLeft = windowLeft;
    desc.windowRight = windowRight;
    desc.hasSoftmaxScale = detail::toBool(softmaxScale.has_value());
    desc.softmaxScale = softmaxScale.value_or(0.0f);
    desc.temperature = temperature;
    desc.softcap = softcap;
    desc.dropout = dropout;
    desc.dropoutSeed = dropoutSeed;
    desc.dropoutOffset = dropoutOffset;
    desc.normalizer = static_cast<SaccadeNormalizer>(normalizer);
    desc.sigmoidBias = sigmoidBias;
    desc.kernel = detail::toKernel(kernel);
    return desc;
  }
};

/// A matrix product: see SaccadeMatmulDesc.
struct MatmulDesc {
  TensorDesc a{};  ///< \copybrief SaccadeMatmulDesc::a
  TensorDesc b{};  ///< \copybrief SaccadeMatmulDesc::b
  std::optional<TensorDesc> bias{};  ///< \copybrief SaccadeMatmulDesc::bias
  std::optional<TensorDesc> residual{};  ///< \copybrief SaccadeMatmulDesc::residual
  std::optional<TensorDesc> out{};  ///< \copybrief SaccadeMatmulDesc::out
  Activation activation = Activation::None;  ///< \copybrief SaccadeMatmulDesc::activation
  std::string kernel{};  ///< \copybrief SaccadeMatmulDesc::kernel

  /// For the C API. Its pointers live as long as *this.
  SaccadeMatmulDesc toC() const {
    SaccadeMatmulDesc desc = saccadeMatmulDescDefault();
    desc.a = a.toC();
    desc.b = b.toC();
    desc.bias = detail::toC(bias);
    desc.residual = detail::toC(residual);
    desc.out = detail::outputToC(out, a.dtype);
    desc.activation = static_cast<SaccadeActivation>(activation);
    desc.kernel = detail::toKernel(kernel);
    return desc;
  }
};

/// A layer normalisation: see SaccadeLayerNormDesc.
struct LayerNormDesc {
  TensorDesc x{};  ///< \copybrief SaccadeLayerNormDesc::x
  std::optional<TensorDesc> weight{};  ///< \copybrief SaccadeLayerNormDesc::weight
  std::optional<TensorDesc> bias{};  ///< \copybrief SaccadeLayerNormDesc::bias
  std::optional<TensorDesc> out{};  ///< \copybrief SaccadeLayerNormDesc::out
  float epsilon = 1e-5f;  ///< \copybrief SaccadeLayerNormDesc::epsilon
  std::string kernel{};  ///< \copybrief SaccadeLayerNormDesc::kernel

  /// For the C API. Its pointers live as long as *this.
  SaccadeLayerNormDesc toC() const {
    SaccadeLayerNormDesc desc = saccadeLayerNormDescDefault();
    desc.x = x.toC();
    desc.weight = detail::toC(weight);
    desc.bias = detail::toC(bias);
    desc.out = detail::outputToC(out, x.dtype);
    desc.epsilon = epsilon;
    desc.kernel = detail::toKernel(kernel);
    return desc;
  }
};

/// A softmax: see SaccadeSoftmaxDesc.
struct SoftmaxDesc {
  TensorDesc x{};  ///< \copybrief SaccadeSoftmaxDesc::x
  std::optional<TensorDesc> out{};  ///< \copybrief SaccadeSoftmaxDesc::out
  std::string kernel{};  ///< \copybrief SaccadeSoftmaxDesc::kernel

  /// For the C API. Its pointers live as long as *this.
  SaccadeSoftmaxDesc toC() const {
    SaccadeSoftmaxDesc desc = saccadeSoftmaxDescDefault();
    desc.x = x.toC();
    desc.out = detail::outputToC(out, x.dtype);
    desc.kernel = detail::toKernel(kernel);
    return desc;
  }
};

/// An activation: see SaccadeActivationDesc.
struct ActivationDesc {
  TensorDesc x{};  ///< \copybrief SaccadeActivationDesc::x
  std::optional<TensorDesc> out{};  ///< \copybrief SaccadeActivationDesc::out
  Activation activation = Activation::Gelu;  ///< which one
  std::string kernel{};  ///< \copybrief SaccadeActivationDesc::kernel

  /// For the C API. Its pointers live as long as *this.
  SaccadeActivationDesc toC() const {
    SaccadeActivationDesc desc = saccadeActivationDescDefault();
    desc.x = x.toC();
    desc.out = detail::outputToC(out, x.dtype);
    desc.activation = static_cast<SaccadeActivation>(activation);
    desc.kernel = detail::toKernel(kernel);
    return desc;
  }
};

/// A patch embedding: see SaccadePatchEmbedDesc.
struct PatchEmbedDesc {
  TensorDesc image{};  ///< \copybrief SaccadePatchEmbedDesc::image
  TensorDesc weight{};  ///< \copybrief SaccadePatchEmbedDesc::weight
  std::optional<TensorDesc> bias{};  ///< \copybrief SaccadePatchEmbedDesc::bias
  std::optional<TensorDesc> residual{};  ///< \copybrief SaccadePatchEmbedDesc::residual
  std::optional<TensorDesc> out{};  ///< \copybrief SaccadePatchEmbedDesc::out
  std::uint32_t patchSize = 0;  ///< \copybrief SaccadePatchEmbedDesc::patchSize
  std::string kernel{};  ///< \copybrief SaccadePatchEmbedDesc::kernel

  /// For the C API. Its pointers live as long as *this.
  SaccadePatchEmbedDesc toC() const {
    SaccadePatchEmbedDesc desc = saccadePatchEmbedDescDefault();
    desc.image = image.toC();
    desc.weight = weight.toC();
    desc.bias = detail::toC(bias);
    desc.residual = detail::toC(residual);
    desc.out = detail::outputToC(out, image.dtype);
    desc.patchSize = patchSize;
    desc.kernel = detail::toKernel(kernel);
    return desc;
  }
};

/// The memory of one recorded attention: see SaccadeAttentionBuffers.
struct AttentionBuffers {
  BufferRange q{};  ///< \copybrief SaccadeAttentionBuffers::q
  BufferRange k{};  ///< \copybrief SaccadeAttentionBuffers::k
  BufferRange v{};  ///< \copybrief SaccadeAttentionBuffers::v
  BufferRange out{};  ///< \copybrief SaccadeAttentionBuffers::out
  BufferRange lse{};  ///< \copybrief SaccadeAttentionBuffers::lse
  BufferRange probs{};  ///< \copybrief SaccadeAttentionBuffers::probs
  BufferRange mask{};  ///< \copybrief SaccadeAttentionBuffers::mask
  BufferRange bias{};  ///< \copybrief SaccadeAttentionBuffers::bias
  BufferRange alibiSlopes{};  ///< \copybrief SaccadeAttentionBuffers::alibiSlopes
  BufferRange sink{};  ///< \copybrief SaccadeAttentionBuffers::sink
  BufferRange blockTable{};  ///< \copybrief SaccadeAttentionBuffers::blockTable
  BufferRange kScale{};  ///< \copybrief SaccadeAttentionBuffers::kScale
  BufferRange vScale{};  ///< \copybrief SaccadeAttentionBuffers::vScale
  BufferRange seqlensQ{};  ///< \copybrief SaccadeAttentionBuffers::seqlensQ
  BufferRange seqlensK{};  ///< \copybrief SaccadeAttentionBuffers::seqlensK
  BufferRange cuSeqlensQ{};  ///< \copybrief SaccadeAttentionBuffers::cuSeqlensQ
  BufferRange cuSeqlensK{};  ///< \copybrief SaccadeAttentionBuffers::cuSeqlensK
  BufferRange scratch{};  ///< PlanInfo::scratchBytes, aligned to 16
  /// Optional: what the arrays of the same name will hold, checked by record.
  const std::int32_t* hostSeqlensQ = nullptr;  ///< [B]
  const std::int32_t* hostSeqlensK = nullptr;  ///< \copybrief SaccadeAttentionBuffers::hostSeqlensK
  const std::int32_t* hostCuSeqlensQ = nullptr;  ///< [sequences + 1]
  const std::int32_t* hostCuSeqlensK = nullptr;  ///< \copybrief SaccadeAttentionBuffers::hostCuSeqlensK
  const std::int32_t* hostBlockTable = nullptr;  ///< [B, max_pages]
};

/// The memory of one recorded matrix product: see SaccadeMatmulBuffers.
struct MatmulBuffers {
  BufferRange a{};  ///< \copybrief SaccadeMatmulBuffers::a
  BufferRange b{};  ///< \copybrief SaccadeMatmulBuffers::b
  BufferRange bias{};  ///< \copybrief SaccadeMatmulBuffers::bias
  BufferRange residual{};  ///< \copybrief SaccadeMatmulBuffers::residual
  BufferRange out{};  ///< \copybrief SaccadeMatmulBuffers::out
};

/// The memory of one recorded layer normalisation: see SaccadeLayerNormBuffers.
struct LayerNormBuffers {
  BufferRange x{};  ///< \copybrief SaccadeLayerNormBuffers::x
  BufferRange weight{};  ///< \copybrief SaccadeLayerNormBuffers::weight
  BufferRange bias{};  ///< \copybrief SaccadeLayerNormBuffers::bias
  BufferRange out{};  ///< \copybrief SaccadeLayerNormBuffers::out
};

/// The memory of one recorded softmax: see SaccadeSoftmaxBuffers.
struct SoftmaxBuffers {
  BufferRange x{};  ///< \copybrief SaccadeSoftmaxBuffers::x
  BufferRange out{};  ///< \copybrief SaccadeSoftmaxBuffers::out
};

/// The memory of one recorded activation: see SaccadeActivationBuffers.
struct ActivationBuffers {
  BufferRange x{};  ///< \copybrief SaccadeActivationBuffers::x
  BufferRange out{};  ///< \copybrief SaccadeActivationBuffers::out
};

/// The memory of one recorded patch embedding: see SaccadePatchEmbedBuffers.
struct PatchEmbedBuffers {
  BufferRange image{};  ///< \copybrief SaccadePatchEmbedBuffers::image
  BufferRange weight{};  ///< \copybrief SaccadePatchEmbedBuffers::weight
  BufferRange bias{};  ///< \copybrief SaccadePatchEmbedBuffers::bias
  BufferRange residual{};  ///< \copybrief SaccadePatchEmbedBuffers::residual
  BufferRange out{};  ///< \copybrief SaccadePatchEmbedBuffers::out
  BufferRange scratch{};  ///< \copybrief SaccadePatchEmbedBuffers::scratch
};

/// Owns a SaccadePlan. Immutable: any number of threads may record one plan into different command buffers.
/// It must outlive the execution of every command buffer that it was recorded into, and its context must
/// outlive it.
class Plan {
 public:
  explicit Plan(SaccadePlan handle) noexcept : handle_(handle) {}  ///< takes ownership
  /// The other plan is empty afterwards.
  Plan(Plan&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  /// The two change places.
  Plan& operator=(Plan&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Plan() { saccadeDestroyPlan(handle_); }

  /// Owned by this object.
  SaccadePlan handle() const noexcept { return handle_; }

  /// Strings in it live as long as the plan.
  PlanInfo info() const {
    PlanInfo info{};
    saccadeGetPlanInfo(handle_, &info);
    return info;
  }

  /// Teaches the context how long this plan takes on the device: see saccadeReportTime. Thread-safe.
  void reportTime(double milliseconds) const noexcept { saccadeReportTime(handle_, milliseconds); }

  /// \name Recording
  /// \{

  /// Records into a command buffer in the recording state; the buffers must be those of the plan's operator. See
  /// saccadeCmdAttention(). Throws Error: InvalidArgument; nothing has been recorded then.
  void record(VkCommandBuffer commandBuffer, const AttentionBuffers& buffers) const {
    SaccadeAttentionBuffers c = saccadeAttentionBuffersDefault();
    c.q = buffers.q;
    c.k = buffers.k;
    c.v = buffers.v;
    c.out = buffers.out;
    c.lse = buffers.lse;
    c.probs = buffers.probs;
    c.mask = buffers.mask;
    c.bias = buffers.bias;
    c.alibiSlopes = buffers.alibiSlopes;
    c.sink = buffers.sink;
    c.blockTable = buffers.blockTable;
    c.kScale = buffers.kScale;
    c.vScale = buffers.vScale;
    c.seqlensQ = buffers.seqlensQ;
    c.seqlensK = buffers.seqlensK;
    c.cuSeqlensQ = buffers.cuSeqlensQ;
    c.cuSeqlensK = buffers.cuSeqlensK;
    c.scratch = buffers.scratch;
    c.hostSeqlensQ = buffers.hostSeqlensQ;
    c.hostSeqlensK = buffers.hostSeqlensK;
    c.hostCuSeqlensQ = buffers.hostCuSeqlensQ;
    c.hostCuSeqlensK = buffers.hostCuSeqlensK;
    c.hostBlockTable = buffers.hostBlockTable;
    detail::check([&](SaccadeMessage* m) { return saccadeCmdAttention(commandBuffer, handle_, &c, m); });
  }

  void record(VkCommandBuffer commandBuffer, const MatmulBuffers& buffers) const {
    SaccadeMatmulBuffers c = saccadeMatmulBuffersDefault();
    c.a = buffers.a;
    c.b = buffers.b;
    c.bias = buffers.bias;
    c.residual = buffers.residual;
    c.out = buffers.out;
    detail::check([&](SaccadeMessage* m) { return saccadeCmdMatmul(commandBuffer, handle_, &c, m); });
  }

  void record(VkCommandBuffer commandBuffer, const LayerNormBuffers& buffers) const {
    SaccadeLayerNormBuffers c = saccadeLayerNormBuffersDefault();
    c.x = buffers.x;
    c.weight = buffers.weight;
    c.bias = buffers.bias;
    c.out = buffers.out;
    detail::check([&](SaccadeMessage* m) { return saccadeCmdLayerNorm(commandBuffer, handle_, &c, m); });
  }

  void record(VkCommandBuffer commandBuffer, const SoftmaxBuffers& buffers) const {
    SaccadeSoftmaxBuffers c = saccadeSoftmaxBuffersDefault();
    c.x = buffers.x;
    c.out = buffers.out;
    detail::check([&](SaccadeMessage* m) { return saccadeCmdSoftmax(commandBuffer, handle_, &c, m); });
  }

  void record(VkCommandBuffer commandBuffer, const ActivationBuffers& buffers) const {
    SaccadeActivationBuffers c = saccadeActivationBuffersDefault();
    c.x = buffers.x;
    c.out = buffers.out;
    detail::check([&](SaccadeMessage* m) { return saccadeCmdActivation(commandBuffer, handle_, &c, m); });
  }

  void record(VkCommandBuffer commandBuffer, const PatchEmbedBuffers& buffers) const {
    SaccadePatchEmbedBuffers c = saccadePatchEmbedBuffersDefault();
    c.image = buffers.image;
    c.weight = buffers.weight;
    c.bias = buffers.bias;
    c.residual = buffers.residual;
    c.out = buffers.out;
    c.scratch = buffers.scratch;
    detail::check([&](SaccadeMessage* m) { return saccadeCmdPatchEmbed(commandBuffer, handle_, &c, m); });
  }
  /// \}

 private:
  SaccadePlan handle_;
};

/// What a host hands over of its device; see SaccadeContextCreateInfo.
struct ContextDesc {
  std::uint32_t apiVersion = VK_API_VERSION_1_2;  ///< of the instance
  VkInstance instance = VK_NULL_HANDLE;              ///< \copybrief SaccadeContextCreateInfo::instance
  VkPhysicalDevice physicalDevice = VK_NULL_HANDLE;  ///< \copybrief SaccadeContextCreateInfo::physicalDevice
  VkDevice device = VK_NULL_HANDLE;                  ///< \copybrief SaccadeContextCreateInfo::device
  PFN_vkGetInstanceProcAddr getInstanceProcAddr = nullptr;  ///< the only way in: the core links no loader
  const VkPhysicalDeviceFeatures2* enabledFeatures = nullptr;  ///< with the chain given to vkCreateDevice
  std::span<const char* const> enabledExtensions{};            ///< device extensions given to vkCreateDevice
  VkPipelineCache pipelineCache = VK_NULL_HANDLE;              ///< optional; lives as long as the context
  const VkAllocationCallbacks* allocationCallbacks = nullptr;  ///< optional; copied, must stay valid
  std::string kernel{};  ///< every plan uses this kernel variant or is refused; empty: free choice
  std::string tuning{};  ///< the content of a tuning file; empty: none
  double dispatchBudget = 100;  ///< milliseconds of one dispatch
  bool debugUtils = false;      ///< VK_EXT_debug_utils is enabled on the instance
  std::optional<bool> checkUse{}; ///< as SaccadeContextCreateInfo::checkUse; none: that of saccadeContextCreateInfoDefault
  SaccadeLogCallback logCallback = nullptr;  ///< optional; gets the messages of the log
  void* logUserData = nullptr;               ///< handed to logCallback
  SaccadeSeverity logSeverity = SACCADE_SEVERITY_WARNING;  ///< the least that the callback gets
};

/// Owns a SaccadeContext. May be used from several threads at once. Outlives its plans; the VkDevice outlives
/// it.
class Context {
 public:
  /// Throws Error: InvalidArgument, DeviceRequirements (names the missing feature), OutOfMemory.
  explicit Context(const ContextDesc& desc) {
    SaccadeContextCreateInfo info = saccadeContextCreateInfoDefault();
    info.apiVersion = desc.apiVersion;
    info.instance = desc.instance;
    info.physicalDevice = desc.physicalDevice;
    info.device = desc.device;
    info.getInstanceProcAddr = desc.getInstanceProcAddr;
    info.enabledFeatures = desc.enabledFeatures;
    info.enabledExtensionCount = static_cast<std::uint32_t>(desc.enabledExtensions.size());
    info.enabledExtensions = desc.enabledExtensions.data();
    info.pipelineCache = desc.pipelineCache;
    info.allocationCallbacks = desc.allocationCallbacks;
    info.kernel = detail::toKernel(desc.kernel);
    info.tuning = desc.tuning.data();
    info.tuningSize = desc.tuning.size();
    info.dispatchBudget = desc.dispatchBudget;
    info.debugUtils = detail::toBool(desc.debugUtils);
    if (desc.checkUse) info.checkUse = detail::toBool(*desc.checkUse);
    info.logCallback = desc.logCallback;
    info.logUserData = desc.logUserData;
    info.logSeverity = desc.logSeverity;
    detail::check([&](SaccadeMessage* m) { return saccadeCreateContext(&info, &handle_, m); });
  }
  /// The other context is empty afterwards.
  Context(Context&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  /// The two change places.
  Context& operator=(Context&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Context() { saccadeDestroyContext(handle_); }

  /// Owned by this object.
  SaccadeContext handle() const noexcept { return handle_; }

  /// Lives as long as the context.
  const DeviceFacts& facts() const { return *saccadeGetDeviceFacts(handle_); }

  /// What it has done so far.
  ContextStatistics statistics() const noexcept {
    ContextStatistics statistics{};
    saccadeGetContextStatistics(handle_, &statistics);
    return statistics;
  }

  /// Every kernel variant that this version knows, also those that the device or the build lacks.
  /// Strings in it live as long as the context. Throws Error: OutOfMemory.
  std::vector<KernelInfo> kernels() const {
    return detail::enumerate<KernelInfo>([this](std::uint32_t* count, KernelInfo* items, SaccadeMessage* m) {
      return saccadeGetKernels(handle_, count, items, m);
    });
  }

  /// What it would gain if the host enabled more, how many plans there are, what became of the tuning file. Strings and arrays
  /// in it live as long as the context.
  ContextInfo info() const noexcept {
    ContextInfo info{};
    saccadeGetContextInfo(handle_, &info);
    return info;
  }

  /// \name What could be measured
  /// \{

  /// Kernels and tiles that are worth measuring for a problem, the built-in choice first. Throws Error as plan does.
  std::vector<Candidate> candidates(const AttentionDesc& desc) const {
    return listCandidates(saccadeGetAttentionCandidates, desc);
  }
  std::vector<Candidate> candidates(const MatmulDesc& desc) const {
    return listCandidates(saccadeGetMatmulCandidates, desc);
  }

  /// \}

  /// \name Plans
  /// \{

  /// Validates the description, chooses a kernel, creates what pipelines are missing; see saccadeCreateAttentionPlan(). Thread-safe.
  /// Throws Error: InvalidArgument and Unsupported (field() says which field), OutOfMemory, Driver,
  /// DeviceLost.
  Plan plan(const AttentionDesc& desc) const { return create(saccadeCreateAttentionPlan, desc); }
  Plan plan(const MatmulDesc& desc) const { return create(saccadeCreateMatmulPlan, desc); }
  Plan plan(const LayerNormDesc& desc) const { return create(saccadeCreateLayerNormPlan, desc); }
  Plan plan(const SoftmaxDesc& desc) const { return create(saccadeCreateSoftmaxPlan, desc); }
  Plan plan(const ActivationDesc& desc) const { return create(saccadeCreateActivationPlan, desc); }
  Plan plan(const PatchEmbedDesc& desc) const { return create(saccadeCreatePatchEmbedPlan, desc); }
  /// \}

 private:
  template <typename Function, typename Desc>
  Plan create(Function function, const Desc& desc) const {
    const auto c = desc.toC();
    SaccadePlan plan = nullptr;
    detail::check([&](SaccadeMessage* m) { return function(handle_, &c, &plan, m); });
    return Plan(plan);
  }

  template <typename Function, typename Desc>
  std::vector<Candidate> listCandidates(Function function, const Desc& desc) const {
    const auto c = desc.toC();
    return detail::enumerate<Candidate>([&](std::uint32_t* count, Candidate* items, SaccadeMessage* m) {
      return function(handle_, &c, count, items, m);
    });
  }

  SaccadeContext handle_ = nullptr;
};

/// What Saccade requires and recommends of a physical device, to be asked before vkCreateDevice. Strings have
/// static storage. Throws Error: InvalidArgument, DeviceRequirements (Vulkan older than 1.2).
inline std::vector<Requirement> deviceRequirements(VkInstance instance, VkPhysicalDevice physicalDevice,
                                                   PFN_vkGetInstanceProcAddr getInstanceProcAddr) {
  return detail::enumerate<Requirement>([&](std::uint32_t* count, Requirement* items, SaccadeMessage* m) {
    return saccadeGetDeviceRequirements(instance, physicalDevice, getInstanceProcAddr, count, items, m);
  });
}

}  // namespace saccade
