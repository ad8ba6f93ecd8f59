// SPDX-License-Identifier: Apache-2.0
// ggml's flash attention as a contestant, on its CPU or Vulkan backend (GGML_PEER_BACKEND=CPU or Vulkan): query
// and output in fp32, K and V in fp16. The Vulkan backend adds up in fp16 unless it is asked for fp32, as
// llama.cpp does (GGML_PEER_SUMS=fp32), and leaves CPU devices out unless GGML_VK_VISIBLE_DEVICES names them.
#include <ggml-backend.h>
#include <ggml.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "contestant.hpp"

namespace {

using saccade::io::AttentionCase;

struct Free {
  void operator()(ggml_backend_t backend) const { ggml_backend_free(backend); }
  void operator()(ggml_context* context) const { ggml_free(context); }
  void operator()(ggml_backend_buffer_t buffer) const { ggml_backend_buffer_free(buffer); }
};

ggml_backend_dev_t deviceOf(const std::string& backend) {
  ggml_backend_load_all();
  for (std::size_t i = 0; i < ggml_backend_dev_count(); ++i) {
    ggml_backend_dev_t device = ggml_backend_dev_get(i);
    if (std::string(ggml_backend_dev_name(device)).starts_with(backend)) {
      return device;
    }
  }
  throw std::runtime_error("ggml has no " + backend + " backend with a device here");
}

// 0 where query i may look at key j, -infinity elsewhere: [B or 1, 1, Tq, Tk]; empty if every query sees all keys.
std::vector<ggml_fp16_t> maskOf(const AttentionCase& problem) {
  const bool causal = problem.causal != saccade::io::Causal::None;
  if (!causal && !problem.seqlensK) {
    return {};
  }
  const ggml_fp16_t visible = ggml_fp32_to_fp16(0),
                    hidden = ggml_fp32_to_fp16(-std::numeric_limits<float>::infinity());
  std::vector<ggml_fp16_t> mask;
  for (std::size_t b = 0; b < (problem.seqlensK ? problem.seqlensK->size() : 1); ++b) {
    const std::int64_t lengthK = problem.seqlensK ? (*problem.seqlensK)[b] : problem.seqlenK;
    const std::int64_t lengthQ = problem.seqlensQ ? (*problem.seqlensQ)[b] : problem.seqlenQ;
    for (std::int64_t i = 0; i < problem.seqlenQ; ++i) {
      for (std::int64_t j = 0; j < problem.seqlenK; ++j) {
        mask.push_back(j < lengthK && (!causal || j <= i + lengthK - lengthQ) ? visible : hidden);
      }
    }
  }
  return mask;
}

class GgmlContestant final : public saccade::peers::Contestant {
 public:
  GgmlContestant(const AttentionCase& problem, const std::string& backend, const std::string& sums, int threads)
      : problem_(problem),
        sums_(sums),
        device_(deviceOf(backend)),
        backend_(ggml_backend_dev_init(device_, nullptr)) {
    if (!backend_) {
      throw std::runtime_error("ggml cannot start its " + backend + " backend");
    }
    useThreads(threads);
    makeGraph();
    fill();
  }

  void run() override {
    if (ggml_backend_graph_compute(backend_.get(), graph_) != GGML_STATUS_SUCCESS) {
      throw std::runtime_error("ggml could not compute its graph");
    }
    ggml_backend_synchronize(backend_.get());
  }

  saccade::io::TensorMap result() override {
    std::vector<float> values(ggml_nelements(out_));
    ggml_backend_tensor_get(out_, values.data(), 0, ggml_nbytes(out_));
    // ggml's order is [B, Tq, Hq, D].
    std::vector<float> out(values.size());
    const std::size_t heads = problem_.numHeadsQ, seqlen = problem_.seqlenQ, width = problem_.headDimV;
    for (std::size_t row = 0; row < values.size() / width; ++row) {
      const std::size_t h = row % heads, i = row / heads % seqlen, b = row / heads / seqlen;
      std::copy_n(values.data() + row * width, width, out.data() + ((b * heads + h) * seqlen + i) * width);
    }
    return {{"out", saccade::io::TensorData::fromFloats(
                        saccade::io::DType::F32,
                        {problem_.batch, problem_.numHeadsQ, problem_.seqlenQ, problem_.headDimV}, out)}};
  }

