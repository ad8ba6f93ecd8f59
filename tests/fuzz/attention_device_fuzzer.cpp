// SPDX-License-Identifier: Apache-2.0
// Legal attention descriptions, run on the device that SACCADE_DEVICE names: what they write must agree with the scalar
// path, and nothing around it may change. Device arrays (lengths, block tables) may hold anything.
#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <saccade/runtime.hpp>
#include <vector>

#include "api/message.hpp"
#include "attention/problem.hpp"
#include "attention_description.hpp"
#include "fuzz.hpp"
#include "io/special_values.hpp"
#include "reference/attention.hpp"
#include "reference/compare.hpp"
#include "reference/tolerance.hpp"

namespace saccade::fuzz {
namespace {

using io::DType;
using io::TensorData;
using Random = std::minstd_rand;

constexpr std::uint64_t kMostElements = 1 << 16;  // of a tensor with its gaps
constexpr std::uint32_t kRuns = 8;                // of one description, whose pipelines take longer than that

DType ioDtype(SaccadeDtype dtype) {
  switch (dtype) {
    case SACCADE_DTYPE_F16: return DType::F16;
    case SACCADE_DTYPE_BF16: return DType::BF16;
    case SACCADE_DTYPE_U8: return DType::U8;
    case SACCADE_DTYPE_I32: return DType::I32;
    case SACCADE_DTYPE_F8E4M3: return DType::F8_E4M3;
    case SACCADE_DTYPE_I8: return DType::I8;
    default: return DType::F32;
  }
}

// A tensor of the description on the device: all of its memory with margins, and the view of its elements.
struct Array {
  Tensor memory, view;
  std::vector<double> values;  // of an input: all of its memory

  explicit operator bool() const { return static_cast<bool>(memory); }
};

std::uint64_t extentOf(const core::Tensor& tensor) {
  return std::max<std::uint64_t>(tensor.bytes() / std::max(core::dtypeBytes(tensor.dtype), 1u), 1);
}

Tensor viewOf(const Tensor& memory, const core::Tensor& tensor) {
  Shape shape(tensor.sizes.begin(), tensor.sizes.end());
  std::vector<std::int64_t> strides(tensor.strides.begin(), tensor.strides.end());
  for (std::size_t axis = 0; axis < 4; axis++) {
    if (shape[axis] <= 1) {
      strides[axis] = 1;  // never counts, and four strides of 0 would stand for contiguous ones
    }
  }
  return memory.asStrided(shape, strides);
}

// Multiples of 1/8 between -2 and 2; wild: some NaN and infinities among them.
double pickValue(Random& random, bool wild) {
  constexpr double special[] = {kNan, kInfinity, -kInfinity};
  if (wild && random() % 32 == 0) {
    return special[random() % 3];
  }
  return (static_cast<int>(random() % 33) - 16) / 8.0;
}

// What an integer of 8 bits can hold.
double pickInt8(Random& random, bool) { return static_cast<int>(random() % 256) - 128; }

// Around 1/16, some negative; wild: some NaN and infinities among them.
double pickScale(Random& random, bool wild) {
  return wild && random() % 32 == 0 ? pickValue(random, true) * kInfinity
                                    : (static_cast<int>(random() % 16) - 3) / 128.0;
}

class DeviceRun {
 public:
  DeviceRun(const Device& device, const core::AttentionProblem& problem, std::uint32_t seed)
      : device_(device), problem_(problem), random_(seed), wild_(random_() % 8 == 0) {}

  void run(const std::string& kernel) {
    place();
    options_.kernel = kernel;
    Stream stream(device_);
    try {
      stream.attention(q_.view, k_.view, v_.view, out_.view, options_);
    } catch (const Error& error) {
      require(error.status() == Status::Unsupported, std::string("a legal description runs: ") + error.what());
      return;
    }
    stream.wait();
    requireNothingElseWritten();
    if (comparable_) {
      compare();
    }
  }

