// SPDX-License-Identifier: Apache-2.0
// Tuning files, and kernels with tiles inside a file that is right otherwise: each is refused with a field's name, or plans
// can be made with what it says.
#include <string>

#include <nlohmann/json.hpp>

#include "api/message.hpp"
#include "attention/plan.hpp"
#include "fake_devices.hpp"
#include "fuzz.hpp"
#include "tune/tuning_table.hpp"

namespace saccade::fuzz {
namespace {

constexpr const char* kProblem = "attention f32 dqk64 dv64 tq256 tk256 heads8 group1";

const std::string kVersion = formatted("{}.{}.{}", SACCADE_VERSION_MAJOR, SACCADE_VERSION_MINOR, SACCADE_VERSION_PATCH);

core::AttentionProblem problem() {
  SaccadeAttentionDesc desc = saccadeAttentionDescDefault();
  desc.q = desc.k = desc.v = {SACCADE_DTYPE_F32, {1, 8, 200, 64}, {}};
  desc.out.dtype = SACCADE_DTYPE_F32;
  return core::validateAttention(desc);
}

void read(const std::string& file) {
  const core::DeviceFacts facts = test::cpuFacts();
  core::TuningTable table;
  try {
    table = core::readTuning(file, facts);
  } catch (const core::Refusal& refusal) {
    require(!refusal.field.empty() && refusal.text.starts_with("tuning file ignored: "), "a refusal names its field: " + refusal.text);
    return;
  }
  const core::PlanDraft plan = core::planAttention(facts, problem(), "", table);
  require(!plan.steps.empty() && plan.steps[0].groups > 0, "there is a plan: " + plan.reason);
}

std::string fileWith(const std::string& kernel) {
  nlohmann::json file = {{"format", "saccade tuning"}, {"version", 1}, {"library", kVersion}};
  const core::DeviceFacts facts = test::cpuFacts();
  file["device"] = {{"name", facts.deviceName}, {"vendor_id", 0}, {"device_id", 0}, {"driver_name", ""}, {"driver_info", ""}, {"driver_version", 0}};
  file["entries"] = {{{"problem", kProblem}, {"kernel", kernel}}};
  return file.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

}  // namespace
}  // namespace saccade::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  saccade::fuzz::read(text);
  saccade::fuzz::read(saccade::fuzz::fileWith(text));
  return 0;
}
