// SPDX-License-Identifier: Apache-2.0
#ifndef SACCADE_PROBE_GLSL
#define SACCADE_PROBE_GLSL
// Push constants of every probe: the layout is that of saccade::tool::ProbePush.

#extension GL_EXT_buffer_reference : require

layout(local_size_x_id = 0) in;

layout(buffer_reference, std430, buffer_reference_align = 16) buffer Vectors { vec4 at[]; };
layout(buffer_reference, std430, buffer_reference_align = 16) buffer Scalars { float at[]; };

layout(push_constant, std430) uniform Push {
  Vectors source, target;
  uint count;            // iterations, or vectors of an invocation: a multiple of 8
  uint stride;           // invocations of the dispatch
  float factor, summand;
} push;

#endif  // SACCADE_PROBE_GLSL
