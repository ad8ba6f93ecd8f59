// SPDX-License-Identifier: Apache-2.0
//
// The standalone runtime: a device, tensors in its memory, and streams of operators. It is for programs that
// have no Vulkan device of their own; those that do use saccade.h alone.
//
//   auto device = saccade::Device::open();
//   auto out = saccade::attention(device, q, k, v, {.causal = saccade::Causal::BottomRight});
//
// Errors. Every function may throw saccade::Error unless it is noexcept. A refusal happens before anything is
// recorded and names the field. After DeviceLost a device and all that belongs to it are of no further use.
//
// Order. A device has one queue. Work runs in the order in which it is submitted, whatever stream it comes
// from, and sees the results of everything submitted before it; no barrier between submissions is ever
// needed. What a stream has recorded but not submitted has not happened yet: Tensor::upload and download do
// not wait for it.
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

namespace saccade {

namespace runtime {
class DeviceState;
class StreamState;
class Storage;
}  // namespace runtime

enum class DeviceType { Other, IntegratedGpu, DiscreteGpu, VirtualGpu, Cpu };

// "discrete GPU", "CPU", ...
const char* deviceTypeName(DeviceType type) noexcept;

struct DeviceSummary {
  std::uint32_t index = 0;  // the driver's enumeration order, which may change from one start to the next
  std::string name;
  DeviceType type = DeviceType::Other;
  std::string driver;            // name and version text
  std::uint32_t apiVersion = 0;  // VK_API_VERSION_* of the device
  bool supported = false;
  std::vector<std::string> missing;  // what it lacks, by name, e.g. "bufferDeviceAddress"
};

// Picks a device; what Device::open does, without a device. `select` empty: the best supported one, in the
// order discrete, integrated, virtual, other, CPU, and the lower index among equals. A number is an index;
// anything else a part of the name, in any case. Returns a position in `devices`. Throws Error
// DeviceRequirements with a list of the devices: there is none, none or more than one matches, or the one
// chosen lacks something (named).
std::size_t chooseDevice(std::span<const DeviceSummary> devices, const std::string& select);

struct DeviceOptions {
  // As for chooseDevice; empty: environment variable SACCADE_DEVICE, else the best device.
  std::string select;
  // Every plan uses this kernel variant; empty: environment variable SACCADE_KERNEL, else free choice.
  std::string kernel;
  // Turns on the validation layer with synchronisation validation; unset: environment variable
  // SACCADE_VALIDATION (1 or 0).
  std::optional<bool> validation;
  // The tuning file that kernels and tiles are chosen by (`saccade tune` writes it), or "off". Empty: environment variable
  // SACCADE_TUNING, else the file of this device and driver in the cache folder. One that cannot be used is ignored, and
  // note() says why.
  std::string tuning;
  // Folder in which compiled pipelines are kept from one process to the next, a file per device and driver; "off": none.
  // Empty: environment variable SACCADE_CACHE, else $XDG_CACHE_HOME/saccade or ~/.cache/saccade. A file that is
  // damaged or of another version is replaced, and a folder that cannot be written to is done without.
  std::string cache;
  // Milliseconds that one dispatch should take at most (SaccadeContextCreateInfo::dispatchBudget); streams measure long
  // work and teach the device by themselves. Unset: environment variable SACCADE_DISPATCH_BUDGET (a number, or
  // "off": never cut), else 100.
  std::optional<double> dispatchBudget;
  // Receives, in a sentence, what a user may want to know but what stops no work, e.g. that the cache cannot be
  // written. Called from the thread that makes the call concerned, at the latest when the device closes. Empty: such
  // sentences go to stderr.
  std::function<void(const std::string&)> onMessage;
};

// Bytes of device memory held by tensors, scratch and staging of one device.
struct MemoryStatistics {
  std::uint64_t currentBytes = 0;
  std::uint64_t peakBytes = 0;  // since Device::open or the last resetPeakMemory
};

// The Vulkan handles of a device, owned by it: for host programs and tests that record on their own.
struct DeviceHandles {
  std::uint32_t apiVersion = 0;  // of the instance
  VkInstance instance = VK_NULL_HANDLE;
  VkPhysicalDevice physicalDevice = VK_NULL_HANDLE;
  VkDevice device = VK_NULL_HANDLE;
  std::uint32_t queueFamily = 0;
  PFN_vkGetInstanceProcAddr getInstanceProcAddr = nullptr;
  const VkPhysicalDeviceFeatures2* enabledFeatures = nullptr;  // with its chain
  std::span<const char* const> enabledExtensions;
};

// A plan that may be shared and kept; it keeps its device alive.
using PlanPtr = std::shared_ptr<const Plan>;

// A Vulkan device of our own. A cheap handle: copies share the device, which lives until the last copy,
// tensor, stream and plan of it is gone. All functions may be called from several threads at once.
class Device {
 public:
  // Every Vulkan device, supported or not. Throws Error DeviceRequirements: there is no Vulkan loader or
  // driver.
  static std::vector<DeviceSummary> list();

