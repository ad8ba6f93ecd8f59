// SPDX-License-Identifier: Apache-2.0
#ifndef SACCADE_QUANTISED_GLSL
#define SACCADE_QUANTISED_GLSL
// Elements of K and V as they are stored: of the kernel's dtype, or bytes that a scale belongs to. What the functions here return
// is not scaled yet: a kernel multiplies by keyScaleOfK and keyScaleOfV of attention.glsl, once per key where it can.

#include "dtype.glsl"
#include "attention_params.h"

layout(constant_id = SPEC_WIDENED) const uint WIDENED = 0;
layout(constant_id = SPEC_KV_DTYPE) const uint KV_DTYPE = 0;
layout(constant_id = SPEC_KV_WORDS) const uint KV_WORDS = 0;

const uint KEY_BYTES = WIDENED != 0 ? 4u : KV_DTYPE != 0 ? 1u : ELEMENT_BYTES;

// FP8 E4M3: bias 7, no infinity, NaN is 0x7f. Exponent and mantissa move to where fp32 has them, and the bias is corrected by an addition.
// Subnormal numbers are multiples of 2^-9; they are converted as integers, because a device may take subnormal numbers of any
// floating-point format for 0.
vec4 e4m3ToFloat(uvec4 code) {
  uvec4 magnitude = code & 0x7fu;
  vec4 normal = uintBitsToFloat((magnitude << 20) + 0x3c000000u);
  vec4 x = mix(normal, vec4(magnitude) * 0.001953125, lessThan(magnitude, uvec4(8u)));
  x = mix(x, uintBitsToFloat(uvec4(0x7fc00000u)), equal(magnitude, uvec4(0x7fu)));
  return uintBitsToFloat(floatBitsToUint(x) | ((code & 0x80u) << 24));
}

vec4 bytesToFloat(uvec4 code) {
  return KV_DTYPE == KV_I8 ? vec4(ivec4(code << 24) >> 24) : e4m3ToFloat(code);
}

// Channels 4 * quad .. 4 * quad + 3 of a row; those past the head dim are 0 and never read.
vec4 loadQuad(Address row, uint quad, const uint headDim) {
  if (4 * quad + 4 <= headDim) return loadElements4(row, quad);
  vec4 x = vec4(0.0);
  [[unroll]] for (uint i = 0; i < 3; i++) {
    if (4 * quad + i < headDim) x[i] = loadElement(row, 4 * quad + i);
  }
  return x;
}

// The same of a row of K or V. Copies hold whole quads, and so do rows that are read in words.
vec4 loadKeyQuad(Address row, uint quad, const uint headDim) {
  if (WIDENED != 0) return Vec4sIn(row).v[quad];
  if (KV_DTYPE == 0) return loadQuad(row, quad, headDim);
  uvec4 code = uvec4(0u);
  if (KV_WORDS != 0) {
    uint word = WordsIn(row).v[quad];
    code = uvec4(word, word >> 8, word >> 16, word >> 24) & 0xffu;
  } else {
    [[unroll]] for (uint i = 0; i < 4; i++) {
      if (4 * quad + i < headDim) code[i] = load8(row, 4 * quad + i);
    }
  }
  return bytesToFloat(code);
}

float loadKeyElement(Address row, uint channel) {
  if (WIDENED != 0) return loadF32(row, channel);
  if (KV_DTYPE == 0) return loadElement(row, channel);
  return bytesToFloat(uvec4(load8(row, channel))).x;
}

#endif  // SACCADE_QUANTISED_GLSL
