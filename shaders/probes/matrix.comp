// SPDX-License-Identifier: Apache-2.0
// How many multiply-adds a second the matrix units do, fp16 into fp32: eight independent accumulators per subgroup.
// The first factors change from round to round (by a factor that is 1, which no compiler knows): else a device that runs
// this as plain multiplications would do them once.
// Shape and work-group size are the device's: the work-group holds whole subgroups.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_KHR_shader_subgroup_basic : require

#include "probe.glsl"

layout(constant_id = 1) const uint kM = 16;
layout(constant_id = 2) const uint kN = 16;
layout(constant_id = 3) const uint kK = 16;

#define MATRIX_A coopmat<float16_t, gl_ScopeSubgroup, kM, kK, gl_MatrixUseA>
#define MATRIX_B coopmat<float16_t, gl_ScopeSubgroup, kK, kN, gl_MatrixUseB>
#define MATRIX_C coopmat<float, gl_ScopeSubgroup, kM, kN, gl_MatrixUseAccumulator>

void main() {
  const float16_t factor = float16_t(push.factor), summand = float16_t(push.summand);
  MATRIX_A a0 = MATRIX_A(summand), a1 = MATRIX_A(factor);
  const MATRIX_B b0 = MATRIX_B(summand), b1 = MATRIX_B(factor), b2 = MATRIX_B(-summand), b3 = MATRIX_B(-factor);
  MATRIX_C c00 = MATRIX_C(0), c01 = MATRIX_C(1), c02 = MATRIX_C(2), c03 = MATRIX_C(3);
  MATRIX_C c10 = MATRIX_C(4), c11 = MATRIX_C(5), c12 = MATRIX_C(6), c13 = MATRIX_C(7);
  for (uint i = 0; i < push.count; ++i) {
    c00 = coopMatMulAdd(a0, b0, c00);
    c01 = coopMatMulAdd(a0, b1, c01);
    c02 = coopMatMulAdd(a0, b2, c02);
    c03 = coopMatMulAdd(a0, b3, c03);
    c10 = coopMatMulAdd(a1, b0, c10);
    c11 = coopMatMulAdd(a1, b1, c11);
    c12 = coopMatMulAdd(a1, b2, c12);
    c13 = coopMatMulAdd(a1, b3, c13);
    a0 *= factor;
    a1 *= factor;
  }
  const uint subgroup = gl_WorkGroupID.x * gl_NumSubgroups + gl_SubgroupID;
  Scalars sums = Scalars(push.target);
  coopMatStore(c00 + c01 + c02 + c03 + c10 + c11 + c12 + c13, sums.at, subgroup * kM * kN, kN, gl_CooperativeMatrixLayoutRowMajor);
}