  // Throws Error DeviceRequirements: no Vulkan loader, no device, no such device, a device without required
  // features.
  static Device open(const DeviceOptions& options = {});

  const DeviceSummary& summary() const noexcept;
  const DeviceFacts& facts() const noexcept;
  std::vector<KernelInfo> kernels() const;  // strings live as long as the device
  const Context& context() const noexcept;  // its plans must not outlive the device
  DeviceHandles handles() const noexcept;

  // Where the tuning file of this device is or would be; empty: none is looked for.
  const std::string& tuningFile() const noexcept;

  // What a user should be told about this choice, e.g. that a CPU device was taken because there is no GPU;
  // else empty.
  const std::string& note() const noexcept;

  MemoryStatistics memory() const noexcept;
  void resetPeakMemory() noexcept;  // the peak becomes the current value

  // Warnings and errors of the validation layer so far; each was also printed to stderr. 0 without
  // validation.
  std::uint64_t validationMessageCount() const noexcept;
  bool validation() const noexcept;

  // The plan of a description, from a cache of the most recent ones. Throws Error as Context::plan does.
  PlanPtr plan(const AttentionDesc& desc) const;
  PlanPtr plan(const MatmulDesc& desc) const;
  PlanPtr plan(const LayerNormDesc& desc) const;
  PlanPtr plan(const SoftmaxDesc& desc) const;
  PlanPtr plan(const ActivationDesc& desc) const;
  PlanPtr plan(const PatchEmbedDesc& desc) const;

  // Waits until everything submitted so far has finished.
  void waitIdle() const;

  // For the runtime itself.
  const std::shared_ptr<runtime::DeviceState>& state() const noexcept { return state_; }

 private:
  friend class Tensor;
  friend class Stream;
  explicit Device(std::shared_ptr<runtime::DeviceState> state) noexcept : state_(std::move(state)) {}
  std::shared_ptr<runtime::DeviceState> state_;
};

using Shape = std::vector<std::int64_t>;

struct TensorOptions {
  // Puts margins of 0xff bytes (NaN in every float format) around the elements, and the same bytes into them,
  // so that a test sees reads and writes outside (guardsIntact) and elements that nobody wrote.
  bool guard = false;
};

// A strided view of device memory: dtype, shape, strides in elements, and a share of the memory behind it. A
// default-constructed tensor is absent and stands for an optional argument that is not given.
//
// Views (slice, transpose, ...) share memory with the tensor they come from. An axis may be negative: it then
// counts from the end. Distinct threads may use copies of one tensor at once; who writes elements that
// another thread uses orders the two.
class Tensor {
 public:
  Tensor() noexcept = default;

  // New contiguous tensors. `empty` leaves the elements undefined. Throw Error: InvalidArgument (a negative
  // size, dtype None, a wrong number of values), OutOfMemory.
  static Tensor empty(const Device& device, Dtype dtype, const Shape& shape,
                      const TensorOptions& options = {});
  static Tensor zeros(const Device& device, Dtype dtype, const Shape& shape,
                      const TensorOptions& options = {});
  static Tensor full(const Device& device, Dtype dtype, const Shape& shape, float value,
                     const TensorOptions& options = {});
  // Values in row-major order, converted to dtype: floats rounded once to nearest even; U8 and I32 must be
  // exact.
  static Tensor from(const Device& device, Dtype dtype, const Shape& shape, std::span<const float> values,
                     const TensorOptions& options = {});
  static Tensor fromInts(const Device& device, const Shape& shape, std::span<const std::int32_t> values,
                         const TensorOptions& options = {});
  // The elements as they lie in memory, row-major.
  static Tensor fromBytes(const Device& device, Dtype dtype, const Shape& shape,
                          std::span<const std::byte> bytes, const TensorOptions& options = {});

