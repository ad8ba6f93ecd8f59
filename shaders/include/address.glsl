// SPDX-License-Identifier: Apache-2.0
#ifndef SACCADE_ADDRESS_GLSL
#define SACCADE_ADDRESS_GLSL
// Device addresses and typed access to device memory.
//
// NATIVE kernels use 64-bit integers and 8- and 16-bit storage. The others need nothing beyond Vulkan 1.2 with
// buffer device addresses: an address is a uvec2 with explicit carry, and small elements are read from and
// written to the aligned 32-bit word that holds them.
//
// Offsets are in elements, below 2^32; bytes are formed in 64 bits. An index into v[] is treated as signed by
// SPIR-V, so large offsets go through elementAddress and only small indices are used directly.

#extension GL_EXT_buffer_reference : require
#extension GL_EXT_control_flow_attributes : require
#if NATIVE
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_spirv_intrinsics : require
#extension GL_KHR_shader_subgroup_vote : require
#extension GL_KHR_shader_subgroup_clustered : require
// SignedZeroInfNanPreserve for fp32: NaN and infinities are part of the contract.
spirv_execution_mode(extensions = ["SPV_KHR_float_controls"], capabilities = [4466], 4461, 32);
#else
#extension GL_EXT_buffer_reference_uvec2 : require
#endif

#if NATIVE
#define Address uint64_t
Address elementAddress(Address base, uint element, uint elementBytes) {
  return base + uint64_t(element) * uint64_t(elementBytes);
}
#else
#define Address uvec2
Address elementAddress(Address base, uint element, uint elementBytes) {
  uint high, low, carry;
  umulExtended(element, elementBytes, high, low);
  low = uaddCarry(base.x, low, carry);
  return uvec2(low, base.y + high + carry);
}
#endif

layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer FloatsIn { float v[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer WordsIn { uint v[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer IntsIn { int v[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) writeonly buffer FloatsOut { float v[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer Vec4sIn { vec4 v[]; };
#if NATIVE
layout(buffer_reference, std430, buffer_reference_align = 2) readonly buffer Half4sIn { f16vec4 v[]; };
layout(buffer_reference, std430, buffer_reference_align = 2) readonly buffer Short4sIn { u16vec4 v[]; };
layout(buffer_reference, std430, buffer_reference_align = 2) readonly buffer ShortsIn { uint16_t v[]; };
layout(buffer_reference, std430, buffer_reference_align = 1) readonly buffer BytesIn { uint8_t v[]; };
layout(buffer_reference, std430, buffer_reference_align = 2) writeonly buffer ShortsOut { uint16_t v[]; };
#else
layout(buffer_reference, std430, buffer_reference_align = 4) buffer WordsOut { uint v[]; };
#endif

float loadF32(Address base, uint i) { return FloatsIn(base).v[i]; }

#if NATIVE
uint load16(Address base, uint i) { return uint(ShortsIn(base).v[i]); }
uint load8(Address base, uint i) { return uint(BytesIn(base).v[i]); }
void store16(Address base, uint i, uint bits) { ShortsOut(base).v[i] = uint16_t(bits); }
#else
uint load16(Address base, uint i) {
  Address a = elementAddress(base, i, 2u);
  uint word = WordsIn(uvec2(a.x & ~3u, a.y)).v[0];
  return (word >> ((a.x & 2u) * 8u)) & 0xffffu;
}
uint load8(Address base, uint i) {
  Address a = elementAddress(base, i, 1u);
  uint word = WordsIn(uvec2(a.x & ~3u, a.y)).v[0];
  return (word >> ((a.x & 3u) * 8u)) & 0xffu;
}
// Two invocations may own the two halves of one word: each touches its own bits only, in any order.
void store16(Address base, uint i, uint bits) {
  Address a = elementAddress(base, i, 2u);
  WordsOut word = WordsOut(uvec2(a.x & ~3u, a.y));
  uint shift = (a.x & 2u) * 8u;
  atomicAnd(word.v[0], ~(0xffffu << shift));
  atomicOr(word.v[0], bits << shift);
}
#endif

// True if any invocation of the subgroup says so; kernels without subgroup votes take the careful path always.
#if NATIVE
bool anyInSubgroup(bool x) { return subgroupAny(x); }
#else
bool anyInSubgroup(bool x) { return true; }
#endif

#endif  // SACCADE_ADDRESS_GLSL
