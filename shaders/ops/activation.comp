#version 460
// SPDX-License-Identifier: Apache-2.0
// An activation, element by element. Each work-group takes STEPS * LOCAL_SIZE consecutive elements of a row,
// so that only the row has to be divided into indices.

#extension GL_GOOGLE_include_directive : require
#include "activation.glsl"
#include "rows.glsl"

layout(constant_id = OPS_SPEC_STEPS) const uint STEPS = 1;
layout(constant_id = OPS_SPEC_ACTIVATION) const uint ACTIVATION = ACTIVATION_GELU;

void main() {
  RowsParams p = ParamsIn(push.params).value;
  uint rowIndex = groupIndex() / p.chunks;
  Row row = rowOf(p, rowIndex);
  uint first = (groupIndex() - rowIndex * p.chunks) * (STEPS * LOCAL_SIZE);
  for (uint step = 0; step < STEPS; step++) {
    uint i = first + step * LOCAL_SIZE + gl_LocalInvocationIndex;
    if (i >= p.size3) return;
    float x = loadElement(tensorAddress(row.x, i), 0u);
    storeElement(tensorAddress(row.out_, i), 0u, activate(ACTIVATION, x));
  }
}
