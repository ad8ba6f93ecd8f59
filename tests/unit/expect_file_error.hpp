// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <utility>

#include "io/file_error.hpp"

namespace saccade {

// Expects that `action` throws io::FileError and that its message contains each of `mentions`.
template <typename Action>
void expectFileError(Action action, std::initializer_list<std::string> mentions) {
  try {
    std::forward<Action>(action)();
    ADD_FAILURE() << "no FileError";
  } catch (const io::FileError& error) {
    for (const std::string& mention : mentions) {
      EXPECT_NE(std::string(error.what()).find(mention), std::string::npos)
          << "'" << mention << "' in: " << error.what();
    }
  }
}

}  // namespace saccade
