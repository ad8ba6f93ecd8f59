// SPDX-License-Identifier: Apache-2.0
// Lengths that only the device knows: counts the tokens of each sequence that are not 0, and sums the counts up.
#version 460
#extension GL_EXT_buffer_reference : require
layout(local_size_x = 1) in;

layout(buffer_reference, std430, buffer_reference_align = 4) buffer Ints { int at[]; };
layout(push_constant) uniform Push {
  Ints tokens;      // [sequences, maxLength]
  Ints lengths;     // [sequences]
  Ints cuSeqlens;   // [sequences + 1]
  uint sequences, maxLength;
};

void main() {
  int sum = 0;
  cuSeqlens.at[0] = 0;
  for (uint s = 0; s < sequences; s++) {
    int count = 0;
    for (uint i = 0; i < maxLength; i++) count += tokens.at[s * maxLength + i] != 0 ? 1 : 0;
    lengths.at[s] = count;
    sum += count;
    cuSeqlens.at[s + 1] = sum;
  }
}
