// SPDX-License-Identifier: Apache-2.0
#include "kernels/specialise.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

namespace saccade::core {
namespace {

// Section numbers are those of the SPIR-V specification: a module is five words and instructions, the first word of which is their
// number of words and the opcode (2.3); declarations come before their use (2.4).
constexpr size_t kHeaderWords = 5;
constexpr uint32_t kDecorationSpecId = 1;  // 3.20

enum Opcode : uint32_t {  // 3.52
  OpTypeBool = 20,
  OpConstantTrue = 41,
  OpConstantFalse = 42,
  OpConstant = 43,
  OpConstantComposite = 44,
  OpSpecConstant = 50,
  OpSpecConstantComposite = 51,
  OpSpecConstantOp = 52,
  OpFunction = 54,
  OpDecorate = 71,
  OpIAdd = 128,
  OpISub = 130,
  OpIMul = 132,
  OpUDiv = 134,
  OpUMod = 137,
  OpLogicalOr = 166,
  OpLogicalAnd = 167,
  OpLogicalNot = 168,
  OpSelect = 169,
  OpIEqual = 170,
  OpINotEqual = 171,
  OpUGreaterThan = 172,
  OpULessThan = 176,
  OpUGreaterThanEqual = 174,
  OpULessThanEqual = 178,
  OpBitwiseAnd = 199
};

// Of 32-bit unsigned integers and bools; none of an operation that the kernels' constants do not use, or without a result.
std::optional<uint32_t> evaluate(uint32_t opcode, std::span<const uint32_t> x) {
  if (x.size() == 1) return opcode == OpLogicalNot ? std::optional<uint32_t>(x[0] == 0) : std::nullopt;
  if (x.size() == 3) return opcode == OpSelect ? std::optional(x[0] != 0 ? x[1] : x[2]) : std::nullopt;
  if (x.size() != 2) return std::nullopt;
  const uint32_t a = x[0], b = x[1];
  switch (opcode) {
    case OpIAdd: return a + b;
    case OpISub: return a - b;
    case OpIMul: return a * b;
    case OpUDiv: return b == 0 ? std::nullopt : std::optional(a / b);
    case OpUMod: return b == 0 ? std::nullopt : std::optional(a % b);
    case OpLogicalOr: return a != 0 || b != 0;
    case OpLogicalAnd: return a != 0 && b != 0;
    case OpIEqual: return a == b;
    case OpINotEqual: return a != b;
    case OpUGreaterThan: return a > b;
    case OpULessThan: return a < b;
    case OpUGreaterThanEqual: return a >= b;
    case OpULessThanEqual: return a <= b;
    case OpBitwiseAnd: return a & b;
    default: return std::nullopt;
  }
}

class Specialiser {
 public:
  Specialiser(std::span<const uint32_t> values, uint32_t kept) : values_(values), kept_(kept) {}

  std::vector<uint32_t> run(std::span<const uint32_t> module) {
    out_.reserve(module.size());
    out_.assign(module.begin(), module.begin() + kHeaderWords);
    size_t at = kHeaderWords;
    while (at < module.size() && (module[at] & 0xffff) != OpFunction) {
      const auto instruction = module.subspan(at, module[at] >> 16);
      if (!replace(instruction)) out_.insert(out_.end(), instruction.begin(), instruction.end());
      at += instruction.size();
    }
    out_.insert(out_.end(), module.begin() + static_cast<std::ptrdiff_t>(at), module.end());
    return std::move(out_);
  }

 private:
  // Writes what takes the place of an instruction, or says that it stays.
  bool replace(std::span<const uint32_t> x) {
    switch (x[0] & 0xffff) {
      case OpTypeBool: bools_.insert(x[1]); return false;
      case OpConstantTrue: known_[x[2]] = 1; return false;
      case OpConstantFalse: known_[x[2]] = 0; return false;
      case OpConstant:
        if (x.size() == 4) known_[x[2]] = x[3];
        return false;
      case OpDecorate:
        if (x[2] != kDecorationSpecId || x[3] >= values_.size() || (x[3] < 32 && (kept_ >> x[3] & 1) != 0)) return false;
        given_[x[1]] = values_[x[3]];
        return true;  // only specialisation constants are so decorated
      case OpSpecConstant: {
        const auto value = given_.find(x[2]);
        if (value == given_.end()) return false;
        define(x[1], x[2], value->second);
        return true;
      }
      case OpSpecConstantComposite: {
        const auto parts = x.subspan(3);
        if (!std::all_of(parts.begin(), parts.end(), [&](uint32_t id) { return known_.contains(id); })) return false;
        out_.push_back(static_cast<uint32_t>(x.size()) << 16 | OpConstantComposite);
        out_.insert(out_.end(), x.begin() + 1, x.end());
        return true;
      }
      case OpSpecConstantOp: {
        std::vector<uint32_t> operands;
        for (const uint32_t id : x.subspan(4)) {
          const auto value = known_.find(id);
          if (value == known_.end()) return false;
          operands.push_back(value->second);
        }
        const std::optional<uint32_t> value = evaluate(x[3], operands);
        if (!value) return false;
        define(x[1], x[2], *value);
        return true;
      }
      default: return false;
    }
  }

  void define(uint32_t type, uint32_t id, uint32_t value) {
    known_[id] = value;
    if (bools_.contains(type)) {
      out_.insert(out_.end(), {3u << 16 | (value != 0 ? OpConstantTrue : OpConstantFalse), type, id});
    } else {
      out_.insert(out_.end(), {4u << 16 | OpConstant, type, id, value});
    }
  }

  std::span<const uint32_t> values_;
  uint32_t kept_;
  std::vector<uint32_t> out_;
  std::unordered_map<uint32_t, uint32_t> given_, known_;  // by the id of the constant
  std::unordered_set<uint32_t> bools_;                    // ids of types
};

}  // namespace

std::vector<uint32_t> specialise(std::span<const uint32_t> module, std::span<const uint32_t> values, uint32_t kept) {
  return Specialiser(values, kept).run(module);
}

}  // namespace saccade::core
