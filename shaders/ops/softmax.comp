#version 460
// SPDX-License-Identifier: Apache-2.0
// Softmax, one row per work-group: maximum, sum of exponentials, quotients.

#extension GL_GOOGLE_include_directive : require
#include "rows.glsl"
#include "reduce.glsl"

// exp(x - maximum); exactly 0 for -inf, also where that is the maximum of the row. NaN is passed on here
// because exp2 may lose it.
float weightOf(float x, float maximum) {
  if (x == -kInfinity) return 0.0;
  float difference = x - maximum;
  return isnan(difference) ? difference : exp2(difference * 1.4426950408889634);
}

void main() {
  RowsParams p = ParamsIn(push.params).value;
  Row row = rowOf(p, groupIndex());
  uint lane = gl_LocalInvocationIndex;

  float maximum = -kInfinity;
  for (uint i = lane; i < p.size3; i += LOCAL_SIZE) {
    maximum = max(maximum, loadElement(tensorAddress(row.x, i), 0u));
  }
  maximum = maxOverGroup(maximum);

  float sum = 0.0;
  for (uint i = lane; i < p.size3; i += LOCAL_SIZE) {
    sum += weightOf(loadElement(tensorAddress(row.x, i), 0u), maximum);
  }
  sum = sumOverGroup(vec2(sum, 0.0)).x;

  // Some element has weight 1, so a sum of 0 means that all are -inf. A NaN anywhere makes the sum NaN and
  // with it the row.
  float inverse = sum == 0.0 ? 0.0 : 1.0 / sum;
  for (uint i = lane; i < p.size3; i += LOCAL_SIZE) {
    float x = loadElement(tensorAddress(row.x, i), 0u);
    storeElement(tensorAddress(row.out_, i), 0u, weightOf(x, maximum) * inverse);
  }
}
