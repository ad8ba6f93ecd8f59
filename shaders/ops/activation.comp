#version 460
// SPDX-License-Identifier: Apache-2.0
// An activation, one element per invocation.

#extension GL_GOOGLE_include_directive : require
#include "activation.glsl"
#include "dtype.glsl"
#include "push.glsl"
#include "ops_params.h"

layout(local_size_x_id = OPS_SPEC_LOCAL_SIZE) in;
layout(constant_id = OPS_SPEC_LOCAL_SIZE) const uint LOCAL_SIZE = 64;
layout(constant_id = OPS_SPEC_ACTIVATION) const uint ACTIVATION = ACTIVATION_GELU;

layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer ParamsIn { ElementsParams value; };

void main() {
  ElementsParams p = ParamsIn(push.params).value;
  uint index = groupIndex() * LOCAL_SIZE + gl_LocalInvocationIndex;
  if (index >= p.count) return;
  uint row = index / p.size3;
  uint i3 = index - row * p.size3;
  uint plane = row / p.size2;
  uint i2 = row - plane * p.size2;
  uint i0 = plane / p.size1;
  uint i1 = plane - i0 * p.size1;
  Address x = tensorAddress(push.buffers[ELEMENTS_BUFFER_X], i0 * p.xStride0 + i1 * p.xStride1 + i2 * p.xStride2 + i3);
  uint to = i0 * p.outStride0 + i1 * p.outStride1 + i2 * p.outStride2 + i3;
  storeElement(tensorAddress(push.buffers[ELEMENTS_BUFFER_OUT], to), 0u, activate(ACTIVATION, loadElement(x, 0u)));
}
