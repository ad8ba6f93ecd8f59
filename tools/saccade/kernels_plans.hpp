// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <variant>
#include <vector>

#include <saccade/saccade.hpp>

namespace saccade::tool {

using Description =
    std::variant<AttentionDesc, MatmulDesc, LayerNormDesc, SoftmaxDesc, ActivationDesc, PatchEmbedDesc>;

struct NamedDescription {
  std::string name;  // "plain", "everything"
  Description desc;
};

// What `saccade kernels` asks a kernel to do: as little as its operator can be asked for, and as much. `kernel` may
// have fields of a tile behind its name. head_dim is that of attention.
std::vector<NamedDescription> extremesOf(SaccadeOperator op, const std::string& kernel, Dtype dtype,
                                         std::int64_t headDim);

}  // namespace saccade::tool
