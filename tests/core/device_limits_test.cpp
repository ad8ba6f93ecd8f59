// SPDX-License-Identifier: Apache-2.0
// No plan asks for more than its device has, on any device of tests/facts/: work-group size, shared memory, subgroup
// operations and other capabilities, grid, parameters.
#include <algorithm>

#include "attention/plan.hpp"
#include "core_test.hpp"
#include "fake_devices.hpp"
#include "kernels/matrix_shape.hpp"
#include "kernels/parameter_pool.hpp"
#include "kernels/registry.hpp"
#include "module_needs.hpp"
#include "ops/activation.hpp"
#include "ops/layer_norm.hpp"
#include "ops/matmul_plan.hpp"
#include "ops/matmul_problem.hpp"
#include "ops/patch_embed.hpp"
#include "ops/softmax.hpp"
#include "shared_memory.hpp"
#include "text/formatted.hpp"

namespace saccade::test {
namespace {

constexpr SaccadeDtype kDtypes[] = {SACCADE_DTYPE_F32, SACCADE_DTYPE_F16, SACCADE_DTYPE_BF16};

// Of every shader, constant 0 is the number of invocations of a work-group.
constexpr size_t kSpecLocalSize = 0;

void expectWithinLimits(const core::DeviceFacts& facts, const core::PlanDraft& plan) {
  SCOPED_TRACE(plan.label);
  EXPECT_FALSE(plan.steps.empty());
  for (const core::StepDraft& step : plan.steps) {
    SCOPED_TRACE(step.shader->name);
    const uint32_t invocations = step.specialisation.at(kSpecLocalSize);
    EXPECT_GE(invocations, 1u);
    EXPECT_LE(invocations, facts.maxComputeWorkGroupInvocations);
    EXPECT_LE(invocations, facts.maxComputeWorkGroupSize[0]);
    EXPECT_LE(sharedMemoryBytes(*step.shader, step.specialisation), facts.maxComputeSharedMemorySize);
    EXPECT_EQ(missingFor(*step.shader, facts), "");
    if (step.subgroupSize != 0) {
      EXPECT_EQ(core::subgroupSizeRefusal(facts, step.subgroupSize), "");
      EXPECT_EQ(invocations % step.subgroupSize, 0u);
      if (facts.maxComputeWorkgroupSubgroups != 0) {
        EXPECT_LE(invocations / step.subgroupSize, facts.maxComputeWorkgroupSubgroups);
      }
    }
    EXPECT_GE(step.groups, 1u);
    EXPECT_LE(step.groups, 0xffffffffu);
    // Every dispatch but the last is as large as the device allows, and none is larger.
    const uint64_t most = facts.maxComputeWorkGroupCount[0];
    const uint64_t dispatches = core::dispatchesFor(step.groups, facts.maxComputeWorkGroupCount[0]);
    EXPECT_LE((dispatches - 1) * most, step.groups - 1);
    EXPECT_GE(dispatches * most, step.groups);
    EXPECT_LE(step.params.size(), core::ParameterPool::kBlockBytes);
    EXPECT_LE(step.slots.size(), core::kMaxBuffersPerDispatch);
  }
}

// Everything but packed sequences and pages, then those.
std::vector<SaccadeAttentionDesc> attentionDescs(SaccadeDtype dtype, int64_t headDimQk, int64_t headDimV) {
  const SaccadeAttentionDesc plain =
      attentionDesc({.seqlenQ = 100, .seqlenK = 96, .headDimQk = headDimQk, .headDimV = headDimV}, dtype);
  SaccadeAttentionDesc everything = plain;
  everything.causal = SACCADE_CAUSAL_BOTTOM_RIGHT;
  everything.windowLeft = 40;
  everything.windowRight = 3;
  everything.softcap = 30;
  everything.mask = tensorDesc(SACCADE_DTYPE_U8, {2, 1, 100, 96});
  everything.bias = tensorDesc(dtype, {2, 1, 100, 96});
  everything.alibiSlopes = tensorDesc(SACCADE_DTYPE_F32, {1, 1, 1, 6});
  everything.sink = tensorDesc(SACCADE_DTYPE_F32, {1, 1, 1, 6});
  everything.hasSeqlensQ = everything.hasSeqlensK = VK_TRUE;
  everything.lse.dtype = SACCADE_DTYPE_F32;
  everything.probs.dtype = dtype;

  SaccadeAttentionDesc paged = plain;
  paged.k = tensorDesc(dtype, {20, 3, 16, headDimQk});
  paged.v = tensorDesc(dtype, {20, 3, 16, headDimV});
  paged.blockTable = tensorDesc(SACCADE_DTYPE_I32, {1, 1, 2, 6});
  paged.hasSeqlensK = VK_TRUE;
  paged.lse.dtype = SACCADE_DTYPE_F32;

  SaccadeAttentionDesc packed = plain;
  packed.q.sizes[0] = packed.k.sizes[0] = packed.v.sizes[0] = 1;
  packed.hasCuSeqlens = VK_TRUE;
  packed.numSequences = 5;
  packed.alibiSlopes = tensorDesc(SACCADE_DTYPE_F32, {1, 1, 5, 6});

  SaccadeAttentionDesc both = packed;
  both.k = paged.k;
  both.v = paged.v;
  both.blockTable = tensorDesc(SACCADE_DTYPE_I32, {1, 1, 5, 6});
  return {plain, everything, paged, packed, both};
}

struct Combination {
  FakeDevice device;
  SaccadeDtype dtype;
};

void PrintTo(const Combination& combination, std::ostream* out) {
  *out << combination.device.name << " " << core::dtypeName(combination.dtype);
}

std::vector<Combination> combinations() {
  std::vector<Combination> all;
  for (const FakeDevice& device : fakeDevices()) {
    for (const SaccadeDtype dtype : kDtypes) all.push_back({device, dtype});
  }
  return all;
}

class DeviceLimits : public testing::TestWithParam<Combination> {
 protected:
  const core::DeviceFacts& facts = GetParam().device.facts;
  const SaccadeDtype dtype = GetParam().dtype;
  const bool cpu = core::isCpu(facts);
};

TEST_P(DeviceLimits, AreKeptByAttention) {
  for (const char* kernel : {"", "scalar_rows", "widened_rows", "channel_lanes", "split_kv", "scalar_tiled", "flash_decode"}) {
    const bool plainCpu = core::isPlainCpu(facts);
    if (std::string_view(kernel) == "channel_lanes" && !plainCpu) continue;
    for (const int64_t headDim : {1, 8, 33, 64, 80, 97, 128, 192, 256}) {
      for (SaccadeAttentionDesc desc : attentionDescs(dtype, headDim, 257 - headDim)) {
        desc.kernel = kernel;
        const core::PlanDraft plan = core::planAttention(facts, core::validateAttention(desc), "");
        expectWithinLimits(facts, plan);
        // Sequences have 20 rows in the mean, too few to widen their keys for.
        const std::string onCpu = dtype == SACCADE_DTYPE_F32 || desc.hasCuSeqlens ? "scalar_rows" : "widened_rows";
        const std::string chosen = !cpu ? "scalar_tiled" : plainCpu ? "channel_lanes" : onCpu;
        EXPECT_EQ(plan.kernel, *kernel == '\0' ? chosen : kernel);
      }
    }
  }
}

TEST_P(DeviceLimits, AreKeptByLines) {
  if (*core::kernelEntry("scalar_lines").deviceRefusal(facts) != '\0') return;
  for (const int64_t headDim : {1, 8, 33, 64, 80, 97, 128}) {
    for (SaccadeAttentionDesc desc : attentionDescs(dtype, headDim, 129 - headDim)) {
      for (const char* kernel : {"scalar_lines", "scalar_lines subgroups=2 columns=16 team=2 keys=32"}) {
        if (std::string_view(kernel).ends_with("32") && cpu) continue;  // subgroups of 8
        desc.kernel = kernel;
        const core::PlanDraft plan = core::planAttention(facts, core::validateAttention(desc), "");
        expectWithinLimits(facts, plan);
        EXPECT_EQ(plan.kernel, "scalar_lines");
      }
    }
  }
}

TEST_P(DeviceLimits, AreKeptByAttentionOnMatrixUnits) {
  if (dtype != SACCADE_DTYPE_F16 || *core::kernelEntry("coopmat").deviceRefusal(facts) != '\0') return;
  for (const int64_t headDim : {1, 8, 33, 64, 80, 97, 128}) {
    for (SaccadeAttentionDesc desc : attentionDescs(dtype, headDim, 129 - headDim)) {
      const core::PlanDraft chosen = core::planAttention(facts, core::validateAttention(desc), "");
      EXPECT_EQ(chosen.kernel, core::isCpu(facts) ? desc.hasCuSeqlens ? "scalar_rows" : "widened_rows" : "coopmat");
      for (const std::string kernel : {"coopmat", "coopmat2"}) {
        if (*core::kernelEntry(kernel).deviceRefusal(facts) != '\0') continue;
        const std::string alone = kernel == "coopmat" ? " team=1" : "";
        for (const std::string& asked : {kernel, kernel + " subgroups=1 query_tiles=2 key_tiles=4 keys=64" + alone}) {
          desc.kernel = asked.c_str();
          expectWithinLimits(facts, core::planAttention(facts, core::validateAttention(desc), ""));
        }
      }
    }
  }
}

// Invocations of narrow subgroups have few registers, so that four subgroups share the sums of a row; others have them for themselves.
TEST_P(DeviceLimits, DecideWhichSubgroupsShareRows) {
  if (dtype != SACCADE_DTYPE_F16 || core::isCpu(facts) || *core::kernelEntry("coopmat").deviceRefusal(facts) != '\0') return;
  const bool narrow = core::matrixSubgroupSize(facts) <= 16;
  for (const int64_t headDim : {8, 64, 128}) {
    SaccadeAttentionDesc desc = saccadeAttentionDescDefault();
    desc.q = desc.k = desc.v = tensorDesc(SACCADE_DTYPE_F16, {8, 16, 2048, headDim});
    desc.out.dtype = SACCADE_DTYPE_F16;
    desc.kernel = "coopmat";
    const core::PlanDraft plan = core::planAttention(facts, core::validateAttention(desc), "");
    EXPECT_PRED_FORMAT2(testing::IsSubstring, narrow ? " team=4" : " team=1", plan.tile);
  }
}

// What the kernel leaves to others, by name.
TEST(AttentionOnMatrixUnits, RefusesWhatItIsNotMadeFor) {
  core::DeviceFacts facts = matrixGpuFacts();
  const auto refusal = [&](auto&& change, const char* kernel = "coopmat") {
    SaccadeAttentionDesc desc = saccadeAttentionDescDefault();
    desc.q = desc.k = desc.v = tensorDesc(SACCADE_DTYPE_F16, {1, 2, 40, 64});
    desc.out.dtype = SACCADE_DTYPE_F16;
    desc.kernel = kernel;
    change(desc);
    const auto found = refusalOf([&] { core::planAttention(facts, core::validateAttention(desc), ""); });
    return found ? found->field + ": " + found->what() : "";
  };
  const auto same = [](SaccadeAttentionDesc&) {};
  EXPECT_EQ(refusal(same), "");
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "multiplies matrices of f16, and these are of f32", refusal([](SaccadeAttentionDesc& desc) {
    desc.q.dtype = desc.k.dtype = desc.v.dtype = desc.out.dtype = SACCADE_DTYPE_F32;
  }));
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "k and v are quantised, of i8", refusal([](SaccadeAttentionDesc& desc) {
    desc.k.dtype = desc.v.dtype = SACCADE_DTYPE_I8;
  }));
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "takes head dims up to 128, and one is 136", refusal([](SaccadeAttentionDesc& desc) {
    desc.v.sizes[3] = 136;
  }));
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "keys is 48, but must be a multiple of the 32 keys of key_tiles 2",
                      refusal(same, "coopmat keys=48 key_tiles=2"));
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "bytes of shared memory; this device has 65536",
                      refusal(same, "coopmat keys=256 key_tiles=8 subgroups=16"));
  EXPECT_EQ(refusal(same, "coopmat subgroups=4 key_tiles=8 shared_q=1 team=4 keys=128"), "");
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "team is 3, but must be 1, or 2 or 4",
                      refusal(same, "coopmat subgroups=3 key_tiles=6 shared_q=1 team=3 keys=96"));
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "team is 4, but must be 1, or 2 or 4 with a multiple of it as subgroups (6)",
                      refusal(same, "coopmat subgroups=6 key_tiles=8 shared_q=1 team=4 keys=128"));
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "subgroups is 16, which makes 128 rows; teams of 2 have at most 68 here",
                      refusal(same, "coopmat subgroups=16 key_tiles=4 shared_q=1 team=2 keys=64"));
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "key_tiles is 3, but must be 2 to 8 in steps of 2", refusal(same, "coopmat key_tiles=3"));

  EXPECT_EQ(refusal(same, "coopmat2"), "");
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "team is not a field of the tile of coopmat2", refusal(same, "coopmat2 team=4"));
  facts.minSubgroupSize = 16;
  EXPECT_EQ(refusal(same), "");
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "gives each subgroup rows of its own, and subgroups of 16 have too few registers for them",
                      refusal(same, "coopmat2"));
  facts.minSubgroupSize = 32;
  facts.cooperativeMatrixShapes[0].kSize *= 2;
  EXPECT_EQ(refusal(same), "");
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "converts 16 keys of a matrix of scores to an operand of as many, and operands have 32 here",
                      refusal(same, "coopmat2"));
  facts.maintenance4 = VK_FALSE;
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "needs Vulkan 1.3 and the feature maintenance4", refusal(same, "coopmat2"));
  facts.cooperativeMatrixPerElementOperations = VK_FALSE;
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "needs the feature cooperativeMatrixPerElementOperations", refusal(same, "coopmat2"));
  facts.cooperativeMatrixConversions = VK_FALSE;
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "needs the feature cooperativeMatrixConversions", refusal(same, "coopmat2"));
  facts.cooperativeMatrixReductions = VK_FALSE;
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "needs the feature cooperativeMatrixReductions", refusal(same, "coopmat2"));
}

