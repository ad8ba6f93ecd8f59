#version 460
// SPDX-License-Identifier: Apache-2.0
// Cuts pictures into patches: each becomes one contiguous row, channel by channel, line by line. A work-group
// takes one line of one channel of one picture.

#extension GL_GOOGLE_include_directive : require
#include "dtype.glsl"
#include "push.glsl"
#include "ops_params.h"

layout(local_size_x_id = OPS_SPEC_LOCAL_SIZE) in;
layout(constant_id = OPS_SPEC_LOCAL_SIZE) const uint LOCAL_SIZE = 64;
layout(constant_id = OPS_SPEC_PATCH_SIZE) const uint PATCH_SIZE = 16;

layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer ParamsIn {
  PatchesParams value;
};

void main() {
  PatchesParams p = ParamsIn(push.params).value;
  uint plane = groupIndex() / p.height;
  uint y = groupIndex() - plane * p.height;
  uint picture = plane / p.channels;
  uint channel = plane - picture * p.channels;
  Address line = tensorAddress(push.buffers[PATCHES_BUFFER_IMAGE],
                               picture * p.imageStrideB + channel * p.imageStrideC + y * p.imageStrideH);

  // Element x of the line is element (y % PATCH_SIZE, x % PATCH_SIZE) of this channel of patch (y, x) /
  // PATCH_SIZE.
  uint patchArea = PATCH_SIZE * PATCH_SIZE;
  uint patchesPerLine = p.width / PATCH_SIZE;
  uint firstPatch = (picture * (p.height / PATCH_SIZE) + y / PATCH_SIZE) * patchesPerLine;
  uint inside = channel * patchArea + (y % PATCH_SIZE) * PATCH_SIZE;
  for (uint x = gl_LocalInvocationIndex; x < p.width; x += LOCAL_SIZE) {
    uint patchX = x / PATCH_SIZE;
    uint to = (firstPatch + patchX) * (p.channels * patchArea) + inside + (x - patchX * PATCH_SIZE);
    float value = loadElement(tensorAddress(line, x), 0u);
    storeElement(tensorAddress(push.buffers[PATCHES_BUFFER_ROWS], to), 0u, value);
  }
}
