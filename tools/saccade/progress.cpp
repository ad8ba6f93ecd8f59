// SPDX-License-Identifier: Apache-2.0
#include "progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace saccade::tool {

namespace {

constexpr std::size_t kBarWidth = 30;  // columns of the bar
constexpr std::size_t kTextWidth = 36;
constexpr std::chrono::milliseconds kInterval{100};

}  // namespace

ProgressBar::ProgressBar(std::string label, std::size_t total)
    : label_(std::move(label)), total_(total), enabled_(isatty(STDERR_FILENO) != 0) {
  draw("");
}

ProgressBar::~ProgressBar() { clear(); }

void ProgressBar::advance(const std::string& next) {
  ++done_;
  const auto now = std::chrono::steady_clock::now();
  if (now - lastDrawn_ >= kInterval || done_ == total_) {
    lastDrawn_ = now;
    draw(next);
  }
}

void ProgressBar::clear() {
  if (drawn_) {
    std::fputs("\r\x1b[K", stderr);
    drawn_ = false;
  }
}

void ProgressBar::draw(const std::string& next) {
  if (!enabled_ || total_ == 0) {
    return;
  }
  const std::size_t filled = kBarWidth * std::min(done_, total_) / total_;
  fmt::print(stderr, "\r\x1b[K{} [{}{}] {}/{} {}", label_, std::string(filled, '#'),
             std::string(kBarWidth - filled, '.'), done_, total_, next.substr(0, kTextWidth));
  std::fflush(stderr);
  drawn_ = true;
}

}  // namespace saccade::tool