TEST_P(DeviceLimits, AreKeptByMatmul) {
  const bool matrices = dtype == SACCADE_DTYPE_F16 && *core::kernelEntry("matmul_coopmat").deviceRefusal(facts) == '\0';
  for (const char* kernel : {"", "matmul_rows", "matmul_tiled", "matmul_coopmat"}) {
    if (std::string_view(kernel) == "matmul_coopmat" && !matrices) continue;
    for (const auto& [rows, columns, depth] :
         {std::array<int64_t, 3>{1, 1, 1}, {1, 1000, 384}, {197, 384, 1536}, {5000, 3000, 0}, {100000, 64, 64}}) {
      SaccadeMatmulDesc desc = saccadeMatmulDescDefault();
      desc.a = tensorDesc(dtype, {2, 1, rows, depth});
      desc.b = tensorDesc(dtype, {1, 1, columns, depth});
      desc.bias = tensorDesc(dtype, {1, 1, 1, columns});
      desc.residual = tensorDesc(dtype, {2, 1, rows, columns});
      desc.out.dtype = dtype;
      desc.activation = SACCADE_ACTIVATION_GELU;
      desc.kernel = kernel;
      const core::PlanDraft plan = core::planMatmul(facts, core::validateMatmul(desc), "");
      expectWithinLimits(facts, plan);
      const std::string chosen = cpu ? "matmul_rows" : matrices ? "matmul_coopmat" : "matmul_tiled";
      EXPECT_EQ(plan.kernel, *kernel == '\0' ? chosen : kernel);
    }
  }
}

