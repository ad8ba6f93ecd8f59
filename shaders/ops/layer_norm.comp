#version 460
// SPDX-License-Identifier: Apache-2.0
// Layer normalisation. The first pass over a row finds its mean, the second the squares around it; the second also sums the
// differences themselves, which would be 0 but for the rounding of the mean, and corrects for them.
//
// A wide work-group shares a row, and reduces through shared memory. A narrow one is a vector of a CPU device: there each
// invocation has a row of its own, so that nothing is reduced and nobody waits. Elements are read with uniform addresses, row by
// row, and merged, which costs a third of a gather; weight and bias are read once for all rows.

#extension GL_GOOGLE_include_directive : require
#include "rows.glsl"
#include "reduce.glsl"

layout(constant_id = OPS_SPEC_AFFINE) const uint AFFINE = 0;

const bool NARROW = LOCAL_SIZE <= LAYER_NORM_NARROW;
const uint ROWS = NARROW ? LOCAL_SIZE : 1;
const uint CHUNK = 8;

struct Statistics {
  float mean, correction, scale;
};

Statistics statisticsOf(float mean, vec2 sums, float epsilon) {
  float variance = sums.y - sums.x * sums.x;
  return Statistics(mean, sums.x, 1.0 / sqrt(variance + epsilon));
}

// Of element i + j, where j is constant.
float normalised(Statistics s, float x, uint i, uint j) {
  float y = ((x - s.mean) - s.correction) * s.scale;
  if (AFFINE == 0) return y;
  return y * loadElement(tensorAddress(push.buffers[ROWS_BUFFER_WEIGHT], i), j) +
         loadElement(tensorAddress(push.buffers[ROWS_BUFFER_BIAS], i), j);
}

void shareRow(const RowsParams p) {
  Row row = rowOf(p, groupIndex());
  uint lane = gl_LocalInvocationIndex;
  float count = float(p.size3);

  float sum = 0.0;
  for (uint i = lane; i < p.size3; i += LOCAL_SIZE) sum += loadElement(tensorAddress(row.x, i), 0u);
  float mean = sumOverGroup(vec2(sum, 0.0)).x / count;

  vec2 sums = vec2(0.0);
  for (uint i = lane; i < p.size3; i += LOCAL_SIZE) {
    float difference = loadElement(tensorAddress(row.x, i), 0u) - mean;
    sums += vec2(difference, difference * difference);
  }
  Statistics s = statisticsOf(mean, sumOverGroup(sums) / count, p.epsilon);

  for (uint i = lane; i < p.size3; i += LOCAL_SIZE) {
    float x = loadElement(tensorAddress(row.x, i), 0u);
    storeElement(tensorAddress(row.out_, i), 0u, normalised(s, x, i, 0u));
  }
}

Address xOf[ROWS];  // of the row of each invocation
float x[CHUNK];     // of this invocation's row

// Elements first to first + count - 1 of this invocation's row; count is constant.
void load(uint first, uint count) {
  Raw raw[CHUNK];
  [[unroll]] for (uint lane = 0; lane < ROWS; lane++) {
    Address from = tensorAddress(xOf[lane], first);
    [[unroll]] for (uint j = 0; j < count; j++) raw[j] = mix(raw[j], loadRaw(from, j), lane == 0u || lane == gl_LocalInvocationIndex);
  }
  [[unroll]] for (uint j = 0; j < count; j++) x[j] = convert(raw[j]);
}

// Additions to one sum would wait for each other, and lose more digits.
vec2 sums[CHUNK];

void clearSums() {
  [[unroll]] for (uint j = 0; j < CHUNK; j++) sums[j] = vec2(0.0);
}

vec2 totalOfSums() {
  vec2 total = vec2(0.0);
  [[unroll]] for (uint j = 0; j < CHUNK; j++) total += sums[j];
  return total;
}

void addDifference(uint j, float mean) {
  float difference = x[j] - mean;
  sums[j] += vec2(difference, difference * difference);
}

void rowsOfTheirOwn(const RowsParams p) {
  uint firstRow = groupIndex() * ROWS, row = firstRow + gl_LocalInvocationIndex;
  // Past the last row the last one is read again: devices may execute a load with a uniform address although every invocation is
  // switched off.
  [[unroll]] for (uint lane = 0; lane < ROWS; lane++) xOf[lane] = rowOf(p, min(firstRow + lane, p.rows - 1u)).x;
  Address to = rowOf(p, min(row, p.rows - 1u)).out_;
  float count = float(p.size3);
  uint chunked = p.size3 / CHUNK * CHUNK;

  clearSums();
  for (uint i = 0; i < chunked; i += CHUNK) {
    load(i, CHUNK);
    [[unroll]] for (uint j = 0; j < CHUNK; j++) sums[j].x += x[j];
  }
  for (uint i = chunked; i < p.size3; i++) {
    load(i, 1);
    sums[0].x += x[0];
  }
  float mean = totalOfSums().x / count;

  clearSums();
  for (uint i = 0; i < chunked; i += CHUNK) {
    load(i, CHUNK);
    [[unroll]] for (uint j = 0; j < CHUNK; j++) addDifference(j, mean);
  }
  for (uint i = chunked; i < p.size3; i++) {
    load(i, 1);
    addDifference(0, mean);
  }
  Statistics s = statisticsOf(mean, totalOfSums() / count, p.epsilon);

  for (uint i = 0; i < chunked; i += CHUNK) {
    load(i, CHUNK);
    Address toChunk = tensorAddress(to, i);
    [[unroll]] for (uint j = 0; j < CHUNK; j++) x[j] = normalised(s, x[j], i, j);
    if (row < p.rows) {
      [[unroll]] for (uint j = 0; j < CHUNK; j++) storeElement(toChunk, j, x[j]);
    }
  }
  for (uint i = chunked; i < p.size3; i++) {
    load(i, 1);
    float y = normalised(s, x[0], i, 0u);
    if (row < p.rows) storeElement(tensorAddress(to, i), 0u, y);
  }
}

void main() {
  RowsParams p = ParamsIn(push.params).value;
  if (NARROW) rowsOfTheirOwn(p);
  else shareRow(p);
}
