// SPDX-License-Identifier: Apache-2.0
// Tuning files: what is taken from one, what makes the library ignore it, and what plans make of its entries.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "attention/choice.hpp"
#include "attention/plan.hpp"
#include "core_test.hpp"
#include "fake_devices.hpp"
#include "mock_driver.hpp"
#include "ops/matmul_plan.hpp"
#include "shared_memory.hpp"
#include "tune/tuning_format.hpp"
#include "tune/tuning_table.hpp"

namespace saccade::core {
using uint = uint32_t;
#include "attention_params.h"
#include "matmul_params.h"
}  // namespace saccade::core

namespace saccade::test {
namespace {

using nlohmann::json;

SaccadeAttentionDesc vit() {
  return attentionDesc({.batch = 1, .headsQ = 12, .headsKv = 12, .seqlenQ = 197, .seqlenK = 197, .headDimQk = 64, .headDimV = 64});
}

std::string keyOf(const SaccadeAttentionDesc& desc) { return core::tuningKey(core::validateAttention(desc)); }

json fileFor(const core::DeviceFacts& facts) {
  return {{"format", "saccade tuning"},
          {"version", kTuningVersion},
          {"library", std::to_string(SACCADE_VERSION_MAJOR) + "." + std::to_string(SACCADE_VERSION_MINOR) + "." +
                          std::to_string(SACCADE_VERSION_PATCH)},
          {"device",
           {{"name", facts.deviceName},
            {"vendor_id", facts.vendorId},
            {"device_id", facts.deviceId},
            {"driver_name", facts.driverName},
            {"driver_info", facts.driverInfo},
            {"driver_version", facts.driverVersion}}},
          {"entries", {{{"problem", keyOf(vit())}, {"kernel", "scalar_rows keys=4"}, {"milliseconds", 1.5}}}}};
}

core::TuningTable tableOf(const std::string& key, const std::string& kernel) {
  core::TuningTable table;
  table.insert(key, core::parseKernelRequest(kernel));
  return table;
}

uint32_t keysOf(const core::PlanDraft& plan) { return plan.steps.at(0).specialisation.at(SPEC_KEYS); }

TEST(TuningKey, IsTheSameForProblemsOfOneSizeAndDiffersBetweenKinds) {
  EXPECT_EQ(keyOf(vit()), "attention f32 dqk64 dv64 tq256 tk256 heads16 group1");
  SaccadeAttentionDesc desc = vit();
  desc.causal = SACCADE_CAUSAL_BOTTOM_RIGHT;
  EXPECT_EQ(keyOf(desc), "attention f32 dqk64 dv64 tq256 tk256 heads16 group1 causal");
  desc.windowLeft = 16;
  desc.hasSeqlensK = VK_TRUE;
  desc.mask = tensorDesc(SACCADE_DTYPE_U8, {1, 1, 1, 197});
  EXPECT_EQ(keyOf(desc), "attention f32 dqk64 dv64 tq256 tk256 heads16 group1 window mask lengths");
  desc = attentionDesc({.batch = 1, .headsQ = 32, .headsKv = 8, .seqlenQ = 1, .seqlenK = 4097, .headDimQk = 128, .headDimV = 128},
                       SACCADE_DTYPE_F16);
  EXPECT_EQ(keyOf(desc), "attention f16 dqk128 dv128 tq1 tk8192 heads32 group4");
}

TEST(TuningFile, IsRead) {
  const core::TuningTable table = core::readTuning(fileFor(cpuFacts()).dump(), cpuFacts());
  EXPECT_EQ(table.size(), 1u);
  const core::KernelRequest* found = table.find(keyOf(vit()));
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->kernel, "scalar_rows");
  ASSERT_EQ(found->tile.size(), 1u);
  EXPECT_EQ(found->tile[0].name, "keys");
  EXPECT_EQ(found->tile[0].value, 4u);
  EXPECT_EQ(table.find("attention f32"), nullptr);
}

struct Defect {
  const char* field;
  const char* says;
  void (*make)(json& file);
};

TEST(TuningFile, WithADefectIsIgnoredAndTheFieldNamed) {
  const Defect defects[] = {
      {"format", "format is missing", [](json& f) { f.erase("format"); }},
      {"format", "format is \"recipe\"", [](json& f) { f["format"] = "recipe"; }},
      {"version", "newer than this library", [](json& f) { f["version"] = 2; }},
      {"version", "does not exist any more", [](json& f) { f["version"] = 0; }},
      {"version", "version is \"1\"", [](json& f) { f["version"] = "1"; }},
      {"library", "library is \"0.0.1\"", [](json& f) { f["library"] = "0.0.1"; }},
      {"device", "device is missing", [](json& f) { f.erase("device"); }},
      {"device.name", "device.name is missing", [](json& f) { f["device"] = 3; }},
      {"device.name", "device.name is \"other\", but that of this device is \"CPU device\"", [](json& f) { f["device"]["name"] = "other"; }},
      {"device.vendor_id", "device.vendor_id is 7", [](json& f) { f["device"]["vendor_id"] = 7; }},
      {"device.device_id", "device.device_id is 8", [](json& f) { f["device"]["device_id"] = 8; }},
      {"device.driver_name", "device.driver_name is \"d\"", [](json& f) { f["device"]["driver_name"] = "d"; }},
      {"device.driver_info", "device.driver_info is null", [](json& f) { f["device"]["driver_info"] = nullptr; }},
      {"device.driver_version", "device.driver_version is 9", [](json& f) { f["device"]["driver_version"] = 9; }},
      {"entries", "entries is {}; it must be a list", [](json& f) { f["entries"] = json::object(); }},
      {"entries[0].problem", "entries[0].problem is missing", [](json& f) { f["entries"][0] = 1; }},
      {"entries[0].kernel", "entries[0].kernel is 5; it must be text", [](json& f) { f["entries"][0]["kernel"] = 5; }},
      {"entries[0].kernel", "kernels that can be asked for", [](json& f) { f["entries"][0]["kernel"] = "fast"; }},
      {"entries[0].kernel", "not a variant of that operator", [](json& f) { f["entries"][0]["kernel"] = "matmul_rows"; }},
      {"entries[0].kernel", "NAME=NUMBER", [](json& f) { f["entries"][0]["kernel"] = "scalar_rows keys"; }},
      {"entries[0].kernel", "NAME=NUMBER", [](json& f) { f["entries"][0]["kernel"] = "scalar_rows keys=-4"; }},
      {"entries[0].kernel", "keys twice", [](json& f) { f["entries"][0]["kernel"] = "scalar_rows keys=4 keys=8"; }},
      {"entries[0].kernel", "speed is not a field", [](json& f) { f["entries"][0]["kernel"] = "scalar_rows speed=4"; }},
      {"entries[0].kernel", "keys is 99, but must be 1 to 16", [](json& f) { f["entries"][0]["kernel"] = "scalar_rows keys=99"; }},
      {"entries[0].kernel", "local_size is 2048, but work-groups have at most 1024",
       [](json& f) { f["entries"][0]["kernel"] = "scalar_rows local_size=2048"; }},
      {"entries[1].problem", "a second time", [](json& f) { f["entries"].push_back(f["entries"][0]); }},
  };
  for (const Defect& defect : defects) {
    json file = fileFor(cpuFacts());
    defect.make(file);
    const auto refusal = refusalOf([&] { core::readTuning(file.dump(), cpuFacts()); });
    ASSERT_TRUE(refusal) << file.dump();
    EXPECT_EQ(refusal->field, defect.field);
    EXPECT_PRED_FORMAT2(testing::IsSubstring, defect.says, refusal->text);
    EXPECT_TRUE(refusal->text.starts_with("tuning file ignored: ")) << refusal->text;
  }
}

TEST(TuningFile, ThatIsCutOffAnywhereIsIgnored) {
  const std::string whole = fileFor(cpuFacts()).dump();
  for (size_t length = 0; length < whole.size(); length++) {
    EXPECT_TRUE(refusalOf([&] { core::readTuning(whole.substr(0, length), cpuFacts()); })) << length;
  }
}

TEST(TuningFile, ThatIsHugeOrNestedDeeplyIsIgnored) {
  const std::string huge(size_t{2} << 20, ' ');
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "2097152 bytes", refusalOf([&] { core::readTuning(huge, cpuFacts()); })->text);
  const std::string deep(500000, '[');
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "nested deeper", refusalOf([&] { core::readTuning(deep, cpuFacts()); })->text);
}

