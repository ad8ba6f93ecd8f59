// SPDX-License-Identifier: Apache-2.0
#ifndef SACCADE_ROWS_GLSL
#define SACCADE_ROWS_GLSL
// What the kernels that work along rows of axis 3 share.

#include "dtype.glsl"
#include "push.glsl"
#include "ops_params.h"

layout(local_size_x_id = OPS_SPEC_LOCAL_SIZE) in;
layout(constant_id = OPS_SPEC_LOCAL_SIZE) const uint LOCAL_SIZE = 64;

layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer ParamsIn { RowsParams value; };

struct Row {
  Address x, out_;
};

Row rowOf(const RowsParams p, uint index) {
  uint rest = index / p.size2;
  uint i2 = index - rest * p.size2;
  uint i0 = rest / p.size1;
  uint i1 = rest - i0 * p.size1;
  uint xFirst = i0 * p.xStride0 + i1 * p.xStride1 + i2 * p.xStride2;
  uint outFirst = i0 * p.outStride0 + i1 * p.outStride1 + i2 * p.outStride2;
  return Row(tensorAddress(push.buffers[ROWS_BUFFER_X], xFirst),
             tensorAddress(push.buffers[ROWS_BUFFER_OUT], outFirst));
}

#endif  // SACCADE_ROWS_GLSL
