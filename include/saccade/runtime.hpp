// SPDX-License-Identifier: Apache-2.0

/// \file
/// The standalone runtime: a device, tensors in its memory, and streams of operators. It is for programs that
/// have no Vulkan device of their own; those that do use saccade.h alone.
///
/// ~~~{.cpp}
/// auto device = saccade::Device::open();
/// auto out = saccade::attention(device, q, k, v, {.causal = saccade::Causal::BottomRight});
/// ~~~
///
/// Errors. Every function may throw saccade::Error unless it is noexcept. A refusal happens before anything is
/// recorded and names the field. After DeviceLost a device and all that belongs to it are of no further use.
///
/// Order. A device has one queue. Work runs in the order in which it is submitted, whatever stream it comes
/// from, and sees the results of everything submitted before it; no barrier between submissions is ever
/// needed. What a stream has recorded but not submitted has not happened yet: Tensor::upload and download do
/// not wait for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <saccade/saccade.hpp>

/// What the shared library exports.
#if defined(__GNUC__)
#  define SACCADE_RUNTIME_API __attribute__((visibility("default")))
#else
#  define SACCADE_RUNTIME_API
#endif

/// Saccade in C++.
namespace saccade {

namespace runtime {
class DeviceState;
class StreamState;
class Storage;
}  // namespace runtime

/// VkPhysicalDeviceType.
enum class DeviceType { Other, IntegratedGpu, DiscreteGpu, VirtualGpu, Cpu };

/// "discrete GPU", "CPU", ... Static storage.
SACCADE_RUNTIME_API const char* deviceTypeName(DeviceType type) noexcept;

/// A Vulkan device of this machine, before it is opened.
struct DeviceSummary {
  std::uint32_t index = 0;  ///< the driver's enumeration order, which may change from one start to the next
  std::string name{};                   ///< as the driver calls it
  DeviceType type = DeviceType::Other;  ///< what kind of device it is
  std::string driver{};          ///< name and version text
  std::uint32_t apiVersion = 0;  ///< VK_API_VERSION_* of the device
  bool supported = false;            ///< has what Saccade requires
  std::vector<std::string> missing{};  ///< what it lacks, by name, e.g. "bufferDeviceAddress"
};

/// Picks a device; what Device::open does, without a device. `select` empty: the best supported one, in the
/// order discrete, integrated, virtual, other, CPU, and the lower index among equals. A number is an index;
/// anything else a part of the name, in any case. Returns a position in `devices`. Throws Error
/// DeviceRequirements with a list of the devices: there is none, none or more than one matches, or the one
/// chosen lacks something (named).
SACCADE_RUNTIME_API std::size_t chooseDevice(std::span<const DeviceSummary> devices, const std::string& select);

/// How to open a device. What is left out comes from the environment, else from the defaults.
struct DeviceOptions {
  /// As for chooseDevice; empty: environment variable SACCADE_DEVICE, else the best device.
  std::string select{};
  /// Every plan uses this kernel variant; empty: environment variable SACCADE_KERNEL, else free choice.
  std::string kernel{};
  /// Turns on the validation layer with synchronisation validation; unset: environment variable
  /// SACCADE_VALIDATION (1 or 0).
  std::optional<bool> validation{};
  /// The tuning file that kernels and tiles are chosen by (`saccade tune` writes it), or "off". Empty: environment variable
  /// SACCADE_TUNING, else the file of this device and driver in the cache folder. One that cannot be used is ignored, and
  /// note() says why.
  std::string tuning{};
  /// Folder in which compiled pipelines are kept from one process to the next, a file per device and driver; "off": none.
  /// Empty: environment variable SACCADE_CACHE, else $XDG_CACHE_HOME/saccade or ~/.cache/saccade. A file that is
  /// damaged or of another version is replaced, and a folder that cannot be written to is done without.
  std::string cache{};
  /// Milliseconds that one dispatch should take at most (SaccadeContextCreateInfo::dispatchBudget); streams measure long
  /// work and teach the device by themselves. Unset: environment variable SACCADE_DISPATCH_BUDGET (a number, or
  /// "off": never cut), else 100.
  std::optional<double> dispatchBudget{};
  /// Receives, in a sentence, what a user may want to know but what stops no work, e.g. that the cache cannot be
  /// written. Called from the thread that makes the call concerned, at the latest when the device closes. Empty: such
  /// sentences go to stderr.
  std::function<void(const std::string&)> onMessage{};
};

/// Bytes of device memory held by tensors, scratch and staging of one device.
struct MemoryStatistics {
  std::uint64_t currentBytes = 0;  ///< now
  std::uint64_t peakBytes = 0;  ///< since Device::open or the last resetPeakMemory
};

/// The Vulkan handles of a device, owned by it: for host programs and tests that record on their own.
struct DeviceHandles {
  std::uint32_t apiVersion = 0;  ///< of the instance
  VkInstance instance = VK_NULL_HANDLE;              ///< lives as long as the device
  VkPhysicalDevice physicalDevice = VK_NULL_HANDLE;  ///< of the instance
  VkDevice device = VK_NULL_HANDLE;                  ///< with one queue
  std::uint32_t queueFamily = 0;                     ///< of that queue
  PFN_vkGetInstanceProcAddr getInstanceProcAddr = nullptr;  ///< the loader's
  const VkPhysicalDeviceFeatures2* enabledFeatures = nullptr;  ///< with its chain
  std::span<const char* const> enabledExtensions{};  ///< of the device
};

/// A plan that may be shared and kept; it keeps its device alive.
using PlanPtr = std::shared_ptr<const Plan>;

/// A Vulkan device of our own. A cheap handle: copies share the device, which lives until the last copy,
/// tensor, stream and plan of it is gone. All functions may be called from several threads at once.
class SACCADE_RUNTIME_API Device {
 public:
  /// Every Vulkan device, supported or not. Throws Error DeviceRequirements: there is no Vulkan loader or
  /// driver.
  static std::vector<DeviceSummary> list();

