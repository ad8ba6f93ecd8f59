// SPDX-License-Identifier: Apache-2.0
// Streams a buffer into another one, 16 bytes at a time, neighbours side by side, eight times a round.
#version 460
#extension GL_GOOGLE_include_directive : require

#include "probe.glsl"

void main() {
  for (uint i = 0; i < push.count; i += 8) {
    for (uint j = 0; j < 8; ++j) {
      const uint index = (i + j) * push.stride + gl_GlobalInvocationID.x;
      push.target.at[index] = push.source.at[index];
    }
  }
}