 private:
  Array input(const core::Tensor& tensor, double (*pick)(Random&, bool)) {
    Array array;
    if (!tensor.present()) {
      return array;
    }
    std::vector<double> values(extentOf(tensor));
    for (double& value : values) {
      value = pick(random_, wild_);
    }
    const auto extent = static_cast<std::int64_t>(values.size());
    const TensorData data = TensorData::fromDoubles(ioDtype(tensor.dtype), {extent}, values);
    array.values = data.toDoubles();
    array.memory = Tensor::fromBytes(device_, static_cast<Dtype>(tensor.dtype), {extent}, data.bytes(), {.guard = true});
    array.view = viewOf(array.memory, tensor);
    arrays_.push_back(array.memory);
    return array;
  }

  Array output(const core::Tensor& tensor) {
    Array array;
    if (tensor.present()) {
      array.memory = Tensor::empty(device_, static_cast<Dtype>(tensor.dtype), {static_cast<std::int64_t>(extentOf(tensor))},
                                   {.guard = true});
      array.view = viewOf(array.memory, tensor);
      arrays_.push_back(array.memory);
    }
    return array;
  }

  Tensor integers(const std::vector<std::int32_t>& values) {
    const Tensor tensor = Tensor::fromInts(device_, {static_cast<std::int64_t>(values.size())}, values, {.guard = true});
    arrays_.push_back(tensor);
    return tensor;
  }

  // Lengths up to `limit`, sometimes beyond it or below 0.
  std::vector<std::int32_t> pickLengths(std::uint32_t limit) {
    std::vector<std::int32_t> lengths(problem_.batch);
    for (std::int32_t& length : lengths) {
      length = random_() % 16 == 0 ? static_cast<std::int32_t>(random_()) - (1 << 30)
                                   : static_cast<std::int32_t>(random_() % (limit + 1));
    }
    return lengths;
  }

  // Offsets that rise from 0 to at most `total`, no step larger than `longest`; sometimes anything.
  std::vector<std::int32_t> pickOffsets(std::uint32_t total, std::uint32_t longest) {
    std::vector<std::int32_t> offsets(problem_.batch + std::size_t{1});
    for (std::size_t b = 1; b < offsets.size(); b++) {
      const auto left = total - static_cast<std::uint32_t>(offsets[b - 1]);
      offsets[b] = offsets[b - 1] + static_cast<std::int32_t>(random_() % (std::min(left, longest) + 1));
    }
    if (random_() % 8 == 0) {
      offsets[random_() % offsets.size()] = static_cast<std::int32_t>(random_()) - (1 << 30);
      comparable_ = false;  // the rules promise nothing but harmlessness then
    }
    return offsets;
  }

  void place() {
    const auto bit = [](Random& random, bool) { return random() % 3 == 0 ? 0.0 : static_cast<double>(random() % 255 + 1); };
    const auto slope = [](Random& random, bool) { return static_cast<double>(random() % 9) / 8; };
    const auto sink = [](Random& random, bool) { return pickValue(random, false); };
    const auto page = [](Random& random, bool) {
      return random() % 16 == 0 ? static_cast<double>(random()) - (1 << 30) : static_cast<double>(random() % 5);
    };
    q_ = input(problem_.q, pickValue);
    const auto pickKey = problem_.k.dtype == SACCADE_DTYPE_I8 ? pickInt8 : pickValue;
    k_ = input(problem_.k, pickKey);
    v_ = input(problem_.v, pickKey);
    kScale_ = input(problem_.kScale, pickScale);
    vScale_ = input(problem_.vScale, pickScale);
    mask_ = input(problem_.mask, bit);
    bias_ = input(problem_.bias, pickValue);
    alibi_ = input(problem_.alibiSlopes, slope);
    sink_ = input(problem_.sink, sink);
    table_ = input(problem_.blockTable, page);
    out_ = output(problem_.out);
    lse_ = output(problem_.lse);
    probs_ = output(problem_.probs);
    if (problem_.packed) {
      const bool paged = problem_.paged();
      lengthsQ_ = pickOffsets(problem_.seqlenQ, problem_.seqlenQ);
      lengthsK_ = pickOffsets(paged ? 1000 : problem_.seqlenK, problem_.seqlenK);
      options_.cuSeqlensQ = integers(lengthsQ_);
      options_.cuSeqlensK = integers(lengthsK_);
    }
    if (problem_.hasSeqlensQ) {
      options_.seqlensQ = integers(lengthsQ_ = pickLengths(problem_.seqlenQ));
    }
    if (problem_.hasSeqlensK) {
      options_.seqlensK = integers(lengthsK_ = pickLengths(problem_.seqlenK));
    }
    setOptions();
  }

