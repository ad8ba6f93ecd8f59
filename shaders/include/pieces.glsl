// SPDX-License-Identifier: Apache-2.0
#ifndef SACCADE_PIECES_GLSL
#define SACCADE_PIECES_GLSL
// Pieces: four channels of a row, or the weights of four keys, as they stand in shared memory. fp16 stays packed there, for the
// instructions that widen what they multiply; other types are fp32, and with WIDE so is fp16, for devices without such instructions.
// Device memory is read in units of 16 bytes where addresses allow.

#include "quantised.glsl"

#ifndef WIDE
#define WIDE 0
#endif

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer UnitIn { uvec4 bits; };

#define UNIT_BYTES 16u
const uint UNIT_ELEMENTS = UNIT_BYTES / ELEMENT_BYTES;
const uint UNIT_PIECES = UNIT_ELEMENTS / 4;

bool isUnitAligned(Address base) {
#if NATIVE
  return (uint(base) & (UNIT_BYTES - 1u)) == 0u;
#else
  return (base.x & (UNIT_BYTES - 1u)) == 0u;
#endif
}

uvec4 loadUnit(Address base) { return UnitIn(base).bits; }

#if DTYPE == DTYPE_F16 && !WIDE
#define Piece uvec2
vec4 widened(Piece x) { return vec4(unpackHalf2x16(x.x), unpackHalf2x16(x.y)); }
Piece narrowed(vec4 x) { return Piece(packHalf2x16(x.xy), packHalf2x16(x.zw)); }
Piece pieceOfUnit(uvec4 bits, uint i) { return i == 0u ? bits.xy : bits.zw; }
Piece loadPiece(Address row, uint piece, const uint headDim) {
  Piece x = Piece(0u);
  if (headDim == 0) return x;
  [[unroll]] for (uint i = 0; i < 4; i++) {
    uint bits = loadRaw(row, min(4 * piece + i, headDim - 1));
    x[i / 2] |= (4 * piece + i < headDim ? bits : 0u) << (i % 2 * 16);
  }
  return x;
}
#else
#define Piece vec4
vec4 widened(Piece x) { return x; }
Piece narrowed(vec4 x) { return x; }
#if DTYPE == DTYPE_F32
Piece pieceOfUnit(uvec4 bits, uint i) { return uintBitsToFloat(bits); }
#elif DTYPE == DTYPE_F16
Piece pieceOfUnit(uvec4 bits, uint i) {
  uvec2 two = i == 0u ? bits.xy : bits.zw;
  return vec4(unpackHalf2x16(two.x), unpackHalf2x16(two.y));
}
#else
Piece pieceOfUnit(uvec4 bits, uint i) {
  uvec2 two = i == 0u ? bits.xy : bits.zw;
  return uintBitsToFloat(uvec4(two.x << 16, two.x & 0xffff0000u, two.y << 16, two.y & 0xffff0000u));
}
#endif
Piece loadPiece(Address row, uint piece, const uint headDim) {
  Piece x = Piece(0.0);
  if (headDim == 0) return x;
  [[unroll]] for (uint i = 0; i < 4; i++) {
    float element = loadElement(row, min(4 * piece + i, headDim - 1));
    if (4 * piece + i < headDim) x[i] = element;
  }
  return x;
}
#endif

// The same of a row of K or V, which may be bytes: exact, without their scale.
Piece loadKeyPiece(Address row, uint piece, const uint headDim) {
  if (KV_DTYPE == 0) return loadPiece(row, piece, headDim);
  return 4 * piece < headDim ? narrowed(loadKeyQuad(row, piece, headDim)) : Piece(0);
}

// The piece, negated if `negative`.
Piece negatedIf(Piece piece, bool negative) {
#if DTYPE == DTYPE_F16 && !WIDE
  return piece ^ (negative ? 0x80008000u : 0u);
#else
  return negative ? -piece : piece;
#endif
}

// No NaN and no infinity.
bool isFinite(Piece piece) {
  vec4 x = widened(piece);
  uvec4 magnitude = floatBitsToUint(x) & 0x7fffffffu;
  return all(lessThan(magnitude, uvec4(0x7f800000u)));
}

#endif  // SACCADE_PIECES_GLSL
