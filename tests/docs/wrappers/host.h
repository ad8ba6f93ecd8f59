/* SPDX-License-Identifier: Apache-2.0
 *
 * What a fragment of a guide finds in the program around it. A fragment that declares a name itself hides the one here. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <saccade/saccade.h>

extern VkInstance instance;
extern VkPhysicalDevice physicalDevice;
extern VkDevice device;
extern VkQueue queue;
extern VkPhysicalDeviceFeatures2 features; /* the chain that vkCreateDevice was given */
extern VkPipelineCache pipelineCache;
extern VkCommandBuffer commandBuffer; /* in the recording state */

extern SaccadeContext context;
extern SaccadeMessage message;
extern SaccadeAttentionDesc desc;
extern SaccadeAttentionBuffers buffers;
extern SaccadePlan plan;
extern SaccadePlanInfo planInfo;
extern SaccadePlan plans[2];

extern VkDeviceAddress address; /* of q, k, v and out, one after the other */
extern VkDeviceSize bytes;      /* of each */
extern SaccadeBuffer scratch;
extern SaccadeBuffer lengths;

int fail(const SaccadeMessage* what);
