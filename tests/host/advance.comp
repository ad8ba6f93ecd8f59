// SPDX-License-Identifier: Apache-2.0
// One token more for each sequence.
#version 460
#extension GL_EXT_buffer_reference : require
layout(local_size_x = 1) in;

layout(buffer_reference, std430, buffer_reference_align = 4) buffer Ints { int at[]; };
layout(push_constant) uniform Push { Ints lengths; };

void main() { lengths.at[gl_WorkGroupID.x]++; }
