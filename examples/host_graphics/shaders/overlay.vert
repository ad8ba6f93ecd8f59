// SPDX-License-Identifier: Apache-2.0
// A square per instance. Instance 0 is the large one with what is selected; to its right are, three rows high, the plain
// picture, the mean and the heads.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "overlay.h.glsl"

layout(location = 0) out vec2 position;       // 0..1 inside the square
layout(location = 1) flat out int shown;      // kPlain, 0 for the mean, or a head
layout(location = 2) flat out float largest;  // weight of a patch
layout(location = 3) flat out float side;     // pixels

void main() {
  position = vec2(gl_VertexIndex & 1, gl_VertexIndex >> 1);
  const int cell = gl_InstanceIndex - 1;
  const int columns = (heads + 2 + 2) / 3;
  const vec2 window = vec2(extent);
  const float unit = min(window.x / (3 + columns), window.y / 3);
  const float gap = 0.04 * unit;
  shown = cell < 0 ? selected : cell - 1;
  side = (cell < 0 ? 3 : 1) * unit - gap;
  const vec2 origin = (window - unit * vec2(3 + columns, 3)) / 2 + gap / 2;
  const vec2 corner = cell < 0 ? vec2(0) : unit * vec2(3 + cell % columns, cell / columns);
  gl_Position = vec4((origin + corner + side * position) / window * 2 - 1, 0, 1);

  largest = 0;
  for (int i = 0; i < gridSize * gridSize && shown != kPlain; ++i) {
    largest = max(largest, weightOf(shown, ivec2(i % gridSize, i / gridSize)));
  }
}