  /// Throws Error DeviceRequirements: no Vulkan loader, no device, no such device, a device without required
  /// features.
  static Device open(const DeviceOptions& options = {});

  const DeviceSummary& summary() const noexcept;  ///< as list() had it
  const DeviceFacts& facts() const noexcept;      ///< what plans are made from
  /// As Context::kernels.
  std::vector<KernelInfo> kernels() const;  ///< strings live as long as the device
  const Context& context() const noexcept;  ///< its plans must not outlive the device
  DeviceHandles handles() const noexcept;  ///< they live as long as the device

  /// Where the tuning file of this device is or would be; empty: none is looked for.
  const std::string& tuningFile() const noexcept;

  /// What a user should be told about this choice, e.g. that a CPU device was taken because there is no GPU;
  /// else empty.
  const std::string& note() const noexcept;

  MemoryStatistics memory() const noexcept;  ///< of this device, all copies of the handle together
  void resetPeakMemory() noexcept;  ///< the peak becomes the current value

  /// Warnings and errors of the validation layer so far; each was also printed to stderr. 0 without
  /// validation.
  std::uint64_t validationMessageCount() const noexcept;
  bool validation() const noexcept;  ///< whether the validation layer is on

  /// \name Plans
  /// \{

  /// The plan of a description, from a cache of the most recent ones. Throws Error as Context::plan does.
  PlanPtr plan(const AttentionDesc& desc) const;
  PlanPtr plan(const MatmulDesc& desc) const;
  PlanPtr plan(const LayerNormDesc& desc) const;
  PlanPtr plan(const SoftmaxDesc& desc) const;
  PlanPtr plan(const ActivationDesc& desc) const;
  PlanPtr plan(const PatchEmbedDesc& desc) const;
  /// \}

  /// Waits until everything submitted so far has finished.
  void waitIdle() const;

  /// For the runtime itself.
  const std::shared_ptr<runtime::DeviceState>& state() const noexcept { return state_; }

 private:
  friend class Tensor;
  friend class Stream;
  explicit Device(std::shared_ptr<runtime::DeviceState> state) noexcept : state_(std::move(state)) {}
  std::shared_ptr<runtime::DeviceState> state_;
};

/// Sizes of a tensor, the last axis being the contiguous one. Empty: a scalar, of one element.
using Shape = std::vector<std::int64_t>;

/// How to make a tensor.
struct TensorOptions {
  /// Puts margins of 0xff bytes (NaN in every float format) around the elements, and the same bytes into them,
  /// so that a test sees reads and writes outside (guardsIntact) and elements that nobody wrote.
  bool guard = false;
};

/// A strided view of device memory: dtype, shape, strides in elements, and a share of the memory behind it. A
/// default-constructed tensor is absent and stands for an optional argument that is not given.
/// 
/// Views (slice, transpose, ...) share memory with the tensor they come from. An axis may be negative: it then
/// counts from the end. Distinct threads may use copies of one tensor at once; who writes elements that
/// another thread uses orders the two.
class SACCADE_RUNTIME_API Tensor {
 public:
  Tensor() noexcept = default;

  /// \name New tensors
  /// \{

