// SPDX-License-Identifier: Apache-2.0
#include "kernels/registry.hpp"

#include <algorithm>
#include <string_view>

#include "kernels/matrix_shape.hpp"
#include "kernels/tile.hpp"
#include "plan/tensor.hpp"
#include "text/formatted.hpp"

namespace saccade::core {

using uint = uint32_t;
#include "attention_params.h"
#include "matmul_params.h"

namespace {

const char* anywhere(const DeviceFacts&) { return ""; }

// Vulkan guarantees 128 invocations and 16 KiB of shared memory to every device, so the tiled kernels are made
// to fit there; a driver that reports less is caught all the same.
const char* needsWorkGroup128(const DeviceFacts& facts) {
  if (facts.maxComputeWorkGroupInvocations < 128 || facts.maxComputeWorkGroupSize[0] < 128) {
    return "needs work-groups of 128 invocations, more than maxComputeWorkGroupInvocations";
  }
  if (facts.maxComputeSharedMemorySize < 16384) {
    return "needs 16384 bytes of shared memory, more than maxComputeSharedMemorySize";
  }
  return "";
}

// Lines of four are the shortest. Compilers of GPUs with narrow subgroups run out of registers and of minutes over a line's rows.
const char* needsRotation(const DeviceFacts& facts) {
  constexpr uint32_t kRotates = VK_SUBGROUP_FEATURE_ROTATE_BIT_KHR | VK_SUBGROUP_FEATURE_ROTATE_CLUSTERED_BIT_KHR;
  if (!hasNativeAccess(facts)) return kNeedsNativeAccess;
  if ((facts.subgroupOperations & kRotates) != kRotates) {
    return "needs the features shaderSubgroupRotate and shaderSubgroupRotateClustered (VK_KHR_shader_subgroup_rotate), enabled";
  }
  if (facts.minSubgroupSize < (isCpu(facts) ? 4 : 32)) {
    return "needs subgroups of 32 invocations at least, on a CPU device of 4, more than minSubgroupSize";
  }
  return needsWorkGroup128(facts);
}

constexpr const char* kRotation = "native access, rotation over parts of a subgroup (VK_KHR_shader_subgroup_rotate) and what scalar_tiled needs";

constexpr const char* kWorkGroup128 = "work-groups of 128 invocations and 16 KiB of shared memory, which Vulkan guarantees";

// Elsewhere other kernels are faster, and nobody would choose it.
const char* needsPlainCpu(const DeviceFacts& facts) {
  return isPlainCpu(facts) ? "" : "needs a CPU device with subgroups of 4 and without native access (64-bit integers, 8- and 16-bit storage)";
}

constexpr const char* kPlainCpu = "a CPU device with subgroups of 4 and without native access";

// The kernel takes work-groups of 4 subgroups and at most what every device has of shared memory.
const char* needsMatrixUnits(const DeviceFacts& facts) {
  if (const char* refusal = matrixUnitsRefusal(facts); *refusal != '\0') return refusal;
  if (4 * matrixSubgroupSize(facts) > maxLocalSize(facts)) return "needs work-groups of 4 subgroups, more than maxComputeWorkGroupInvocations";
  return "";
}

const char* needsMatrix2(const DeviceFacts& facts) {
  if (const char* refusal = matrixUnitsRefusal(facts); *refusal != '\0') return refusal;
  if (!facts.cooperativeMatrixReductions) return "needs the feature cooperativeMatrixReductions (VK_NV_cooperative_matrix2), enabled";
  if (!facts.cooperativeMatrixConversions) return "needs the feature cooperativeMatrixConversions (VK_NV_cooperative_matrix2), enabled";
  if (!facts.cooperativeMatrixPerElementOperations) {
    return "needs the feature cooperativeMatrixPerElementOperations (VK_NV_cooperative_matrix2), enabled";
  }
  if (facts.apiVersion < VK_API_VERSION_1_3 || !facts.maintenance4) return "needs Vulkan 1.3 and the feature maintenance4, enabled";
  return "";
}

constexpr const char* kMatrixUnits = "cooperative matrices of fp16 with fp32 sums (VK_KHR_cooperative_matrix, vulkanMemoryModel, shaderFloat16)";

constexpr const char* kMatrix2 = "what coopmat needs, reductions, conversions and per-element operations of VK_NV_cooperative_matrix2, Vulkan 1.3 and maintenance4";

constexpr uint32_t kUnrolledRows = 1u << SPEC_LOCAL_SIZE | 1u << SPEC_HEAD_DIM_QK | 1u << SPEC_HEAD_DIM_V | 1u << SPEC_KEYS;
constexpr uint32_t kUnrolledTiles = kUnrolledRows | 1u << SPEC_CHANNELS | 1u << SPEC_COLUMNS | 1u << SPEC_ROWS_EACH;
constexpr uint32_t kUnrolledMatmul = 1u << MATMUL_SPEC_LOCAL_SIZE | 1u << MATMUL_SPEC_ROWS | 1u << MATMUL_SPEC_COLUMNS |
                                     1u << MATMUL_SPEC_CHUNK | 1u << MATMUL_SPEC_TURNS;

const KernelEntry kRegistry[] = {
    {"scalar_rows", SACCADE_OPERATOR_ATTENTION,
     "one query row per invocation, K and V streamed through uniform loads; for CPU devices and small subgroups", true, anywhere,
     kUnrolledRows},
    {"scalar_tiled", SACCADE_OPERATOR_ATTENTION,
     "tiles of Q, K and V in shared memory, register blocks; for any GPU", true, needsWorkGroup128, kUnrolledTiles,
     "scalar_tiled", kWorkGroup128},
    {"scalar_lines", SACCADE_OPERATOR_ATTENTION,
     "tiles in fp32, rows go round lines of invocations in registers; for GPUs that read shared memory more slowly than they multiply", true,
     needsRotation, 0, "scalar_lines", kRotation},
    {"flash_decode", SACCADE_OPERATOR_ATTENTION,
     "few query rows: K and V go once from memory to registers, work-groups share the keys of a row; for any GPU", true, needsWorkGroup128,
     kUnrolledTiles, "flash_decode", kWorkGroup128},
    {"split_kv", SACCADE_OPERATOR_ATTENTION,
     "scalar_rows for short queries: heads of a group share their keys, work-groups share the keys of a row", true, anywhere,
     kUnrolledRows, "scalar_rows"},
    {"widened_rows", SACCADE_OPERATOR_ATTENTION,
     "scalar_rows over copies of K and V in fp32, for 16-bit types on CPU devices", true, anywhere, kUnrolledRows,
     "scalar_rows"},
    {"channel_lanes", SACCADE_OPERATOR_ATTENTION,
     "channels over the invocations, four query rows share K and V; for CPU drivers that index arrays lane by lane", true, needsPlainCpu, 0,
     "channel_lanes", kPlainCpu},
    {"coopmat", SACCADE_OPERATOR_ATTENTION,
     "both products on matrix units, scores compared with their rows' references where they are; for fp16 on GPUs", true,
     matrixUnitsRefusal, 0, "coopmat", kMatrixUnits, true},
    {"coopmat2", SACCADE_OPERATOR_ATTENTION,
     "coopmat whose weights, masks and maxima stay in matrices, without shared memory between the products", true, needsMatrix2, 0,
     "coopmat2", kMatrix2, true},
    {"widen", SACCADE_OPERATOR_ATTENTION, "copies K and V as fp32 for widened_rows", false, anywhere},
    {"combine", SACCADE_OPERATOR_ATTENTION, "merges what the work-groups of split_kv and flash_decode found", false, anywhere},
    {"weights", SACCADE_OPERATOR_ATTENTION,
     "attention weights in two passes over the keys, no scores stored; runs beside the kernel that computes out", false, anywhere,
     kUnrolledRows | 1u << SPEC_CHANNELS},
    {"matmul_rows", SACCADE_OPERATOR_MATMUL,
     "one row of a per invocation, b streamed through uniform loads; for CPU devices and small subgroups", true, anywhere},
    {"matmul_tiled", SACCADE_OPERATOR_MATMUL,
     "tiles of a and b in shared memory, register blocks; for any GPU", true, needsWorkGroup128, kUnrolledMatmul,
     "matmul_tiled", kWorkGroup128},
    {"matmul_coopmat", SACCADE_OPERATOR_MATMUL,
     "tiles of a and b in shared memory, multiplied by matrix units; for fp16", true, needsMatrixUnits, 0, "matmul_coopmat", kMatrixUnits},
    {"layer_norm", SACCADE_OPERATOR_LAYER_NORM, "one row per work-group, on CPU devices one per invocation; statistics in two passes", true, anywhere},
    {"softmax", SACCADE_OPERATOR_SOFTMAX, "one row per work-group: maximum, sum, quotients", true, anywhere},
    {"activation", SACCADE_OPERATOR_ACTIVATION, "a few elements per invocation", true, anywhere},
    {"patches", SACCADE_OPERATOR_PATCH_EMBED,
     "cuts pictures into contiguous rows, which a matmul kernel then embeds", false, anywhere},
};

}  // namespace

std::span<const KernelEntry> kernelRegistry() { return kRegistry; }

const KernelEntry& kernelEntry(const std::string& name) {
  return *std::find_if(std::begin(kRegistry), std::end(kRegistry), [&](const KernelEntry& e) { return name == e.name; });
}

void requireKnownKernel(const std::string& name) {
  std::string names;
  for (const KernelEntry& entry : kRegistry) {
    if (!entry.selectable) continue;
    if (name == entry.name) return;
    names += (names.empty() ? "" : ", ") + std::string(entry.name);
  }
  refuse("kernel", "kernel is \"{}\"; kernels that can be asked for: {}", name, names);
}

uint32_t unrolledConstants(const ShaderModuleCode& shader) {
  const auto* entry = std::find_if(std::begin(kRegistry), std::end(kRegistry), [&](const KernelEntry& e) {
    return std::string_view(shader.name).starts_with(std::string(e.module) + "_");
  });
  return entry == std::end(kRegistry) ? 0 : entry->unrolled;
}

std::string leftOutModules(const KernelEntry& entry) {
  std::string text;
  for (const ShaderModuleCode& shader : shaderTable()) {
    if (*shader.leftOut == '\0' || !std::string_view(shader.name).starts_with(std::string(entry.module) + "_")) continue;
    text += formatted("{}{}: {}", text.empty() ? "" : "\n", shader.name, shader.leftOut);
  }
  return text;
}

bool isMadeFor(const char* kernel, SaccadeDtype dtype) {
  const std::string stem = formatted("{}_{}_", kernelEntry(kernel).module, dtypeName(dtype));
  const auto table = shaderTable();
  return std::any_of(table.begin(), table.end(), [&](const ShaderModuleCode& shader) {
    return shader.name == stem + "native" || shader.name == stem + "portable";
  });
}

const ShaderModuleCode& shaderFor(const char* kernel, SaccadeDtype dtype, const DeviceFacts& facts) {
  const std::string stem = formatted("{}_{}_", kernelEntry(kernel).module, dtypeName(dtype));
  const ShaderModuleCode* best = nullptr;
  const char* leftOut = "";
  bool needsNative = false;
  for (const ShaderModuleCode& shader : shaderTable()) {
    const bool native = shader.name == stem + "native";
    if (!native && shader.name != stem + "portable") continue;
    if (native && !hasNativeAccess(facts)) {
      needsNative = true;
      continue;
    }
    if (*shader.leftOut != '\0') {
      leftOut = shader.leftOut;
    } else if (best == nullptr || native) {
      best = &shader;
    }
  }
  if (best == nullptr) {
    const char* why = *leftOut != '\0' ? leftOut : needsNative ? kNeedsNativeAccess : "the kernel is not made for it";
    refuseUnsupported("dtype", "kernel {} has no shader for {} here: {}", kernel, dtypeName(dtype), why);
  }
  return *best;
}

}  // namespace saccade::core
