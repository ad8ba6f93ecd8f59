// SPDX-License-Identifier: Apache-2.0
//
// Saccade's C API (saccade.h, which is the manual) as C++20: handles are move-only types, descriptions are
// structs for designated initialisers, and failures are exceptions of type saccade::Error. Header-only; adds
// nothing to what saccade.h can do, and every function that may throw says so.
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

namespace saccade {

enum class Status {
  Ok = SACCADE_OK,
  InvalidArgument = SACCADE_ERROR_INVALID_ARGUMENT,
  Unsupported = SACCADE_ERROR_UNSUPPORTED,
  DeviceRequirements = SACCADE_ERROR_DEVICE_REQUIREMENTS,
  OutOfMemory = SACCADE_ERROR_OUT_OF_MEMORY,
  DeviceLost = SACCADE_ERROR_DEVICE_LOST,
  Driver = SACCADE_ERROR_DRIVER,
};

enum class Dtype {
  None = SACCADE_DTYPE_NONE,
  F32 = SACCADE_DTYPE_F32,
  F16 = SACCADE_DTYPE_F16,
  BF16 = SACCADE_DTYPE_BF16,
  U8 = SACCADE_DTYPE_U8,
  I32 = SACCADE_DTYPE_I32,
};

enum class Causal {
  None = SACCADE_CAUSAL_NONE,
  BottomRight = SACCADE_CAUSAL_BOTTOM_RIGHT,
  TopLeft = SACCADE_CAUSAL_TOP_LEFT,
};

enum class Normalizer {
  Softmax = SACCADE_NORMALIZER_SOFTMAX,
  Sigmoid = SACCADE_NORMALIZER_SIGMOID,
  Relu = SACCADE_NORMALIZER_RELU,
};

enum class Activation {
  None = SACCADE_ACTIVATION_NONE,
  Gelu = SACCADE_ACTIVATION_GELU,
  GeluTanh = SACCADE_ACTIVATION_GELU_TANH,
};

// What every throwing function of this header throws. what() is a sentence for people: the field, its value,
// what is allowed and the way out.
class Error : public std::runtime_error {
 public:
  Error(Status status, std::string field, const std::string& text)
      : std::runtime_error(text), status_(status), field_(std::move(field)) {}

  Status status() const noexcept { return status_; }
  // The field of the description that was refused, e.g. "k.strides"; empty if there is none.
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
using BufferRange = SaccadeBuffer;  // address and size in bytes
using Candidate = SaccadeCandidate;
using DeviceFacts = SaccadeDeviceFacts;
using KernelInfo = SaccadeKernelInfo;
using PlanInfo = SaccadePlanInfo;
using ContextStatistics = SaccadeContextStatistics;
using Requirement = SaccadeRequirement;
using ContextInfo = SaccadeContextInfo;

// Bytes of one element; 0 for None.
constexpr std::size_t dtypeSize(Dtype dtype) {
  switch (dtype) {
    case Dtype::F32:
    case Dtype::I32: return 4;
    case Dtype::F16:
    case Dtype::BF16: return 2;
    case Dtype::U8: return 1;
    case Dtype::None: break;
  }
  return 0;
}

// Sizes and strides in elements; strides of all 0 mean row-major and contiguous. An output whose sizes are
// all 0 has the sizes that the inputs demand.
struct TensorDesc {
  Dtype dtype = Dtype::F32;
  std::array<std::int64_t, 4> sizes{};
  std::array<std::int64_t, 4> strides{};

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

// An output that is not described is contiguous, of the sizes that the inputs demand and of `dtype`.
inline SaccadeTensorDesc outputToC(const std::optional<TensorDesc>& tensor, Dtype dtype) {
  return tensor ? tensor->toC() : TensorDesc{.dtype = dtype}.toC();
}

}  // namespace detail

// The descriptions below mirror those of saccade.h field by field; shapes and meaning stand there. An
// optional that is empty means: absent (tensors), the default (values), contiguous with the sizes and dtype
// that follow from the inputs
// (`out`). `kernel` empty means the context's choice. toC() returns a struct whose pointers live as long as
// *this.

struct AttentionDesc {
  TensorDesc q, k, v;
  std::optional<TensorDesc> out;
  std::optional<TensorDesc> lse, probs;  // optional outputs
  std::optional<TensorDesc> mask, bias;
  std::optional<TensorDesc> alibiSlopes, sink;
  std::optional<TensorDesc> blockTable;  // paged K/V
  bool seqlensQ = false;  // record with AttentionBuffers::seqlensQ
  bool seqlensK = false;
  std::optional<std::uint32_t> sequences;  // packed: record with cuSeqlensQ and cuSeqlensK, one entry more each
  Causal causal = Causal::None;
  std::int64_t windowLeft = -1;
  std::int64_t windowRight = -1;
  std::optional<float> softmaxScale;  // 1/sqrt(head_dim_qk)
  float temperature = 1.0f;
  float softcap = 0.0f;
  float dropout = 0.0f;
  std::uint64_t dropoutSeed = 0;
  std::uint64_t dropoutOffset = 0;
  Normalizer normalizer = Normalizer::Softmax;
  float sigmoidBias = 0.0f;
  std::string kernel;

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

struct MatmulDesc {
  TensorDesc a, b;
  std::optional<TensorDesc> bias, residual, out;
  Activation activation = Activation::None;
  std::string kernel;

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

struct LayerNormDesc {
  TensorDesc x;
  std::optional<TensorDesc> weight, bias, out;
  float epsilon = 1e-5f;
  std::string kernel;

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

struct SoftmaxDesc {
  TensorDesc x;
  std::optional<TensorDesc> out;
  std::string kernel;

