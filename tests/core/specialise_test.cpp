// SPDX-License-Identifier: Apache-2.0
// Modules whose specialisation constants have become ordinary ones.
#include "kernels/specialise.hpp"

#include <gtest/gtest.h>

#include <map>

#include "kernels/registry.hpp"

namespace saccade::test {
namespace {

using core::specialise;
using Words = std::vector<uint32_t>;

// Opcodes of SPIR-V, as in section 3.52 of its specification.
enum : uint32_t { kTrue = 41, kFalse = 42, kConstant = 43, kComposite = 44, kSpec = 50, kSpecComposite = 51, kSpecOp = 52, kDecorate = 71 };

Words instruction(uint32_t opcode, Words operands) {
  operands.insert(operands.begin(), static_cast<uint32_t>(operands.size() + 1) << 16 | opcode);
  return operands;
}

Words moduleOf(const std::vector<Words>& instructions) {
  Words words{0x07230203, 0x00010500, 0, 100, 0};
  for (const Words& x : instructions) words.insert(words.end(), x.begin(), x.end());
  return words;
}

std::vector<Words> instructionsOf(std::span<const uint32_t> module) {
  std::vector<Words> all;
  for (size_t at = 5; at < module.size(); at += module[at] >> 16) {
    all.emplace_back(module.begin() + static_cast<std::ptrdiff_t>(at), module.begin() + static_cast<std::ptrdiff_t>(at + (module[at] >> 16)));
  }
  return all;
}

// Types 1 (bool) and 2 (uint), constants 10 and 11 with ids 0 and 1, and the constant 12 = 7.
std::vector<Words> declarations() {
  return {instruction(kDecorate, {10, 1, 0}), instruction(kDecorate, {11, 1, 1}), instruction(20, {1}), instruction(21, {2, 32, 0}),
          instruction(kSpec, {2, 10, 64}), instruction(kSpec, {2, 11, 5}), instruction(kConstant, {2, 12, 7})};
}

TEST(Specialise, ComputesWhatIsComputedOfConstants) {
  // With 10 = 20 and 11 = 3: opcode, type, operands, result.
  const std::vector<std::tuple<uint32_t, uint32_t, Words, uint32_t>> operations{
      {128, 2, {10, 12}, 27},       {130, 2, {11, 12}, 0xfffffffc}, {132, 2, {10, 11}, 60}, {134, 2, {10, 11}, 6},  {137, 2, {10, 11}, 2},
      {170, 1, {10, 11}, 0},        {171, 1, {10, 11}, 1},          {172, 1, {10, 11}, 1},  {174, 1, {11, 11}, 1},  {176, 1, {10, 11}, 0},
      {178, 1, {10, 11}, 0}};
  for (const auto& [opcode, type, operands, result] : operations) {
    std::vector<Words> module = declarations();
    Words operation{type, 20, opcode};
    operation.insert(operation.end(), operands.begin(), operands.end());
    module.push_back(instruction(kSpecOp, operation));
    const std::vector<Words> specialised = instructionsOf(specialise(moduleOf(module), Words{20, 3}, 0));
    const Words expected = type == 2 ? instruction(kConstant, {2, 20, result}) : instruction(result != 0 ? kTrue : kFalse, {1, 20});
    EXPECT_EQ(specialised.back(), expected) << "operation " << opcode;
  }
}

TEST(Specialise, ComputesOnWithWhatItHasComputed) {
  std::vector<Words> module = declarations();
  module.push_back(instruction(kSpecOp, {1, 20, 176, 10, 12}));      // 10 < 7
  module.push_back(instruction(kSpecOp, {1, 21, 168, 20}));          // not
  module.push_back(instruction(kSpecOp, {1, 22, 167, 20, 21}));      // and
  module.push_back(instruction(kSpecOp, {1, 23, 166, 20, 21}));      // or
  module.push_back(instruction(kSpecOp, {2, 24, 169, 21, 10, 11}));  // not ? 10 : 11
  module.push_back(instruction(kSpecComposite, {3, 25, 10, 12, 24}));
  const std::vector<Words> all = instructionsOf(specialise(moduleOf(module), Words{20, 3}, 0));
  const std::vector<Words> expected{instruction(20, {1}), instruction(21, {2, 32, 0}), instruction(kConstant, {2, 10, 20}),
                                    instruction(kConstant, {2, 11, 3}), instruction(kConstant, {2, 12, 7}), instruction(kFalse, {1, 20}),
                                    instruction(kTrue, {1, 21}), instruction(kFalse, {1, 22}), instruction(kTrue, {1, 23}),
                                    instruction(kConstant, {2, 24, 20}), instruction(kComposite, {3, 25, 10, 12, 24})};
  EXPECT_EQ(all, expected);
}

// Kept constants, constants without a value, and all that depends on them; a division by 0; an operation that it does not know.
TEST(Specialise, LeavesTheRest) {
  std::vector<Words> module = declarations();
  module.push_back(instruction(kSpecOp, {2, 20, 128, 10, 11}));
  module.push_back(instruction(kSpecComposite, {3, 21, 12, 20}));
  EXPECT_EQ(specialise(moduleOf(module), Words{20, 3}, 3), moduleOf(module));
  EXPECT_EQ(specialise(moduleOf(module), {}, 0), moduleOf(module));
  EXPECT_EQ(instructionsOf(specialise(moduleOf(module), Words{20, 3}, 2)).back(), module.back());
  EXPECT_EQ(instructionsOf(specialise(moduleOf(module), Words{20}, 0)).back(), module.back());

  module = declarations();
  module.push_back(instruction(kSpecOp, {2, 20, 134, 12, 10}));
  EXPECT_EQ(instructionsOf(specialise(moduleOf(module), Words{0, 0}, 0)).back(), module.back());
  module.back() = instruction(kSpecOp, {2, 20, 196, 12, 10});
  EXPECT_EQ(instructionsOf(specialise(moduleOf(module), Words{1, 1}, 0)).back(), module.back());
}

// Every shader of this build: nothing is left to specialise, or what unrolls loops alone.
TEST(Specialise, KnowsAllOperationsOfTheKernels) {
  const Words values(64, 16);
  size_t shaders = 0;
  for (const core::ShaderModuleCode& shader : core::shaderTable()) {
    if (*shader.leftOut != '\0') continue;
    const Words code = core::spirvOf(shader);
    for (const Words& x : instructionsOf(specialise(code, values, 0))) {
      const uint32_t opcode = x[0] & 0xffff;
      EXPECT_TRUE(opcode < kSpec || opcode > kSpecOp) << shader.name << " keeps an instruction " << opcode;
    }
    uint64_t left = 0;
    const uint32_t kept = core::unrolledConstants(shader);
    for (const Words& x : instructionsOf(specialise(code, values, kept))) {
      if ((x[0] & 0xffff) == kDecorate && x[2] == 1) left |= uint64_t{1} << x[3];
    }
    EXPECT_EQ(left & ~uint64_t{kept}, 0u) << shader.name;
    shaders++;
  }
  EXPECT_GE(shaders, 36u);
}

}  // namespace
}  // namespace saccade::test
