// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <saccade/runtime.hpp>

#include "check/attention_sample.hpp"
#include "check/device_tensors.hpp"

namespace saccade::check {

// What a call wrote, in the shapes that the scalar path has: packed, out is [totalQ,Hq,Dv] and lse
// [Hq,totalQ].
struct AttentionOutputs {
  io::TensorData out;
  io::TensorData lse, probs;  // no elements unless the sample asks for them
};

// Bit for bit, NaN included.
bool sameBits(const AttentionOutputs& a, const AttentionOutputs& b);

// A sample on a device: its tensors, ready to run as often as one likes.
class AttentionCall {
 public:
  AttentionCall(const Device& device, const AttentionSample& sample, const std::string& kernel,
                Gaps gaps = Gaps::Nan);

  // Other keys and values of the same shapes. Not with Packing::SharedKv.
  void uploadKeys(const io::TensorData& k, const io::TensorData& v);

  // Fills the outputs with NaN, computes, waits. Returns the kernel that ran.
  std::string run();
  AttentionOutputs outputs() const;
  // Tensors outside which something was written.
  std::vector<std::string> overwritten() const { return tensors_.overwritten(); }

 private:
  void placeInputs();
  void placeQkv();
  void placePools();
  void placeOptions(const std::string& kernel);
  Tensor placeScales(const char* name, const std::optional<io::TensorData>& scales);
  void uploadPools(const io::TensorData& k, const io::TensorData& v);

  Device device_;
  AttentionSample sample_;
  DeviceTensors tensors_;
  Tensor q_, k_, v_, out_;
  AttentionOptions options_;
};

}  // namespace saccade::check
