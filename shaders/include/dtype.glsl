// SPDX-License-Identifier: Apache-2.0
#ifndef SACCADE_DTYPE_GLSL
#define SACCADE_DTYPE_GLSL
// Storage types. DTYPE is the type of a kernel's tensors; arithmetic is fp32. Conversions round once, to nearest
// even, by integer arithmetic: the rounding of packHalf2x16 and float16_t() is the device's own choice.

#include "address.glsl"

#define DTYPE_F32 0
#define DTYPE_F16 1
#define DTYPE_BF16 2

#define kInfinity uintBitsToFloat(0x7f800000u)

float halfToFloat(uint bits) { return unpackHalf2x16(bits).x; }
float bfloatToFloat(uint bits) { return uintBitsToFloat(bits << 16); }

uint floatToHalf(float x) {
  uint u = floatBitsToUint(x);
  uint sign = (u >> 16) & 0x8000u;
  uint magnitude = u & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return sign | 0x7e00u;   // NaN
  if (magnitude >= 0x477ff000u) return sign | 0x7c00u;  // 65520 and above round to infinity
  if (magnitude < 0x38800000u) {                        // below 2^-14: a multiple of 2^-24
    return sign | uint(roundEven(uintBitsToFloat(magnitude) * 16777216.0));
  }
  return sign | ((magnitude + 0xfffu + ((magnitude >> 13) & 1u) - 0x38000000u) >> 13);
}

uint floatToBfloat(float x) {
  uint u = floatBitsToUint(x);
  if ((u & 0x7fffffffu) > 0x7f800000u) return (u >> 16) | 0x40u;
  return (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
}

#if DTYPE == DTYPE_F32
#define ELEMENT_BYTES 4u
float loadElement(Address base, uint i) { return loadF32(base, i); }
void storeElement(Address base, uint i, float x) { FloatsOut(base).v[i] = x; }
#elif DTYPE == DTYPE_F16
#define ELEMENT_BYTES 2u
float loadElement(Address base, uint i) { return halfToFloat(load16(base, i)); }
void storeElement(Address base, uint i, float x) { store16(base, i, floatToHalf(x)); }
#else
#define ELEMENT_BYTES 2u
float loadElement(Address base, uint i) { return bfloatToFloat(load16(base, i)); }
void storeElement(Address base, uint i, float x) { store16(base, i, floatToBfloat(x)); }
#endif

// Elements before their conversion to fp32, for kernels that merge what several invocations read and convert it once.
#if DTYPE == DTYPE_F32
#define Raw float
Raw loadRaw(Address base, uint i) { return loadF32(base, i); }
float convert(Raw x) { return x; }
#else
#define Raw uint
Raw loadRaw(Address base, uint i) { return load16(base, i); }
float convert(Raw x) { return DTYPE == DTYPE_F16 ? halfToFloat(x) : bfloatToFloat(x); }
#endif

// Four consecutive elements, the first of which is 4 * i.
#if DTYPE == DTYPE_F32
vec4 loadElements4(Address base, uint i) { return Vec4sIn(base).v[i]; }
#elif NATIVE && DTYPE == DTYPE_F16
vec4 loadElements4(Address base, uint i) { return vec4(Half4sIn(base).v[i]); }
#elif NATIVE
vec4 loadElements4(Address base, uint i) { return uintBitsToFloat(uvec4(Short4sIn(base).v[i]) << 16); }
#else
vec4 loadElements4(Address base, uint i) {
  return vec4(loadElement(base, 4u * i), loadElement(base, 4u * i + 1u), loadElement(base, 4u * i + 2u),
              loadElement(base, 4u * i + 3u));
}
#endif

Address tensorAddress(Address base, uint element) { return elementAddress(base, element, ELEMENT_BYTES); }

#endif  // SACCADE_DTYPE_GLSL
