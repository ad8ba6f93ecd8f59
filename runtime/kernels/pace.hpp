// SPDX-License-Identifier: Apache-2.0
// How fast a pipeline works on this device, learnt from what the host measures, so that long work can be cut by time.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace saccade::core {

// Milliseconds per unit of work (a floating-point operation, or a byte where there are more of those) of a device that nobody has
// measured: slow enough that the first run of something long does no harm, fast enough that cutting costs nothing.
constexpr double kUnknownCpuPace = 1e-7;
constexpr double kUnknownGpuPace = 2e-8;

// Lock-free; of two lessons at once one may be lost, and the next makes up for it.
class Pace {
 public:
  explicit Pace(double unknown) : unknown_(unknown), milliseconds_(unknown) {}

  double millisecondsPerUnit() const { return milliseconds_.load(std::memory_order_relaxed); }

  // `measured` milliseconds per unit. A slower device is believed at once; a faster one bit by bit, because a dispatch that
  // is too long does harm and one that is too short does not. The second lesson takes the place of the first, which may have held the
  // driver's compiling. With `atLeast` the work may have been less than assumed.
  void learn(double measured, bool atLeast) {
    constexpr double kForgotten = 0.75;
    const bool early = lessons_.fetch_add(1, std::memory_order_relaxed) < 2;
    const double known = early ? unknown_ : millisecondsPerUnit();
    const double least = atLeast ? known : early ? 0.0 : known * kForgotten;
    milliseconds_.store(std::max(measured, least), std::memory_order_relaxed);
  }

 private:
  const double unknown_;
  std::atomic<double> milliseconds_;
  std::atomic<uint64_t> lessons_ = 0;
};

}  // namespace saccade::core
