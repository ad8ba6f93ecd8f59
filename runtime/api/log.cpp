// SPDX-License-Identifier: Apache-2.0
#include "api/log.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "api/message.hpp"

namespace saccade::core {
namespace {

constexpr const char* kNames[] = {"debug", "info", "warning", "error", "off"};
constexpr int kOff = SACCADE_SEVERITY_ERROR + 1;

// The least severity that goes to stderr. Errors are misuse that would otherwise pass in silence.
int leastOfEnvironment(bool otherwiseHeard) {
  const char* value = std::getenv("SACCADE_LOG");
  for (int i = 0; value != nullptr && i <= kOff; i++) {
    if (std::string_view(value) == kNames[i]) return i;
  }
  const int least = otherwiseHeard ? kOff : SACCADE_SEVERITY_ERROR;
  if (value != nullptr && *value != '\0') {
    std::fprintf(stderr, "saccade: warning: SACCADE_LOG is '%s'; it must be debug, info, warning, error or off\n", value);
  }
  return least;
}

}  // namespace

Log::Log() : leastOfCallback_(kOff), leastOfStderr_(leastOfEnvironment(false)), least_(leastOfStderr_) {}

Log::Log(const SaccadeContextCreateInfo& info)
    : callback_(info.logCallback), userData_(info.logUserData),
      leastOfCallback_(info.logCallback != nullptr ? static_cast<int>(info.logSeverity) : kOff),
      leastOfStderr_(leastOfEnvironment(info.logCallback != nullptr)), least_(std::min(leastOfCallback_, leastOfStderr_)) {
  const int severity = static_cast<int>(info.logSeverity);
  if (severity < SACCADE_SEVERITY_DEBUG || severity > SACCADE_SEVERITY_ERROR) {
    refuse("logSeverity", "logSeverity is {}; it must be a SaccadeSeverity from SACCADE_SEVERITY_DEBUG to SACCADE_SEVERITY_ERROR", severity);
  }
}

void Log::deliver(SaccadeSeverity severity, const std::string& text) const {
  if (severity >= leastOfStderr_) std::fprintf(stderr, "saccade: %s: %s\n", kNames[severity], text.c_str());
  if (severity >= leastOfCallback_) callback_(userData_, severity, text.c_str());
}

}  // namespace saccade::core
