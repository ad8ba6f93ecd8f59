// SPDX-License-Identifier: Apache-2.0
// Refusals inside the core and how they leave it. Inside, a refusal is an exception that carries status, field
// and sentence; every C entry point turns it into a status and a SaccadeMessage, so none crosses the interface.
#pragma once

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <utility>

#include "api/log.hpp"
#include "saccade/saccade.h"
#include "text/formatted.hpp"

namespace saccade::core {

struct Refusal : std::exception {
  Refusal(SaccadeStatus status_, std::string field_, std::string text_)
      : status(status_), field(std::move(field_)), text(std::move(text_)) {}
  const char* what() const noexcept override { return text.c_str(); }

  SaccadeStatus status;
  std::string field;
  std::string text;
};

// A value that no device could accept.
template <class... Args>
[[noreturn]] void refuse(std::string field, std::format_string<Args...> format, Args&&... args) {
  throw Refusal(SACCADE_ERROR_INVALID_ARGUMENT, std::move(field), formatted(format, std::forward<Args>(args)...));
}

// Legal, but not here or not yet.
template <class... Args>
[[noreturn]] void refuseUnsupported(std::string field, std::format_string<Args...> format, Args&&... args) {
  throw Refusal(SACCADE_ERROR_UNSUPPORTED, std::move(field), formatted(format, std::forward<Args>(args)...));
}

// Turns a failing VkResult into a Refusal; `what` names the call and what it was for.
void checkVulkan(VkResult result, const char* what);

// As much of the text as there is room for.
template <std::size_t size>
void copyText(char (&target)[size], const std::string& text) {
  const std::size_t length = std::min(text.size(), size - 1);
  std::memcpy(target, text.data(), length);
  target[length] = '\0';
}

void writeMessage(SaccadeMessage* message, SaccadeStatus status, const std::string& field, const std::string& text);

// Runs the body of a C entry point. Refusals go to the log as well.
template <class Body>
SaccadeStatus guarded(SaccadeMessage* message, Body&& body, const Log* log = nullptr) noexcept {
  try {
    body();
    return SACCADE_OK;
  } catch (const Refusal& refusal) {
    if (log != nullptr) log->write(SACCADE_SEVERITY_DEBUG, "refused: {}", refusal.text);
    writeMessage(message, refusal.status, refusal.field, refusal.text);
    return refusal.status;
  } catch (const std::bad_alloc&) {
    writeMessage(message, SACCADE_ERROR_OUT_OF_MEMORY, {}, "out of host memory");
    return SACCADE_ERROR_OUT_OF_MEMORY;
  } catch (const std::exception& error) {
    writeMessage(message, SACCADE_ERROR_DRIVER, {}, error.what());
    return SACCADE_ERROR_DRIVER;
  }
}

}  // namespace saccade::core
