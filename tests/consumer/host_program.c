/* SPDX-License-Identifier: Apache-2.0
 *
 * A host in plain C11: its own instance, device, memory and command buffer, one attention of Saccade recorded into it. The
 * result is known: with q = 0 every row of the output is the mean of V. README.md shows the part between the markers. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <saccade/saccade.h>
#include <vulkan/vulkan.h>

enum { kHeads = 12, kTokens = 197, kHeadDim = 64, kElements = kHeads * kTokens * kHeadDim };

static void check(VkResult result, const char* what) {
  if (result == VK_SUCCESS) return;
  fprintf(stderr, "%s failed with VkResult %d\n", what, (int)result);
  exit(1);
}

static int fail(const SaccadeMessage* message) {
  fprintf(stderr, "%s: %s: %s\n", saccadeGetStatusName(message->status), message->field, message->text);
  return 1;
}

typedef struct Memory {
  VkBuffer buffer;
  VkDeviceMemory deviceMemory;
  VkDeviceAddress address;
  float* data;
} Memory;

/* Host-visible memory for four tensors: q, k, v and out, one after the other. */
static Memory allocate(VkPhysicalDevice physicalDevice, VkDevice device, VkDeviceSize size) {
  Memory result;
  VkBufferCreateInfo bufferInfo = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = size,
                                   .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT};
  check(vkCreateBuffer(device, &bufferInfo, NULL, &result.buffer), "vkCreateBuffer");
  VkMemoryRequirements requirements;
  vkGetBufferMemoryRequirements(device, result.buffer, &requirements);
  VkPhysicalDeviceMemoryProperties memory;
  vkGetPhysicalDeviceMemoryProperties(physicalDevice, &memory);
  const VkMemoryPropertyFlags wanted = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  uint32_t type = 0;
  while ((requirements.memoryTypeBits & (1u << type)) == 0 || (memory.memoryTypes[type].propertyFlags & wanted) != wanted) type++;
  VkMemoryAllocateFlagsInfo flags = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                     .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT};
  VkMemoryAllocateInfo allocateInfo = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .pNext = &flags,
                                       .allocationSize = requirements.size, .memoryTypeIndex = type};
  check(vkAllocateMemory(device, &allocateInfo, NULL, &result.deviceMemory), "vkAllocateMemory");
  check(vkBindBufferMemory(device, result.buffer, result.deviceMemory, 0), "vkBindBufferMemory");
  void* mapped;
  check(vkMapMemory(device, result.deviceMemory, 0, VK_WHOLE_SIZE, 0, &mapped), "vkMapMemory");
  result.data = mapped;
  VkBufferDeviceAddressInfo addressInfo = {.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO, .buffer = result.buffer};
  result.address = vkGetBufferDeviceAddress(device, &addressInfo);
  return result;
}

