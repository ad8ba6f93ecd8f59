// SPDX-License-Identifier: Apache-2.0
#include "shared_memory.hpp"

#include <map>
#include <span>
#include <stdexcept>

#include "module_needs.hpp"
#include "text/formatted.hpp"

namespace saccade::test {
namespace {

// Opcodes and operands of the SPIR-V specification, sections 3.32 and 3.49.
enum Op : uint32_t {
  OpTypeBool = 20,
  OpTypeInt = 21,
  OpTypeFloat = 22,
  OpTypeVector = 23,
  OpTypeMatrix = 24,
  OpTypeArray = 28,
  OpTypeStruct = 30,
  OpTypePointer = 32,
  OpConstant = 43,
  OpSpecConstant = 50,
  OpSpecConstantOp = 52,
  OpVariable = 59,
  OpDecorate = 71,
  OpIAdd = 128,
  OpISub = 130,
  OpIMul = 132,
  OpUDiv = 134,
  OpUMod = 137,
  OpSelect = 169,
  OpIEqual = 170,
  OpINotEqual = 171,
  OpUGreaterThan = 172,
  OpUGreaterThanEqual = 174,
  OpULessThan = 176
};
constexpr uint32_t kDecorationSpecId = 1;
constexpr uint32_t kStorageClassWorkgroup = 4;

class Module {
 public:
  Module(std::span<const uint32_t> words, const std::vector<uint32_t>& specialisation)
      : specialisation_(specialisation) {
    for (size_t at = kSpirvHeaderWords; at < words.size();) {
      const size_t count = words[at] >> 16;
      if (count == 0 || at + count > words.size()) throw std::runtime_error("malformed SPIR-V");
      read(static_cast<Op>(words[at] & 0xffff), words.subspan(at + 1, count - 1));
      at += count;
    }
  }

  uint64_t sharedBytes() const { return sharedBytes_; }

 private:
  void read(Op op, std::span<const uint32_t> operands) {
    switch (op) {
      case OpDecorate:
        if (operands[1] == kDecorationSpecId) specIds_[operands[0]] = operands[2];
        break;
      case OpTypeBool: sizes_[operands[0]] = 4; break;
      case OpTypeInt:
      case OpTypeFloat: sizes_[operands[0]] = operands[1] / 8; break;
      case OpTypeVector:
      case OpTypeMatrix: sizes_[operands[0]] = sizes_[operands[1]] * operands[2]; break;
      case OpTypeArray:
        // Arrays of buffers and the like have lengths that are not needed.
        if (constants_.contains(operands[2]))
          sizes_[operands[0]] = sizes_[operands[1]] * constants_[operands[2]];
        break;
      case OpTypeStruct:
        for (const uint32_t member : operands.subspan(1)) sizes_[operands[0]] += sizes_[member];
        break;
      case OpTypePointer: pointees_[operands[0]] = operands[2]; break;
      case OpConstant: constants_[operands[1]] = operands[2]; break;
      case OpSpecConstant: {
        const auto id = specIds_.find(operands[1]);
        const bool given = id != specIds_.end() && id->second < specialisation_.size();
        constants_[operands[1]] = given ? specialisation_[id->second] : operands[2];
        break;
      }
      case OpSpecConstantOp: evaluate(operands); break;
      case OpVariable:
        if (operands[2] == kStorageClassWorkgroup) sharedBytes_ += sizeOf(pointees_.at(operands[0]));
        break;
      default: break;
    }
  }

  // Operations that are not arithmetic stay unknown; an array whose length is one of them is refused by
  // sizeOf.
  void evaluate(std::span<const uint32_t> operands) {
    const uint32_t result = operands[1];
    if (operands.size() < 5 || !constants_.contains(operands[3]) || !constants_.contains(operands[4])) return;
    const uint32_t a = constants_[operands[3]], b = constants_[operands[4]];
    switch (operands[2]) {
      case OpIAdd: constants_[result] = a + b; break;
      case OpISub: constants_[result] = a - b; break;
      case OpIMul: constants_[result] = a * b; break;
      case OpUDiv: constants_[result] = b == 0 ? 0 : a / b; break;
      case OpUMod: constants_[result] = b == 0 ? 0 : a % b; break;
      case OpIEqual: constants_[result] = a == b; break;
      case OpINotEqual: constants_[result] = a != b; break;
      case OpUGreaterThanEqual: constants_[result] = a >= b; break;
      case OpUGreaterThan: constants_[result] = a > b; break;
      case OpULessThan: constants_[result] = a < b; break;
      case OpSelect:
        if (operands.size() > 5 && constants_.contains(operands[5])) constants_[result] = a != 0 ? b : constants_[operands[5]];
        break;
      default: break;
    }
  }

  uint64_t sizeOf(uint32_t type) const {
    const auto size = sizes_.find(type);
    if (size == sizes_.end() || size->second == 0)
      throw std::runtime_error(formatted("the size of type %{} is not known", type));
    return size->second;
  }

  const std::vector<uint32_t>& specialisation_;
  std::map<uint32_t, uint32_t> specIds_, constants_, pointees_;
  std::map<uint32_t, uint64_t> sizes_;
  uint64_t sharedBytes_ = 0;
};

}  // namespace

uint64_t sharedMemoryBytes(const core::ShaderModuleCode& shader,
                           const std::vector<uint32_t>& specialisation) {
  return Module(wordsOf(shader), specialisation).sharedBytes();
}

}  // namespace saccade::test
