// SPDX-License-Identifier: Apache-2.0
// Tiles by the names of their fields: what a description's `kernel` takes behind the name of a variant, and what a tuning file
// holds. "scalar_rows keys=4 local_size=16" is a kernel and two fields of its tile; the fields that it leaves out are built in.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "device/facts.hpp"
#include "text/formatted.hpp"

namespace saccade::core {

struct KernelRequest {
  struct Field {
    std::string name;
    uint32_t value;
  };
  std::string kernel;
  std::vector<Field> tile;
};

// Refuses (field "kernel") what is not a name followed by fields NAME=NUMBER, each once.
KernelRequest parseKernelRequest(const std::string& text);

// A field of a tile that may be asked for: least, least + step, ... up to most.
template <class Tile>
struct TileField {
  const char* name;
  uint32_t Tile::*member;
  uint32_t least, most, step;
};

// Invocations that a work-group may have along its only axis.
uint32_t maxLocalSize(const DeviceFacts& facts);

// Why a field cannot have this value on this device, whatever the problem; "" if it can.
std::string tileValueRefusal(const DeviceFacts& facts, const KernelRequest::Field& field, uint32_t least, uint32_t most, uint32_t step);

// The same of all fields of a request, unknown ones included.
template <class Tile>
std::string tileRefusal(const DeviceFacts& facts, std::span<const TileField<Tile>> fields, const KernelRequest& request) {
  for (const KernelRequest::Field& asked : request.tile) {
    std::string names, refusal = "unknown";
    for (const TileField<Tile>& field : fields) {
      names += (names.empty() ? "" : ", ") + std::string(field.name);
      if (asked.name == field.name) refusal = tileValueRefusal(facts, asked, field.least, field.most, field.step);
    }
    if (refusal == "unknown") {
      return formatted("{} is not a field of the tile of {}; it has: {}", asked.name, request.kernel, names.empty() ? "none" : names);
    }
    if (!refusal.empty()) return refusal;
  }
  return "";
}

// "scalar_rows local_size=8 keys=8".
template <class Tile>
std::string tileText(const char* kernel, std::span<const TileField<Tile>> fields, const Tile& tile) {
  std::string text = kernel;
  for (const TileField<Tile>& field : fields) {
    text += ' ';
    text += field.name;
    text += '=';
    text += std::to_string(tile.*(field.member));
  }
  return text;
}

}  // namespace saccade::core
