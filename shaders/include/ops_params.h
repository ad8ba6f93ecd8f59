// SPDX-License-Identifier: Apache-2.0
// What plans tell the kernels of layer norm, softmax, activation and patches. Read by GLSL and C++ alike, so
// only 32-bit members stand here. Strides are in elements.
#ifndef SACCADE_OPS_PARAMS_H_
#define SACCADE_OPS_PARAMS_H_

// Specialisation constants, by constant_id.
#define OPS_SPEC_LOCAL_SIZE 0  // invocations per work-group; a power of two
#define OPS_SPEC_AFFINE 1      // layer_norm: 1: weight and bias are given
#define OPS_SPEC_STEPS 1       // activation: elements of an invocation; a power of two
#define OPS_SPEC_ACTIVATION 2  // activation: SaccadeActivation
#define OPS_SPEC_PATCH_SIZE 1  // patches

// Rows along axis 3: layer_norm, softmax, activation.
#define ROWS_BUFFER_X 0
#define ROWS_BUFFER_WEIGHT 1
#define ROWS_BUFFER_BIAS 2
#define ROWS_BUFFER_OUT 3

// layer_norm: work-groups of at most this many invocations take a row per invocation; wider ones share a row.
#define LAYER_NORM_NARROW 16

struct RowsParams {
  uint rows;  // of all axes but the last
  uint size1, size2, size3;
  uint xStride0, xStride1, xStride2;
  uint outStride0, outStride1, outStride2;
  uint chunks;    // activation: work-groups per row
  float epsilon;  // layer_norm
};

// Lines of pictures to rows [batch, patch, channel * patchSize * patchSize], contiguous.
#define PATCHES_BUFFER_IMAGE 0
#define PATCHES_BUFFER_ROWS 1

struct PatchesParams {
  uint channels, height, width;
  uint imageStrideB, imageStrideC, imageStrideH;
};

#endif  // SACCADE_OPS_PARAMS_H_
