// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "io/picture.hpp"

namespace saccade::io {

// The colour of a value from 0 (dark blue) to 1 (pale yellow), brighter all the way, so that it also reads in
// grey. Values outside are clamped; NaN is grey.
std::array<std::uint8_t, 3> heatColour(double value);

// Lays `weights` [rows,columns], one per patch, over a picture as colours: 0 for the smallest weight, 1 for
// the 99th percentile and above, so that one outlier does not darken the rest. Between patch centres values
// run smoothly; the picture stays visible in grey, more so where weights are low. Returns an RGB picture of
// the same size.
Picture heatMapOver(const Picture& picture, std::span<const double> weights, std::int64_t rows,
                    std::int64_t columns);

// Pictures of one size in a grid with `columns` per row, `gap` white pixels between them. RGB. None: an empty
// picture.
Picture placeInGrid(const std::vector<Picture>& pictures, std::int64_t columns, std::int64_t gap);

}  // namespace saccade::io
