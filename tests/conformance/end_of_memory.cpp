// SPDX-License-Identifier: Apache-2.0
#include "end_of_memory.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <sys/mman.h>

#include "check/dtype.hpp"

namespace saccade::conformance {
namespace {

constexpr const char* kExtension = VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME;

void require(VkResult result, const char* what) {
  if (result != VK_SUCCESS)
    throw std::runtime_error(std::string(what) + " failed with " + std::to_string(result));
}

// Pages with one behind them that may not be touched.
class HostPages {
 public:
  HostPages(std::size_t bytes, std::size_t alignment)
      : size_((bytes + alignment - 1) / alignment * alignment), guard_(alignment) {
    void* pages = mmap(nullptr, size_ + guard_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED || mprotect(static_cast<std::byte*>(pages) + size_, guard_, PROT_NONE) != 0)
      throw std::runtime_error("there is no memory for a test");
    begin_ = static_cast<std::byte*>(pages);
    std::memset(begin_, 0xff, size_);
  }
  ~HostPages() { munmap(begin_, size_ + guard_); }
  HostPages(const HostPages&) = delete;
  HostPages& operator=(const HostPages&) = delete;

  std::byte* begin() const { return begin_; }
  std::size_t size() const { return size_; }

 private:
  std::size_t size_, guard_;
  std::byte* begin_ = nullptr;
};

struct Range {
  std::unique_ptr<HostPages> pages;
  VkBuffer buffer = VK_NULL_HANDLE;
  VkDeviceMemory memory = VK_NULL_HANDLE;
  SaccadeBuffer device{};
  std::byte* host = nullptr;
};

}  // namespace

struct EndOfMemory::State {
  explicit State(const Device& device_) : other(device_), handles(device_.handles()) {}
  ~State();

  template <class Function>
  Function load(const char* name) const {
    return reinterpret_cast<Function>(handles.getInstanceProcAddr(handles.instance, name));
  }
  void open();
  Range& place(std::size_t bytes);
  Range& place(const std::vector<std::byte>& bytes);
  void run(const AttentionDesc& desc, SaccadeAttentionBuffers buffers);  // scratch memory is placed here
  void release();

