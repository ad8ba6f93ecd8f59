// SPDX-License-Identifier: Apache-2.0
// Calls whose plans need, taken together, every shader module of a device and all specialisation constants.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include <saccade/saccade.hpp>

namespace saccade::compile {

using Description =
    std::variant<AttentionDesc, MatmulDesc, LayerNormDesc, SoftmaxDesc, ActivationDesc, PatchEmbedDesc>;

// One call, and the words by which the reports name it.
struct Case {
  Description description;
  std::string kernel;        // asked for, with its tile; "": the choice is free
  Dtype dtype;
  std::int64_t headDim = 0;  // attention
  std::string options;       // "plain", "causal", ...

  // Its figures stand in docs/lab/figures.tsv.
  bool isFigure() const;
};

enum class Extent {
  All,      // every kernel that the device supports
  Chosen,   // what its plans choose
  Figures,  // what isFigure() says
};

// `usual`: the context's access to memory is the one that this device's plans use. The calls that ask for no kernel come first: a
// pipeline that two calls share is the first one's.
std::vector<Case> cases(const Context& context, bool usual, Extent extent);

// What static rates are computed of: the inner loops of all kernels for GPUs, in fp16.
std::vector<Case> ratedCases(const Context& context);

// One call of a kernel (attention or matmul), with a tile if the name has one, as `kernel` of a description takes it. Throws std::invalid_argument, naming those that there are.
Case caseOf(const std::string& kernel, Dtype dtype, std::int64_t headDim, const std::string& options);

}  // namespace saccade::compile