TEST(Tuning, DecidesWhereNothingIsAskedFor) {
  const core::TuningTable table = tableOf(keyOf(vit()), "scalar_rows keys=2");
  const core::AttentionProblem problem = core::validateAttention(vit());
  const core::PlanDraft plan = core::planAttention(cpuFacts(), problem, "", table);
  EXPECT_EQ(keysOf(plan), 2u);
  EXPECT_EQ(plan.tile, "scalar_rows local_size=8 keys=2");
  EXPECT_EQ(plan.reason, "scalar_rows: chosen: tuned: measured fastest on this device");

  EXPECT_EQ(core::planAttention(cpuFacts(), problem, "scalar_tiled", table).kernel, "scalar_tiled");
  SaccadeAttentionDesc named = vit();
  named.kernel = "scalar_rows";
  EXPECT_EQ(core::planAttention(cpuFacts(), core::validateAttention(named), "", table).tile, "scalar_rows local_size=8 keys=8");
  named.kernel = nullptr;
  named.causal = SACCADE_CAUSAL_BOTTOM_RIGHT;
  EXPECT_EQ(core::planAttention(cpuFacts(), core::validateAttention(named), "", table).tile, "scalar_rows local_size=8 keys=8");
}

TEST(Tuning, ThatCannotRunIsPassedOverAndTheReasonSaysSo) {
  core::DeviceFacts facts = cpuFacts();
  facts.maxComputeSharedMemorySize = 16384;
  const core::TuningTable table = tableOf(keyOf(vit()), "scalar_tiled keys=128 channels=128");
  const core::PlanDraft plan = core::planAttention(facts, core::validateAttention(vit()), "", table);
  EXPECT_EQ(plan.kernel, "scalar_rows");
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "tuned: scalar_tiled passed over: keys is 128 and channels 128, which needs ", plan.reason);
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "this device has 16384", plan.reason);
}

