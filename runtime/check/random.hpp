// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <numbers>
#include <vector>

namespace saccade::check {

// Random numbers that depend on nothing but a seed, a stream and how many were drawn: a counter put through
// the finaliser of SplitMix64 (Steele, Lea and Flood 2014).
class Random {
 public:
  Random(std::uint64_t seed, std::uint64_t stream) : key_(mix(mix(seed) + stream)) {}

  std::uint64_t bits() { return mix(key_ + kGolden * ++drawn_); }
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }  // [0, 1)
  std::int64_t below(std::int64_t limit) {
    return static_cast<std::int64_t>(uniform() * static_cast<double>(limit));
  }
  bool chance(double probability) { return uniform() < probability; }
  double normal() {  // Box and Muller 1958
    const double radius = std::sqrt(-2 * std::log(1 - uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }
  template <typename Value>
  Value pick(std::initializer_list<Value> values) {
    return values.begin()[below(static_cast<std::int64_t>(values.size()))];
  }
  std::vector<double> normals(std::size_t count, double deviation = 1) {
    std::vector<double> values(count);
    for (double& value : values) {
      value = deviation * normal();
    }
    return values;
  }

 private:
  static constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15;
  static std::uint64_t mix(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
  }

  std::uint64_t key_;
  std::uint64_t drawn_ = 0;
};

}  // namespace saccade::check
