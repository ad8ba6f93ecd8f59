// SPDX-License-Identifier: Apache-2.0
// A row of texels: four values each, from a buffer that a descriptor set names, times the push constant.
#version 460
layout(set = 0, binding = 0, std430) readonly buffer Values { vec4 values[]; };
layout(push_constant) uniform Push { float factor; };
layout(location = 0) out vec4 colour;

void main() { colour = factor * values[int(gl_FragCoord.x)]; }
