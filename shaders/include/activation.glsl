// SPDX-License-Identifier: Apache-2.0
#ifndef SACCADE_ACTIVATION_GLSL
#define SACCADE_ACTIVATION_GLSL
// Activations. The codes are those of SaccadeActivation.

#define ACTIVATION_NONE 0
#define ACTIVATION_GELU 1
#define ACTIVATION_GELU_TANH 2

// exp(-z * z / 2) for 0 <= z <= 13, to a few units in the last place: z * z is formed exactly in two parts,
// because its rounding alone would cost 20 units at z = 6.
float gaussian(float z) {
  float high = uintBitsToFloat(floatBitsToUint(z) & 0xfffff000u);
  float w = 0.5 * high * high;
  float rest = 0.5 * (z - high) * (z + high);
  // The sum with 1.5 * 2^23 leaves the whole part of the exponent of 2 in its lowest bits, together with the bias of an exponent, and
  // their difference as integers is exact whatever a compiler makes of sums. A conversion to an integer would saturate, and CPU drivers
  // make that one number at a time.
  const float kWhole = 12582912.0 + 127.0;
  float shifted = w * -1.4426950408889634 + kWhole;
  float n = float(floatBitsToInt(kWhole) - floatBitsToInt(shifted));
  // n * ln 2 in two parts, the first of which is exact for n < 2^9.
  float r = ((w - n * 0.693145751953125) - n * 1.42860682e-6) + rest;
  return exp2(r * -1.4426950408889634) * uintBitsToFloat(floatBitsToUint(shifted) << 23);
}

// The normal distribution's Phi(-z) for z >= 0, relative error below 1e-6; 0 past z = 13, where x * Phi(x) is
// below the smallest normal float. exp(z * z / 2) * Phi(-z) is t * polynomial(t) in t = 1 / (1 + 0.26 z):
// minimax in relative error on [0, 13], fitted by Lawson's iteratively reweighted least squares against the
// scaled complementary error function in double precision (4e-7 evaluated in fp32, of which 2e-8 are the
// polynomial's).
float normalTail(float z) {
  float t = 1.0 / (1.0 + 0.26 * z);
  float t2 = t * t, t4 = t2 * t2;
  float p01 = 0.10296104848384857 * t + 0.1037624254822731;
  float p23 = 0.049540188163518906 * t + 0.10341819375753403;
  float p45 = -0.15587079524993896 * t + 0.16438765823841095;
  float p67 = -0.15487858653068542 * t + 0.25575554370880127;
  float p48 = (0.03092431277036667 * t4 + p67 * t2) + p45;
  float p = p48 * t4 + (p23 * t2 + p01);
  return z > 13.0 ? 0.0 : t * p * gaussian(z > 13.0 ? 13.0 : z);
}

// x * Phi(x). For negative x the tail is computed as such, so no digits cancel.
float gelu(float x) {
  float tail = normalTail(abs(x));
  return x * (x < 0.0 ? tail : 1.0 - tail);
}

// x / 2 * (1 + tanh(u)) = x / (1 + exp(-2 u)): exp may overflow to infinity, the quotient is 0 then.
float geluTanh(float x) {
  float u = 0.7978845608028654 * (x + 0.044715 * x * x * x);
  return x / (1.0 + exp2(u * -2.8853900817779268));
}

float activate(uint activation, float x) {
  if (activation == ACTIVATION_GELU) return gelu(x);
  if (activation == ACTIVATION_GELU_TANH) return geluTanh(x);
  return x;
}

#endif  // SACCADE_ACTIVATION_GLSL