  void setOptions() {
    options_.mask = mask_.view;
    options_.bias = bias_.view;
    options_.alibiSlopes = alibi_.view;
    options_.sink = sink_.view;
    options_.blockTable = table_.view;
    options_.kScale = kScale_.view;
    options_.vScale = vScale_.view;
    options_.scaleBlock = problem_.scaleBlock;
    options_.lse = lse_.view;
    options_.probs = probs_.view;
    options_.causal = problem_.topLeft ? Causal::TopLeft : Causal::None;
    options_.windowLeft = problem_.windowLeft;
    options_.windowRight = problem_.windowRight;
    options_.softmaxScale = problem_.scale;
    options_.softcap = problem_.softcap;
  }

  // Memory that is no element of a tensor is as it was before; outputs began as bytes of 0xff.
  void requireNothingElseWritten() const {
    for (const Tensor& memory : arrays_) {
      require(memory.guardsIntact(), "nothing is written outside of a tensor");
    }
    for (const Array* array : {&out_, &lse_, &probs_}) {
      if (*array) {
        requireGapsIntact(*array);
      }
    }
  }

  static void requireGapsIntact(const Array& array) {
    const std::vector<std::byte> bytes = array.memory.downloadBytes();
    const std::size_t size = bytes.size() / static_cast<std::size_t>(array.memory.elementCount());
    std::vector<bool> isElement(bytes.size() / size);
    const Shape& shape = array.view.shape();
    const std::vector<std::int64_t>& strides = array.view.strides();
    for (std::int64_t b = 0; b < shape[0]; b++) {
      for (std::int64_t h = 0; h < shape[1]; h++) {
        for (std::int64_t t = 0; t < shape[2]; t++) {
          for (std::int64_t c = 0; c < shape[3]; c++) {
            isElement[static_cast<std::size_t>(b * strides[0] + h * strides[1] + t * strides[2] + c * strides[3])] = true;
          }
        }
      }
    }
    for (std::size_t i = 0; i < bytes.size(); i++) {
      require(isElement[i / size] || bytes[i] == std::byte{0xff}, "the gaps in an output keep what they held");
    }
  }

  static reference::View4<double> referenceView(const Array& array, const core::Tensor& tensor) {
    reference::View4<double> view{array.values.data(), {}};
    std::copy(tensor.strides.begin(), tensor.strides.end(), view.strides.begin());
    return array ? view : reference::View4<double>{};
  }

