// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace saccade::tool {

// A bar on stderr that shows how far long work is. Silent unless stderr is a terminal; gone once it is
// destroyed.
class ProgressBar {
 public:
  ProgressBar(std::string label, std::size_t total);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // One more of the total is done; `next` says what comes now.
  void advance(const std::string& next = "");
  // As many of the total are done as this.
  void finish(std::size_t done) { done_ = done; }
  // Removes the bar, for text that is to be printed in between; advance() draws it again.
  void clear();

 private:
  void draw(const std::string& next);

  std::string label_;
  std::size_t total_;
  std::size_t done_ = 0;
  bool enabled_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point lastDrawn_{};
};

}  // namespace saccade::tool