  explicit operator bool() const noexcept { return storage_ != nullptr; }
  Dtype dtype() const noexcept { return dtype_; }
  const Shape& shape() const noexcept { return shape_; }
  const std::vector<std::int64_t>& strides() const noexcept { return strides_; }
  std::int64_t offset() const noexcept { return offset_; }  // of the first element in its memory, in elements
  std::size_t rank() const noexcept { return shape_.size(); }
  std::int64_t size(int axis) const;  // throws Error InvalidArgument: no such axis
  std::int64_t elementCount() const noexcept;
  bool isContiguous() const noexcept;
  Device device() const;

  // Views. Throw Error InvalidArgument: an axis or range outside the shape.
  Tensor slice(int axis, std::int64_t begin, std::int64_t end) const;
  Tensor select(int axis, std::int64_t index) const;  // drops the axis
  Tensor transpose(int axisA, int axisB) const;
  Tensor permute(const std::vector<int>& axes) const;
  Tensor unsqueeze(int axis) const;          // a new axis of size 1 at `axis` of the result
  Tensor expand(const Shape& shape) const;   // sizes of 1 become larger with stride 0; new axes in front
  Tensor reshape(const Shape& shape) const;  // one size may be -1; throws if it would need a copy
  // Any view of the memory: offset in elements from this tensor's first one. Throws if it leaves the memory.
  Tensor asStrided(const Shape& shape, const std::vector<std::int64_t>& strides,
                   std::int64_t offset = 0) const;

  // Synchronous copies, in row-major order of the shape; they wait for everything submitted before.
  // upload throws Error InvalidArgument where elements overlap (a stride of 0) or the number of values is
  // wrong.
  void upload(std::span<const float> values) const;
  void uploadBytes(std::span<const std::byte> bytes) const;
  std::vector<float> download() const;             // I32 beyond 2^24 is rounded
  std::vector<std::int32_t> downloadInts() const;  // dtype I32 or U8 only
  std::vector<std::byte> downloadBytes() const;

  // For plans. desc() has four axes, with sizes of 1 in front; throws Error InvalidArgument for more than
  // four and for a stride-0 view that the four strides cannot express (all of them 0). Absent tensors have
  // dtype None.
  TensorDesc desc() const;
  // Reaches from the first element to the end of the memory (of a guarded tensor: of its elements, rounded up
  // to 4 bytes).
  BufferRange buffer() const noexcept;

  bool guarded() const noexcept;
  // Downloads the margins. Throws Error InvalidArgument without TensorOptions::guard.
  bool guardsIntact() const;

  // For the runtime itself.
  const std::shared_ptr<runtime::Storage>& storage() const noexcept { return storage_; }

 private:
  std::shared_ptr<runtime::Storage> storage_;
  Dtype dtype_ = Dtype::None;
  Shape shape_;
  std::vector<std::int64_t> strides_;
  std::int64_t offset_ = 0;
};

// Options of the operators; shapes and meaning are those of the descriptions in saccade.h. A tensor that is
// left out is absent. Tensors of fewer than four axes get sizes of 1 in front: [T, D] is one head of one
// batch entry.

struct AttentionOptions {
  Causal causal = Causal::None;
  std::int64_t windowLeft = -1, windowRight = -1;
  std::optional<float> softmaxScale = std::nullopt;
  float temperature = 1.0f;
  float softcap = 0.0f;
  Tensor mask = {}, bias = {};
  Tensor alibiSlopes = {};  // F32 [Hq] or [B, Hq]
  Tensor sink = {};         // F32 [Hq]
  Tensor seqlensQ = {}, seqlensK = {};      // I32 [B], contiguous
  Tensor cuSeqlensQ = {}, cuSeqlensK = {};  // I32 [sequences + 1], contiguous, both or neither: packed sequences
  Tensor blockTable = {};                   // I32 [B, max_pages]: paged K/V
  // What those hold, if known: checked before recording.
  std::vector<std::int32_t> hostSeqlensQ = {}, hostSeqlensK = {}, hostCuSeqlensQ = {}, hostCuSeqlensK = {},
                            hostBlockTable = {};
  Tensor lse = {},
         probs =
             {};  // optional outputs: given tensors are written. lse is F32 [B, Hq, Tq, 1], or [B, Hq, Tq]
  std::string kernel = {};

