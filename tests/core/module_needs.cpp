// SPDX-License-Identifier: Apache-2.0
#include "module_needs.hpp"

#include <map>
#include <stdexcept>

#include "text/formatted.hpp"

namespace saccade::test {
namespace {

// Opcodes and capabilities of the SPIR-V specification, sections 3.32 and 3.31.
constexpr uint32_t kOpCapability = 17;
constexpr size_t kVersionWord = 1;
constexpr uint32_t kSpirv16 = 0x10600;  // of Vulkan 1.3; its LocalSizeId is a matter of maintenance4
enum Capability : uint32_t {
  Shader = 1,
  Float16 = 9,
  Int64 = 11,
  GroupNonUniform = 61,
  GroupNonUniformVote = 62,
  GroupNonUniformArithmetic = 63,
  GroupNonUniformBallot = 64,
  GroupNonUniformShuffle = 65,
  GroupNonUniformShuffleRelative = 66,
  GroupNonUniformClustered = 67,
  GroupNonUniformQuad = 68,
  StorageBuffer16BitAccess = 4433,
  StorageBuffer8BitAccess = 4448,
  SignedZeroInfNanPreserve = 4466,
  VulkanMemoryModel = 5345,
  PhysicalStorageBufferAddresses = 5347,
  CooperativeMatrixReductionsNV = 5430,
  CooperativeMatrixConversionsNV = 5431,
  CooperativeMatrixPerElementOperationsNV = 5432,
  CooperativeMatrixTensorAddressingNV = 5433,
  CooperativeMatrixBlockLoadsNV = 5434,
  CooperativeMatrixKHR = 6022,
  GroupNonUniformRotateKHR = 6026
};

// A capability that is not here needs something that the facts do not tell.
bool has(const core::DeviceFacts& facts, uint32_t capability) {
  const auto subgroup = [&](uint32_t operation) { return (facts.subgroupOperations & operation) != 0; };
  switch (capability) {
    case Shader: return true;
    case Float16: return facts.shaderFloat16 == VK_TRUE;
    case Int64: return facts.shaderInt64 == VK_TRUE;
    case GroupNonUniform: return subgroup(VK_SUBGROUP_FEATURE_BASIC_BIT);
    case GroupNonUniformVote: return subgroup(VK_SUBGROUP_FEATURE_VOTE_BIT);
    case GroupNonUniformArithmetic: return subgroup(VK_SUBGROUP_FEATURE_ARITHMETIC_BIT);
    case GroupNonUniformBallot: return subgroup(VK_SUBGROUP_FEATURE_BALLOT_BIT);
    case GroupNonUniformShuffle: return subgroup(VK_SUBGROUP_FEATURE_SHUFFLE_BIT);
    case GroupNonUniformShuffleRelative: return subgroup(VK_SUBGROUP_FEATURE_SHUFFLE_RELATIVE_BIT);
    case GroupNonUniformClustered: return subgroup(VK_SUBGROUP_FEATURE_CLUSTERED_BIT);
    case GroupNonUniformQuad: return subgroup(VK_SUBGROUP_FEATURE_QUAD_BIT);
    case GroupNonUniformRotateKHR: return subgroup(VK_SUBGROUP_FEATURE_ROTATE_BIT_KHR) && subgroup(VK_SUBGROUP_FEATURE_ROTATE_CLUSTERED_BIT_KHR);
    case StorageBuffer16BitAccess: return facts.storageBuffer16BitAccess == VK_TRUE;
    case StorageBuffer8BitAccess: return facts.storageBuffer8BitAccess == VK_TRUE;
    case SignedZeroInfNanPreserve: return facts.signedZeroInfNanPreserveFloat32 == VK_TRUE;
    case PhysicalStorageBufferAddresses: return facts.bufferDeviceAddress == VK_TRUE;
    case VulkanMemoryModel: return facts.vulkanMemoryModel == VK_TRUE;
    case CooperativeMatrixReductionsNV: return facts.cooperativeMatrixReductions == VK_TRUE;
    case CooperativeMatrixConversionsNV: return facts.cooperativeMatrixConversions == VK_TRUE;
    case CooperativeMatrixPerElementOperationsNV: return facts.cooperativeMatrixPerElementOperations == VK_TRUE;
    case CooperativeMatrixTensorAddressingNV: return facts.cooperativeMatrixTensorAddressing == VK_TRUE;
    case CooperativeMatrixBlockLoadsNV: return facts.cooperativeMatrixBlockLoads == VK_TRUE;
    case CooperativeMatrixKHR: return facts.cooperativeMatrix == VK_TRUE;
    default: return false;
  }
}

}  // namespace

const std::vector<uint32_t>& wordsOf(const core::ShaderModuleCode& shader) {
  static std::map<const core::ShaderModuleCode*, std::vector<uint32_t>> known;
  const auto [entry, isNew] = known.try_emplace(&shader);
  if (isNew) entry->second = core::spirvOf(shader);
  return entry->second;
}

std::string missingFor(const core::ShaderModuleCode& shader, const core::DeviceFacts& facts) {
  std::string missing;
  const std::vector<uint32_t>& words = wordsOf(shader);
  if (words[kVersionWord] >= kSpirv16 && (facts.apiVersion < VK_API_VERSION_1_3 || !facts.maintenance4)) {
    missing += formatted("{} needs Vulkan 1.3 and maintenance4\n", shader.name);
  }
  for (const uint32_t* at = words.data() + kSpirvHeaderWords; at < words.data() + words.size();) {
    const uint32_t count = *at >> 16;
    if (count == 0) throw std::runtime_error("malformed SPIR-V");
    if ((*at & 0xffff) == kOpCapability && !has(facts, at[1])) {
      missing += formatted("{} needs SPIR-V capability {}\n", shader.name, at[1]);
    }
    at += count;
  }
  return missing;
}

}  // namespace saccade::test
