// SPDX-License-Identifier: Apache-2.0
//
// Statements of a program that uses the standalone runtime; the block declares its own device.
#include <iostream>

#include <saccade/nn.hpp>
#include <saccade/runtime.hpp>

extern saccade::Tensor q, k, v;

void block();
void block() {
BLOCK
}