TEST_P(DeviceLimits, AreKeptByTheOtherOperators) {
  for (const int64_t columns : {1, 3, 64, 513, 100000}) {
    const SaccadeTensorDesc x = tensorDesc(dtype, {2, 3, 1000, columns});
    SaccadeLayerNormDesc layerNorm = saccadeLayerNormDescDefault();
    layerNorm.x = x;
    layerNorm.weight = layerNorm.bias = tensorDesc(dtype, {1, 1, 1, columns});
    layerNorm.out.dtype = dtype;
    expectWithinLimits(facts, core::planLayerNorm(facts, core::validateLayerNorm(layerNorm), ""));
    SaccadeSoftmaxDesc softmax = saccadeSoftmaxDescDefault();
    softmax.x = x;
    softmax.out.dtype = dtype;
    expectWithinLimits(facts, core::planSoftmax(facts, core::validateSoftmax(softmax), ""));
    SaccadeActivationDesc activation = saccadeActivationDescDefault();
    activation.x = x;
    activation.out.dtype = dtype;
    activation.activation = SACCADE_ACTIVATION_GELU_TANH;
    expectWithinLimits(facts, core::planActivation(facts, core::validateActivation(activation), ""));
  }
  SaccadePatchEmbedDesc patches = saccadePatchEmbedDescDefault();
  patches.image = tensorDesc(dtype, {2, 3, 224, 224});
  patches.weight = tensorDesc(dtype, {384, 3, 14, 14});
  patches.out.dtype = dtype;
  patches.patchSize = 14;
  expectWithinLimits(facts, core::planPatchEmbed(facts, core::validatePatchEmbed(patches), ""));
}

