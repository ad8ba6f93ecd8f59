// SPDX-License-Identifier: Apache-2.0
// Reads through a descriptor set and push constants, as most hosts do.
#version 460
layout(local_size_x = 1) in;
layout(set = 0, binding = 0, std430) buffer Values { float values[]; };
layout(push_constant) uniform Push { float factor; };

void main() { values[gl_WorkGroupID.x] *= factor; }