  // The values of k or v that the scalar path takes: each element times its scale, at the same place in memory. Elements that share
  // memory may have different scales, so they lie one after the other here.
  reference::View4<double> scaled(const Array& array, const core::Tensor& tensor, const Array& scale, const core::Tensor& scaleTensor,
                                  std::vector<double>& memory) const {
    const reference::View4<double> from = referenceView(array, tensor);
    if (!scale) {
      return from;
    }
    const reference::View4<double> factors = referenceView(scale, scaleTensor);
    const auto& sizes = tensor.sizes;
    memory.clear();
    for (std::int64_t b = 0; b < sizes[0]; b++) {
      for (std::int64_t h = 0; h < sizes[1]; h++) {
        for (std::int64_t t = 0; t < sizes[2]; t++) {
          const double factor = factors.at(b, h, problem_.scaleBlock == 0 ? 0 : t / problem_.scaleBlock, 0);
          for (std::int64_t c = 0; c < sizes[3]; c++) {
            memory.push_back(from.at(b, h, t, c) * (std::isfinite(factor) ? factor : kNan));
          }
        }
      }
    }
    memory.push_back(0);
    return {memory.data(), {std::int64_t{sizes[1]} * sizes[2] * sizes[3], std::int64_t{sizes[2]} * sizes[3], sizes[3], 1}};
  }

  std::int32_t pageOf(std::int64_t b, std::int64_t block) const {
    const double entry = table_.values[static_cast<std::size_t>(b * problem_.blockTable.strides[2] + block)];
    return static_cast<std::int32_t>(std::clamp(entry, 0.0, static_cast<double>(problem_.paging.pages) - 1));
  }

  // Keys or values of a paged problem as the scalar path takes them: [B,Hkv,Tk,D], or packed tokens [totalK,Hkv,D].
  reference::View4<double> gathered(const reference::View4<double>& from, const core::Tensor& tensor, std::vector<double>& memory) const {
    const std::int64_t heads = problem_.numHeadsKv, channels = tensor.sizes[3], pageSize = problem_.paging.pageSize;
    const std::int64_t tokens = problem_.packed ? lengthsK_.back() : problem_.seqlenK;
    const std::int64_t entryTokens = problem_.packed ? 0 : tokens;
    memory.assign(static_cast<std::size_t>((problem_.packed ? 1 : problem_.batch) * tokens * heads * channels) + 1, 0.0);
    for (std::int64_t b = 0; b < problem_.batch; b++) {
      const auto entry = static_cast<std::size_t>(b);
      const std::int64_t first = problem_.packed ? lengthsK_[entry] : 0;
      const std::int64_t count = problem_.packed ? lengthsK_[entry + 1] - first : tokens;
      for (std::int64_t j = 0; j < count; j++) {
        for (std::int64_t h = 0; h < heads; h++) {
          const double* const row = from.row(pageOf(b, j / pageSize), h, j % pageSize);
          std::copy_n(row, channels, memory.data() + ((b * entryTokens + first + j) * heads + h) * channels);
        }
      }
    }
    return {memory.data(), {entryTokens * heads * channels, channels, heads * channels, 1}};
  }

  void compare() {
    reference::AttentionProblem p;
    p.batch = problem_.batch;
    p.numHeadsQ = problem_.numHeadsQ;
    p.numHeadsKv = problem_.numHeadsKv;
    p.seqlenQ = problem_.seqlenQ;
    p.seqlenK = problem_.packed && problem_.paged() ? lengthsK_.back() : problem_.seqlenK;
    p.headDimQk = problem_.headDimQk;
    p.headDimV = problem_.headDimV;
    p.q = referenceView(q_, problem_.q);
    std::vector<double> keys, values, scaledKeys, scaledValues;
    p.k = scaled(k_, problem_.k, kScale_, problem_.kScale, scaledKeys);
    p.v = scaled(v_, problem_.v, vScale_, problem_.vScale, scaledValues);
    if (problem_.paged()) {
      p.k = gathered(p.k, problem_.k, keys);
      p.v = gathered(p.v, problem_.v, values);
    }
    p.bias = referenceView(bias_, problem_.bias);
    const std::vector<std::uint8_t> mask(mask_.values.begin(), mask_.values.end());
    if (mask_) {
      p.mask = {mask.data(), referenceView(mask_, problem_.mask).strides};
    }
    (problem_.packed ? p.cuSeqlensQ : p.seqlensQ) = lengthsQ_;
    (problem_.packed ? p.cuSeqlensK : p.seqlensK) = lengthsK_;
    p.alibiSlopes = alibi_.values;
    p.alibiBatchStride = problem_.alibiSlopes.strides[2];
    p.sink = sink_.values;
    p.causal = problem_.topLeft ? io::Causal::TopLeft : io::Causal::None;
    p.windowLeft = problem_.windowLeft;
    p.windowRight = problem_.windowRight;
    p.softmaxScale = problem_.scale;
    p.softcap = problem_.softcap;
    const reference::AttentionResult wanted =
        reference::attention(p, probs_ ? reference::Probs::Store : reference::Probs::Skip);
    const DType storage = ioDtype(problem_.q.dtype);
    const reference::AttentionTolerances tolerances = reference::attentionTolerances(p, storage, wanted);
    requireEqual("out", problem_.packed ? out_.view.transpose(1, 2) : out_.view, wanted.out, tolerances.out);
    if (lse_) {
      requireEqual("lse", lse_.view, wanted.lse, tolerances.lse);
    }
    if (probs_) {
      const double rounding = storage == DType::F32 ? 0 : io::unitInLastPlace(storage, 1);
      requireEqual("probs", probs_.view, wanted.probs, {.absolute = tolerances.probs.absolute, .relative = rounding});
    }
  }

