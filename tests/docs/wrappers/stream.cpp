// SPDX-License-Identifier: Apache-2.0
//
// Statements of a program that uses the standalone runtime and has a device and a stream.
#include <iostream>

#include <saccade/nn.hpp>
#include <saccade/runtime.hpp>

extern saccade::Device device;
extern saccade::Stream stream;
extern saccade::Tensor q, k, v, out;

void block();
void block() {
BLOCK
}
