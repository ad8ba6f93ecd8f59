// SPDX-License-Identifier: Apache-2.0
// Stands for the layers before attention: makes query, key and value of the next token of each sequence, appends key and value
// to the cache and counts the token. One work-group per sequence.
#version 460
#extension GL_EXT_buffer_reference : require
layout(local_size_x = 128) in;

layout(buffer_reference, std430, buffer_reference_align = 4) buffer Floats { float at[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) buffer Ints { int at[]; };
layout(push_constant) uniform Push {
  Floats query;       // [batch, heads_q, 1, head_dim]
  Floats keys;        // [batch, heads_kv, capacity, head_dim]
  Floats values;      // the same
  Ints lengths;       // [batch]
  uint headsQ, headsKv, capacity, headDim;
};

// Between -1 and 1; the host computes the same bits. 24 bits are exact in a float.
float valueOf(uint what, uint batchIndex, uint head, uint token, uint channel) {
  uint x = (((what * 31u + batchIndex) * 67u + head) * 8191u + token) * 509u + channel;
  x = (x ^ (x >> 16)) * 0x7feb352du;
  x = (x ^ (x >> 15)) * 0x846ca68bu;
  x ^= x >> 16;
  return float(int(x >> 8) - (1 << 23)) * (1.0 / float(1 << 23));
}

void main() {
  const uint sequence = gl_WorkGroupID.x;
  const uint token = uint(lengths.at[sequence]);
  for (uint i = gl_LocalInvocationIndex; i < headsQ * headDim; i += gl_WorkGroupSize.x) {
    query.at[sequence * headsQ * headDim + i] = valueOf(0, sequence, i / headDim, token, i % headDim);
  }
  for (uint i = gl_LocalInvocationIndex; i < headsKv * headDim; i += gl_WorkGroupSize.x) {
    const uint head = i / headDim;
    const uint element = ((sequence * headsKv + head) * capacity + token) * headDim + i % headDim;
    keys.at[element] = valueOf(1, sequence, head, token, i % headDim);
    values.at[element] = valueOf(2, sequence, head, token, i % headDim);
  }
  barrier();  // everybody has read the length
  if (gl_LocalInvocationIndex == 0) lengths.at[sequence] = int(token) + 1;
}