  static void requireEqual(const char* name, const Tensor& got, const std::vector<double>& expected,
                           const reference::TensorTolerance& tolerance) {
    const TensorData result(ioDtype(static_cast<SaccadeDtype>(got.dtype())), got.shape(), got.downloadBytes());
    const reference::TensorComparison comparison = reference::compareTensor(
        name, result, TensorData::fromDoubles(DType::F64, got.shape(), expected), tolerance);
    require(comparison.passed || comparison.compared == 0, std::string(name) + " agrees with the scalar path: " + comparison.reason);
  }

  Device device_;
  core::AttentionProblem problem_;
  Random random_;
  bool wild_;
  bool comparable_ = true;
  Array q_, k_, v_, kScale_, vScale_, mask_, bias_, alibi_, sink_, table_, out_, lse_, probs_;
  std::vector<std::int32_t> lengthsQ_, lengthsK_;
  std::vector<Tensor> arrays_;
  AttentionOptions options_;
};

bool isSmall(const core::AttentionProblem& problem) {
  const auto small = [](const core::Tensor& tensor) { return extentOf(tensor) <= kMostElements; };
  return small(problem.q) && small(problem.k) && small(problem.v) && small(problem.out) && small(problem.lse) &&
         small(problem.probs) && small(problem.mask) && small(problem.bias) && small(problem.kScale) && small(problem.vScale) && small(problem.blockTable) && problem.batch <= 64;
}

const Device& device() {
  static const Device* const opened = [] {
    try {
      return new Device(Device::open());  // never closed: libFuzzer leaves without a goodbye
    } catch (const Error& error) {
      require(false, std::string("there is a device: ") + error.what());
      std::abort();
    }
  }();
  return *opened;
}

}  // namespace
}  // namespace saccade::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace saccade;
  FuzzedDataProvider provider(data, size);
  const auto seed = provider.ConsumeIntegral<std::uint32_t>();
  constexpr const char* kernels[] = {"", "scalar_rows", "scalar_tiled"};
  const std::string kernel = provider.PickValueInArray(kernels);
  const SaccadeAttentionDesc desc = fuzz::describeLegalAttention(provider);
  core::AttentionProblem problem;
  try {
    problem = core::validateAttention(desc);
  } catch (const core::Refusal&) {
    return 0;  // what is legal is attention_plan's business
  }
  for (std::uint32_t run = 0; run < fuzz::kRuns && fuzz::isSmall(problem); run++) {
    fuzz::DeviceRun(fuzz::device(), problem, seed + run).run(kernel);
  }
  return 0;
}