  /// A new contiguous tensor: of elements that nobody has written (empty), of zeros, of one value, of the values given. Throws
  /// Error: InvalidArgument (a negative size, dtype None, a wrong number of values), OutOfMemory.
  static Tensor empty(const Device& device, Dtype dtype, const Shape& shape,
                      const TensorOptions& options = {});
  static Tensor zeros(const Device& device, Dtype dtype, const Shape& shape,
                      const TensorOptions& options = {});
  static Tensor full(const Device& device, Dtype dtype, const Shape& shape, float value,
                     const TensorOptions& options = {});
  /// Values in row-major order, converted to dtype: floats rounded once to nearest even; U8 and I32 must be
  /// exact. F8E4M3 and I8 are rounded to nearest even as well and saturate: at 448, infinities too, and at -128 and 127. A NaN
  /// is one in F8E4M3 and refused for integers.
  static Tensor from(const Device& device, Dtype dtype, const Shape& shape, std::span<const float> values,
                     const TensorOptions& options = {});
  static Tensor fromInts(const Device& device, const Shape& shape, std::span<const std::int32_t> values,
                         const TensorOptions& options = {});
  /// The elements as they lie in memory, row-major.
  static Tensor fromBytes(const Device& device, Dtype dtype, const Shape& shape,
                          std::span<const std::byte> bytes, const TensorOptions& options = {});
  /// \}

  /// False: absent.
  explicit operator bool() const noexcept { return storage_ != nullptr; }
  /// Of the elements in memory; None of an absent tensor.
  Dtype dtype() const noexcept { return dtype_; }
  /// Sizes, one per axis.
  const Shape& shape() const noexcept { return shape_; }
  /// In elements, one per axis.
  const std::vector<std::int64_t>& strides() const noexcept { return strides_; }
  std::int64_t offset() const noexcept { return offset_; }  ///< of the first element in its memory, in elements
  /// Number of axes.
  std::size_t rank() const noexcept { return shape_.size(); }
  std::int64_t size(int axis) const;  ///< throws Error InvalidArgument: no such axis
  std::int64_t elementCount() const noexcept;  ///< the product of the sizes
  bool isContiguous() const noexcept;          ///< row-major without gaps
  Device device() const;  ///< throws Error InvalidArgument: the tensor is absent

  /// \name Views
  /// \{

  /// A view of the same memory; nothing is copied. Throws Error InvalidArgument: an axis or range outside the shape, or a shape
  /// that would need a copy.
  Tensor slice(int axis, std::int64_t begin, std::int64_t end) const;
  Tensor select(int axis, std::int64_t index) const;  ///< drops the axis
  Tensor transpose(int axisA, int axisB) const;
  Tensor permute(const std::vector<int>& axes) const;
  Tensor unsqueeze(int axis) const;          ///< a new axis of size 1 at `axis` of the result
  Tensor expand(const Shape& shape) const;   ///< sizes of 1 become larger with stride 0; new axes in front
  Tensor reshape(const Shape& shape) const;  ///< one size may be -1; throws if it would need a copy
  /// Any view of the memory: offset in elements from this tensor's first one. Throws if it leaves the memory.
  Tensor asStrided(const Shape& shape, const std::vector<std::int64_t>& strides,
                   std::int64_t offset = 0) const;
  /// \}

  /// \name Copies
  /// \{

  /// Synchronous copies, in row-major order of the shape; they wait for everything submitted before.
  /// upload throws Error InvalidArgument where elements overlap (a stride of 0) or the number of values is
  /// wrong.
  void upload(std::span<const float> values) const;
  void uploadBytes(std::span<const std::byte> bytes) const;
  std::vector<float> download() const;             ///< I32 beyond 2^24 is rounded
  std::vector<std::int32_t> downloadInts() const;  ///< dtype I32, U8 or I8 only
  std::vector<std::byte> downloadBytes() const;
  /// \}

  /// For plans. desc() has four axes, with sizes of 1 in front; throws Error InvalidArgument for more than
  /// four and for a stride-0 view that the four strides cannot express (all of them 0). Absent tensors have
  /// dtype None.
  TensorDesc desc() const;
  /// Reaches from the first element to the end of the memory (of a guarded tensor: of its elements, rounded up
  /// to 4 bytes).
  BufferRange buffer() const noexcept;

  bool guarded() const noexcept;  ///< made with TensorOptions::guard
  /// Downloads the margins. Throws Error InvalidArgument without TensorOptions::guard.
  bool guardsIntact() const;

  /// For the runtime itself.
  const std::shared_ptr<runtime::Storage>& storage() const noexcept { return storage_; }