  Device other;
  DeviceHandles handles;
  VkDevice device = VK_NULL_HANDLE;
  SaccadeContext context = nullptr;
  std::size_t alignment = 1;
  std::vector<Range> ranges;
};

EndOfMemory::State::~State() {
  release();
  saccadeDestroyContext(context);
  if (device != VK_NULL_HANDLE) load<PFN_vkDestroyDevice>("vkDestroyDevice")(device, nullptr);
}

void EndOfMemory::State::open() {
  VkPhysicalDeviceExternalMemoryHostPropertiesEXT host{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT};
  VkPhysicalDeviceProperties2 properties{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &host, {}};
  load<PFN_vkGetPhysicalDeviceProperties2>("vkGetPhysicalDeviceProperties2")(handles.physicalDevice,
                                                                             &properties);
  alignment = std::max<std::size_t>(static_cast<std::size_t>(host.minImportedHostPointerAlignment), 4096);

  std::vector<const char*> extensions(handles.enabledExtensions.begin(), handles.enabledExtensions.end());
  extensions.push_back(kExtension);
  const float priority = 1;
  const VkDeviceQueueCreateInfo queue{
      VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, nullptr, 0, handles.queueFamily, 1, &priority};
  VkDeviceCreateInfo info{VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, handles.enabledFeatures};
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  info.enabledExtensionCount = static_cast<std::uint32_t>(extensions.size());
  info.ppEnabledExtensionNames = extensions.data();
  require(load<PFN_vkCreateDevice>("vkCreateDevice")(handles.physicalDevice, &info, nullptr, &device),
          "vkCreateDevice");

  SaccadeContextCreateInfo create = saccadeContextCreateInfoDefault();
  create.apiVersion = handles.apiVersion;
  create.instance = handles.instance;
  create.physicalDevice = handles.physicalDevice;
  create.device = device;
  create.getInstanceProcAddr = handles.getInstanceProcAddr;
  create.enabledFeatures = handles.enabledFeatures;
  create.enabledExtensionCount = info.enabledExtensionCount;
  create.enabledExtensions = extensions.data();
  detail::check([&](SaccadeMessage* message) { return saccadeCreateContext(&create, &context, message); });
}

// Memory for so many bytes whose last one is the last of the allocation. Where 8- and 16-bit elements are
// reached through the words that hold them, the last word belongs to the tensor.
Range& EndOfMemory::State::place(std::size_t bytes) {
  const SaccadeDeviceFacts& facts = *saccadeGetDeviceFacts(context);
  const bool exact = facts.storageBuffer8BitAccess && facts.storageBuffer16BitAccess && facts.shaderInt64 &&
                     facts.signedZeroInfNanPreserveFloat32;
  const std::size_t used = exact ? bytes : (bytes + 3) / 4 * 4;
  Range& range = ranges.emplace_back();
  range.pages = std::make_unique<HostPages>(used, alignment);
  const std::size_t size = range.pages->size();
  constexpr VkExternalMemoryHandleTypeFlagBits kType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;

  const VkExternalMemoryBufferCreateInfo external{VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
                                                  nullptr, kType};
  VkBufferCreateInfo bufferInfo{VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, &external};
  bufferInfo.size = size;
  bufferInfo.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
  require(load<PFN_vkCreateBuffer>("vkCreateBuffer")(device, &bufferInfo, nullptr, &range.buffer),
          "vkCreateBuffer");
  VkMemoryRequirements needed{};
  load<PFN_vkGetBufferMemoryRequirements>("vkGetBufferMemoryRequirements")(device, range.buffer, &needed);
  VkMemoryHostPointerPropertiesEXT pointer{VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT};
  require(load<PFN_vkGetMemoryHostPointerPropertiesEXT>("vkGetMemoryHostPointerPropertiesEXT")(
              device, kType, range.pages->begin(), &pointer),
          "vkGetMemoryHostPointerPropertiesEXT");
  std::uint32_t type = 0;
  while (((needed.memoryTypeBits & pointer.memoryTypeBits) >> type & 1u) == 0 && type < 31) type++;

  const VkImportMemoryHostPointerInfoEXT import{VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT,
                                                nullptr, kType, range.pages->begin()};
  const VkMemoryAllocateFlagsInfo flags{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO, &import,
                                        VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT, 0};
  const VkMemoryAllocateInfo allocate{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, &flags, size, type};
  require(load<PFN_vkAllocateMemory>("vkAllocateMemory")(device, &allocate, nullptr, &range.memory),
          "vkAllocateMemory");
  require(load<PFN_vkBindBufferMemory>("vkBindBufferMemory")(device, range.buffer, range.memory, 0),
          "vkBindBufferMemory");

  const VkBufferDeviceAddressInfo address{VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO, nullptr,
                                          range.buffer};
  range.device = {
      load<PFN_vkGetBufferDeviceAddress>("vkGetBufferDeviceAddress")(device, &address) + size - used, used};
  range.host = range.pages->begin() + (size - used);
  return range;
}

Range& EndOfMemory::State::place(const std::vector<std::byte>& bytes) {
  Range& range = place(bytes.size());
  std::ranges::copy(bytes, range.host);
  return range;
}

void EndOfMemory::State::run(const AttentionDesc& desc, SaccadeAttentionBuffers buffers) {
  SaccadePlan plan = nullptr;
  const SaccadeAttentionDesc c = desc.toC();
  detail::check(
      [&](SaccadeMessage* message) { return saccadeCreateAttentionPlan(context, &c, &plan, message); });
  SaccadePlanInfo planInfo{};
  saccadeGetPlanInfo(plan, &planInfo);
  const auto scratch = static_cast<std::size_t>(planInfo.scratchBytes);
  if (scratch > 0) buffers.scratch = place((scratch + 15) / 16 * 16).device;  // aligned to 16 bytes as well
  VkCommandPool pool = VK_NULL_HANDLE;
  const VkCommandPoolCreateInfo poolInfo{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, nullptr, 0,
                                         handles.queueFamily};
  require(load<PFN_vkCreateCommandPool>("vkCreateCommandPool")(device, &poolInfo, nullptr, &pool),
          "vkCreateCommandPool");
  VkCommandBuffer commands = VK_NULL_HANDLE;
  const VkCommandBufferAllocateInfo allocate{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, nullptr, pool,
                                             VK_COMMAND_BUFFER_LEVEL_PRIMARY, 1};
  require(load<PFN_vkAllocateCommandBuffers>("vkAllocateCommandBuffers")(device, &allocate, &commands),
          "vkAllocateCommandBuffers");
  const VkCommandBufferBeginInfo begin{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  require(load<PFN_vkBeginCommandBuffer>("vkBeginCommandBuffer")(commands, &begin), "vkBeginCommandBuffer");
  detail::check(
      [&](SaccadeMessage* message) { return saccadeCmdAttention(commands, plan, &buffers, message); });
  VkMemoryBarrier barrier{VK_STRUCTURE_TYPE_MEMORY_BARRIER, nullptr, VK_ACCESS_SHADER_WRITE_BIT,
                          VK_ACCESS_HOST_READ_BIT};
  load<PFN_vkCmdPipelineBarrier>("vkCmdPipelineBarrier")(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                                                         VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0,
                                                         nullptr, 0, nullptr);
  require(load<PFN_vkEndCommandBuffer>("vkEndCommandBuffer")(commands), "vkEndCommandBuffer");
  VkQueue queue = VK_NULL_HANDLE;
  load<PFN_vkGetDeviceQueue>("vkGetDeviceQueue")(device, handles.queueFamily, 0, &queue);
  VkSubmitInfo submit{VK_STRUCTURE_TYPE_SUBMIT_INFO};
  submit.commandBufferCount = 1;
  submit.pCommandBuffers = &commands;
  require(load<PFN_vkQueueSubmit>("vkQueueSubmit")(queue, 1, &submit, VK_NULL_HANDLE), "vkQueueSubmit");
  require(load<PFN_vkQueueWaitIdle>("vkQueueWaitIdle")(queue), "vkQueueWaitIdle");
  load<PFN_vkDestroyCommandPool>("vkDestroyCommandPool")(device, pool, nullptr);
  saccadeDestroyPlan(plan);
}

void EndOfMemory::State::release() {
  for (const Range& range : ranges) {
    if (range.buffer != VK_NULL_HANDLE)
      load<PFN_vkDestroyBuffer>("vkDestroyBuffer")(device, range.buffer, nullptr);
    if (range.memory != VK_NULL_HANDLE) load<PFN_vkFreeMemory>("vkFreeMemory")(device, range.memory, nullptr);
  }
  ranges.clear();
}

EndOfMemory::EndOfMemory(std::unique_ptr<State> state) : state_(std::move(state)) {}
EndOfMemory::~EndOfMemory() = default;

std::unique_ptr<EndOfMemory> EndOfMemory::create(const Device& device) {
  auto state = std::make_unique<State>(device);
  const auto enumerate =
      state->load<PFN_vkEnumerateDeviceExtensionProperties>("vkEnumerateDeviceExtensionProperties");
  std::uint32_t count = 0;
  require(enumerate(state->handles.physicalDevice, nullptr, &count, nullptr),
          "vkEnumerateDeviceExtensionProperties");
  std::vector<VkExtensionProperties> extensions(count);
  require(enumerate(state->handles.physicalDevice, nullptr, &count, extensions.data()),
          "vkEnumerateDeviceExtensionProperties");
  if (std::ranges::none_of(extensions,
                           [](const auto& each) { return std::strcmp(each.extensionName, kExtension) == 0; }))
    return nullptr;
  state->open();
  return std::unique_ptr<EndOfMemory>(new EndOfMemory(std::move(state)));
}

AttentionResults EndOfMemory::execute(const AttentionCall& call) {
  State& state = *state_;
  state.ranges.reserve(16);  // the ranges of a call are referred to until it has run
  // Its tensors on the other device say what the buffers hold and how they are described.
  const PreparedCall prepared = prepare(state.other, call);
  SaccadeAttentionBuffers buffers = saccadeAttentionBuffersDefault();
  // Packed tensors are views of [T,H,D].
  const auto stored = [&](const Tensor& tensor, bool packed) {
    return packed ? tensor.transpose(0, 1).downloadBytes() : tensor.downloadBytes();
  };
  const auto input = [&](const Tensor& tensor, SaccadeBuffer& buffer, bool packed = false) {
    if (tensor) buffer = state.place(stored(tensor, packed)).device;
  };
  const AttentionOptions& options = prepared.options;
  input(prepared.q, buffers.q, prepared.packed);
  input(prepared.k, buffers.k, prepared.packed && call.pageSize == 0);
  input(prepared.v, buffers.v, prepared.packed && call.pageSize == 0);
  input(options.mask, buffers.mask);
  input(options.bias, buffers.bias);
  input(options.alibiSlopes, buffers.alibiSlopes);
  input(options.sink, buffers.sink);
  input(options.blockTable, buffers.blockTable);
  input(options.seqlensQ, buffers.seqlensQ);
  input(options.seqlensK, buffers.seqlensK);
  input(options.cuSeqlensQ, buffers.cuSeqlensQ);
  input(options.cuSeqlensK, buffers.cuSeqlensK);
  Range& out = state.place(stored(prepared.out, prepared.packed));
  Range& lse = state.place(options.lse.downloadBytes());
  buffers.out = out.device;
  buffers.lse = lse.device;
  state.run(describeAttention(prepared.q, prepared.k, prepared.v, prepared.out, options), buffers);
  const auto result = [](const Range& range, io::DType dtype, const io::Shape& shape) {
    const std::size_t bytes = static_cast<std::size_t>(io::elementCount(shape)) * io::dtypeSize(dtype);
    return io::TensorData(dtype, shape, std::vector<std::byte>(range.host, range.host + bytes));
  };
  AttentionResults results{result(out, call.values.q.dtype(), prepared.outShape),
                           result(lse, io::DType::F32, prepared.rowShape),
                           {}};
  state.release();
  return results;
}

}  // namespace saccade::conformance
