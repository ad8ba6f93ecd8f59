// SPDX-License-Identifier: Apache-2.0
#include "field_rows.hpp"

namespace saccade::conformance {
namespace {

constexpr int kOnDevices[] = {
    1,   2,   4,   5,   7,   8,   10,  11,  13,  14,  16,  17,  19,  20,  22,  23,  25,  26,  28,
    29,  31,  32,  34,  35,  37,  38,  40,  41,  43,  44,  46,  47,  49,  50,  52,  53,  55,  56,
    58,  59,  61,  62,  64,  65,  67,  68,  70,  71,  73,  74,  76,  77,  79,  80,  82,  83,  85,
    86,  91,  92,  94,  95,  97,  100, 101, 103, 104, 106, 109, 110, 112, 113, 116, 118, 119, 121,
    122, 124, 125, 127, 128, 131, 133, 134, 136, 137, 139, 140, 142, 143, 145, 146, 148, 149, 151,
    152, 154, 160, 164, 166, 167, 169, 170, 172, 173, 176, 178, 179, 181, 182, 184, 185, 187, 188,
    190, 191, 193, 194, 196, 197, 200, 202, 203, 205, 206, 208, 209, 211, 212, 214, 215, 217, 218,
    220, 221, 223, 227, 230, 232, 233, 235, 236, 238, 239, 241, 242, 244, 245};

constexpr int kInPlanner[] = {157, 161, 163, 175};

constexpr int kOfLaterFeatures[] = {88, 89, 98, 107, 115, 130, 155, 158, 199, 224, 226, 229};

}  // namespace

std::span<const int> rowsOnDevices() { return kOnDevices; }
std::span<const int> rowsInPlanner() { return kInPlanner; }
std::span<const int> rowsOfLaterFeatures() { return kOfLaterFeatures; }

}  // namespace saccade::conformance
