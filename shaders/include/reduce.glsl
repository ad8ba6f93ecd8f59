// SPDX-License-Identifier: Apache-2.0
#ifndef SACCADE_REDUCE_GLSL
#define SACCADE_REDUCE_GLSL
// Reductions over a work-group of LOCAL_SIZE invocations, a power of two, through shared memory: nothing is
// assumed of subgroups. Every invocation of the work-group must take part and gets the result.

shared vec2 reduceParts[LOCAL_SIZE];

// The sums of both components, always in the same order.
vec2 sumOverGroup(vec2 x) {
  uint lane = gl_LocalInvocationIndex;
  barrier();
  reduceParts[lane] = x;
  [[dont_unroll]] for (uint n = LOCAL_SIZE / 2u; n > 0u; n /= 2u) {
    barrier();
    if (lane < n) reduceParts[lane] += reduceParts[lane + n];
  }
  barrier();
  return reduceParts[0];
}

float maxOverGroup(float x) {
  uint lane = gl_LocalInvocationIndex;
  barrier();
  reduceParts[lane].x = x;
  [[dont_unroll]] for (uint n = LOCAL_SIZE / 2u; n > 0u; n /= 2u) {
    barrier();
    if (lane < n) reduceParts[lane].x = max(reduceParts[lane].x, reduceParts[lane + n].x);
  }
  barrier();
  return reduceParts[0].x;
}

#endif  // SACCADE_REDUCE_GLSL
