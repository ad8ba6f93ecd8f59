// SPDX-License-Identifier: Apache-2.0
#include "check/attention_call.hpp"

#include <algorithm>
#include <cstring>
#include <span>

#include "check/attention_options.hpp"
#include "check/dtype.hpp"

namespace saccade::check {

namespace {

// Head h of token t of batch entry b, in [B,H,T,D] or, packed, [T,H,D].
std::span<const std::byte> rowOf(const io::TensorData& data, std::int64_t b, std::int64_t h, std::int64_t t) {
  const io::Shape& shape = data.shape();
  const std::int64_t row = shape.size() == 3 ? t * shape[1] + h : (b * shape[1] + h) * shape[2] + t;
  const std::size_t bytes = static_cast<std::size_t>(shape.back()) * io::dtypeSize(data.dtype());
  return data.bytes().subspan(static_cast<std::size_t>(row) * bytes, bytes);
}

// Elements of a case to a tensor [B,H,T,D], which for packed ones is [1,H,T,D].
void uploadRows(const Tensor& tensor, const io::TensorData& data) {
  (data.rank() == 3 ? tensor.transpose(1, 2) : tensor).uploadBytes(data.bytes());
}

Tensor stackedHeads(const Tensor& memory, std::int64_t first, std::int64_t count) {
  return memory.slice(2, first, first + count).transpose(1, 2);
}

void poison(const Tensor& tensor) {
  if (tensor) {
    tensor.uploadBytes(std::vector<std::byte>(
        static_cast<std::size_t>(tensor.elementCount()) * dtypeSize(tensor.dtype()), std::byte{0xff}));
  }
}

bool sameBytes(const io::TensorData& a, const io::TensorData& b) {
  return a.shape() == b.shape() &&
         std::equal(a.bytes().begin(), a.bytes().end(), b.bytes().begin(), b.bytes().end());
}

io::TensorData ints(const io::Shape& shape, const std::vector<std::int32_t>& numbers) {
  return io::TensorData::fromDoubles(io::DType::I32, shape,
                                     std::vector<double>(numbers.begin(), numbers.end()));
}

}  // namespace

bool sameBits(const AttentionOutputs& a, const AttentionOutputs& b) {
  return sameBytes(a.out, b.out) && sameBytes(a.lse, b.lse) && sameBytes(a.probs, b.probs);
}

AttentionCall::AttentionCall(const Device& device, const AttentionSample& sample, const std::string& kernel,
                             Gaps gaps)
    : device_(device), sample_(sample), tensors_(device, gaps), options_(attentionOptions(sample.problem)) {
  const io::AttentionCase& p = sample_.problem;
  const std::int64_t batch = p.packed ? 1 : p.batch;
  const Dtype dtype = deviceDtype(p.q.dtype());
  placeInputs();
  out_ = tensors_.output("out", dtype, {batch, p.numHeadsQ, p.seqlenQ, p.headDimV}, sample_.layout.out);
  placeOptions(kernel);
  if (sample_.lse) {
    options_.lse = tensors_.output("lse", Dtype::F32, {batch, p.numHeadsQ, p.seqlenQ});
  }
  if (sample_.probs) {
    options_.probs = tensors_.output("probs", dtype, {batch, p.numHeadsQ, p.seqlenQ, p.seqlenK});
  }
}

void AttentionCall::placeInputs() {
  const io::AttentionCase& p = sample_.problem;
  const AttentionLayout& layout = sample_.layout;
  const std::int64_t batch = p.packed ? 1 : p.batch;
  const Dtype dtype = deviceDtype(p.k.dtype());
  if (layout.packing == Packing::Qkv) {
    placeQkv();
  } else {
    q_ = tensors_.emptyInput("q", deviceDtype(p.q.dtype()), {batch, p.numHeadsQ, p.seqlenQ, p.headDimQk}, layout.q);
  }
  uploadRows(q_, p.q);
  const Shape kShape = {batch, p.numHeadsKv, p.seqlenK, p.headDimQk};
  const Shape vShape = {batch, p.numHeadsKv, p.seqlenK, p.headDimV};
  if (sample_.pages.pageSize > 0) {
    placePools();
  } else if (layout.packing == Packing::SharedKv && p.k.elementCount() > 0) {
    const auto shared = [&](const char* name, const io::TensorData& data, const Shape& shape, Layout where) {
      const Tensor one = tensors_.emptyInput(name, dtype, {1, 1, shape[2], shape[3]}, where);
      std::vector<std::byte> bytes;
      for (std::int64_t t = 0; t < shape[2]; ++t) {
        const auto row = rowOf(data, 0, 0, t);
        bytes.insert(bytes.end(), row.begin(), row.end());
      }
      one.uploadBytes(bytes);
      return one.expand(shape);
    };
    k_ = shared("k", p.k, kShape, layout.k);
    v_ = shared("v", p.v, vShape, layout.v);
    return;
  } else if (layout.packing != Packing::Qkv) {
    k_ = tensors_.emptyInput("k", dtype, kShape, layout.k);
    v_ = tensors_.emptyInput("v", dtype, vShape, layout.v);
  }
  uploadKeys(p.k, p.v);
}

void AttentionCall::placeQkv() {
  const io::AttentionCase& p = sample_.problem;
  const Tensor memory =
      tensors_.emptyMemory(deviceDtype(p.q.dtype()),
                           {p.packed ? 1 : p.batch, p.seqlenQ, p.numHeadsQ + 2 * p.numHeadsKv, p.headDimQk});
  q_ = stackedHeads(memory, 0, p.numHeadsQ);
  k_ = stackedHeads(memory, p.numHeadsQ, p.numHeadsKv);
  v_ = stackedHeads(memory, p.numHeadsQ + p.numHeadsKv, p.numHeadsKv);
  tensors_.watch("qkv", memory, {q_, k_, v_});
}

void AttentionCall::placePools() {
  const io::AttentionCase& p = sample_.problem;
  const PageTable& pages = sample_.pages;
  const Dtype dtype = deviceDtype(p.k.dtype());
  if (sample_.layout.packing == Packing::InterleavedKv) {
    const Tensor memory =
        tensors_.emptyMemory(dtype, {pages.poolPages, 2, pages.pageSize, p.numHeadsKv * p.headDimQk});
    const auto pool = [&](std::int64_t which) {
      return memory.select(1, which)
          .reshape({pages.poolPages, pages.pageSize, p.numHeadsKv, p.headDimQk})
          .transpose(1, 2);
    };
    k_ = pool(0);
    v_ = pool(1);
    tensors_.watch("kv", memory, {k_, v_});
    return;
  }
  const auto pool = [&](const char* name, std::int64_t headDim, Layout layout) {
    return tensors_.emptyInput(name, dtype, {pages.poolPages, p.numHeadsKv, pages.pageSize, headDim}, layout);
  };
  k_ = pool("k", p.headDimQk, sample_.layout.k);
  v_ = pool("v", p.headDimV, sample_.layout.v);
}

void AttentionCall::uploadKeys(const io::TensorData& k, const io::TensorData& v) {
  if (sample_.pages.pageSize > 0) {
    uploadPools(k, v);
  } else {
    uploadRows(k_, k);
    uploadRows(v_, v);
  }
}

// Slots that hold no key keep NaN, or 0 with Gaps::Zero.
void AttentionCall::uploadPools(const io::TensorData& k, const io::TensorData& v) {
  const io::AttentionCase& p = sample_.problem;
  const PageTable& pages = sample_.pages;
  const std::vector<std::int64_t> lengths = keyLengths(p);
  const auto upload = [&](const Tensor& pool, const io::TensorData& data, std::int64_t headDim) {
    const std::size_t rowBytes = static_cast<std::size_t>(headDim) * io::dtypeSize(data.dtype());
    std::vector<std::byte> image(static_cast<std::size_t>(pool.elementCount()) * io::dtypeSize(data.dtype()),
                                 tensors_.gap());
    for (std::int64_t b = 0; b < p.batch; ++b) {
      const auto index = static_cast<std::size_t>(b);
      const std::int64_t first = p.packed ? (*p.cuSeqlensK)[index] : 0;
      for (std::int64_t j = 0; j < lengths[index]; ++j) {
        const std::int64_t page =
            pages.entries[static_cast<std::size_t>(b * pages.maxPages + j / pages.pageSize)];
        for (std::int64_t h = 0; h < p.numHeadsKv; ++h) {
          const auto slot =
              static_cast<std::size_t>((page * p.numHeadsKv + h) * pages.pageSize + j % pages.pageSize);
          std::memcpy(image.data() + slot * rowBytes, rowOf(data, b, h, first + j).data(), rowBytes);
        }
      }
    }
    pool.uploadBytes(image);
  };
  upload(k_, k, p.headDimQk);
  upload(v_, v, p.headDimV);
}

// Of paged keys each page has the scales of its tokens, unless one serves all entries and tokens; slots without a key keep NaN, or 0
// with Gaps::Zero.
Tensor AttentionCall::placeScales(const char* name, const std::optional<io::TensorData>& scales) {
  if (!scales) {
    return {};
  }
  const io::AttentionCase& p = sample_.problem;
  const PageTable& pages = sample_.pages;
  const io::Shape& shape = scales->shape();
  if (pages.pageSize == 0 || (shape[0] == 1 && shape[2] == 1)) {
    return tensors_.input(name, *scales);
  }
  const std::int64_t tokens = shape[2] == 1 ? pages.pageSize : p.scaleBlock, blocks = pages.pageSize / tokens;
  std::vector<std::byte> image(static_cast<std::size_t>(pages.poolPages * shape[1] * blocks) * sizeof(float), tensors_.gap());
  const std::vector<std::int64_t> lengths = keyLengths(p);
  for (std::int64_t b = 0; b < p.batch; ++b) {
    const auto index = static_cast<std::size_t>(b);
    const std::int64_t first = p.packed ? (*p.cuSeqlensK)[index] : 0;
    for (std::int64_t j = 0; j < lengths[index]; j += tokens) {
      const std::int64_t page = pages.entries[static_cast<std::size_t>(b * pages.maxPages + j / pages.pageSize)];
      for (std::int64_t h = 0; h < shape[1]; ++h) {
        const std::int64_t from = ((shape[0] == 1 ? 0 : b) * shape[1] + h) * shape[2] + (shape[2] == 1 ? 0 : (first + j) / tokens);
        const std::int64_t to = (page * shape[1] + h) * blocks + j % pages.pageSize / tokens;
        std::memcpy(image.data() + static_cast<std::size_t>(to) * sizeof(float),
                    scales->bytes().data() + static_cast<std::size_t>(from) * sizeof(float), sizeof(float));
      }
    }
  }
  return tensors_.input(name, io::TensorData(io::DType::F32, {pages.poolPages, shape[1], blocks, 1}, std::move(image)));
}

void AttentionCall::placeOptions(const std::string& kernel) {
  const io::AttentionCase& p = sample_.problem;
  const AttentionLayout& layout = sample_.layout;
  const Layout scores = layout.keysFirst ? Layout::KeysFirst : Layout::Contiguous;
  options_.kernel = kernel;
  if (p.mask) {
    options_.mask = tensors_.input("mask", *p.mask, scores);
  }
  if (p.bias) {
    options_.bias = tensors_.input("bias", *p.bias, scores);
  }
  if (p.alibiSlopes) {
    options_.alibiSlopes = tensors_.input("alibi_slopes", *p.alibiSlopes);
  }
  if (p.sink) {
    options_.sink = tensors_.input("sink", *p.sink);
  }
  options_.kScale = placeScales("k_scale", p.kScale);
  options_.vScale = placeScales("v_scale", p.vScale);
  const auto placeInts = [&](const char* name, const std::optional<std::vector<std::int32_t>>& numbers,
                             Tensor& tensor, std::vector<std::int32_t>& host) {
    if (numbers) {
      tensor = tensors_.input(name, ints({static_cast<std::int64_t>(numbers->size())}, *numbers));
      host = layout.hostLengths ? *numbers : std::vector<std::int32_t>{};
    }
  };
  placeInts("seqlens_q", p.seqlensQ, options_.seqlensQ, options_.hostSeqlensQ);
  placeInts("seqlens_k", p.seqlensK, options_.seqlensK, options_.hostSeqlensK);
  placeInts("cu_seqlens_q", p.cuSeqlensQ, options_.cuSeqlensQ, options_.hostCuSeqlensQ);
  placeInts("cu_seqlens_k", p.cuSeqlensK, options_.cuSeqlensK, options_.hostCuSeqlensK);
  if (sample_.pages.pageSize > 0) {
    options_.blockTable =
        tensors_.input("block_table", ints({p.batch, sample_.pages.maxPages}, sample_.pages.entries));
    options_.hostBlockTable = layout.hostLengths ? sample_.pages.entries : std::vector<std::int32_t>{};
  }
}

std::string AttentionCall::run() {
  poison(out_);
  poison(options_.lse);
  poison(options_.probs);
  Stream stream(device_);
  const PlanPtr plan = stream.attention(q_, k_, v_, out_, options_);
  stream.wait();
  return plan->info().kernel;
}

AttentionOutputs AttentionCall::outputs() const {
  const io::AttentionCase& p = sample_.problem;
  AttentionOutputs outputs;
  outputs.out = p.packed ? download(out_.transpose(1, 2), {p.seqlenQ, p.numHeadsQ, p.headDimV})
                         : download(out_, out_.shape());
  if (sample_.lse) {
    outputs.lse = download(options_.lse, p.packed ? io::Shape{p.numHeadsQ, p.seqlenQ} : options_.lse.shape());
  }
  if (sample_.probs) {
    outputs.probs = download(options_.probs, options_.probs.shape());
  }
  return outputs;
}

}  // namespace saccade::check
