// SPDX-License-Identifier: Apache-2.0
//
// Statements of a host that records one attention of a ViT.
#include <saccade/saccade.hpp>

extern const saccade::Context context;
extern const std::int64_t dim, heads, tokenCount, rows;

saccade::Plan block();
saccade::Plan block() {
BLOCK
  return context.plan(desc);
}
