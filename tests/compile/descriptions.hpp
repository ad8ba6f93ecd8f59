// SPDX-License-Identifier: Apache-2.0
// Descriptions whose plans need, taken together, every shader module of a device and all specialisation constants.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include <saccade/saccade.hpp>

namespace saccade::compile {

using Description =
    std::variant<AttentionDesc, MatmulDesc, LayerNormDesc, SoftmaxDesc, ActivationDesc, PatchEmbedDesc>;

// Each kernel that the context's device supports: by name where it can be asked for.
std::vector<Description> descriptions(const Context& context);

}  // namespace saccade::compile
