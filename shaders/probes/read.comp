// SPDX-License-Identifier: Apache-2.0
// Streams a buffer in, eight vectors a round, and writes one sum per invocation. UNIFORM: all invocations of a work-group, which is one
// subgroup, read the same place, each work-group its own stretch; otherwise neighbours read side by side.
#version 460
#extension GL_GOOGLE_include_directive : require

#include "probe.glsl"

void main() {
  vec4 sum = vec4(0);
  for (uint i = 0; i < push.count; i += 8) {
    for (uint j = 0; j < 8; ++j) {
#if UNIFORM
      sum += push.source.at[gl_WorkGroupID.x * push.count + i + j];
#else
      sum += push.source.at[(i + j) * push.stride + gl_GlobalInvocationID.x];
#endif
    }
  }
  push.target.at[gl_GlobalInvocationID.x] = sum;
}