// What the device would have to be smaller for: the refusal names the field that asks for the kernel, and the limit.
TEST_P(DeviceLimits, AreNamedByTheRefusalOfAKernelThatDoesNotFit) {
  core::DeviceFacts small = facts;
  SaccadeAttentionDesc desc = attentionDesc({}, dtype);
  desc.kernel = "scalar_tiled";
  small.maxComputeWorkGroupInvocations = 127;
  auto refusal = refusalOf([&] { core::planAttention(small, core::validateAttention(desc), ""); });
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->status, SACCADE_ERROR_UNSUPPORTED);
  EXPECT_EQ(refusal->field, "kernel");
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "maxComputeWorkGroupInvocations", refusal->text);
  small = facts;
  small.maxComputeSharedMemorySize = 16383;
  refusal = refusalOf([&] { core::planAttention(small, core::validateAttention(desc), ""); });
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->field, "kernel");
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "maxComputeSharedMemorySize", refusal->text);
  // Without a name there is another kernel. (Small matrices fit there, too.)
  desc.kernel = nullptr;
  small.cooperativeMatrix = VK_FALSE;
  const core::PlanDraft plan = core::planAttention(small, core::validateAttention(desc), "");
  EXPECT_EQ(plan.kernel, core::isPlainCpu(facts) ? "channel_lanes" : "scalar_rows");
  expectWithinLimits(small, plan);
}

