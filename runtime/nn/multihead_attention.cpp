// SPDX-License-Identifier: Apache-2.0

#include <saccade/nn.hpp>
#include <utility>

#include "nn/checks.hpp"
#include "nn/projection.hpp"
#include "text/formatted.hpp"

namespace saccade::nn {

namespace {

void requireHeads(std::int64_t numHeads, std::int64_t numHeadsKv) {
  if (numHeads < 1) {
    refuse("num_heads", std::to_string(numHeads), "it must be at least 1");
  }
  if (numHeadsKv < 1 || numHeads % numHeadsKv != 0) {
    refuse("num_heads_kv", std::to_string(numHeadsKv), formatted("it must divide num_heads {}", numHeads));
  }
}

void requireMultiple(const Tensor& weight, const std::string& field, std::int64_t of) {
  requireShape(weight, field + ".weight", {-1, -1});
  if (weight.size(0) < 1 || weight.size(0) % of != 0) {
    refuse(field + ".weight", shapeText(weight.shape()), formatted("its rows must be a multiple of {}", of));
  }
}

// Channels begin .. of a projection [B, T, channels] as heads [B, H, T, head_dim].
Tensor asHeads(const Tensor& projection, std::int64_t begin, std::int64_t heads, std::int64_t headDim) {
  return projection
      .asStrided({projection.size(0), projection.size(1), heads, headDim},
                 {projection.strides()[0], projection.strides()[1], headDim, 1}, begin)
      .transpose(1, 2);
}

}  // namespace

MultiheadAttention::MultiheadAttention(Linear query, Linear key, Linear value, Linear out, std::int64_t numHeads,
                                       std::int64_t numHeadsKv)
    : query_(std::move(query)),
      key_(std::move(key)),
      value_(std::move(value)),
      out_(std::move(out)),
      numHeads_(numHeads),
      numHeadsKv_(numHeadsKv) {
  const std::int64_t headDimV = value_.weight.size(0) / numHeadsKv_;
  requireLinear(out_, "out", -1, numHeads_ * headDimV);
}

MultiheadAttention MultiheadAttention::fused(Linear qkv, Linear out, std::int64_t numHeads, std::int64_t numHeadsKv) {
  numHeadsKv = numHeadsKv == 0 ? numHeads : numHeadsKv;
  requireHeads(numHeads, numHeadsKv);
  requireMultiple(qkv.weight, "qkv", numHeads + 2 * numHeadsKv);
  requireLinear(qkv, "qkv", -1, -1);
  const std::int64_t headDim = qkv.weight.size(0) / (numHeads + 2 * numHeadsKv);
  const std::int64_t keys = numHeads * headDim;
  const std::int64_t values = keys + numHeadsKv * headDim;
  MultiheadAttention module(outputRange(qkv, 0, keys), outputRange(qkv, keys, values),
                            outputRange(qkv, values, qkv.weight.size(0)), std::move(out), numHeads, numHeadsKv);
  module.fused_ = std::move(qkv);
  return module;
}

MultiheadAttention MultiheadAttention::separate(Linear query, Linear key, Linear value, Linear out,
                                                std::int64_t numHeads, std::int64_t numHeadsKv) {
  numHeadsKv = numHeadsKv == 0 ? numHeads : numHeadsKv;
  requireHeads(numHeads, numHeadsKv);
  requireMultiple(query.weight, "query", numHeads);
  requireMultiple(value.weight, "value", numHeadsKv);
  const std::int64_t headDim = query.weight.size(0) / numHeads;
  requireLinear(query, "query", -1, -1);
  requireLinear(key, "key", numHeadsKv * headDim, -1);
  requireLinear(value, "value", -1, key.weight.size(1));
  return MultiheadAttention(std::move(query), std::move(key), std::move(value), std::move(out), numHeads, numHeadsKv);
}

MultiheadAttention::Heads MultiheadAttention::project(Stream& stream, Workspace& workspace, const Tensor& queries,
                                                      const Tensor& keys) const {
  const std::int64_t headDim = query_.weight.size(0) / numHeads_;
  const std::int64_t headDimV = value_.weight.size(0) / numHeadsKv_;
  const std::int64_t keysEnd = numHeadsKv_ * headDim;
  const auto apply = [&](const char* name, const Linear& linear, const Tensor& x) {
    const Tensor y = workspace.tensor(name, x.dtype(), {x.size(0), x.size(1), linear.weight.size(0)});
    nn::project(stream, linear, x, y);
    return y;
  };
  if (!fused_.weight) {
    return {asHeads(apply("attention.q", query_, queries), 0, numHeads_, headDim),
            asHeads(apply("attention.k", key_, keys), 0, numHeadsKv_, headDim),
            asHeads(apply("attention.v", value_, keys), 0, numHeadsKv_, headDimV)};
  }
  const std::int64_t queriesEnd = numHeads_ * headDim;
  const bool sameTokens = queries.shape() == keys.shape() && queries.storage() == keys.storage() &&
                          queries.offset() == keys.offset();
  if (sameTokens) {
    const Tensor qkv = apply("attention.qkv", fused_, queries);
    return {asHeads(qkv, 0, numHeads_, headDim), asHeads(qkv, queriesEnd, numHeadsKv_, headDim),
            asHeads(qkv, queriesEnd + keysEnd, numHeadsKv_, headDim)};
  }
  const Tensor kv = apply("attention.kv", outputRange(fused_, queriesEnd, fused_.weight.size(0)), keys);
  return {asHeads(apply("attention.q", query_, queries), 0, numHeads_, headDim),
          asHeads(kv, 0, numHeadsKv_, headDim), asHeads(kv, keysEnd, numHeadsKv_, headDim)};
}

void MultiheadAttention::forward(Stream& stream, Workspace& workspace, const Tensor& x, const Tensor& out,
                                 const MultiheadAttentionOptions& options) const {
  requireShape(x, "x", {-1, -1, query_.weight.size(1)});
  const Tensor& keys = options.keysFrom ? options.keysFrom : x;
  requireShape(keys, options.keysFrom ? "keysFrom" : "x", {x.size(0), -1, key_.weight.size(1)});

  const std::int64_t queryEnd = options.queryEnd == -1 ? x.size(1) : options.queryEnd;
  if (options.queryBegin < 0 || options.queryBegin > queryEnd || queryEnd > x.size(1)) {
    refuse("queryBegin .. queryEnd", formatted("{} .. {}", options.queryBegin, queryEnd),
           formatted("it must be a range of the {} tokens of x", x.size(1)));
  }
  if ((options.causal == Causal::BottomRight && queryEnd != x.size(1)) ||
      (options.causal == Causal::TopLeft && options.queryBegin != 0)) {
    refuse("causal", "given with a range of queries in the middle",
           "its diagonal stays in place only if bottom_right has the last queries and top_left the first");
  }
  const Tensor queries = x.slice(1, options.queryBegin, queryEnd);
  requireShape(out, "out", {x.size(0), queries.size(1), out_.weight.size(0)});
  if (options.residual) {
    requireShape(options.residual, "residual", out.shape());
  }

  AttentionOptions attention{.causal = options.causal, .mask = options.mask, .bias = options.bias,
                             .probs = options.probs, .kernel = options.kernel};
  if (options.keyPaddingMask) {
    if (options.mask) {
      refuse("keyPaddingMask", "given together with mask", "one of them is allowed: put the padding into the mask");
    }
    requireShape(options.keyPaddingMask, "keyPaddingMask", {x.size(0), keys.size(1)});
    attention.mask = options.keyPaddingMask.unsqueeze(1).unsqueeze(1);
  }

  const Heads heads = project(stream, workspace, queries, keys);
  const std::int64_t headDimV = heads.v.size(3);
  const Tensor context = workspace.tensor("attention.context", x.dtype(),
                                          {queries.size(0), queries.size(1), numHeads_ * headDimV});
  stream.attention(heads.q, heads.k, heads.v, asHeads(context, 0, numHeads_, headDimV), attention);
  nn::project(stream, out_, context, out, {.residual = options.residual});
}

}  // namespace saccade::nn