 private:
  std::shared_ptr<runtime::Storage> storage_;
  Dtype dtype_ = Dtype::None;
  Shape shape_;
  std::vector<std::int64_t> strides_;
  std::int64_t offset_ = 0;
};

/// Options of an attention; shapes and meaning are those of SaccadeAttentionDesc. A tensor that is left out is absent.
/// Tensors of fewer than four axes get sizes of 1 in front: [T, D] is one head of one batch entry.
struct AttentionOptions {
  Causal causal = Causal::None;  ///< which keys a row sees
  std::int64_t windowLeft = -1,  ///< keys before the diagonal; -1: unbounded
      windowRight = -1;          ///< keys after the diagonal; -1: unbounded
  std::optional<float> softmaxScale = std::nullopt;  ///< empty: 1/sqrt(head_dim_qk)
  float temperature = 1.0f;  ///< divides the scale
  float softcap = 0.0f;      ///< 0: off
  Tensor mask = {},          ///< U8 [B, Hq, Tq, Tk], each full or 1; non-zero: attend
      bias = {};             ///< F32, F16 or BF16, the same sizes; added to the scaled scores
  Tensor alibiSlopes = {};  ///< F32 [Hq] or [B, Hq]
  Tensor sink = {};         ///< F32 [Hq]
  Tensor seqlensQ = {},       ///< I32 [B], contiguous: rows of each entry
      seqlensK = {};          ///< I32 [B], contiguous: keys of each entry
  Tensor cuSeqlensQ = {},     ///< I32 [sequences + 1], contiguous; with cuSeqlensK or not at all: packed sequences
      cuSeqlensK = {};        ///< I32 [sequences + 1], contiguous
  Tensor blockTable = {};                   ///< I32 [B, max_pages]: paged K/V
  Tensor kScale = {},  ///< F32 [B or pages, Hkv, blocks of tokens, 1], each full or 1: scales of quantised keys
      vScale = {};     ///< the same of values
  std::uint32_t scaleBlock = 0;  ///< tokens that share a scale; 0: all
  /// What the tensor of the same name holds, if known: checked before recording.
  std::vector<std::int32_t> hostSeqlensQ = {},
      hostSeqlensK = {},    ///< the same of seqlensK
      hostCuSeqlensQ = {},  ///< the same of cuSeqlensQ
      hostCuSeqlensK = {},  ///< the same of cuSeqlensK
      hostBlockTable = {};  ///< the same of blockTable
  Tensor lse = {},  ///< optional output, written if given: F32 [B, Hq, Tq, 1], or [B, Hq, Tq]
      probs = {};   ///< optional output, written if given: the weights [B, Hq, Tq, Tk], dtype of q
  std::string kernel = {};  ///< variant, with a tile if wanted; empty: the planner's choice

  float dropout = 0.0f;  ///< refused by this version unless 0
  std::uint64_t dropoutSeed = 0,  ///< has no effect without dropout
      dropoutOffset = 0;          ///< has no effect without dropout
  Normalizer normalizer = Normalizer::Softmax;  ///< refused by this version unless Softmax
  float sigmoidBias = 0.0f;                     ///< has no effect with Softmax
};

/// Options of a matrix product; see SaccadeMatmulDesc.
struct MatmulOptions {
  Tensor bias = {},    ///< [N]
      residual = {};   ///< of the result's sizes, or 1 where it broadcasts
  Activation activation = Activation::None;  ///< of the product with its bias
  std::string kernel = {};                   ///< variant; empty: the planner's choice
};

/// Options of a layer norm; see SaccadeLayerNormDesc.
struct LayerNormOptions {
  Tensor weight = {},  ///< [N]; with bias or not at all
      bias = {};  ///< [N]
  float epsilon = 1e-5f;    ///< added to the variance
  std::string kernel = {};  ///< variant; empty: the planner's choice
};

/// Options of a softmax; see SaccadeSoftmaxDesc.
struct SoftmaxOptions {
  std::string kernel = {};  ///< variant; empty: the planner's choice
};

/// Options of an activation; see SaccadeActivationDesc.
struct ActivationOptions {
  Activation activation = Activation::Gelu;  ///< which one
  std::string kernel = {};                   ///< variant; empty: the planner's choice
};

/// Options of a patch embedding; see SaccadePatchEmbedDesc.
struct PatchEmbedOptions {
  Tensor bias = {},   ///< [E]
      residual = {};  ///< [B or 1, patches, E]: position embeddings
  std::string kernel = {};  ///< variant of the matrix product inside; empty: the planner's choice
};

/// \name Descriptions of calls
/// \{

/// The description that a stream makes its plan from: for looking at a plan (device.plan(desc)->info())
/// without running it.
SACCADE_RUNTIME_API AttentionDesc describeAttention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& out,
                                const AttentionOptions& options = {});
