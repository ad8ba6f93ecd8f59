// SPDX-License-Identifier: Apache-2.0

/// \file
/// Modules made of Saccade's operators: multi-head attention, the pre-norm transformer block, the Vision
/// Transformer. They only record into a saccade::Stream, so what runtime.hpp says of order, errors and
/// lifetime holds for them too.
///
/// ~~~{.cpp}
/// nn::Vit vit = nn::Vit::load(device, "model.safetensors");
/// nn::Workspace workspace(device);
/// Tensor logits = Tensor::empty(device, Dtype::F32, {batch, vit.config().numClasses});
/// vit.forward(stream, workspace, images, {.logits = logits});
/// stream.wait();
/// ~~~
///
/// Modules are immutable once made: several threads may record one at once, each with a stream and a workspace
/// of its own. All tensors of a module and of a call have one dtype, F32, F16 or BF16, unless something else
/// is noted. Every function throws saccade::Error (InvalidArgument: a shape or dtype, named) and whatever the
/// operators throw.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <saccade/runtime.hpp>

/// Modules made of Saccade's operators: multi-head attention, transformer block, Vision Transformer.
namespace saccade::nn {

/// Memory for what a module computes on the way. A tensor of it is made when first asked for, grows when a
/// larger one is asked for, and is used again by every later call, so that a second forward of the same size
/// allocates nothing. For one stream at a time: calls that share a workspace run one after the other.
class SACCADE_RUNTIME_API Workspace {
 public:
  /// Allocates nothing yet.
  explicit Workspace(Device device) : device_(std::move(device)) {}

  /// A contiguous tensor over the memory that goes by `name`. Invalidates what was handed out under that name
  /// before.
  Tensor tensor(const std::string& name, Dtype dtype, const Shape& shape);

  /// The device that the memory is on.
  const Device& device() const noexcept { return device_; }

 private:
  Device device_;
  std::map<std::string, Tensor> memory_;
};

/// y = x weight^T + bias.
struct Linear {
  Tensor weight;     ///< [outputs, inputs], any strides
  Tensor bias = {};  ///< [outputs]; optional
};

/// Layer normalisation over the channels, with the learnt scale and shift.
struct LayerNorm {
  Tensor weight,         ///< [E]
      bias;              ///< [E]
  float epsilon = 1e-5f; ///< added to the variance
};

/// What a multi-head attention takes beside x and out.
struct MultiheadAttentionOptions {
  Tensor keysFrom = {};        ///< [B, Tk, Ekv]: keys and values are projections of it (cross-attention); absent: of x
  Tensor keyPaddingMask = {};  ///< U8 [B, Tk], non-zero: attend. Not together with `mask`
  Tensor mask = {};            ///< U8 [B or 1, num_heads or 1, Tq or 1, Tk or 1], non-zero: attend
  Tensor bias = {};            ///< of the same sizes, added to the scaled scores
  Causal causal = Causal::None;  ///< as in AttentionOptions
  Tensor residual = {};  ///< [B, Tq, E], added to the result
  Tensor probs = {};     ///< output [B, num_heads, Tq, Tk]: the attention weights
  /// Queries come from tokens queryBegin .. queryEnd-1 of x alone, and `out`, `residual` and `probs` have Tq =
  /// queryEnd - queryBegin; keys still come from all. With `causal` the range must hold the last token (BottomRight) or
  /// the first (TopLeft).
  std::int64_t queryBegin = 0,
      queryEnd = -1;  ///< the token after the last query; -1: queries to the last token
  std::string kernel = {};  ///< variant of the attention; empty: the planner's choice
};

/// Multi-head attention (Vaswani et al. 2017): out = out_proj(attention(q_proj(x), k_proj(y), v_proj(y))), y =
/// x or keysFrom. With head_dim_qk = q_proj outputs / num_heads and head_dim_v = v_proj outputs /
/// num_heads_kv, head h owns channels h * head_dim .. h * head_dim + head_dim - 1 of a projection;
/// softmax_scale is 1/sqrt(head_dim_qk). Query, key and value are strided views of the projections: nothing is
/// copied. A row that sees no key gives the bias of out_proj.
class SACCADE_RUNTIME_API MultiheadAttention {
 public:
  /// One weight with the rows of Q, then K, then V: [(num_heads + 2 num_heads_kv) * head_dim, E]. numHeadsKv of 0 means
  /// numHeads. `out` is [Eout, num_heads * head_dim].
  static MultiheadAttention fused(Linear qkv, Linear out, std::int64_t numHeads, std::int64_t numHeadsKv = 0);
  /// A weight each for query [num_heads * head_dim_qk, E], key [num_heads_kv * head_dim_qk, Ekv] and value
  /// [num_heads_kv * head_dim_v, Ekv]. numHeadsKv of 0 means numHeads. `out` is [Eout, num_heads * head_dim_v].
  static MultiheadAttention separate(Linear query, Linear key, Linear value, Linear out, std::int64_t numHeads,
                                     std::int64_t numHeadsKv = 0);

  /// Query heads.
  std::int64_t numHeads() const noexcept { return numHeads_; }
  /// Key/value heads.
  std::int64_t numHeadsKv() const noexcept { return numHeadsKv_; }

  /// Records the module. x [B, Tq, E], out [B, Tq, Eout]; out shares no memory with the other tensors.
  void forward(Stream& stream, Workspace& workspace, const Tensor& x, const Tensor& out,
               const MultiheadAttentionOptions& options = {}) const;

