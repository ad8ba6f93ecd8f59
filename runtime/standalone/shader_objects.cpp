// SPDX-License-Identifier: Apache-2.0
#include "standalone/shader_objects.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <string_view>
#include <vector>

namespace saccade::runtime {
namespace {

struct Driver {
  VkPipelineCacheHeaderVersionOne header;  // what its pipeline caches begin with
  PFN_vkCreateShadersEXT createShaders;
  PFN_vkDestroyShaderEXT destroyShader;
  PFN_vkGetShaderBinaryDataEXT getBinary;
  PFN_vkCreatePipelineLayout createLayout;
  VkPushConstantRange pushConstants{};  // of the one layout that a context creates
};

// Functions of Vulkan get no pointer to what they work on but the device.
std::mutex driversMutex;
std::map<VkDevice, std::shared_ptr<Driver>> drivers;
// The loader's, which serve every device.
std::atomic<PFN_vkGetDeviceProcAddr> getDeviceProcAddr;
std::atomic<PFN_vkCmdBindShadersEXT> bindShaders;
std::atomic<PFN_vkSetDebugUtilsObjectNameEXT> setObjectName;

std::shared_ptr<Driver> driverOf(VkDevice device) {
  const std::lock_guard lock(driversMutex);
  return drivers.at(device);
}

// Of a shader's code and constants: of two, one may collide.
using Key = std::array<std::uint64_t, 2>;
using Bytes = std::vector<std::byte>;

void mix(Key& key, const void* data, std::size_t bytes) {
  const auto* at = static_cast<const std::byte*>(data);
  for (std::size_t done = 0; done < bytes; done += sizeof(std::uint64_t)) {
    std::uint64_t word = bytes;
    std::memcpy(&word, at + done, std::min(bytes - done, sizeof word));
    for (std::size_t i = 0; i < key.size(); ++i) {
      key[i] = (key[i] ^ word) * (i == 0 ? 0x9e3779b97f4a7c15u : 0xc2b2ae3d27d4eb4fu);
      key[i] ^= key[i] >> 29;
    }
  }
}

struct Module {
  std::vector<std::uint32_t> code;
};

class Binaries {
 public:
  // Takes what `serialised` wrote; anything else after the header ends the reading.
  explicit Binaries(std::span<const std::byte> data) {
    const auto take = [&](void* target, std::size_t bytes) {
      if (data.size() < bytes) return false;
      std::memcpy(target, data.data(), bytes);
      data = data.subspan(bytes);
      return true;
    };
    VkPipelineCacheHeaderVersionOne header{};
    take(&header, sizeof header);
    Key key{};
    std::uint64_t bytes = 0;
    while (take(&key, sizeof key) && take(&bytes, sizeof bytes) && bytes <= data.size()) {
      binaries_[key].assign(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(bytes));
      data = data.subspan(bytes);
    }
  }

  Bytes serialised(const VkPipelineCacheHeaderVersionOne& header) const {
    Bytes data;
    const auto put = [&](const void* source, std::size_t bytes) {
      const auto* begin = static_cast<const std::byte*>(source);
      data.insert(data.end(), begin, begin + bytes);
    };
    const std::lock_guard lock(mutex_);
    put(&header, sizeof header);
    for (const auto& [key, binary] : binaries_) {
      const std::uint64_t bytes = binary.size();
      put(&key, sizeof key);
      put(&bytes, sizeof bytes);
      put(binary.data(), binary.size());
    }
    return data;
  }

  Bytes find(const Key& key) const {
    const std::lock_guard lock(mutex_);
    const auto found = binaries_.find(key);
    return found == binaries_.end() ? Bytes{} : found->second;
  }
  void put(const Key& key, Bytes binary) {
    const std::lock_guard lock(mutex_);
    binaries_[key] = std::move(binary);
  }
  void merge(const Binaries& other) {
    const std::scoped_lock lock(mutex_, other.mutex_);
    binaries_.insert(other.binaries_.begin(), other.binaries_.end());
  }

