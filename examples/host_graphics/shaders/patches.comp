// SPDX-License-Identifier: Apache-2.0
// Reads the picture as the model wants it: patches row by row, each as [channel][row][column], normalised. The last
// work-groups write the class token with its position: token 0.
#version 460
#extension GL_EXT_buffer_reference : require

layout(local_size_x = 64) in;
layout(set = 0, binding = 0) uniform sampler2D picture;

layout(buffer_reference, std430, buffer_reference_align = 4) buffer Floats { float at[]; };

layout(push_constant) uniform Push {
  Floats patches;     // [gridSize * gridSize, channels * patchSize * patchSize]
  Floats tokens;      // [1 + gridSize * gridSize, dim]
  Floats classToken;  // [dim]
  Floats positions;   // as tokens
  vec4 mean, deviation;
  uint channels, patchSize, gridSize, dim;
};

// The mean colour of the texels that one pixel of the model covers, whatever size the picture has.
vec3 pixelOfModel(uvec2 pixel) {
  const uvec2 size = uvec2(textureSize(picture, 0));
  const uint side = gridSize * patchSize;
  const uvec2 begin = pixel * size / side;
  const uvec2 end = max((pixel + 1) * size / side, begin + 1);
  vec3 sum = vec3(0);
  for (uint y = begin.y; y < end.y; ++y) {
    for (uint x = begin.x; x < end.x; ++x) sum += texelFetch(picture, ivec2(x, y), 0).rgb;
  }
  return sum / float((end.x - begin.x) * (end.y - begin.y));
}

void main() {
  const uint patchLength = channels * patchSize * patchSize;
  const uint values = gridSize * gridSize * patchLength;
  const uint i = gl_GlobalInvocationID.x;
  if (i >= values) {
    const uint channel = i - values;
    if (channel < dim) tokens.at[channel] = classToken.at[channel] + positions.at[channel];
    return;
  }
  const uint patchIndex = i / patchLength;
  const uint channel = i % patchLength / (patchSize * patchSize);
  const uvec2 inside = uvec2(i % patchSize, i / patchSize % patchSize);
  const vec3 colour = pixelOfModel(uvec2(patchIndex % gridSize, patchIndex / gridSize) * patchSize + inside);
  const float value = channels == 1 ? dot(colour, vec3(0.299, 0.587, 0.114)) : colour[channel];
  patches.at[i] = (value - mean[channel]) / deviation[channel];
}