 private:
  struct Heads {
    Tensor q, k, v;  ///< [B, H, T, D], views
  };

  MultiheadAttention(Linear query, Linear key, Linear value, Linear out, std::int64_t numHeads,
                     std::int64_t numHeadsKv);
  Heads project(Stream& stream, Workspace& workspace, const Tensor& queries, const Tensor& keys) const;

  Linear fused_;                ///< absent if the projections are separate
  Linear query_, key_, value_;  ///< parts of fused_ if that is there
  Linear out_;
  std::int64_t numHeads_ = 0, numHeadsKv_ = 0;
};

/// A pre-norm block: x + attention(norm1(x)), then that + fc2(activation(fc1(norm2(that)))).
struct SACCADE_RUNTIME_API TransformerBlock {
  LayerNorm norm1;               ///< before the attention
  MultiheadAttention attention;  ///< from E to E channels
  LayerNorm norm2;               ///< before the MLP
  Linear fc1,                    ///< [mlp, E]
      fc2;                       ///< [E, mlp]
  Activation activation = Activation::Gelu;  ///< between fc1 and fc2

  /// Records the block. x and out [B, T, E]; they may be the same tensor, which then is updated in place. Of the options,
  /// `residual` is the block's own and must be absent; with a range of queries out has as many tokens as the
  /// range and must not share memory with x.
  void forward(Stream& stream, Workspace& workspace, const Tensor& x, const Tensor& out,
               const MultiheadAttentionOptions& options = {}) const;
};

/// The sizes of a Vision Transformer, and what its pictures must look like.
struct VitConfig {
  std::int64_t imageSize = 0;  ///< side of the pictures that the stored position embeddings are for
  std::int64_t channels = 0;    ///< of a picture
  std::int64_t patchSize = 0;   ///< side of a patch, in pixels
  std::int64_t embedDim = 0;    ///< channels of a token, E
  std::int64_t depth = 0;       ///< blocks
  std::int64_t numHeads = 0;    ///< heads of each block
  std::int64_t mlpDim = 0;      ///< channels between fc1 and fc2
  std::int64_t numClasses = 0;  ///< 0: a backbone without a head
  double epsilon = 1e-6;        ///< of every layer norm
  Activation activation = Activation::Gelu;  ///< of every block

  /// How pictures with values in 0..1 become input: (value - mean) / std, per channel.
  std::vector<double> mean,
      std;  ///< see mean
  std::vector<std::string> classNames;   ///< empty, or numClasses of them
  std::vector<std::string> assumptions;  ///< what the file did not say and how it was filled in, for the user
};

/// The weights on the device.
struct VitWeights {
  Linear patch;                    ///< weight [E, C, patchSize, patchSize]
  std::vector<float> classToken;   ///< [E]; host memory, as positions, because they are combined per picture size
  std::vector<float> positions;    ///< [1 + N, E]: of the class token, then of N = (imageSize / patchSize)^2 patches
  std::vector<TransformerBlock> blocks;  ///< depth of them
  LayerNorm norm;  ///< after the last block
  Linear head;  ///< [numClasses, E]; absent without classes
};

/// What a forward computes: the tensors that are given are written, and nothing is computed that none of them
/// needs. T = 1 + number of patches; token 0 is the class token.
struct VitOutputs {
  Tensor logits = {};          ///< [B, numClasses]: head(norm(class token))
  Tensor features = {};        ///< [B, E]: norm(class token)
  Tensor tokens = {};          ///< [B, T, E]: norm(all tokens)
  Tensor classAttention = {};  ///< [B, num_heads, T]: the class token's weights in the last block
  std::map<std::int64_t, Tensor> probs = {};  ///< by number of block: all weights [B, num_heads, T, T]
  Tensor states = {};          ///< [depth + 1, B, T, E]: before the first block, and after each
};

/// Vision Transformer (Dosovitskiy et al. 2021) with a class token and learned positions, as timm's
/// VisionTransformer, or DINOv2 (Oquab et al. 2023). A cheap handle: copies share the weights.
class SACCADE_RUNTIME_API Vit {
 public:
  /// A safetensors file with the names of timm's VisionTransformer or of Hugging Face's Dinov2Model. Computes
  /// in `dtype`, whatever the file holds. Throws Error InvalidArgument for a file that cannot be read or whose
  /// tensors (named) are missing or misshapen.
  static Vit load(const Device& device, const std::filesystem::path& path, Dtype dtype = Dtype::F32);

  /// From weights that are on the device already.
  Vit(const Device& device, VitConfig config, VitWeights weights);

  /// As the file said, or as given.
  const VitConfig& config() const noexcept;
  /// The dtype that it computes in.
  Dtype dtype() const noexcept;

  /// Records the forward pass of a batch of pictures. images [B, C, H, W], normalised; H and W are multiples of patchSize. If there are other numbers of
  /// patches than the stored positions are for, those are resized bicubically (a = -0.75, align_corners false,
  /// no antialiasing), once per size. `attentionKernel`: variant of the attention; empty: the planner's
  /// choice.
  void forward(Stream& stream, Workspace& workspace, const Tensor& images, const VitOutputs& outputs,
               const std::string& attentionKernel = {}) const;

 private:
  struct State;

  void checkCall(const Tensor& images, const VitOutputs& outputs) const;

  std::shared_ptr<const State> state_;
};

}  // namespace saccade::nn