TEST(Tuning, DecidesForMatrixProductsToo) {
  SaccadeMatmulDesc desc = saccadeMatmulDescDefault();
  desc.a = tensorDesc(SACCADE_DTYPE_F32, {1, 2, 100, 384});
  desc.b = tensorDesc(SACCADE_DTYPE_F32, {1, 1, 1000, 384});
  desc.out.dtype = SACCADE_DTYPE_F32;
  const core::MatmulProblem problem = core::validateMatmul(desc);
  const std::string key = core::tuningKey(core::foldBatches(problem));
  EXPECT_EQ(key, "matmul f32 m256 n1024 k512 batch1 a b");
  const core::PlanDraft plan = core::planMatmul(cpuFacts(), problem, "", tableOf(key, "matmul_rows rows_each=2 columns_each=16 exchanged=1"));
  EXPECT_EQ(plan.tile, "matmul_rows rows_each=2 columns_each=16 exchanged=1");
  EXPECT_EQ(plan.steps.at(0).specialisation.at(MATMUL_SPEC_ROWS), 2u);
  EXPECT_EQ(plan.steps.at(0).specialisation.at(MATMUL_SPEC_COLUMNS), 16u);
}

TEST(KernelRequest, WithATileThatCannotRunIsRefused) {
  SaccadeAttentionDesc desc = vit();
  const auto refusalFor = [&](const char* kernel) {
    desc.kernel = kernel;
    const auto refusal = refusalOf([&] { core::planAttention(cpuFacts(), core::validateAttention(desc), ""); });
    EXPECT_TRUE(refusal) << kernel;
    EXPECT_EQ(refusal->field, "kernel");
    return refusal->text;
  };
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "keys is 17, but must be 1 to 16", refusalFor("scalar_rows keys=17"));
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "fold is 9, more than the 8", refusalFor("split_kv local_size=8 fold=9"));
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "keys is 20, but must be 8 to 128 in steps of 8", refusalFor("scalar_tiled keys=20"));
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "it has: local_size, keys", refusalFor("scalar_rows splits=2"));
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "columns is 12, not a power of 2", refusalFor("flash_decode columns=12"));
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "local_size is 100, but must be 16 to 256", refusalFor("flash_decode local_size=100"));
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "keys is 6, not a multiple of the 4 lines of 8 invocations", refusalFor("flash_decode keys=6"));
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "1024 channels of keys in an invocation; it has room for 256", refusalFor("flash_decode columns=4 keys=512"));
}

