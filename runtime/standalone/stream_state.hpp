// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <saccade/runtime.hpp>

#include "standalone/buffer.hpp"
#include "standalone/hazards.hpp"

namespace saccade {

struct Timestamp::Slot {
  const void* stream = nullptr;  // whose clock reading it is
  std::uint64_t submission = 0;  // 0: not submitted yet
  std::uint32_t query = 0;
  std::optional<std::uint64_t> ticks;  // once the submission has finished
};

}  // namespace saccade

namespace saccade::runtime {

class DeviceState;

// The command buffers of a stream: one that records, those that execute, and those that wait to be used
// again.
class StreamState {
 public:
  explicit StreamState(DeviceState& device);  // which must outlive it
  StreamState(const StreamState&) = delete;
  StreamState& operator=(const StreamState&) = delete;
  ~StreamState();

  DeviceState& device() { return device_; }

  // The command buffer to record into, after a barrier if `accesses` need one.
  VkCommandBuffer record(std::span<const Access> accesses);
  // Until what is being recorded has finished.
  void keep(std::shared_ptr<const void> object);
  // Device memory of at least `bytes` for one operator; the caller names it in its accesses. NULL for 0
  // bytes.
  std::shared_ptr<const Buffer> scratch(std::uint64_t bytes);

  // vkCmdFillBuffer and vkCmdCopyBuffer, with their hazards.
  void fillWords(const Buffer& buffer, std::uint64_t begin, std::uint64_t bytes, std::uint32_t word);
  void copyBytes(const Buffer& dst, const Buffer& src, std::span<const VkBufferCopy> regions,
                 std::span<const Access> accesses);

  // Whether a plan may take so long that the device should learn how long it does take.
  bool isWorthTiming(const Plan& plan) const;
  // Records with `record`, alone between two timestamps, and reports the time to the plan once it has run.
  void timed(PlanPtr plan, const std::function<void()>& record);

  void barrier();
  Timestamp timestamp();
  double milliseconds(const Timestamp& begin, const Timestamp& end);

  std::uint64_t submit();
  void wait(std::uint64_t submission);
  void discard() noexcept;  // what was recorded and not submitted

 private:
  struct TimedPlan {
    PlanPtr plan;
    Timestamp begin, end;
  };

  struct Recording {
    VkCommandPool pool = VK_NULL_HANDLE;
    VkCommandBuffer commands = VK_NULL_HANDLE;
    std::vector<VkQueryPool> queries;  // kQueriesPerPool each
    std::uint32_t queryCount = 0;
    std::uint64_t submission = 0;
    std::vector<std::shared_ptr<const void>> kept;
    std::vector<std::shared_ptr<Timestamp::Slot>> slots;
    std::vector<TimedPlan> timedPlans;
  };

  Recording& recording();
  std::unique_ptr<Recording> createRecording();
  void destroyRecording(Recording& recording) noexcept;
  void recordBarrier(VkCommandBuffer commands, VkPipelineStageFlags dstStages, VkAccessFlags dstAccess);
  void recycleFinished();
  void readTimestamps(Recording& recording);
  std::uint64_t ticksOf(const Timestamp& timestamp);
  double millisecondsBetween(std::uint64_t begin, std::uint64_t end) const;

  DeviceState& device_;
  VkSemaphore semaphore_ = VK_NULL_HANDLE;
  std::uint64_t lastSubmission_ = 0;
  std::unique_ptr<Recording> current_;
  std::deque<std::unique_ptr<Recording>> executing_;  // oldest first
  std::vector<std::unique_ptr<Recording>> idle_;
  Hazards hazards_;
  std::shared_ptr<Buffer> scratch_;
};

// Drops what was recorded on a shared stream if the call that recorded it fails.
class DiscardOnError {
 public:
  explicit DiscardOnError(StreamState& stream) : stream_(&stream) {}
  DiscardOnError(const DiscardOnError&) = delete;
  DiscardOnError& operator=(const DiscardOnError&) = delete;
  ~DiscardOnError() {
    if (stream_ != nullptr) stream_->discard();
  }
  void done() { stream_ = nullptr; }

 private:
  StreamState* stream_;
};

}  // namespace saccade::runtime