SACCADE_RUNTIME_API MatmulDesc describeMatmul(const Tensor& a, const Tensor& b, const Tensor& out,
                          const MatmulOptions& options = {});
/// \}

/// A point in a stream's work at which the device writes its clock. A cheap handle.
class Timestamp {
 public:
  Timestamp() noexcept = default;

 private:
  friend class runtime::StreamState;
  struct Slot;
  std::shared_ptr<Slot> slot_;
};

/// Records operators and runs them. Calls record; submit() starts what was recorded; wait() waits for it.
/// Where an operator reads what an earlier one wrote, or overwrites what it used, a barrier is recorded
/// between the two; independent ones may overlap. Everything that recorded work uses is kept alive until it
/// has finished.
/// 
/// A call that throws has recorded nothing. One thread at a time. Destroying a stream waits for what it has
/// submitted and drops what it has not.
class SACCADE_RUNTIME_API Stream {
 public:
  /// Throws Error: OutOfMemory, DeviceLost.
  explicit Stream(const Device& device);
  /// The other stream is of no further use.
  Stream(Stream&&) noexcept;
  /// The other stream is of no further use.
  Stream& operator=(Stream&&) noexcept;
  ~Stream();

  /// \name Operators
  /// \{

  /// Records an operator; see its description in saccade.h. The plan comes from the device's cache and is returned so that the
  /// caller can ask it (info()).
  /// Throws Error: InvalidArgument, Unsupported, OutOfMemory, Driver, DeviceLost.
  PlanPtr attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& out,
                    const AttentionOptions& options = {});
  PlanPtr matmul(const Tensor& a, const Tensor& b, const Tensor& out, const MatmulOptions& options = {});
  PlanPtr layerNorm(const Tensor& x, const Tensor& out, const LayerNormOptions& options = {});
  PlanPtr softmax(const Tensor& x, const Tensor& out, const SoftmaxOptions& options = {});
  PlanPtr activation(const Tensor& x, const Tensor& out, const ActivationOptions& options = {});
  /// The patch size is that of the weight [E, C, patch, patch].
  PlanPtr patchEmbed(const Tensor& image, const Tensor& weight, const Tensor& out,
                     const PatchEmbedOptions& options = {});

  /// \}

  /// Elements of src to those of dst: one dtype, one shape, any strides (src may broadcast). The bytes between
  /// the first and last elements must not overlap where both share memory.
  void copy(const Tensor& dst, const Tensor& src);
  /// Sets every element; float formats round to nearest even. Any strides.
  void fill(const Tensor& dst, float value);

  /// Everything recorded later waits for everything recorded before; only measuring needs it.
  void barrier();

  /// The time at which everything recorded before has finished. Throws Error Unsupported: the queue has no
  /// clock.
  Timestamp timestamp();
  /// Between two timestamps of this stream; waits for their submission. Throws Error InvalidArgument: not yet
  /// submitted.
  double milliseconds(const Timestamp& begin, const Timestamp& end);

  /// Starts what was recorded and returns its number, which grows; without recorded work, the number of the
  /// last submission.
  std::uint64_t submit();
  /// Submits what is recorded and waits for all of it.
  void wait();
  /// Waits for one earlier submission only. Throws Error InvalidArgument: there has been none of that number.
  void wait(std::uint64_t submission);

  /// The device that it runs on.
  Device device() const;

 private:
  std::shared_ptr<runtime::DeviceState> device_;
  std::unique_ptr<runtime::StreamState> state_;
};

/// \name One call, one result
/// \{

/// Allocates the output, runs, waits. For more than one operator a Stream is faster. Thread-safe. Throws Error as Stream does.
SACCADE_RUNTIME_API Tensor attention(const Device& device, const Tensor& q, const Tensor& k, const Tensor& v,
                 const AttentionOptions& options = {});
SACCADE_RUNTIME_API Tensor matmul(const Device& device, const Tensor& a, const Tensor& b, const MatmulOptions& options = {});
SACCADE_RUNTIME_API Tensor layerNorm(const Device& device, const Tensor& x, const LayerNormOptions& options = {});
SACCADE_RUNTIME_API Tensor softmax(const Device& device, const Tensor& x, const SoftmaxOptions& options = {});
SACCADE_RUNTIME_API Tensor gelu(const Device& device, const Tensor& x, Activation activation = Activation::Gelu);
SACCADE_RUNTIME_API Tensor patchEmbed(const Device& device, const Tensor& image, const Tensor& weight,
                  const PatchEmbedOptions& options = {});
/// \}

}  // namespace saccade
