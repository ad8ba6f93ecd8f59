/* SPDX-License-Identifier: Apache-2.0
 *
 * A host in plain C11: its own instance, device, memory and command buffer, one attention of Saccade recorded into it, and the
 * same attention computed on the CPU, one row after the other, to compare. README.md shows the part between the markers. */
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

/* Values between -1 and 1 that look random and are the same every time. */
static float nextValue(uint32_t* state) {
  *state = *state * 1664525u + 1013904223u;
  return (float)(*state >> 8) / (float)(1 << 23) - 1.0f;
}

/* One row of softmax(q k^T / sqrt(head_dim)) v, where k and v are [kTokens, kHeadDim] of the row's head. */
static void attentionRow(const float* q, const float* k, const float* v, double* out) {
  double scores[kTokens], largest = -INFINITY, sum = 0;
  for (int j = 0; j < kTokens; j++) {
    scores[j] = 0;
    for (int d = 0; d < kHeadDim; d++) scores[j] += (double)q[d] * k[j * kHeadDim + d];
    scores[j] /= sqrt(kHeadDim);
    largest = fmax(largest, scores[j]);
  }
  for (int d = 0; d < kHeadDim; d++) out[d] = 0;
  for (int j = 0; j < kTokens; j++) {
    const double weight = exp(scores[j] - largest);
    sum += weight;
    for (int d = 0; d < kHeadDim; d++) out[d] += weight * v[j * kHeadDim + d];
  }
  for (int d = 0; d < kHeadDim; d++) out[d] /= sum;
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
  VkPhysicalDevice physicalDevice; /* the first one: a host has rules of its own */
  const VkResult found = vkEnumeratePhysicalDevices(instance, &count, &physicalDevice);
  if (found != VK_INCOMPLETE) check(found, "vkEnumeratePhysicalDevices");
  if (count == 0) {
    fprintf(stderr, "there is no Vulkan device; install a driver\n");
    return 1;
  }
  VkQueueFamilyProperties families[16];
  uint32_t familyCount = 16, family = 0;
  vkGetPhysicalDeviceQueueFamilyProperties(physicalDevice, &familyCount, families);
  while (family + 1 < familyCount && (families[family].queueFlags & VK_QUEUE_COMPUTE_BIT) == 0) family++;

  VkPhysicalDeviceVulkan12Features vulkan12 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                                               .bufferDeviceAddress = VK_TRUE};
  VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &vulkan12};
  const float priority = 1.0f;
  VkDeviceQueueCreateInfo queueInfo = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueFamilyIndex = family,
                                       .queueCount = 1, .pQueuePriorities = &priority};
  VkDeviceCreateInfo deviceInfo = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .pNext = &features,
                                   .queueCreateInfoCount = 1, .pQueueCreateInfos = &queueInfo};
  VkDevice device;
  check(vkCreateDevice(physicalDevice, &deviceInfo, NULL, &device), "vkCreateDevice");
  VkQueue queue;
  vkGetDeviceQueue(device, family, 0, &queue);
  VkCommandPoolCreateInfo poolInfo = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, .queueFamilyIndex = family};
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
  uint32_t random = 1;
  for (int i = 0; i < 3 * kElements; i++) data[i] = nextValue(&random);
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

  double expected[kHeadDim], worst = 0;
  for (int row = 0; row < kHeads * kTokens; row++) {
    const float* q = data + row * kHeadDim;
    const float* k = data + kElements + row / kTokens * kTokens * kHeadDim;
    attentionRow(q, k, k + kElements, expected);
    for (int d = 0; d < kHeadDim; d++) {
      const double error = fabs(q[3 * kElements + d] - expected[d]);
      if (!(error <= 2e-6)) {
        fprintf(stderr, "row %d, channel %d of out is %g, expected %g\n", row, d, (double)q[3 * kElements + d], expected[d]);
        return 1;
      }
      worst = fmax(worst, error);
    }
  }
  SaccadePlanInfo planInfo;
  saccadeGetPlanInfo(plan, &planInfo);
  printf("%s: agrees with the CPU, largest difference %.1e\n", planInfo.label, worst);
  saccadeDestroyPlan(plan);
  saccadeDestroyContext(context);
  vkDestroyCommandPool(device, pool, NULL);
  vkDestroyBuffer(device, memory.buffer, NULL);
  vkFreeMemory(device, memory.deviceMemory, NULL);
  vkDestroyDevice(device, NULL);
  vkDestroyInstance(instance, NULL);
  return 0;
}