  saccade::peers::Identity identity() const override {
    return {.name = "ggml",
            .version = ggml_version(),
            .device = ggml_backend_dev_description(device_),
            .driver = "",
            .note = sums_.empty() ? "K and V in fp16" : "K and V in fp16, sums in " + sums_,
            .pRounding = saccade::io::PRounding::Storage};
  }

 private:
  void useThreads(int threads) {
    ggml_backend_reg_t registry = ggml_backend_dev_backend_reg(device_);
    const auto set = reinterpret_cast<ggml_backend_set_n_threads_t>(
        ggml_backend_reg_get_proc_address(registry, "ggml_backend_set_n_threads"));
    if (set != nullptr) {
      set(backend_.get(), threads);
    }
  }

  void makeGraph() {
    const AttentionCase& p = problem_;
    context_.reset(ggml_init({16 * ggml_tensor_overhead() + ggml_graph_overhead(), nullptr, true}));
    q_ = ggml_new_tensor_4d(context_.get(), GGML_TYPE_F32, p.headDimQk, p.seqlenQ, p.numHeadsQ, p.batch);
    k_ = ggml_new_tensor_4d(context_.get(), GGML_TYPE_F16, p.headDimQk, p.seqlenK, p.numHeadsKv, p.batch);
    v_ = ggml_new_tensor_4d(context_.get(), GGML_TYPE_F16, p.headDimV, p.seqlenK, p.numHeadsKv, p.batch);
    maskValues_ = maskOf(p);
    if (!maskValues_.empty()) {
      mask_ = ggml_new_tensor_4d(context_.get(), GGML_TYPE_F16, p.seqlenK, p.seqlenQ, 1,
                                 p.seqlensK ? p.batch : 1);
    }
    const float scale = 1 / std::sqrt(static_cast<float>(p.headDimQk));
    out_ = ggml_flash_attn_ext(context_.get(), q_, k_, v_, mask_, scale, 0, 0);
    if (sums_ == "fp32" && !ggml_prec_set_acc(out_, GGML_PREC_F32)) {
      throw std::runtime_error("ggml cannot add up in fp32 here");
    }
    if (!ggml_backend_dev_supports_op(device_, out_)) {
      throw std::runtime_error("ggml's backend does not support this attention");
    }
    graph_ = ggml_new_graph(context_.get());
    ggml_build_forward_expand(graph_, out_);
    buffer_.reset(ggml_backend_alloc_ctx_tensors(context_.get(), backend_.get()));
    if (!buffer_) {
      throw std::runtime_error("ggml could not allocate its tensors");
    }
  }

  void fill() {
    const std::vector<float> q = problem_.q.toFloats();
    ggml_backend_tensor_set(q_, q.data(), 0, ggml_nbytes(q_));
    setHalf(k_, problem_.k);
    setHalf(v_, problem_.v);
    if (mask_ != nullptr) {
      ggml_backend_tensor_set(mask_, maskValues_.data(), 0, ggml_nbytes(mask_));
    }
  }

  static void setHalf(ggml_tensor* tensor, const saccade::io::TensorData& values) {
    const saccade::io::TensorData half = values.converted(saccade::io::DType::F16);
    ggml_backend_tensor_set(tensor, half.bytes().data(), 0, ggml_nbytes(tensor));
  }

  AttentionCase problem_;
  std::string sums_;
  ggml_backend_dev_t device_;
  std::unique_ptr<ggml_backend, Free> backend_;
  std::unique_ptr<ggml_context, Free> context_;
  std::unique_ptr<ggml_backend_buffer, Free> buffer_;
  ggml_tensor *q_ = nullptr, *k_ = nullptr, *v_ = nullptr, *mask_ = nullptr, *out_ = nullptr;
  std::vector<ggml_fp16_t> maskValues_;
  ggml_cgraph* graph_ = nullptr;
};

std::string environment(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

std::unique_ptr<saccade::peers::Contestant> make(const saccade::peers::Invitation& invitation) {
  return std::make_unique<GgmlContestant>(saccade::peers::comparedAttention(invitation.file),
                                          environment("GGML_PEER_BACKEND", "CPU"), environment("GGML_PEER_SUMS", ""),
                                          invitation.threads);
}

}  // namespace

int main(int argc, char** argv) { return saccade::peers::contest(argc, argv, make); }