  // Rules that this version refuses.
  float dropout = 0.0f;
  std::uint64_t dropoutSeed = 0, dropoutOffset = 0;
  Normalizer normalizer = Normalizer::Softmax;
  float sigmoidBias = 0.0f;
};

struct MatmulOptions {
  Tensor bias = {}, residual = {};
  Activation activation = Activation::None;
  std::string kernel = {};
};

struct LayerNormOptions {
  Tensor weight = {}, bias = {};  // both or neither
  float epsilon = 1e-5f;
  std::string kernel = {};
};

struct SoftmaxOptions {
  std::string kernel = {};
};

struct ActivationOptions {
  Activation activation = Activation::Gelu;
  std::string kernel = {};
};

struct PatchEmbedOptions {
  Tensor bias = {}, residual = {};
  std::string kernel = {};
};

// The description that a stream makes its plan from: for looking at a plan (device.plan(desc)->info())
// without running it.
AttentionDesc describeAttention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& out,
                                const AttentionOptions& options = {});
MatmulDesc describeMatmul(const Tensor& a, const Tensor& b, const Tensor& out,
                          const MatmulOptions& options = {});

// A point in a stream's work at which the device writes its clock. A cheap handle.
class Timestamp {
 public:
  Timestamp() noexcept = default;

 private:
  friend class runtime::StreamState;
  struct Slot;
  std::shared_ptr<Slot> slot_;
};

// Records operators and runs them. Calls record; submit() starts what was recorded; wait() waits for it.
// Where an operator reads what an earlier one wrote, or overwrites what it used, a barrier is recorded
// between the two; independent ones may overlap. Everything that recorded work uses is kept alive until it
// has finished.
//
// A call that throws has recorded nothing. One thread at a time. Destroying a stream waits for what it has
// submitted and drops what it has not.
class Stream {
 public:
  explicit Stream(const Device& device);
  Stream(Stream&&) noexcept;
  Stream& operator=(Stream&&) noexcept;
  ~Stream();

  // Operators. The plan comes from the device's cache and is returned so that the caller can ask it (info()).
  // Throw Error: InvalidArgument, Unsupported, OutOfMemory, Driver, DeviceLost.
  PlanPtr attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& out,
                    const AttentionOptions& options = {});
  PlanPtr matmul(const Tensor& a, const Tensor& b, const Tensor& out, const MatmulOptions& options = {});
  PlanPtr layerNorm(const Tensor& x, const Tensor& out, const LayerNormOptions& options = {});
  PlanPtr softmax(const Tensor& x, const Tensor& out, const SoftmaxOptions& options = {});
  PlanPtr activation(const Tensor& x, const Tensor& out, const ActivationOptions& options = {});
  // The patch size is that of the weight [E, C, patch, patch].
  PlanPtr patchEmbed(const Tensor& image, const Tensor& weight, const Tensor& out,
                     const PatchEmbedOptions& options = {});

  // Elements of src to those of dst: one dtype, one shape, any strides (src may broadcast). The bytes between
  // the first and last elements must not overlap where both share memory.
  void copy(const Tensor& dst, const Tensor& src);
  // Sets every element; float formats round to nearest even. Any strides.
  void fill(const Tensor& dst, float value);

  // Everything recorded later waits for everything recorded before; only measuring needs it.
  void barrier();

  // The time at which everything recorded before has finished. Throws Error Unsupported: the queue has no
  // clock.
  Timestamp timestamp();
  // Between two timestamps of this stream; waits for their submission. Throws Error InvalidArgument: not yet
  // submitted.
  double milliseconds(const Timestamp& begin, const Timestamp& end);

  // Starts what was recorded and returns its number, which grows; without recorded work, the number of the
  // last submission.
  std::uint64_t submit();
  // Submits what is recorded and waits for all of it, or for one earlier submission only.
  void wait();
  void wait(std::uint64_t submission);

  Device device() const;

 private:
  std::shared_ptr<runtime::DeviceState> device_;
  std::unique_ptr<runtime::StreamState> state_;
};

// One call, one result: allocate the output, run, wait. For more than one operator a Stream is faster.
// Thread-safe.
Tensor attention(const Device& device, const Tensor& q, const Tensor& k, const Tensor& v,
                 const AttentionOptions& options = {});
Tensor matmul(const Device& device, const Tensor& a, const Tensor& b, const MatmulOptions& options = {});
Tensor layerNorm(const Device& device, const Tensor& x, const LayerNormOptions& options = {});
Tensor softmax(const Device& device, const Tensor& x, const SoftmaxOptions& options = {});
Tensor gelu(const Device& device, const Tensor& x, Activation activation = Activation::Gelu);
Tensor patchEmbed(const Device& device, const Tensor& image, const Tensor& weight,
                  const PatchEmbedOptions& options = {});

}  // namespace saccade
