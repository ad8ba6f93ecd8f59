// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <filesystem>

#include <saccade/runtime.hpp>

#include "standalone/device_list.hpp"
#include "standalone/device_state.hpp"
#include "standalone/environment.hpp"
#include "standalone/instance.hpp"
#include "standalone/pipeline_cache_file.hpp"
#include "text/formatted.hpp"

namespace saccade {
namespace {

// The plan together with the device that it must not outlive.
struct HeldPlan {
  std::shared_ptr<runtime::DeviceState> device;
  std::shared_ptr<const Plan> plan;  // destroyed first
};

template <typename Desc>
PlanPtr heldPlan(const std::shared_ptr<runtime::DeviceState>& device, const Desc& desc) {
  device->checkUsable();
  auto held = std::make_shared<HeldPlan>(HeldPlan{device, device->plans().get(device->context(), desc)});
  const Plan* plan = held->plan.get();
  return {std::move(held), plan};
}

std::vector<DeviceSummary> summariesOf(const std::vector<runtime::ListedDevice>& devices) {
  std::vector<DeviceSummary> summaries;
  for (const runtime::ListedDevice& device : devices) summaries.push_back(device.summary);
  return summaries;
}

std::string noteOn(const DeviceSummary& device, const std::string& select) {
  if (!select.empty() || device.type != DeviceType::Cpu) return "";
  return formatted("no GPU that Saccade can use was found; {}, a CPU device, does the work", device.name);
}

std::filesystem::path cacheFolderOf(const DeviceOptions& options) {
  const std::string asked = options.cache.empty() ? runtime::environmentText("SACCADE_CACHE") : options.cache;
  if (asked == "off") return {};
  return asked.empty() ? runtime::defaultCacheFolder() : std::filesystem::path(asked);
}

void sayToUser(const std::string& message) { std::fputs(formatted("saccade: {}\n", message).c_str(), stderr); }

}  // namespace

std::vector<DeviceSummary> Device::list() {
  const runtime::Instance instance(false);
  return summariesOf(runtime::listDevices(instance));
}

Device Device::open(const DeviceOptions& options) {
  const std::string select =
      options.select.empty() ? runtime::environmentText("SACCADE_DEVICE") : options.select;
  const std::string kernel =
      options.kernel.empty() ? runtime::environmentText("SACCADE_KERNEL") : options.kernel;
  const std::string tuning =
      options.tuning.empty() ? runtime::environmentText("SACCADE_TUNING") : options.tuning;
  runtime::Instance instance(options.validation ? *options.validation
                                                : runtime::environmentSwitch("SACCADE_VALIDATION"));
  std::vector<runtime::ListedDevice> devices = runtime::listDevices(instance);
  runtime::ListedDevice& chosen = devices[chooseDevice(summariesOf(devices), select)];
  runtime::DeviceSettings settings{
      .kernel = kernel,
      .tuning = tuning,
      .note = noteOn(chosen.summary, select),
      .cacheFolder = cacheFolderOf(options),
      .say = options.onMessage ? options.onMessage : sayToUser,
      .dispatchBudget = options.dispatchBudget ? *options.dispatchBudget
                                               : runtime::environmentMilliseconds("SACCADE_DISPATCH_BUDGET", 100),
  };
  return Device(
      std::make_shared<runtime::DeviceState>(std::move(instance), std::move(chosen), std::move(settings)));
}

const DeviceSummary& Device::summary() const noexcept { return state_->summary(); }
const DeviceFacts& Device::facts() const noexcept { return state_->facts(); }
std::vector<KernelInfo> Device::kernels() const { return state_->context().kernels(); }
const Context& Device::context() const noexcept { return state_->context(); }
DeviceHandles Device::handles() const noexcept { return state_->handles(); }
const std::string& Device::tuningFile() const noexcept { return state_->tuningFile(); }
const std::string& Device::note() const noexcept { return state_->note(); }

MemoryStatistics Device::memory() const noexcept {
  return {.currentBytes = state_->memory().current(), .peakBytes = state_->memory().peak()};
}

void Device::resetPeakMemory() noexcept { state_->memory().resetPeak(); }

std::uint64_t Device::validationMessageCount() const noexcept {
  return state_->instance().validationMessageCount();
}
bool Device::validation() const noexcept { return state_->instance().validation(); }

PlanPtr Device::plan(const AttentionDesc& desc) const { return heldPlan(state_, desc); }
PlanPtr Device::plan(const MatmulDesc& desc) const { return heldPlan(state_, desc); }
PlanPtr Device::plan(const LayerNormDesc& desc) const { return heldPlan(state_, desc); }
PlanPtr Device::plan(const SoftmaxDesc& desc) const { return heldPlan(state_, desc); }
PlanPtr Device::plan(const ActivationDesc& desc) const { return heldPlan(state_, desc); }
PlanPtr Device::plan(const PatchEmbedDesc& desc) const { return heldPlan(state_, desc); }

void Device::waitIdle() const { state_->waitIdle(); }

}  // namespace saccade
