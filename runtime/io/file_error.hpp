// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>

namespace saccade::io {

// A file that cannot be read, cannot be written, or does not hold what it must. what() is one sentence:
// "PATH: FIELD is VALUE, but ALLOWED".
class FileError : public std::runtime_error {
 public:
  // `field` names what is wrong ("header length", "shape of 'q'"), `value` what was found, `allowed` is a
  // clause that says what would be right ("the file has only 12 bytes").
  FileError(std::filesystem::path path, std::string field, std::string value, std::string allowed);

  // For a failed system call: `action` is a verb phrase ("open for reading"), `errorNumber` an errno value.
  static FileError fromErrno(std::filesystem::path path, const std::string& action, int errorNumber);

  const std::filesystem::path& path() const { return path_; }
  const std::string& field() const { return field_; }
  const std::string& value() const { return value_; }
  const std::string& allowed() const { return allowed_; }

 private:
  FileError(const std::string& message, std::filesystem::path path, std::string field, std::string value,
            std::string allowed);

  std::filesystem::path path_;
  std::string field_;
  std::string value_;
  std::string allowed_;
};

}  // namespace saccade::io
