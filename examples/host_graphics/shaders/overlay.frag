// SPDX-License-Identifier: Apache-2.0
// The picture with the class token's attention over it, and the key that selects it in the corner of the small ones.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "overlay.h.glsl"

layout(set = 0, binding = 0) uniform sampler2D picture;
layout(location = 0) in vec2 position;
layout(location = 1) flat in int shown;
layout(location = 2) flat in float largest;
layout(location = 3) flat in float side;
layout(location = 0) out vec4 colour;

// 3 x 5 pixels each, the first row in the highest bits.
const uint kDigits[10] = uint[10](0x7b6f, 0x2c97, 0x73e7, 0x73cf, 0x5bc9, 0x79cf, 0x79ef, 0x7249, 0x7bef, 0x7bcf);

// Between the centres of four patches.
float attention() {
  const vec2 at = clamp(position * gridSize - 0.5, vec2(0), vec2(gridSize - 1));
  const ivec2 low = ivec2(at), high = min(low + 1, gridSize - 1);
  const vec2 part = smoothstep(0.0, 1.0, at - low);
  const float top = mix(weightOf(shown, low), weightOf(shown, ivec2(high.x, low.y)), part.x);
  const float bottom = mix(weightOf(shown, ivec2(low.x, high.y)), weightOf(shown, high), part.x);
  return mix(top, bottom, part.y) / largest;
}

vec3 heat(float value) {
  const vec3 warm = mix(vec3(0.85, 0.12, 0.25), vec3(1.0, 0.65, 0.05), smoothstep(0.35, 0.75, value));
  const vec3 low = mix(vec3(0.20, 0.05, 0.40), warm, smoothstep(0.0, 0.5, value));
  return mix(low, vec3(1.0, 0.98, 0.75), smoothstep(0.75, 1.0, value));
}

bool inDigit(vec2 pixel, int digit) {
  const ivec2 at = ivec2(floor(pixel));
  if (any(lessThan(at, ivec2(0))) || at.x >= 3 || at.y >= 5) return false;
  return (kDigits[digit] >> (14 - at.y * 3 - at.x) & 1) != 0;
}

void main() {
  colour = vec4(texture(picture, position).rgb, 1);
  if (shown == kPlain) return;
  const float value = attention();
  colour.rgb = mix(colour.rgb * 0.8, heat(value), 0.25 + 0.5 * value);

  const bool thumbnail = gl_FragCoord.x - position.x * side > side;
  if (!thumbnail) return;
  const vec2 dot = (position * side - 0.05 * side) / (0.028 * side);
  if (shown <= 9 && inDigit(dot, shown)) colour.rgb = vec3(1);
  const vec2 edge = min(position, 1 - position) * side;
  if (shown == selected && min(edge.x, edge.y) < 3) colour.rgb = vec3(1);
}
