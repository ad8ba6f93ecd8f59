// SPDX-License-Identifier: Apache-2.0
// Streams a buffer into another one, 16 bytes at a time, neighbours side by side.
#version 460
#extension GL_GOOGLE_include_directive : require

#include "probe.glsl"

void main() {
  for (uint i = 0; i < push.count; ++i) {
    const uint index = i * push.stride + gl_GlobalInvocationID.x;
    push.target.at[index] = push.source.at[index];
  }
}
