// SPDX-License-Identifier: Apache-2.0
#include "standalone/stream_state.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "standalone/device_state.hpp"
#include "text/formatted.hpp"

namespace saccade::runtime {
namespace {

constexpr std::uint32_t kQueriesPerPool = 64;
constexpr VkPipelineStageFlags kWorkStages =
    VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
constexpr VkAccessFlags kWorkWrites = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
constexpr VkAccessFlags kWorkAccess = kWorkWrites | VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_TRANSFER_READ_BIT;

}  // namespace

StreamState::StreamState(DeviceState& device) : device_(device) {
  VkSemaphoreTypeCreateInfo type{VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO};
  type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
  VkSemaphoreCreateInfo info{VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, &type};
  device_.check(device_.vk().vkCreateSemaphore(device_.handle(), &info, nullptr, &semaphore_),
                "create a semaphore");
}

StreamState::~StreamState() {
  try {
    wait(lastSubmission_);
  } catch (const Error&) {
    // A lost device executes nothing any more; whoever used the stream has been told.
  }
  if (current_) destroyRecording(*current_);
  for (auto& recording : executing_) destroyRecording(*recording);
  for (auto& recording : idle_) destroyRecording(*recording);
  device_.vk().vkDestroySemaphore(device_.handle(), semaphore_, nullptr);
}

std::unique_ptr<StreamState::Recording> StreamState::createRecording() {
  auto recording = std::make_unique<Recording>();
  VkCommandPoolCreateInfo pool{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
  pool.flags = VK_COMMAND_POOL_CREATE_TRANSIENT_BIT;
  pool.queueFamilyIndex = device_.queueFamily();
  device_.check(device_.vk().vkCreateCommandPool(device_.handle(), &pool, nullptr, &recording->pool),
                "create a command pool");
  VkCommandBufferAllocateInfo buffer{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
  buffer.commandPool = recording->pool;
  buffer.commandBufferCount = 1;
  const VkResult result =
      device_.vk().vkAllocateCommandBuffers(device_.handle(), &buffer, &recording->commands);
  if (result != VK_SUCCESS) destroyRecording(*recording);
  device_.check(result, "allocate a command buffer");
  return recording;
}

void StreamState::destroyRecording(Recording& recording) noexcept {
  for (VkQueryPool pool : recording.queries) device_.vk().vkDestroyQueryPool(device_.handle(), pool, nullptr);
  device_.vk().vkDestroyCommandPool(device_.handle(), recording.pool, nullptr);
}

StreamState::Recording& StreamState::recording() {
  if (current_) return *current_;
  device_.checkUsable();
  recycleFinished();
  std::unique_ptr<Recording> next;
  if (idle_.empty()) {
    next = createRecording();
  } else {
    next = std::move(idle_.back());
    idle_.pop_back();
  }
  VkCommandBufferBeginInfo begin{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  const VkResult result = device_.vk().vkBeginCommandBuffer(next->commands, &begin);
  if (result != VK_SUCCESS) destroyRecording(*next);
  device_.check(result, "begin a command buffer");
  current_ = std::move(next);
  hazards_.clear();
  // Orders this submission after everything that was submitted to the queue before it.
  recordBarrier(current_->commands, kWorkStages, kWorkAccess);
  return *current_;
}

void StreamState::recordBarrier(VkCommandBuffer commands, VkPipelineStageFlags dstStages,
                                VkAccessFlags dstAccess) {
  VkMemoryBarrier barrier{VK_STRUCTURE_TYPE_MEMORY_BARRIER};
  barrier.srcAccessMask = kWorkWrites;
  barrier.dstAccessMask = dstAccess;
  device_.vk().vkCmdPipelineBarrier(commands, kWorkStages, dstStages, 0, 1, &barrier, 0, nullptr, 0, nullptr);
}

VkCommandBuffer StreamState::record(std::span<const Access> accesses) {
  Recording& target = recording();
  if (hazards_.add(accesses)) recordBarrier(target.commands, kWorkStages, kWorkAccess);
  return target.commands;
}

void StreamState::keep(std::shared_ptr<const void> object) { recording().kept.push_back(std::move(object)); }

std::shared_ptr<const Buffer> StreamState::scratch(std::uint64_t bytes) {
  if (bytes == 0) return nullptr;
  if (!scratch_ || scratch_->size() < bytes) {
    scratch_.reset();  // work that uses it keeps it
    scratch_ = std::make_shared<Buffer>(device_, bytes, BufferUse::Device);
  }
  return scratch_;
}

void StreamState::fillWords(const Buffer& buffer, std::uint64_t begin, std::uint64_t bytes,
                            std::uint32_t word) {
  const Access access{buffer.handle(), begin, begin + bytes, true};
  device_.vk().vkCmdFillBuffer(record({&access, 1}), buffer.handle(), begin, bytes, word);
}

void StreamState::copyBytes(const Buffer& dst, const Buffer& src, std::span<const VkBufferCopy> regions,
                            std::span<const Access> accesses) {
  const VkCommandBuffer commands = record(accesses);
  constexpr std::size_t kMostRegions = 1 << 16;
  for (std::size_t begin = 0; begin < regions.size(); begin += kMostRegions) {
    const auto part = regions.subspan(begin, std::min(kMostRegions, regions.size() - begin));
    device_.vk().vkCmdCopyBuffer(commands, src.handle(), dst.handle(),
                                 static_cast<std::uint32_t>(part.size()), part.data());
  }
}

bool StreamState::isWorthTiming(const Plan& plan) const {
  constexpr double kShareOfBudget = 0.25;
  return device_.timestampValidBits() > 0 && plan.info().estimatedMilliseconds >= kShareOfBudget * device_.dispatchBudget();
}

void StreamState::timed(PlanPtr plan, const std::function<void()>& record) {
  barrier();  // what runs beside it would count as its time
  const Timestamp begin = timestamp();
  record();
  recording().timedPlans.push_back({std::move(plan), begin, timestamp()});
}

void StreamState::barrier() {
  recordBarrier(recording().commands, kWorkStages, kWorkAccess);
  hazards_.clear();
}

std::uint64_t StreamState::submit() {
  if (!current_) return lastSubmission_;
  recordBarrier(current_->commands, VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
  DiscardOnError guard(*this);
  device_.check(device_.vk().vkEndCommandBuffer(current_->commands), "finish a command buffer");
  const std::uint64_t value = lastSubmission_ + 1;
  VkTimelineSemaphoreSubmitInfo timeline{VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO};
  timeline.signalSemaphoreValueCount = 1;
  timeline.pSignalSemaphoreValues = &value;
  VkSubmitInfo info{VK_STRUCTURE_TYPE_SUBMIT_INFO, &timeline};
  info.commandBufferCount = 1;
  info.pCommandBuffers = &current_->commands;
  info.signalSemaphoreCount = 1;
  info.pSignalSemaphores = &semaphore_;
  device_.submit(info);
  guard.done();
  lastSubmission_ = value;
  current_->submission = value;
  for (const auto& slot : current_->slots) slot->submission = value;
  executing_.push_back(std::move(current_));
  return value;
}

void StreamState::wait(std::uint64_t submission) {
  if (submission > lastSubmission_) {
    throw Error(
        Status::InvalidArgument, "submission",
        formatted("submission is {}, but this stream's last one is {}", submission, lastSubmission_));
  }
  if (submission == 0) return;
  device_.checkUsable();
  VkSemaphoreWaitInfo info{VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO};
  info.semaphoreCount = 1;
  info.pSemaphores = &semaphore_;
  info.pValues = &submission;
  device_.check(
      device_.vk().vkWaitSemaphores(device_.handle(), &info, std::numeric_limits<std::uint64_t>::max()),
      "wait for the device");
  recycleFinished();
}

void StreamState::discard() noexcept {
  if (current_) destroyRecording(*current_);
  current_.reset();
}

void StreamState::recycleFinished() {
  if (executing_.empty()) return;
  std::uint64_t finished = 0;
  device_.check(device_.vk().vkGetSemaphoreCounterValue(device_.handle(), semaphore_, &finished),
                "ask for progress");
  while (!executing_.empty() && executing_.front()->submission <= finished) {
    std::unique_ptr<Recording> recording = std::move(executing_.front());
    executing_.pop_front();
    readTimestamps(*recording);
    recording->kept.clear();
    recording->queryCount = 0;
    device_.check(device_.vk().vkResetCommandPool(device_.handle(), recording->pool, 0),
                  "reset a command pool");
    idle_.push_back(std::move(recording));
  }
}

Timestamp StreamState::timestamp() {
  if (device_.timestampValidBits() == 0) {
    throw Error(Status::Unsupported, "timestamp",
                formatted("the compute queue of {} has no clock", device_.summary().name));
  }
  Recording& target = recording();
  const std::uint32_t inPool = target.queryCount % kQueriesPerPool;
  const std::uint32_t poolIndex = target.queryCount / kQueriesPerPool;
  if (poolIndex == target.queries.size()) {
    VkQueryPoolCreateInfo info{VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO};
    info.queryType = VK_QUERY_TYPE_TIMESTAMP;
    info.queryCount = kQueriesPerPool;
    VkQueryPool pool = VK_NULL_HANDLE;
    device_.check(device_.vk().vkCreateQueryPool(device_.handle(), &info, nullptr, &pool),
                  "create a query pool");
    target.queries.push_back(pool);
  }
  const VkQueryPool pool = target.queries[poolIndex];
  if (inPool == 0) device_.vk().vkCmdResetQueryPool(target.commands, pool, 0, kQueriesPerPool);
  device_.vk().vkCmdWriteTimestamp(target.commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, pool, inPool);
  Timestamp timestamp;
  timestamp.slot_ = std::make_shared<Timestamp::Slot>();
  timestamp.slot_->stream = this;
  timestamp.slot_->query = target.queryCount++;
  target.slots.push_back(timestamp.slot_);
  return timestamp;
}

void StreamState::readTimestamps(Recording& recording) {
  for (const auto& slot : recording.slots) {
    std::uint64_t ticks = 0;
    const VkResult result = device_.vk().vkGetQueryPoolResults(
        device_.handle(), recording.queries[slot->query / kQueriesPerPool], slot->query % kQueriesPerPool, 1,
        sizeof ticks, &ticks, sizeof ticks, VK_QUERY_RESULT_64_BIT);
    if (result == VK_SUCCESS) slot->ticks = ticks;
  }
  recording.slots.clear();
  for (const TimedPlan& timed : recording.timedPlans) {
    const auto begin = timed.begin.slot_->ticks, end = timed.end.slot_->ticks;
    if (begin && end) timed.plan->reportTime(millisecondsBetween(*begin, *end));
  }
  recording.timedPlans.clear();
}

std::uint64_t StreamState::ticksOf(const Timestamp& timestamp) {
  if (!timestamp.slot_ || timestamp.slot_->stream != this) {
    throw Error(Status::InvalidArgument, "timestamp", "the timestamp is empty or belongs to another stream");
  }
  if (timestamp.slot_->submission == 0) {
    throw Error(Status::InvalidArgument, "timestamp",
                "the timestamp has not been submitted; call submit() first");
  }
  if (!timestamp.slot_->ticks) wait(timestamp.slot_->submission);
  if (!timestamp.slot_->ticks) {
    throw Error(Status::Driver, "timestamp",
                formatted("{} finished its work without writing the timestamp", device_.summary().name));
  }
  return *timestamp.slot_->ticks;
}

double StreamState::milliseconds(const Timestamp& begin, const Timestamp& end) {
  return millisecondsBetween(ticksOf(begin), ticksOf(end));
}

double StreamState::millisecondsBetween(std::uint64_t from, std::uint64_t to) const {
  const std::uint32_t bits = device_.timestampValidBits();
  const std::uint64_t mask = bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
  return static_cast<double>((to - from) & mask) * static_cast<double>(device_.facts().timestampPeriod) *
         1e-6;
}

}  // namespace saccade::runtime
