// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "check/attention_call.hpp"
#include "check/check.hpp"

namespace saccade::check {

// The rows of a problem's outputs, numbered as in out: row r is out[r * Dv ...], and lse[lseIndex].
class ProbeRows {
 public:
  explicit ProbeRows(const io::AttentionCase& problem);

  std::size_t count() const { return rows_; }
  std::size_t row(std::int64_t b, std::int64_t h, std::int64_t i) const;
  std::size_t lseIndex(std::int64_t b, std::int64_t h, std::int64_t i) const;
  bool sees(std::size_t row, std::int64_t key) const {
    return visible_[row * keys_ + static_cast<std::size_t>(key)];
  }
  std::size_t visibleKeys(std::size_t row) const;

  template <typename Visit>
  void forEach(Visit visit) const {  // visit(b, h, i)
    for (std::int64_t b = 0; b < batch_; ++b) {
      for (std::int64_t h = 0; h < heads_; ++h) {
        for (std::int64_t i = 0; i < queries_; ++i) {
          visit(b, h, i);
        }
      }
    }
  }

 private:
  bool packed_;
  std::int64_t batch_, heads_, queries_;
  std::size_t rows_, keys_;
  std::vector<bool> visible_;
};

// A failure of one element for which no tolerance applies.
reference::TensorComparison differing(const std::string& tensor, const io::TensorData& got, std::size_t index,
                                      double expected, const std::string& what);

// The first element in which two runs that must be the same differ; passed if there is none. `what` says what
// was changed in between.
reference::TensorComparison compareBits(const std::string& tensor, const io::TensorData& got,
                                        const io::TensorData& expected, const std::string& what);

// All outputs of two runs.
std::vector<reference::TensorComparison> compareAllBits(const AttentionOutputs& got,
                                                        const AttentionOutputs& expected,
                                                        const std::string& what);

}  // namespace saccade::check
