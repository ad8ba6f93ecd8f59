// SPDX-License-Identifier: Apache-2.0
#include "io/file_error.hpp"
#include "text/formatted.hpp"

#include <system_error>
#include <utility>

namespace saccade::io {

FileError::FileError(std::filesystem::path path, std::string field, std::string value, std::string allowed)
    : FileError(formatted("{}: {} is {}, but {}", path.string(), field, value, allowed), path, field, value,
                allowed) {}

FileError::FileError(const std::string& message, std::filesystem::path path, std::string field,
                     std::string value, std::string allowed)
    : std::runtime_error(message),
      path_(std::move(path)),
      field_(std::move(field)),
      value_(std::move(value)),
      allowed_(std::move(allowed)) {}

FileError FileError::fromErrno(std::filesystem::path path, const std::string& action, int errorNumber) {
  const std::string reason = std::generic_category().message(errorNumber);
  return FileError(formatted("{}: cannot {}: {}", path.string(), action, reason), path, action, reason, "");
}

}  // namespace saccade::io
