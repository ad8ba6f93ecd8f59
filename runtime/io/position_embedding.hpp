// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace saccade::io {

// Position embeddings [1 + grid*grid, E] (class token first) for another number of patches: the class token's
// stays, the square of patch positions is resized to rows x columns with the bicubic kernel a = -0.75, source
// coordinate (i + 0.5) * grid/rows - 0.5, edge values repeated, no antialiasing. Returns [1 + rows*columns,
// E]; for rows == columns == grid that is the input unchanged.
std::vector<double> resizePositionEmbedding(std::span<const double> positions, std::int64_t grid,
                                            std::int64_t embedDim, std::int64_t rows, std::int64_t columns);

}  // namespace saccade::io
