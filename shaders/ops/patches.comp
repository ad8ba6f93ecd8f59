#version 460
// SPDX-License-Identifier: Apache-2.0
// Cuts pictures into patches: each becomes one contiguous row, channel by channel, line by line. One element per invocation.

#extension GL_GOOGLE_include_directive : require
#include "dtype.glsl"
#include "push.glsl"
#include "ops_params.h"

layout(local_size_x_id = OPS_SPEC_LOCAL_SIZE) in;
layout(constant_id = OPS_SPEC_LOCAL_SIZE) const uint LOCAL_SIZE = 64;

layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer ParamsIn { PatchesParams value; };

void main() {
  PatchesParams p = ParamsIn(push.params).value;
  uint index = groupIndex() * LOCAL_SIZE + gl_LocalInvocationIndex;
  if (index >= p.count) return;
  uint line = index / p.patchSize;  // of the patch, of the channel, of the patches, of the pictures
  uint x = index - line * p.patchSize;
  uint plane = line / p.patchSize;
  uint y = line - plane * p.patchSize;
  uint place = plane / p.channels;
  uint channel = plane - place * p.channels;
  uint picture = place / p.patchesPerImage;
  uint patchIndex = place - picture * p.patchesPerImage;
  uint patchY = patchIndex / p.patchesPerLine;
  uint patchX = patchIndex - patchY * p.patchesPerLine;
  uint element = picture * p.imageStrideB + channel * p.imageStrideC + (patchY * p.patchSize + y) * p.imageStrideH +
                 patchX * p.patchSize + x;
  float value = loadElement(tensorAddress(push.buffers[PATCHES_BUFFER_IMAGE], element), 0u);
  storeElement(tensorAddress(push.buffers[PATCHES_BUFFER_ROWS], index), 0u, value);
}