INSTANTIATE_TEST_SUITE_P(Of, DeviceLimits, testing::ValuesIn(combinations()), [](const auto& test) {
  return formatted("{}_{}", test.param.device.name, core::dtypeName(test.param.dtype));
});

TEST(FakeDevices, AreReadFromTheirFiles) {
  const std::vector<FakeDevice>& devices = fakeDevices();
  const auto find = [&](const std::string& name) {
    const auto found = std::find_if(devices.begin(), devices.end(), [&](const FakeDevice& d) { return d.name == name; });
    return found == devices.end() ? core::DeviceFacts{} : found->facts;
  };
  const core::DeviceFacts navi31 = find("navi31");
  EXPECT_STREQ(navi31.deviceName, "AMD Radeon RX 7900 XTX (RADV NAVI31)");
  EXPECT_EQ(navi31.apiVersion, VK_API_VERSION_1_3);
  EXPECT_EQ(navi31.minSubgroupSize, 32u);
  EXPECT_EQ(navi31.maxSubgroupSize, 64u);
  EXPECT_EQ(navi31.maxComputeSharedMemorySize, 65536u);
  EXPECT_EQ(navi31.maxComputeWorkGroupCount[1], 65535u);
  EXPECT_TRUE(core::hasNativeAccess(navi31));
  EXPECT_TRUE(core::hasNativeAccess(find("geforce_rtx_2080")));
  // One lacks 8-bit storage, one 16-bit storage and one float controls.
  for (const char* portable : {"adreno660", "swiftshader", "apple_m1_moltenvk", "mali_g615"}) {
    EXPECT_FALSE(core::hasNativeAccess(find(portable))) << portable;
    EXPECT_EQ(find(portable).bufferDeviceAddress, VK_TRUE) << portable;
  }
}