 private:
  mutable std::mutex mutex_;
  std::map<Key, Bytes> binaries_;
};

template <typename Object, typename Handle>
Object* objectOf(Handle handle) {
  return reinterpret_cast<Object*>(handle);
}

VKAPI_ATTR VkResult VKAPI_CALL createCache(VkDevice, const VkPipelineCacheCreateInfo* info, const VkAllocationCallbacks*,
                                           VkPipelineCache* cache) try {
  const std::span data(static_cast<const std::byte*>(info->pInitialData), info->initialDataSize);
  *cache = reinterpret_cast<VkPipelineCache>(new Binaries(data));
  return VK_SUCCESS;
} catch (const std::bad_alloc&) {
  return VK_ERROR_OUT_OF_HOST_MEMORY;
}

VKAPI_ATTR void VKAPI_CALL destroyCache(VkDevice, VkPipelineCache cache, const VkAllocationCallbacks*) {
  delete objectOf<Binaries>(cache);
}

VKAPI_ATTR VkResult VKAPI_CALL mergeCaches(VkDevice, VkPipelineCache target, std::uint32_t count, const VkPipelineCache* sources) try {
  for (std::uint32_t i = 0; i < count; ++i) objectOf<Binaries>(target)->merge(*objectOf<Binaries>(sources[i]));
  return VK_SUCCESS;
} catch (const std::bad_alloc&) {
  return VK_ERROR_OUT_OF_HOST_MEMORY;
}

VKAPI_ATTR VkResult VKAPI_CALL getCacheData(VkDevice device, VkPipelineCache cache, std::size_t* size, void* target) try {
  const Bytes data = objectOf<Binaries>(cache)->serialised(driverOf(device)->header);
  if (target == nullptr) {
    *size = data.size();
    return VK_SUCCESS;
  }
  const VkResult result = *size < data.size() ? VK_INCOMPLETE : VK_SUCCESS;
  *size = std::min(*size, data.size());
  std::memcpy(target, data.data(), *size);
  return result;
} catch (const std::bad_alloc&) {
  return VK_ERROR_OUT_OF_HOST_MEMORY;
}

VKAPI_ATTR VkResult VKAPI_CALL createLayout(VkDevice device, const VkPipelineLayoutCreateInfo* info,
                                            const VkAllocationCallbacks* callbacks, VkPipelineLayout* layout) {
  const std::shared_ptr<Driver> driver = driverOf(device);
  driver->pushConstants = info->pPushConstantRanges[0];
  return driver->createLayout(device, info, callbacks, layout);
}

VKAPI_ATTR VkResult VKAPI_CALL createModule(VkDevice, const VkShaderModuleCreateInfo* info, const VkAllocationCallbacks*,
                                            VkShaderModule* module) try {
  *module = reinterpret_cast<VkShaderModule>(new Module{{info->pCode, info->pCode + info->codeSize / sizeof(std::uint32_t)}});
  return VK_SUCCESS;
} catch (const std::bad_alloc&) {
  return VK_ERROR_OUT_OF_HOST_MEMORY;
}

VKAPI_ATTR void VKAPI_CALL destroyModule(VkDevice, VkShaderModule module, const VkAllocationCallbacks*) {
  delete objectOf<Module>(module);
}

Key keyOf(const std::vector<std::uint32_t>& code, const VkSpecializationInfo& constants, std::uint32_t subgroupSize,
          VkPipelineShaderStageCreateFlags flags) {
  Key key{};
  mix(key, code.data(), code.size() * sizeof code[0]);
  mix(key, constants.pData, constants.dataSize);
  mix(key, &subgroupSize, sizeof subgroupSize);
  mix(key, &flags, sizeof flags);
  return key;
}

Bytes binaryOf(const Driver& driver, VkDevice device, VkShaderEXT shader) {
  std::size_t size = 0;
  if (driver.getBinary(device, shader, &size, nullptr) != VK_SUCCESS) return {};
  Bytes binary(size);
  if (driver.getBinary(device, shader, &size, binary.data()) != VK_SUCCESS) binary.clear();
  return binary;
}

VkResult createPipeline(VkDevice device, Binaries& cache, const VkComputePipelineCreateInfo& pipelineInfo,
                        const VkAllocationCallbacks* callbacks, VkShaderEXT* shader, bool& found) {
  const std::shared_ptr<Driver> driver = driverOf(device);
  const std::vector<std::uint32_t>& code = objectOf<Module>(pipelineInfo.stage.module)->code;
  const VkSpecializationInfo& constants = *pipelineInfo.stage.pSpecializationInfo;
  const auto* size = static_cast<const VkPipelineShaderStageRequiredSubgroupSizeCreateInfo*>(pipelineInfo.stage.pNext);
  const Key key = keyOf(code, constants, size == nullptr ? 0 : size->requiredSubgroupSize, pipelineInfo.stage.flags);

  VkShaderCreateInfoEXT info{VK_STRUCTURE_TYPE_SHADER_CREATE_INFO_EXT, size};  // the same structure serves pipelines and shaders
  if ((pipelineInfo.stage.flags & VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT) != 0) {
    info.flags = VK_SHADER_CREATE_REQUIRE_FULL_SUBGROUPS_BIT_EXT;
  }
  info.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.pName = pipelineInfo.stage.pName;
  info.pushConstantRangeCount = 1;
  info.pPushConstantRanges = &driver->pushConstants;
  info.pSpecializationInfo = &constants;
  const Bytes binary = cache.find(key);
  if (!binary.empty()) {
    info.codeType = VK_SHADER_CODE_TYPE_BINARY_EXT;
    info.codeSize = binary.size();
    info.pCode = binary.data();
    // VK_INCOMPATIBLE_SHADER_BINARY_EXT counts as a success, but there is no shader then.
    found = driver->createShaders(device, 1, &info, callbacks, shader) == VK_SUCCESS && *shader != VK_NULL_HANDLE;
    if (found) return VK_SUCCESS;
  }
  info.codeType = VK_SHADER_CODE_TYPE_SPIRV_EXT;
  info.codeSize = code.size() * sizeof code[0];
  info.pCode = code.data();
  const VkResult result = driver->createShaders(device, 1, &info, callbacks, shader);
  if (result != VK_SUCCESS) return result;
  if (Bytes fresh = binaryOf(*driver, device, *shader); !fresh.empty()) cache.put(key, std::move(fresh));
  return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL createPipelines(VkDevice device, VkPipelineCache cache, std::uint32_t count,
                                               const VkComputePipelineCreateInfo* infos, const VkAllocationCallbacks* callbacks,
                                               VkPipeline* pipelines) try {
  for (std::uint32_t i = 0; i < count; ++i) {
    VkShaderEXT shader = VK_NULL_HANDLE;
    bool found = false;
    const VkResult result = createPipeline(device, *objectOf<Binaries>(cache), infos[i], callbacks, &shader, found);
    if (result != VK_SUCCESS) return result;
    pipelines[i] = reinterpret_cast<VkPipeline>(shader);
    const auto* feedback = static_cast<const VkPipelineCreationFeedbackCreateInfo*>(infos[i].pNext);
    if (feedback == nullptr) continue;
    feedback->pPipelineCreationFeedback->flags = VK_PIPELINE_CREATION_FEEDBACK_VALID_BIT;
    if (found) feedback->pPipelineCreationFeedback->flags |= VK_PIPELINE_CREATION_FEEDBACK_APPLICATION_PIPELINE_CACHE_HIT_BIT;
  }
  return VK_SUCCESS;
} catch (const std::bad_alloc&) {
  return VK_ERROR_OUT_OF_HOST_MEMORY;
}

VKAPI_ATTR void VKAPI_CALL destroyPipeline(VkDevice device, VkPipeline pipeline, const VkAllocationCallbacks* callbacks) {
  driverOf(device)->destroyShader(device, reinterpret_cast<VkShaderEXT>(pipeline), callbacks);
}

VKAPI_ATTR void VKAPI_CALL bindPipeline(VkCommandBuffer commands, VkPipelineBindPoint, VkPipeline pipeline) {
  const VkShaderStageFlagBits stage = VK_SHADER_STAGE_COMPUTE_BIT;
  const auto shader = reinterpret_cast<VkShaderEXT>(pipeline);
  bindShaders.load(std::memory_order_relaxed)(commands, 1, &stage, &shader);
}

VKAPI_ATTR VkResult VKAPI_CALL setName(VkDevice device, const VkDebugUtilsObjectNameInfoEXT* info) {
  VkDebugUtilsObjectNameInfoEXT own = *info;
  if (own.objectType == VK_OBJECT_TYPE_PIPELINE) own.objectType = VK_OBJECT_TYPE_SHADER_EXT;
  return setObjectName.load(std::memory_order_relaxed)(device, &own);
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL deviceFunction(VkDevice device, const char* name) {
  struct Entry {
    std::string_view name;
    PFN_vkVoidFunction function;
  };
  static const Entry entries[] = {
      {"vkCreatePipelineLayout", reinterpret_cast<PFN_vkVoidFunction>(createLayout)},
      {"vkCreateShaderModule", reinterpret_cast<PFN_vkVoidFunction>(createModule)},
      {"vkDestroyShaderModule", reinterpret_cast<PFN_vkVoidFunction>(destroyModule)},
      {"vkCreateComputePipelines", reinterpret_cast<PFN_vkVoidFunction>(createPipelines)},
      {"vkDestroyPipeline", reinterpret_cast<PFN_vkVoidFunction>(destroyPipeline)},
      {"vkCmdBindPipeline", reinterpret_cast<PFN_vkVoidFunction>(bindPipeline)},
  };
  for (const Entry& entry : entries) {
    if (entry.name == name) return entry.function;
  }
  return getDeviceProcAddr.load(std::memory_order_relaxed)(device, name);
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL instanceFunction(VkInstance instance, const char* name) {
  if (std::string_view(name) == "vkGetDeviceProcAddr") return reinterpret_cast<PFN_vkVoidFunction>(deviceFunction);
  if (std::string_view(name) == "vkSetDebugUtilsObjectNameEXT") return reinterpret_cast<PFN_vkVoidFunction>(setName);
  return vkGetInstanceProcAddr(instance, name);
}

}  // namespace

bool wantsShaderObjects(VkPhysicalDevice physicalDevice) {
  VkPhysicalDeviceDriverProperties driver{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES};
  VkPhysicalDeviceProperties2 properties{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &driver};
  vkGetPhysicalDeviceProperties2(physicalDevice, &properties);
  if (driver.driverID != VK_DRIVER_ID_MESA_LLVMPIPE) return false;
  VkPhysicalDeviceShaderObjectFeaturesEXT objects{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_OBJECT_FEATURES_EXT};
  VkPhysicalDeviceFeatures2 features{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &objects};
  vkGetPhysicalDeviceFeatures2(physicalDevice, &features);
  return objects.shaderObject == VK_TRUE;
}

ShaderObjects::ShaderObjects(VkInstance instance, VkPhysicalDevice physicalDevice, VkDevice device, const DeviceFunctions& vk)
    : device_(device), table_(vk) {
  VkPhysicalDeviceProperties properties{};
  vkGetPhysicalDeviceProperties(physicalDevice, &properties);
  Driver driver{
      .header = {sizeof(VkPipelineCacheHeaderVersionOne), VK_PIPELINE_CACHE_HEADER_VERSION_ONE, properties.vendorID, properties.deviceID, {}},
      .createShaders = vk.vkCreateShadersEXT,
      .destroyShader = vk.vkDestroyShaderEXT,
      .getBinary = vk.vkGetShaderBinaryDataEXT,
      .createLayout = vk.vkCreatePipelineLayout,
  };
  std::copy(std::begin(properties.pipelineCacheUUID), std::end(properties.pipelineCacheUUID), driver.header.pipelineCacheUUID);
  table_.vkCreatePipelineCache = createCache;
  table_.vkDestroyPipelineCache = destroyCache;
  table_.vkMergePipelineCaches = mergeCaches;
  table_.vkGetPipelineCacheData = getCacheData;
  const std::lock_guard lock(driversMutex);
  getDeviceProcAddr = reinterpret_cast<PFN_vkGetDeviceProcAddr>(vkGetInstanceProcAddr(instance, "vkGetDeviceProcAddr"));
  bindShaders = reinterpret_cast<PFN_vkCmdBindShadersEXT>(vkGetInstanceProcAddr(instance, "vkCmdBindShadersEXT"));
  setObjectName =
      reinterpret_cast<PFN_vkSetDebugUtilsObjectNameEXT>(vkGetInstanceProcAddr(instance, "vkSetDebugUtilsObjectNameEXT"));
  drivers[device] = std::make_shared<Driver>(driver);
}

ShaderObjects::~ShaderObjects() {
  const std::lock_guard lock(driversMutex);
  drivers.erase(device_);
}

PFN_vkGetInstanceProcAddr ShaderObjects::entry() { return instanceFunction; }

}  // namespace saccade::runtime
