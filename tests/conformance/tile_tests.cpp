// SPDX-License-Identifier: Apache-2.0
// Tiles that plans choose on GPUs, where a device has room for them: CPU devices choose others, so that no other test here runs the
// code that these need.
#include <algorithm>
#include <string_view>

#include "attention_call.hpp"
#include "io/special_values.hpp"

namespace saccade::conformance {
namespace {

struct Tile {
  const char* name;
  const char* asked;
  const char* needed;  // the kernel that the device must support
  io::DType dtype;
  std::int64_t headDim;
  std::uint32_t subgroupSize = 1;  // that it needs at least
  std::string kernel() const { return std::string(asked).substr(0, std::string_view(asked).find(' ')); }
};

constexpr const char* kEightRows = "scalar_tiled local_size=32 columns=8 rows_each=8 keys=32 channels=64";
constexpr const char* kSixteenColumns = "scalar_tiled local_size=64 columns=16 rows_each=4 keys=64 channels=64";
constexpr const char* kTwoSharers = "flash_decode local_size=64 columns=4 rows_each=4 keys=32 sharers=2";
constexpr const char* kFourSharers = "flash_decode local_size=64 columns=8 rows_each=2 keys=32 sharers=4 splits=2";
constexpr const char* kOneLine = "scalar_lines subgroups=2 columns=8 team=1 keys=16";
constexpr const char* kTwoLines = "scalar_lines subgroups=2 columns=4 team=1 keys=8";
constexpr const char* kLinesInTeams = "scalar_lines subgroups=8 columns=4 team=4 keys=32";
constexpr const char* kLineOf16 = "scalar_lines subgroups=2 columns=16 team=2 keys=64";
constexpr const char* kTeamOfTwo = "coopmat subgroups=2 query_tiles=1 key_tiles=4 shared_q=1 team=2 keys=32";
constexpr const char* kTeamsOfFour = "coopmat subgroups=8 query_tiles=1 key_tiles=8 shared_q=1 team=4 keys=64";
constexpr const char* kTwoQueryTiles = "coopmat subgroups=4 query_tiles=2 key_tiles=8 shared_q=1 team=2 keys=64";
constexpr const char* kTwoQueryTilesAlone = "coopmat subgroups=1 query_tiles=2 key_tiles=2 keys=32";
constexpr const char* kTwoConvertedQueryTiles = "coopmat2 subgroups=1 query_tiles=2 key_tiles=4 keys=32";

constexpr Tile kTiles[] = {
    {"8_rows", kEightRows, "scalar_tiled", io::DType::F16, 64},
    {"8_rows", kEightRows, "scalar_tiled", io::DType::F32, 20},
    {"16_columns", kSixteenColumns, "scalar_tiled", io::DType::F16, 128},
    {"16_columns", kSixteenColumns, "scalar_tiled", io::DType::BF16, 64},
    {"two_sharers", kTwoSharers, "flash_decode", io::DType::F16, 64},
    {"two_sharers", kTwoSharers, "flash_decode", io::DType::F32, 20},
    {"four_sharers", kFourSharers, "flash_decode", io::DType::F16, 64},
    {"four_sharers", kFourSharers, "flash_decode", io::DType::BF16, 37},
    {"one_line", kOneLine, "scalar_lines", io::DType::F32, 32},
    {"one_line", kOneLine, "scalar_lines", io::DType::F16, 50},
    {"two_lines", kTwoLines, "scalar_lines", io::DType::F16, 128},
    {"two_lines", kTwoLines, "scalar_lines", io::DType::BF16, 37},
    {"lines_in_teams", kLinesInTeams, "scalar_lines", io::DType::F16, 64},
    {"lines_in_teams", kLinesInTeams, "scalar_lines", io::DType::F32, 100},
    {"line_of_16", kLineOf16, "scalar_lines", io::DType::F16, 20, 16},
    {"team_of_two", kTeamOfTwo, "coopmat", io::DType::F16, 64},
    {"team_of_two", kTeamOfTwo, "coopmat", io::DType::F16, 37},
    {"teams_of_four", kTeamsOfFour, "coopmat", io::DType::F16, 80},
    {"teams_of_four", kTeamsOfFour, "coopmat", io::DType::F16, 36},
    {"teams_of_two_query_tiles", kTwoQueryTiles, "coopmat", io::DType::F16, 48},
    {"two_query_tiles", kTwoQueryTilesAlone, "coopmat", io::DType::F16, 64},
    {"two_query_tiles", kTwoConvertedQueryTiles, "coopmat2", io::DType::F16, 64},
    {"two_query_tiles", kTwoConvertedQueryTiles, "coopmat2", io::DType::F16, 37},
};

bool supports(const Device& device, const std::string& name) {
  const auto kernels = device.kernels();
  return std::any_of(kernels.begin(), kernels.end(),
                     [&](const KernelInfo& kernel) { return kernel.name == name && kernel.supported == VK_TRUE; });
}

AttentionCall callOf(const Variant& variant, std::int64_t headDim, std::int64_t rows, std::int64_t keys) {
  return randomCall({.batch = 2, .headsQ = 2, .headsKv = 1, .seqlenQ = rows, .seqlenK = keys, .headDimQk = headDim, .headDimV = headDim},
                    variant, static_cast<unsigned>(headDim));
}

// Whole tiles and a rest, rows past the last, hidden keys whose values are NaN, and an infinite value that some rows see.
void everyPartOfATile(const Device& device, const Variant& variant, std::int64_t headDim) {
  checkCall(device, callOf(variant, headDim, 130, 200), "full");
  AttentionCall causal = callOf(variant, headDim, 70, 130);
  causal.values.causal = io::Causal::BottomRight;
  causal.values.seqlensK = {130, 71};
  causal.values.k = withRows(causal.values.k, 1, 71, 130, kNan);
  causal.values.v = withRows(causal.values.v, 1, 71, 130, kNan);
  checkCall(device, causal, "causal, with lengths");
  AttentionCall growing = callOf(variant, headDim, 40, 330);
  growing.values.k = withRows(growing.values.k, 0, 200, 202, 40.0f);
  checkCall(device, growing, "scores far above those before");
  AttentionCall infinite = callOf(variant, headDim, 33, 97);
  infinite.values.causal = io::Causal::BottomRight;
  infinite.values.v = withRows(infinite.values.v, 0, 80, 81, kInfinity);
  checkCall(device, infinite, "an infinite value");
  AttentionCall masked = callOf(variant, headDim, 37, 97);
  masked.values.mask = randomMask({2, 1, 37, 97}, 3);
  masked.values.softmaxScale = -0.3;
  checkCall(device, masked, "mask and a negative scale");
  // Of fp16, below the smallest normal number.
  const auto tiny = [](std::vector<float>& values) { for (float& value : values) value *= 0x1p-18f; };
  AttentionCall small = callOf(variant, headDim, 33, 97);
  small.values.k = changed(small.values.k, tiny);
  small.values.v = changed(small.values.v, tiny);
  small.values.softmaxScale = 0x1p15;
  checkCall(device, small, "small values");
}

}  // namespace

void registerTileTests(const Device& device) {
  for (const Tile& tile : kTiles) {
    if (!supports(device, tile.needed) || device.facts().subgroupSize < tile.subgroupSize) continue;
    registerTest("attention_tiles", testName(tile.name, {tile.kernel(), tile.dtype}, tile.headDim),
                 [=] { everyPartOfATile(device, {tile.asked, tile.dtype}, tile.headDim); });
  }
}

}  // namespace saccade::conformance