TEST(SharedMemory, OfScalarTiledIsReadFromItsModule) {
  SaccadeAttentionDesc desc = attentionDesc();
  desc.kernel = "scalar_tiled";
  const core::PlanDraft plan = core::planAttention(minimalFacts(), core::validateAttention(desc), "");
  // Q, K and the weights, 32 rows each, in pieces of 16 bytes with a pitch of 9; eight parts of each row, a spare one, and a flag.
  EXPECT_EQ(sharedMemoryBytes(*plan.steps.at(0).shader, plan.steps[0].specialisation),
            uint64_t{16} * 3 * 32 * 9 + uint64_t{4} * (32 * 8 + 1 + 1));
}

// The tiles of scalar_tiled, by what devices have.
TEST(ScalarTiled, TakesItsTileFromTheFactsOfTheDevice) {
  const auto tileOn = [](const char* name, SaccadeDtype dtype, int64_t headDim) {
    const auto device = std::find_if(fakeDevices().begin(), fakeDevices().end(), [&](const FakeDevice& d) { return d.name == name; });
    SaccadeAttentionDesc desc = attentionDesc({.seqlenQ = 100, .headDimQk = headDim, .headDimV = headDim}, dtype);
    desc.kernel = "scalar_tiled";
    const core::PlanDraft plan = core::planAttention(device->facts, core::validateAttention(desc), "");
    return plan.tile + formatted(" subgroup={}", plan.steps.at(0).subgroupSize);
  };
  EXPECT_EQ(tileOn("navi21", SACCADE_DTYPE_F16, 64), "scalar_tiled local_size=128 columns=8 rows_each=8 keys=32 channels=64 subgroup=32");
  EXPECT_EQ(tileOn("navi21", SACCADE_DTYPE_F16, 128), "scalar_tiled local_size=192 columns=16 rows_each=8 keys=64 channels=128 subgroup=32");
  EXPECT_EQ(tileOn("navi21", SACCADE_DTYPE_F16, 256), "scalar_tiled local_size=128 columns=16 rows_each=2 keys=64 channels=256 subgroup=0");
  EXPECT_EQ(tileOn("tgl", SACCADE_DTYPE_F16, 128), "scalar_tiled local_size=128 columns=16 rows_each=2 keys=64 channels=128 subgroup=0");
  EXPECT_EQ(tileOn("mali_g615", SACCADE_DTYPE_F32, 128), "scalar_tiled local_size=128 columns=8 rows_each=2 keys=32 channels=32 subgroup=0");
  EXPECT_EQ(tileOn("lavapipe_26_1", SACCADE_DTYPE_F32, 64), "scalar_tiled local_size=32 columns=8 rows_each=1 keys=32 channels=64 subgroup=0");
}