  SaccadeSoftmaxDesc toC() const {
    SaccadeSoftmaxDesc desc = saccadeSoftmaxDescDefault();
    desc.x = x.toC();
    desc.out = detail::outputToC(out, x.dtype);
    desc.kernel = detail::toKernel(kernel);
    return desc;
  }
};

struct ActivationDesc {
  TensorDesc x;
  std::optional<TensorDesc> out;
  Activation activation = Activation::Gelu;
  std::string kernel;

  SaccadeActivationDesc toC() const {
    SaccadeActivationDesc desc = saccadeActivationDescDefault();
    desc.x = x.toC();
    desc.out = detail::outputToC(out, x.dtype);
    desc.activation = static_cast<SaccadeActivation>(activation);
    desc.kernel = detail::toKernel(kernel);
    return desc;
  }
};

struct PatchEmbedDesc {
  TensorDesc image, weight;
  std::optional<TensorDesc> bias, residual, out;
  std::uint32_t patchSize = 0;
  std::string kernel;

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

// The memory of one recorded operator. Ranges of absent tensors are ignored.

struct AttentionBuffers {
  BufferRange q{}, k{}, v{}, out{}, lse{}, probs{}, mask{}, bias{}, alibiSlopes{}, sink{}, blockTable{};
  BufferRange seqlensQ{}, seqlensK{};
  BufferRange cuSeqlensQ{}, cuSeqlensK{};
  BufferRange scratch{};  // PlanInfo::scratchBytes, aligned to 16
  // Optional: what the arrays of the same name will hold, checked by record.
  const std::int32_t* hostSeqlensQ = nullptr;  // [B]
  const std::int32_t* hostSeqlensK = nullptr;
  const std::int32_t* hostCuSeqlensQ = nullptr;  // [sequences + 1]
  const std::int32_t* hostCuSeqlensK = nullptr;
  const std::int32_t* hostBlockTable = nullptr;  // [B, max_pages]
};

struct MatmulBuffers {
  BufferRange a{}, b{}, bias{}, residual{}, out{};
};

struct LayerNormBuffers {
  BufferRange x{}, weight{}, bias{}, out{};
};

struct SoftmaxBuffers {
  BufferRange x{}, out{};
};

struct ActivationBuffers {
  BufferRange x{}, out{};
};

struct PatchEmbedBuffers {
  BufferRange image{}, weight{}, bias{}, residual{}, out{}, scratch{};
};

// Owns a SaccadePlan. Immutable: any number of threads may record one plan into different command buffers.
// It must outlive the execution of every command buffer that it was recorded into, and its context must
// outlive it.
class Plan {
 public:
  explicit Plan(SaccadePlan handle) noexcept : handle_(handle) {}  // takes ownership
  Plan(Plan&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Plan& operator=(Plan&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Plan() { saccadeDestroyPlan(handle_); }

  SaccadePlan handle() const noexcept { return handle_; }

  // Strings in it live as long as the plan.
  PlanInfo info() const {
    PlanInfo info{};
    saccadeGetPlanInfo(handle_, &info);
    return info;
  }

  // Teaches the context how long this plan takes on the device: see saccadeReportTime. Thread-safe.
  void reportTime(double milliseconds) const noexcept { saccadeReportTime(handle_, milliseconds); }

  // Record into a command buffer in the recording state; the buffers must be those of the plan's operator.
  // Throws Error: InvalidArgument; nothing has been recorded then.
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

 private:
  SaccadePlan handle_;
};

// What a host hands over of its device; see SaccadeContextCreateInfo.
struct ContextDesc {
  std::uint32_t apiVersion = VK_API_VERSION_1_2;  // of the instance
  VkInstance instance = VK_NULL_HANDLE;
  VkPhysicalDevice physicalDevice = VK_NULL_HANDLE;
  VkDevice device = VK_NULL_HANDLE;
  PFN_vkGetInstanceProcAddr getInstanceProcAddr = nullptr;
  const VkPhysicalDeviceFeatures2* enabledFeatures = nullptr;  // with the chain given to vkCreateDevice
  std::span<const char* const> enabledExtensions;
  VkPipelineCache pipelineCache = VK_NULL_HANDLE;
  const VkAllocationCallbacks* allocationCallbacks = nullptr;
  std::string kernel;  // every plan uses this kernel variant or is refused; empty: free choice
  std::string tuning;  // the content of a tuning file; empty: none
  double dispatchBudget = 100;  // milliseconds of one dispatch
  bool debugUtils = false;      // VK_EXT_debug_utils is enabled on the instance
  std::optional<bool> checkUse; // as SaccadeContextCreateInfo::checkUse; none: that of saccadeContextCreateInfoDefault
  SaccadeLogCallback logCallback = nullptr;
  void* logUserData = nullptr;
  SaccadeSeverity logSeverity = SACCADE_SEVERITY_WARNING;  // the least that the callback gets
};

// Owns a SaccadeContext. May be used from several threads at once. Outlives its plans; the VkDevice outlives
// it.
class Context {
 public:
  // Throws Error: InvalidArgument, DeviceRequirements (names the missing feature), OutOfMemory.
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
  Context(Context&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Context& operator=(Context&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Context() { saccadeDestroyContext(handle_); }

  SaccadeContext handle() const noexcept { return handle_; }

  // Lives as long as the context.
  const DeviceFacts& facts() const { return *saccadeGetDeviceFacts(handle_); }

  ContextStatistics statistics() const noexcept {
    ContextStatistics statistics{};
    saccadeGetContextStatistics(handle_, &statistics);
    return statistics;
  }

  // Every kernel variant that this version knows, also those that the device or the build lacks.
  // Strings in it live as long as the context. Throws Error: OutOfMemory.
  std::vector<KernelInfo> kernels() const {
    return detail::enumerate<KernelInfo>([this](std::uint32_t* count, KernelInfo* items, SaccadeMessage* m) {
      return saccadeGetKernels(handle_, count, items, m);
    });
  }

  // What it would gain if the host enabled more, how many plans there are, what became of the tuning file. Strings and arrays
  // in it live as long as the context.
  ContextInfo info() const noexcept {
    ContextInfo info{};
    saccadeGetContextInfo(handle_, &info);
    return info;
  }

  // Kernels and tiles that are worth measuring for a problem, the built-in choice first. Throw Error as plan does.
  std::vector<Candidate> candidates(const AttentionDesc& desc) const {
    return listCandidates(saccadeGetAttentionCandidates, desc);
  }
  std::vector<Candidate> candidates(const MatmulDesc& desc) const {
    return listCandidates(saccadeGetMatmulCandidates, desc);
  }

  // Each throws Error: InvalidArgument and Unsupported (field() says which field), OutOfMemory, Driver,
  // DeviceLost.
  Plan plan(const AttentionDesc& desc) const { return create(saccadeCreateAttentionPlan, desc); }
  Plan plan(const MatmulDesc& desc) const { return create(saccadeCreateMatmulPlan, desc); }
  Plan plan(const LayerNormDesc& desc) const { return create(saccadeCreateLayerNormPlan, desc); }
  Plan plan(const SoftmaxDesc& desc) const { return create(saccadeCreateSoftmaxPlan, desc); }
  Plan plan(const ActivationDesc& desc) const { return create(saccadeCreateActivationPlan, desc); }
  Plan plan(const PatchEmbedDesc& desc) const { return create(saccadeCreatePatchEmbedPlan, desc); }

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

// What Saccade requires and recommends of a physical device, to be asked before vkCreateDevice. Strings have
// static storage. Throws Error: InvalidArgument, DeviceRequirements (Vulkan older than 1.2).
inline std::vector<Requirement> deviceRequirements(VkInstance instance, VkPhysicalDevice physicalDevice,
                                                   PFN_vkGetInstanceProcAddr getInstanceProcAddr) {
  return detail::enumerate<Requirement>([&](std::uint32_t* count, Requirement* items, SaccadeMessage* m) {
    return saccadeGetDeviceRequirements(instance, physicalDevice, getInstanceProcAddr, count, items, m);
  });
}

}  // namespace saccade