class Candidates : public testing::TestWithParam<FakeDevice> {};

// Every candidate makes a plan, within the limits and with the tile that was asked for; the first is what is built in.
TEST_P(Candidates, OfAttentionRunWithinTheLimits) {
  const core::DeviceFacts& facts = GetParam().facts;
  for (const SaccadeDtype dtype : {SACCADE_DTYPE_F32, SACCADE_DTYPE_F16}) {
    for (const int64_t headDim : {16, 64, 128, 256}) {
      for (const int64_t seqlenQ : {1, 197}) {
        SaccadeAttentionDesc desc = attentionDesc(
            {.batch = 1, .headsQ = 8, .headsKv = 2, .seqlenQ = seqlenQ, .seqlenK = 1000, .headDimQk = headDim, .headDimV = headDim}, dtype);
        const core::AttentionProblem problem = core::validateAttention(desc);
        const std::vector<std::string> candidates = core::attentionCandidates(facts, problem);
        EXPECT_EQ(candidates.front(), core::planAttention(facts, problem, "").tile);
        EXPECT_EQ(std::set<std::string>(candidates.begin(), candidates.end()).size(), candidates.size());
        EXPECT_GE(candidates.size(), 2u);
        for (const std::string& candidate : candidates) {
          EXPECT_LT(candidate.size(), sizeof SaccadeCandidate::kernel);
          desc.kernel = candidate.c_str();
          const core::PlanDraft plan = core::planAttention(facts, core::validateAttention(desc), "");
          EXPECT_EQ(plan.tile, candidate);
          for (const core::StepDraft& step : plan.steps) {
            EXPECT_LE(sharedMemoryBytes(*step.shader, step.specialisation), facts.maxComputeSharedMemorySize) << candidate;
            EXPECT_LE(step.specialisation[SPEC_LOCAL_SIZE], core::maxLocalSize(facts)) << candidate;
          }
        }
      }
    }
  }
}

TEST_P(Candidates, OfMatmulRunWithinTheLimits) {
  const core::DeviceFacts& facts = GetParam().facts;
  SaccadeMatmulDesc desc = saccadeMatmulDescDefault();
  desc.a = tensorDesc(SACCADE_DTYPE_F16, {1, 1, 197, 768});
  desc.b = tensorDesc(SACCADE_DTYPE_F16, {1, 1, 2304, 768});
  desc.out.dtype = SACCADE_DTYPE_F16;
  const core::MatmulProblem problem = core::validateMatmul(desc);
  const std::vector<std::string> candidates = core::matmulCandidates(facts, problem);
  EXPECT_EQ(candidates.front(), core::planMatmul(facts, problem, "").tile);
  for (const std::string& candidate : candidates) {
    desc.kernel = candidate.c_str();
    const core::PlanDraft plan = core::planMatmul(facts, core::validateMatmul(desc), "");
    EXPECT_EQ(plan.tile, candidate);
    EXPECT_LE(sharedMemoryBytes(*plan.steps.at(0).shader, plan.steps[0].specialisation), facts.maxComputeSharedMemorySize) << candidate;
  }
}