int main(void) {
  VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_2};
  VkInstanceCreateInfo instanceInfo = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &application};
  VkInstance instance;
  check(vkCreateInstance(&instanceInfo, NULL, &instance), "vkCreateInstance");
  uint32_t count = 1;
  VkPhysicalDevice physicalDevice;
  if (vkEnumeratePhysicalDevices(instance, &count, &physicalDevice) < 0 || count == 0) return 3;

  VkPhysicalDeviceVulkan12Features vulkan12 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                                               .bufferDeviceAddress = VK_TRUE};
  VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &vulkan12};
  const float priority = 1.0f;
  VkDeviceQueueCreateInfo queueInfo = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueCount = 1,
                                       .pQueuePriorities = &priority};
  VkDeviceCreateInfo deviceInfo = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .pNext = &features,
                                   .queueCreateInfoCount = 1, .pQueueCreateInfos = &queueInfo};
  VkDevice device;
  check(vkCreateDevice(physicalDevice, &deviceInfo, NULL, &device), "vkCreateDevice");
  VkQueue queue;
  vkGetDeviceQueue(device, 0, 0, &queue);
  VkCommandPoolCreateInfo poolInfo = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
  VkCommandPool pool;
  check(vkCreateCommandPool(device, &poolInfo, NULL, &pool), "vkCreateCommandPool");
  VkCommandBufferAllocateInfo commandInfo = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandPool = pool,
                                             .commandBufferCount = 1};
  VkCommandBuffer commandBuffer;
  check(vkAllocateCommandBuffers(device, &commandInfo, &commandBuffer), "vkAllocateCommandBuffers");

  const VkDeviceSize bytes = kElements * sizeof(float);
  const Memory memory = allocate(physicalDevice, device, 4 * bytes);
  const VkDeviceAddress address = memory.address;
  float* data = memory.data;
  for (int i = 0; i < kElements; i++) {
    data[i] = 0.0f;
    data[kElements + i] = (float)(i % 17);
    data[2 * kElements + i] = (float)(i / kHeadDim % kTokens);
  }
  VkCommandBufferBeginInfo beginInfo = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  check(vkBeginCommandBuffer(commandBuffer, &beginInfo), "vkBeginCommandBuffer");

  /* [README begin] */
  SaccadeContextCreateInfo info = saccadeContextCreateInfoDefault();
  info.instance = instance;
  info.physicalDevice = physicalDevice;
  info.device = device;
  info.getInstanceProcAddr = vkGetInstanceProcAddr;
  info.enabledFeatures = &features; /* the chain that vkCreateDevice was given */
  SaccadeContext context;
  SaccadeMessage message;
  if (saccadeCreateContext(&info, &context, &message) != SACCADE_OK) return fail(&message);

  SaccadeAttentionDesc desc = saccadeAttentionDescDefault();
  desc.q = (SaccadeTensorDesc){SACCADE_DTYPE_F32, {1, 12, 197, 64}, {0}}; /* B, H, T, D; contiguous */
  desc.k = desc.q;
  desc.v = desc.q;
  desc.out.dtype = SACCADE_DTYPE_F32;
  SaccadePlan plan;
  if (saccadeCreateAttentionPlan(context, &desc, &plan, &message) != SACCADE_OK) return fail(&message);

  SaccadeAttentionBuffers buffers = saccadeAttentionBuffersDefault();
  buffers.q = (SaccadeBuffer){address, bytes};
  buffers.k = (SaccadeBuffer){address + bytes, bytes};
  buffers.v = (SaccadeBuffer){address + 2 * bytes, bytes};
  buffers.out = (SaccadeBuffer){address + 3 * bytes, bytes};
  if (saccadeCmdAttention(commandBuffer, plan, &buffers, &message) != SACCADE_OK) return fail(&message);
  /* [README end] */

  VkMemoryBarrier toHost = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER, .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
                            .dstAccessMask = VK_ACCESS_HOST_READ_BIT};
  vkCmdPipelineBarrier(commandBuffer, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &toHost, 0, NULL,
                       0, NULL);
  check(vkEndCommandBuffer(commandBuffer), "vkEndCommandBuffer");
  VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &commandBuffer};
  check(vkQueueSubmit(queue, 1, &submit, VK_NULL_HANDLE), "vkQueueSubmit");
  check(vkQueueWaitIdle(queue), "vkQueueWaitIdle");

  const float mean = (kTokens - 1) / 2.0f;
  for (int i = 0; i < kElements; i++) {
    const float got = data[3 * kElements + i];
    if (!(fabsf(got - mean) < 1e-3f)) {
      fprintf(stderr, "element %d of out is %g, expected the mean of V, %g\n", i, (double)got, (double)mean);
      return 1;
    }
  }
  SaccadePlanInfo planInfo;
  saccadeGetPlanInfo(plan, &planInfo);
  printf("%s: every row is the mean of V\n", planInfo.label);
  saccadeDestroyPlan(plan);
  saccadeDestroyContext(context);
  vkDestroyCommandPool(device, pool, NULL);
  vkDestroyBuffer(device, memory.buffer, NULL);
  vkFreeMemory(device, memory.deviceMemory, NULL);
  vkDestroyDevice(device, NULL);
  vkDestroyInstance(instance, NULL);
  return 0;
}
