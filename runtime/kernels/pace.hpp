// SPDX-License-Identifier: Apache-2.0
// How fast a pipeline works on this device, learnt from what the host measures, so that long work can be cut by time.
#pragma once

#include <algorithm>
#include <atomic>

namespace saccade::core {

// Milliseconds per unit of work (a floating-point operation, or a byte where there are more of those) of a device that nobody has
// measured: slow enough that the first run of something long does no harm, fast enough that cutting costs nothing.
constexpr double kUnknownCpuPace = 1e-7;
constexpr double kUnknownGpuPace = 2e-8;

// Lock-free; of two lessons at once one may be lost, and the next makes up for it.
class Pace {
 public:
  explicit Pace(double unknown) : milliseconds_(unknown) {}

  double millisecondsPerUnit() const { return milliseconds_.load(std::memory_order_relaxed); }

  // `measured` milliseconds per unit. A slower device is believed at once; a faster one bit by bit, because a dispatch that
  // is too long does harm and one that is too short does not. With `atLeast` the work may have been less than assumed.
  void learn(double measured, bool atLeast) {
    constexpr double kForgotten = 0.75;
    const double known = millisecondsPerUnit();
    const bool first = !learnt_.exchange(true, std::memory_order_relaxed);
    milliseconds_.store(std::max(measured, atLeast ? known : first ? 0.0 : known * kForgotten), std::memory_order_relaxed);
  }

 private:
  std::atomic<double> milliseconds_;
  std::atomic<bool> learnt_ = false;
};

}  // namespace saccade::core
