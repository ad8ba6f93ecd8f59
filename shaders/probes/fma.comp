// SPDX-License-Identifier: Apache-2.0
// How many multiply-adds a second: three vectors of independent chains per invocation, as many as hide the latency
// of an addition and few enough for 16 registers.
#version 460
#extension GL_GOOGLE_include_directive : require
#if HALF
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#define VECTOR f16vec4
#define SCALAR float16_t
#else
#define VECTOR vec4
#define SCALAR float
#endif

#include "probe.glsl"

#define STEP x = x * factor + summand, y = y * factor + summand, z = z * factor + summand;
#define STEPS STEP STEP STEP STEP

void main() {
  const SCALAR factor = SCALAR(push.factor), summand = SCALAR(push.summand);
  VECTOR x = VECTOR(gl_LocalInvocationIndex), y = x + SCALAR(1), z = x + SCALAR(2);
  // 16 x 12 multiply-adds a round, written out: a loop costs more than its body where it is executed with a mask.
  for (uint i = 0; i < push.count; ++i) {
    STEPS STEPS STEPS STEPS
  }
  push.target.at[gl_GlobalInvocationID.x] = vec4(x + y + z);
}
