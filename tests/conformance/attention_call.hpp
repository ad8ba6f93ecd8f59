// SPDX-License-Identifier: Apache-2.0
// One call of attention in a test: random inputs, a run on the device with guards all around, a comparison
// with the scalar path.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <saccade/runtime.hpp>

#include "check/device_tensors.hpp"
#include "conformance.hpp"
#include "io/attention_case.hpp"

namespace saccade::conformance {

struct AttentionSizes {
  std::int64_t batch = 1, headsQ = 1, headsKv = 1, seqlenQ = 1, seqlenK = 1, headDimQk = 16, headDimV = 16;
};

struct AttentionCall {
  io::AttentionCase values;  // every tensor contiguous
  std::string kernel;
  bool lse = true;
  bool probs = false;
  check::Layout layout = check::Layout::Contiguous;  // of q, k, v and out; not for packed or paged calls
  // K and V in pages of so many tokens, in no order, with spare ones between; 0: contiguous. Without lengths
  // or packed sequences, a multiple of seqlenK.
  std::int64_t pageSize = 0;
  // What the device's buffers hold instead of the lengths, or the offsets of packed sequences, in `values`.
  std::optional<std::vector<std::int32_t>> deviceSeqlensQ, deviceSeqlensK;
};

// q, k and v from N(0, 1); the same for the same seed.
AttentionCall randomCall(const AttentionSizes& sizes, const Variant& variant, unsigned seed = 1);

// Values from N(0, 1) in `dtype`.
io::TensorData randomTensor(io::DType dtype, const io::Shape& shape, unsigned seed);
// What quantising values from N(0, 1) by `scale` stores, in F8_E4M3 or I8.
io::TensorData randomStored(io::DType dtype, const io::Shape& shape, unsigned seed, float scale);
// Scales around `scale`, each its own.
io::TensorData randomScales(const io::Shape& shape, unsigned seed, float scale);
// 0 or 1, each with probability 1/2.
io::TensorData randomMask(const io::Shape& shape, unsigned seed);
// The same value throughout.
io::TensorData constantTensor(io::DType dtype, const io::Shape& shape, float value);
// A tensor [B,H,T,D] or [B,H,Tq,Tk] by a formula of its four indices.
using Formula = std::function<float(std::int64_t, std::int64_t, std::int64_t, std::int64_t)>;
io::TensorData tensorOf(io::DType dtype, const io::Shape& shape, const Formula& value);
// Turns q, k and v of a call of one batch entry into sequences that lie one after the other. The offsets are
// those of cu_seqlens_q and cu_seqlens_k.
void packSequences(AttentionCall& call, std::vector<std::int32_t> queries, std::vector<std::int32_t> keys);
// A copy in which `change` may alter the values.
io::TensorData changed(const io::TensorData& tensor, const std::function<void(std::vector<float>&)>& change);
// Sets rows [begin, end) of axis 2 of a [B,H,T,D] tensor, of batch entry b (-1: all), to `value`.
io::TensorData withRows(const io::TensorData& tensor, std::int64_t b, std::int64_t begin, std::int64_t end,
                        float value);

// The call's tensors in device memory, outputs holding NaN. A test may put other views in place of q, k and
// v.
struct PreparedCall {
  explicit PreparedCall(const Device& device) : tensors(device) {}
  check::DeviceTensors tensors;
  Tensor q, k, v, out;
  AttentionOptions options;
  bool packed = false;
  io::Shape outShape, rowShape, probsShape;
};

PreparedCall prepare(const Device& device, const AttentionCall& call);

struct AttentionResults {
  io::TensorData out;    // [B,Hq,Tq,Dv]; packed: [totalQ,Hq,Dv]
  io::TensorData lse;    // [B,Hq,Tq], if asked for; packed: [Hq,totalQ]
  io::TensorData probs;  // [B,Hq,Tq,Tk], if asked for
};

// Runs it and waits. Fails the test if something was written outside a tensor.
AttentionResults execute(const Device& device, PreparedCall& prepared);
AttentionResults execute(const Device& device, const AttentionCall& call);
AttentionResults downloadResults(const PreparedCall& prepared);

// Fails the test unless the results agree with the scalar path within tolerances computed from the inputs.
void expectRight(const AttentionCall& call, const AttentionResults& results, const std::string& what = "");
// Runs and compares.
void checkCall(const Device& device, const AttentionCall& call, const std::string& what = "");

// Bit for bit, NaN included.
void expectSameBits(const AttentionResults& got, const AttentionResults& expected, const std::string& what);
bool sameBits(const io::TensorData& a, const io::TensorData& b);
// Elements [row * width, (row + 1) * width), where the last axis has `width` elements.
bool sameRow(const io::TensorData& a, const io::TensorData& b, std::int64_t row, std::int64_t width);

}  // namespace saccade::conformance