// Of scalar_lines, and whether it is chosen: where registers of neighbours can be read and fp16 is not widened by products.
TEST(ScalarLines, TakesItsTileFromTheFactsOfTheDevice) {
  const auto planOn = [](const char* name, SaccadeDtype dtype, int64_t headDim, const char* kernel) {
    const auto device = std::find_if(fakeDevices().begin(), fakeDevices().end(), [&](const FakeDevice& d) { return d.name == name; });
    SaccadeAttentionDesc desc = attentionDesc({.seqlenQ = 100, .headDimQk = headDim, .headDimV = headDim}, dtype);
    desc.kernel = kernel;
    const core::PlanDraft plan = core::planAttention(device->facts, core::validateAttention(desc), "");
    return plan.tile + formatted(" subgroup={}", plan.steps.at(0).subgroupSize);
  };
  EXPECT_EQ(planOn("vega10", SACCADE_DTYPE_F16, 64, ""), "scalar_lines subgroups=8 columns=16 team=1 keys=32 subgroup=64");
  EXPECT_EQ(planOn("vega10", SACCADE_DTYPE_F16, 128, ""), "scalar_lines subgroups=8 columns=16 team=2 keys=32 subgroup=64");
  EXPECT_EQ(planOn("vega10", SACCADE_DTYPE_F32, 32, ""), "scalar_lines subgroups=8 columns=16 team=1 keys=32 subgroup=64");
  EXPECT_EQ(planOn("navi21", SACCADE_DTYPE_F32, 128, ""), "scalar_lines subgroups=8 columns=16 team=2 keys=32 subgroup=32");
  for (const char* other : {"tgl", "nvk170", "m1", "adreno740"}) {
    EXPECT_TRUE(planOn(other, SACCADE_DTYPE_F32, 64, "").starts_with("scalar_tiled ")) << other;
  }
  EXPECT_TRUE(planOn("navi21", SACCADE_DTYPE_F16, 64, "").starts_with("scalar_tiled "));
  EXPECT_EQ(planOn("lavapipe_26_1", SACCADE_DTYPE_F32, 64, "scalar_lines"), "scalar_lines subgroups=4 columns=4 team=2 keys=8 subgroup=8");
}

TEST(ScalarLines, RefusesWhatLinesCannotBe) {
  core::DeviceFacts facts = wideGpuFacts();
  const auto refusal = [&](const std::string& kernel, int64_t headDim = 64) {
    SaccadeAttentionDesc desc = attentionDesc({.headDimQk = headDim, .headDimV = headDim}, SACCADE_DTYPE_F32);
    desc.kernel = kernel.c_str();
    const auto refused = refusalOf([&] { core::planAttention(facts, core::validateAttention(desc), ""); });
    return refused ? refused->text : "";
  };
  EXPECT_EQ(refusal("scalar_lines"), "");
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "takes head dims up to 128, and one is 160", refusal("scalar_lines", 160));
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "columns is 4, but must be 8 or 16 in subgroups of 64",
                      refusal("scalar_lines columns=4"));
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "columns is 12, but must be 8 or 16", refusal("scalar_lines columns=12"));
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "team is 3, but subgroups (8) must be a multiple of it", refusal("scalar_lines team=3"));
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "and keys (40) one of 16 for each of it", refusal("scalar_lines keys=40"));
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "subgroups is 32, which makes 2048 invocations; work-groups have at most 1024",
                      refusal("scalar_lines subgroups=32"));
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "keys is 128 and subgroups 8, which needs ", refusal("scalar_lines keys=128"));
  facts.minSubgroupSize = 16;
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "needs subgroups of 32 invocations at least, on a CPU device of 4", refusal("scalar_lines"));
  facts.subgroupOperations &= ~uint32_t{VK_SUBGROUP_FEATURE_ROTATE_CLUSTERED_BIT_KHR};
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "needs the features shaderSubgroupRotate and shaderSubgroupRotateClustered",
                      refusal("scalar_lines"));
}

// The same of flash_decode, for a decode step of two heads and for many rows.
TEST(FlashDecode, TakesItsTileFromTheFactsOfTheDevice) {
  const auto tileOn = [](const char* name, int64_t rows, int64_t headDim) {
    const auto device = std::find_if(fakeDevices().begin(), fakeDevices().end(), [&](const FakeDevice& d) { return d.name == name; });
    SaccadeAttentionDesc desc = attentionDesc(
        {.batch = 1, .headsQ = 2, .headsKv = 1, .seqlenQ = rows, .seqlenK = 4096, .headDimQk = headDim, .headDimV = headDim}, SACCADE_DTYPE_F16);
    desc.kernel = "flash_decode";
    const core::PlanDraft plan = core::planAttention(device->facts, core::validateAttention(desc), "");
    return plan.tile.substr(0, plan.tile.find(" splits"));
  };
  const std::string tile = "flash_decode local_size=128 ";
  EXPECT_EQ(tileOn("navi21", 1, 64), tile + "columns=8 rows_each=2 keys=64 sharers=4");
  EXPECT_EQ(tileOn("navi31", 8, 128), tile + "columns=16 rows_each=8 keys=32 sharers=4");
  EXPECT_EQ(tileOn("vega10", 1, 64), tile + "columns=8 rows_each=2 keys=64 sharers=4");
  EXPECT_EQ(tileOn("vega10", 8, 128), tile + "columns=16 rows_each=4 keys=16 sharers=2");
  EXPECT_EQ(tileOn("nvk170", 8, 64), tile + "columns=8 rows_each=8 keys=64 sharers=4");
  EXPECT_EQ(tileOn("m1", 1, 64), tile + "columns=8 rows_each=2 keys=32 sharers=2");
  EXPECT_EQ(tileOn("dg2", 1, 64), tile + "columns=8 rows_each=2 keys=16 sharers=1");
}

