// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include <saccade/runtime.hpp>

#include "bench_probe_device.hpp"
#include "io/tensor_data.hpp"

namespace saccade::tool {

// What a device does at most: the roofs of its roofline (Williams, Waterman and Patterson 2009). Each is the best
// of several short runs of a shader that does nothing else.
struct DeviceLimits {
  double fp32Gflops = 0;              // multiply-adds of fp32
  std::optional<double> fp16Gflops;   // of fp16, where shaders may compute in it
  std::optional<double> matrixGflops; // of the matrix units, fp16 into fp32, in the best shape listed
  MatrixShape matrixShape;            // that shape
  double copyGbytesPerSecond = 0;     // read and written, memory to memory
  double readGbytesPerSecond = 0;     // read from memory

  double gbytesPerSecond() const;               // the larger one
  double gflops(io::DType dtype) const;         // the highest that operands of this dtype may use
  const char* unitOf(io::DType dtype) const;    // its name, e.g. "fp32 multiply-adds"
};

// Takes about a second on a CPU device. Throws Error.
DeviceLimits measureLimits(const Device& device);

// How near a row comes to the roof above its arithmetic intensity. More than 1 is possible where the data stay in
// a cache: the roof is that of memory.
struct Share {
  double ofRoof = 0;
  bool memoryBound = false;  // the roof there is that of memory
};
Share shareOf(const DeviceLimits& limits, io::DType dtype, double flops, double bytes, double seconds);

// "limits: 150 GFLOP/s of fp32 multiply-adds, ..."
std::string limitsText(const DeviceLimits& limits);

}  // namespace saccade::tool
