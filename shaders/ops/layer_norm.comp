#version 460
// SPDX-License-Identifier: Apache-2.0
// Layer normalisation, one row per work-group. The first pass finds the mean, the second the squares around
// it; the second also sums the differences themselves, which would be 0 but for the rounding of the mean, and
// corrects for them.

#extension GL_GOOGLE_include_directive : require
#include "rows.glsl"
#include "reduce.glsl"

layout(constant_id = OPS_SPEC_AFFINE) const uint AFFINE = 0;

void main() {
  RowsParams p = ParamsIn(push.params).value;
  Row row = rowOf(p, groupIndex());
  uint lane = gl_LocalInvocationIndex;
  float count = float(p.size3);

  float sum = 0.0;
  for (uint i = lane; i < p.size3; i += LOCAL_SIZE) sum += loadElement(tensorAddress(row.x, i), 0u);
  float mean = sumOverGroup(vec2(sum, 0.0)).x / count;

  vec2 sums = vec2(0.0);
  for (uint i = lane; i < p.size3; i += LOCAL_SIZE) {
    float difference = loadElement(tensorAddress(row.x, i), 0u) - mean;
    sums += vec2(difference, difference * difference);
  }
  sums = sumOverGroup(sums) / count;
  float correction = sums.x;
  float variance = sums.y - correction * correction;
  float scale = 1.0 / sqrt(variance + p.epsilon);

  for (uint i = lane; i < p.size3; i += LOCAL_SIZE) {
    float x = ((loadElement(tensorAddress(row.x, i), 0u) - mean) - correction) * scale;
    if (AFFINE != 0) {
      x = x * loadElement(tensorAddress(push.buffers[ROWS_BUFFER_WEIGHT], i), 0u) +
          loadElement(tensorAddress(push.buffers[ROWS_BUFFER_BIAS], i), 0u);
    }
    storeElement(tensorAddress(row.out_, i), 0u, x);
  }
}
