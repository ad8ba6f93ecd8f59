// SPDX-License-Identifier: Apache-2.0
#ifndef SACCADE_PUSH_GLSL
#define SACCADE_PUSH_GLSL
// Push constants of every kernel: the layout is that of saccade::core::PushConstants (runtime/plan/plan.hpp).

#include "address.glsl"

layout(push_constant, std430) uniform Push {
  Address params;       // the plan's parameters of this dispatch
  uint groupBase;       // added to gl_WorkGroupID.x: long grids are split into several dispatches
  uint reserved;
  Address buffers[14];  // device addresses, in the order that each kernel names
} push;

uint groupIndex() { return push.groupBase + gl_WorkGroupID.x; }

#endif  // SACCADE_PUSH_GLSL