INSTANTIATE_TEST_SUITE_P(, Candidates, testing::ValuesIn(fakeDevices()),
                         [](const auto& instance) { return instance.param.name; });

SaccadeContextInfo tuningOf(SaccadeContextCreateInfo info, const std::string& file, std::string& ignored) {
  info.tuning = file.data();
  info.tuningSize = file.size();
  SaccadeContext context = nullptr;
  EXPECT_EQ(saccadeCreateContext(&info, &context, nullptr), SACCADE_OK);
  SaccadeContextInfo tuning{};
  saccadeGetContextInfo(context, &tuning);
  ignored = tuning.tuningIgnored;
  saccadeDestroyContext(context);
  return tuning;
}

TEST(ContextTuning, IsUsedOrIgnoredWithAMessage) {
  MockDriver driver;
  SaccadeContextCreateInfo info = driver.contextInfo();
  SaccadeContext plain = nullptr;
  ASSERT_EQ(saccadeCreateContext(&info, &plain, nullptr), SACCADE_OK);
  const SaccadeDeviceFacts facts = *saccadeGetDeviceFacts(plain);
  saccadeDestroyContext(plain);

  std::string ignored;
  EXPECT_EQ(tuningOf(info, "", ignored).tuningEntryCount, 0u);
  EXPECT_EQ(ignored, "");
  EXPECT_EQ(tuningOf(info, fileFor(facts).dump(), ignored).tuningEntryCount, 1u);
  EXPECT_EQ(ignored, "");
  EXPECT_EQ(tuningOf(info, "{\"format\"", ignored).tuningEntryCount, 0u);
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "tuning file ignored: it is not JSON: parse error", ignored);
  json other = fileFor(facts);
  other["device"]["driver_version"] = facts.driverVersion + 1;
  EXPECT_EQ(tuningOf(info, other.dump(), ignored).tuningEntryCount, 0u);
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "device.driver_version", ignored);
}

TEST(ContextCandidates, FollowTheCountPattern) {
  MockDriver driver;
  const SaccadeContextCreateInfo info = driver.contextInfo();
  SaccadeContext context = nullptr;
  ASSERT_EQ(saccadeCreateContext(&info, &context, nullptr), SACCADE_OK);
  const SaccadeAttentionDesc desc = vit();
  uint32_t count = 0;
  ASSERT_EQ(saccadeGetAttentionCandidates(context, &desc, &count, nullptr, nullptr), SACCADE_OK);
  ASSERT_GE(count, 2u);
  std::vector<SaccadeCandidate> all(count);
  ASSERT_EQ(saccadeGetAttentionCandidates(context, &desc, &count, all.data(), nullptr), SACCADE_OK);
  EXPECT_EQ(count, all.size());
  EXPECT_EQ(all.back().problem, keyOf(desc));
  EXPECT_NE(all.back().kernel[0], '\0');
  SaccadeCandidate one{};
  count = 1;
  ASSERT_EQ(saccadeGetAttentionCandidates(context, &desc, &count, &one, nullptr), SACCADE_OK);
  EXPECT_EQ(count, 1u);
  EXPECT_STREQ(one.kernel, all[0].kernel);

  SaccadeMessage message{};
  EXPECT_EQ(saccadeGetAttentionCandidates(context, &desc, nullptr, nullptr, &message), SACCADE_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(message.field, "count");
  SaccadeAttentionDesc wrong = desc;
  wrong.k.sizes[3] = 63;
  EXPECT_EQ(saccadeGetAttentionCandidates(context, &wrong, &count, nullptr, &message), SACCADE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(saccadeGetMatmulCandidates(context, nullptr, &count, nullptr, &message), SACCADE_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(message.field, "desc");
  saccadeDestroyContext(context);
}

}  // namespace
}  // namespace saccade::test
