// SPDX-License-Identifier: Apache-2.0
// What the library says beside its statuses: to the host's callback, and to stderr as SACCADE_LOG asks.
#pragma once

#include <string>
#include <utility>

#include "saccade/saccade.h"
#include "text/formatted.hpp"

namespace saccade::core {

class Log {
 public:
  // Without a host's callback. Reads SACCADE_LOG.
  Log();
  // Refuses a severity that does not exist.
  explicit Log(const SaccadeContextCreateInfo& info);

  bool wants(SaccadeSeverity severity) const { return severity >= least_; }

  // Formats only what somebody wants to read. Thread-safe as far as the host's callback is; never throws.
  template <class... Args>
  void write(SaccadeSeverity severity, std::format_string<Args...> format, Args&&... args) const noexcept {
    if (!wants(severity)) return;
    try {
      deliver(severity, formatted(format, std::forward<Args>(args)...));
    } catch (...) {  // there is no memory for the message, or the callback threw
    }
  }

 private:
  void deliver(SaccadeSeverity severity, const std::string& text) const;

  SaccadeLogCallback callback_ = nullptr;
  void* userData_ = nullptr;
  int leastOfCallback_;
  int leastOfStderr_;
  int least_;
};

}  // namespace saccade::core
