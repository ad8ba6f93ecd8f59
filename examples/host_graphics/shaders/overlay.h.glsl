// SPDX-License-Identifier: Apache-2.0
// What overlay.vert and overlay.frag share.
#extension GL_EXT_buffer_reference : require

layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer Floats { float at[]; };

layout(push_constant) uniform Push {
  Floats probs;  // [heads, seqlen]; token 0 is the class token, the others are patches
  uvec2 extent;  // pixels
  int heads, gridSize;
  int selected;  // 0: the mean of all heads, h: head h
};

const int kPlain = -1;  // the picture alone

// What the class token gives to a patch in head `shown`.
float weightOf(int shown, ivec2 patchAt) {
  const int seqlen = 1 + gridSize * gridSize;
  const int token = 1 + patchAt.y * gridSize + patchAt.x;
  if (shown > 0) return probs.at[(shown - 1) * seqlen + token];
  float sum = 0;
  for (int head = 0; head < heads; ++head) sum += probs.at[head * seqlen + token];
  return sum / heads;
}