TEST(SharedMemory, IsNotUsedByScalarRows) {
  const core::PlanDraft plan = core::planAttention(cpuFacts(), core::validateAttention(attentionDesc()), "");
  EXPECT_EQ(sharedMemoryBytes(*plan.steps.at(0).shader, plan.steps[0].specialisation), 0u);
}

// What native modules need is read from them, and the minimal device has none of it.
TEST(Modules, SayWhatTheyNeed) {
  const core::DeviceFacts cpu = cpuFacts(), minimal = minimalFacts();
  const core::ShaderModuleCode& native = core::shaderFor("scalar_rows", SACCADE_DTYPE_F16, cpu);
  ASSERT_STREQ(native.name, "scalar_rows_f16_native");
  EXPECT_EQ(missingFor(native, cpu), "");
  EXPECT_EQ(missingFor(core::shaderFor("scalar_rows", SACCADE_DTYPE_F16, minimal), minimal), "");
  for (const char* need : {"capability 11", "capability 62", "capability 4433", "capability 4448", "capability 4466"}) {
    EXPECT_PRED_FORMAT2(testing::IsSubstring, need, missingFor(native, minimal));
  }
}

TEST(PushConstants, FitInto128BytesThatEveryDeviceHas) { EXPECT_LE(sizeof(core::PushConstants), 128u); }

TEST(Registry, HasAShaderOfEveryDtypeForEveryKernel) {
  for (const core::KernelEntry& entry : core::kernelRegistry()) {
    for (const SaccadeDtype dtype : kDtypes) {
      // Those on matrix units multiply what the units take; what is converted is fp16.
      const std::string_view name = entry.name;
      const bool forF16 = name.find("coopmat") != std::string_view::npos;
      const bool made = !forF16 || dtype == SACCADE_DTYPE_F16;
      for (const FakeDevice& device : fakeDevices()) {
        if (*entry.deviceRefusal(device.facts) != '\0') continue;
        if (!made) {
          const auto refusal = refusalOf([&] { core::shaderFor(entry.name, dtype, device.facts); });
          ASSERT_TRUE(refusal);
          EXPECT_PRED_FORMAT2(testing::IsSubstring, "has no shader for", refusal->text);
          continue;
        }
        const core::ShaderModuleCode& shader = core::shaderFor(entry.name, dtype, device.facts);
        ASSERT_GT(shader.end, shader.begin) << shader.name;
        EXPECT_EQ(core::spirvOf(shader).at(0), 0x07230203u) << shader.name << " is not SPIR-V";
        EXPECT_EQ(missingFor(shader, device.facts), "") << device.name;
      }
    }
  }
}

TEST(Registry, KnowsItsOwnNamesAndListsThemWhenAskedForAnother) {
  for (const core::KernelEntry& entry : core::kernelRegistry()) {
    EXPECT_EQ(refusalOf([&] { core::requireKnownKernel(entry.name); }).has_value(), !entry.selectable) << entry.name;
    EXPECT_NE(*entry.idea, '\0') << entry.name;
  }
  const auto refusal = refusalOf([] { core::requireKnownKernel("fast"); });
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->field, "kernel");
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "\"fast\"", refusal->text);
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "scalar_rows, scalar_tiled", refusal->text);
}

}  // namespace
}  // namespace saccade::test
