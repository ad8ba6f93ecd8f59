// SPDX-License-Identifier: Apache-2.0
//
// Statements of a program that runs a model.
#include <saccade/nn.hpp>

using namespace saccade;

extern Device device;
extern Stream stream;
extern Tensor images;
extern std::int64_t batch;

void block();
void block() {
BLOCK
}
