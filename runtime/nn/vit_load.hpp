// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <saccade/nn.hpp>

#include "io/vit_weights.hpp"

namespace saccade::nn {

// Brings a model onto the device in `dtype`. LayerScale becomes part of the projections before it. Once this
// has returned, the file that the weights look into is no longer needed.
Vit uploadVit(const Device& device, const io::VitWeights& weights, Dtype dtype = Dtype::F32);

}  // namespace saccade::nn
