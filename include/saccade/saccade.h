/* SPDX-License-Identifier: Apache-2.0
 *
 * Saccade: attention for Vulkan. This header is the C API of the core library and its manual.
 *
 * The way of the data:
 *
 *   describe ──validate──▶ ──choose──▶ plan ──record──▶ VkCommandBuffer
 *
 * A host describes an operator (SaccadeAttentionDesc, SaccadeMatmulDesc, ...), creates a plan from it once and
 * records the plan into its own command buffers as often as it likes. Every refusal happens before anything is
 * recorded. Recording allocates nothing, submits nothing and waits for nothing: inputs, outputs and scratch
 * memory are device addresses that the host passes.
 *
 * Tensors. A SaccadeTensorDesc has four sizes and four strides in elements. Where an operator works on fewer
 * axes, its comment says which sizes are 1.
 *
 * Threads. A context may be used from several threads at once. A plan is immutable: any number of threads may
 * record it at once into different command buffers. Destroying a handle needs external synchronisation.
 *
 * Lifetime. Contexts outlive their plans. A plan outlives the execution of every command buffer into which it
 * was recorded: its parameters are read by the device.
 *
 * Synchronisation. Inputs must be visible to VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT with VK_ACCESS_SHADER_READ_BIT
 * before a recorded operator executes; outputs and scratch are written in that stage with
 * VK_ACCESS_SHADER_WRITE_BIT (and read, where scratch is in use). The barriers between the dispatches of one
 * operator are recorded with it; those before and after it are the host's. A recorded operator disturbs
 * the compute pipeline binding and the push constants (bytes 0 to 119) of the command buffer, nothing else.
 *
 * Errors. Functions that can fail return a SaccadeStatus and fill an optional SaccadeMessage, which names the
 * field, its value and what is allowed. No exception crosses this interface.
 */
#ifndef SACCADE_SACCADE_H_
#define SACCADE_SACCADE_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <vulkan/vulkan_core.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SACCADE_VERSION_MAJOR 0
#define SACCADE_VERSION_MINOR 1
#define SACCADE_VERSION_PATCH 0
#define SACCADE_VERSION VK_MAKE_API_VERSION(0, SACCADE_VERSION_MAJOR, SACCADE_VERSION_MINOR, SACCADE_VERSION_PATCH)

#if defined(_WIN32) && defined(SACCADE_SHARED)
#  ifdef SACCADE_BUILDING
#    define SACCADE_API __declspec(dllexport)
#  else
#    define SACCADE_API __declspec(dllimport)
#  endif
#elif defined(__GNUC__)
#  define SACCADE_API __attribute__((visibility("default")))
#else
#  define SACCADE_API
#endif

/* Status. */

typedef enum SaccadeStatus {
  SACCADE_OK = 0,
  SACCADE_ERROR_INVALID_ARGUMENT = 1,    /* a field has a value that no device could accept */
  SACCADE_ERROR_UNSUPPORTED = 2,         /* legal, but not on this device or not in this version */
  SACCADE_ERROR_DEVICE_REQUIREMENTS = 3, /* the device lacks a required feature, or the host did not enable it */
  SACCADE_ERROR_OUT_OF_MEMORY = 4,       /* host or device memory */
  SACCADE_ERROR_DEVICE_LOST = 5,         /* VK_ERROR_DEVICE_LOST; the context is of no further use */
  SACCADE_ERROR_DRIVER = 6               /* the driver failed otherwise, e.g. it could not create a pipeline */
} SaccadeStatus;

/* What was refused and why. Filled by every failing function that is given one; untouched on success. */
typedef struct SaccadeMessage {
  SaccadeStatus status;
  char field[64];  /* the field of the description, e.g. "head_dim_qk" or "k.strides"; "" if none */
  char text[960];  /* one sentence for people: field, value, what is allowed, the way out */
} SaccadeMessage;

/* SACCADE_VERSION of the library that is linked, which need not be the header's. Until 1.0 a library takes hosts that were
 * compiled with its own minor version and no other. */
SACCADE_API uint32_t saccadeGetVersion(void);

/* The name of a status, e.g. "invalid argument". Static storage; never NULL. */
SACCADE_API const char* saccadeGetStatusName(SaccadeStatus status);

/* Device. */

/* One thing that a host enables when it creates its VkInstance and VkDevice. All strings have static storage. */
typedef struct SaccadeRequirement {
  const char* name;       /* e.g. "bufferDeviceAddress", "VK_EXT_debug_utils" */
  const char* structName; /* the structure that the feature or version sits in, or "instance extension" */
  const char* buys;       /* what it is needed for */
  VkBool32 required;      /* VK_FALSE: recommended */
  VkBool32 available;     /* the physical device has it */
} SaccadeRequirement;

/* Lists what Saccade requires and recommends on a physical device; call it before vkCreateDevice.
 * With items NULL, *count receives the number of requirements; otherwise at most *count are written and
 * *count receives how many. Requires Vulkan 1.2 of the instance and the physical device; a missing required
 * feature is reported in the list, not as an error. */
SACCADE_API SaccadeStatus saccadeGetDeviceRequirements(VkInstance instance, VkPhysicalDevice physicalDevice,
                                                       PFN_vkGetInstanceProcAddr getInstanceProcAddr,
                                                       uint32_t* count, SaccadeRequirement* items,
                                                       SaccadeMessage* message);

/* What Saccade knows of a device: asked of the driver once, limited to what the host enabled. */
typedef struct SaccadeDeviceFacts {
  char deviceName[256];
  char driverName[256];
  char driverInfo[256];
  uint32_t vendorId;
  uint32_t deviceId;
  uint32_t driverVersion;
  uint32_t apiVersion; /* the lower one of device and host */
  uint32_t deviceType; /* VkPhysicalDeviceType */
  uint32_t subgroupSize;
  uint32_t minSubgroupSize;
  uint32_t maxSubgroupSize;
  uint32_t subgroupOperations; /* VkSubgroupFeatureFlags of compute shaders */
  VkBool32 subgroupSizeControl;
  uint32_t maxComputeSharedMemorySize; /* bytes */
  uint32_t maxComputeWorkGroupInvocations;
  uint32_t maxComputeWorkGroupSize[3];
  uint32_t maxComputeWorkGroupCount[3];
  uint32_t maxPushConstantsSize;        /* bytes */
  uint32_t maxStorageBufferRange;       /* bytes */
  uint64_t maxBufferSize;               /* bytes; 0 if the device does not say */
  uint64_t maxMemoryAllocationSize;     /* bytes */
  float timestampPeriod;                /* nanoseconds per tick */
  VkBool32 bufferDeviceAddress;
  VkBool32 shaderInt64;
  VkBool32 storageBuffer8BitAccess;
  VkBool32 storageBuffer16BitAccess;
  VkBool32 shaderFloat16;
  VkBool32 signedZeroInfNanPreserveFloat32;
  VkBool32 pipelineExecutableProperties;
} SaccadeDeviceFacts;

/* Opaque: a VkDevice of the host, as Saccade sees it, with its pipelines. */
typedef struct SaccadeContextT* SaccadeContext;

typedef enum SaccadeSeverity {
  SACCADE_SEVERITY_DEBUG = 0,   /* each pipeline with its time, each plan with its reasons or why it was refused */
  SACCADE_SEVERITY_INFO = 1,    /* each context, and what it would gain if the host enabled more */
  SACCADE_SEVERITY_WARNING = 2, /* works, but not as asked: a tuning file that is ignored */
  SACCADE_SEVERITY_ERROR = 3,   /* misuse that no status can report: a handle destroyed while in use */
  SACCADE_SEVERITY_MAX_ENUM = 0x7fffffff
} SaccadeSeverity;

/* Gets one message, a sentence without a line break at its end, which lives as long as the call. Called on the thread that
 * calls Saccade, or on one that it has made to create pipelines, several at once where several threads do; it must not call
 * Saccade. */
typedef void (*SaccadeLogCallback)(void* userData, SaccadeSeverity severity, const char* text);

typedef struct SaccadeContextCreateInfo {
  uint32_t structSize; /* sizeof(SaccadeContextCreateInfo) */
  uint32_t headerVersion; /* SACCADE_VERSION of the header that the host was compiled with */
  uint32_t apiVersion; /* VkApplicationInfo::apiVersion of the instance; at least VK_API_VERSION_1_2 */
  VkInstance instance;
  VkPhysicalDevice physicalDevice;
  VkDevice device; /* owned by the host; must outlive the context */
  PFN_vkGetInstanceProcAddr getInstanceProcAddr;      /* the only way in: the core links no loader */
  const VkPhysicalDeviceFeatures2* enabledFeatures;   /* with the pNext chain given to vkCreateDevice */
  uint32_t enabledExtensionCount;                     /* device extensions */
  const char* const* enabledExtensions;
  VkPipelineCache pipelineCache; /* optional; owned by the host; not VK_PIPELINE_CACHE_CREATE_EXTERNALLY_SYNCHRONIZED_BIT */
  const VkAllocationCallbacks* allocationCallbacks;   /* optional; copied, must stay valid */
  const char* kernel; /* optional: every plan uses this kernel variant or is refused (SACCADE_KERNEL of the tools); with the
                         fields of a tile behind it as in "scalar_rows keys=4", that tile or the plan is refused */
  const void* tuning; /* optional: the content of a tuning file, as `saccade tune` writes them. Read during the call. One that
                         is corrupt, of another device, driver or version has no effect: see SaccadeContextInfo::tuningIgnored */
  size_t tuningSize;  /* bytes */
  /* Milliseconds that one vkCmdDispatch should take at most, so that no watchdog of a driver or a desktop steps in: longer
   * work is cut into dispatches of fewer work-groups. > 0; INFINITY: never cut. See saccadeReportTime. */
  double dispatchBudget;
  /* VK_EXT_debug_utils is enabled on the instance: pipelines, buffers and memory of the context get names, and every recorded
   * operator is a labelled region, e.g. "saccade attention scalar_rows f32 B1 Hq12 ...". */
  VkBool32 debugUtils;
  /* Checks handles: use after destruction, a plan recorded into a command buffer of another device (as far as the Vulkan loader
   * tells devices apart), a plan destroyed while a thread records it. Costs a lock per call. The default function
   * switches it on where NDEBUG is not defined. */
  VkBool32 checkUse;
  /* Optional: messages of at least logSeverity. The environment variable SACCADE_LOG (debug, info, warning, error or off) prints
   * them to stderr as well; without either, errors alone are printed there. */
  SaccadeLogCallback logCallback;
  void* logUserData;
  SaccadeSeverity logSeverity; /* default: WARNING */
} SaccadeContextCreateInfo;

static inline SaccadeContextCreateInfo saccadeContextCreateInfoDefault(void) {
  SaccadeContextCreateInfo info;
  memset(&info, 0, sizeof info);
  info.structSize = (uint32_t)sizeof info;
  info.headerVersion = SACCADE_VERSION;
  info.apiVersion = VK_API_VERSION_1_2;
  info.dispatchBudget = 100.0;
  info.logSeverity = SACCADE_SEVERITY_WARNING;
#ifndef NDEBUG
  info.checkUse = VK_TRUE;
#endif
  return info;
}

/* Creates a context. Compiles nothing yet: pipelines are created with the first plan that needs them.
 * Errors: INVALID_ARGUMENT (a null handle, a structure of another version), DEVICE_REQUIREMENTS (names the missing feature), OUT_OF_MEMORY. */
SACCADE_API SaccadeStatus saccadeCreateContext(const SaccadeContextCreateInfo* info, SaccadeContext* context,
                                               SaccadeMessage* message);

/* NULL is allowed. All plans of the context must have been destroyed: while one exists, an error is logged and nothing
 * destroyed. */
SACCADE_API void saccadeDestroyContext(SaccadeContext context);

/* The facts that plans are made from. The pointer lives as long as the context. */
SACCADE_API const SaccadeDeviceFacts* saccadeGetDeviceFacts(SaccadeContext context);

/* A context explains itself. Strings and arrays live as long as the context. */
typedef struct SaccadeContextInfo {
  uint32_t gainCount;
  const SaccadeRequirement* gains; /* what the device has and the host did not enable, and what each would buy */
  uint32_t planCount;              /* plans that exist now */
  uint32_t tuningEntryCount;       /* problems for which the tuning file has a kernel; 0 without one and with one that was ignored */
  const char* tuningIgnored;       /* why it was ignored, naming the field; "" if it was not */
} SaccadeContextInfo;

/* Thread-safe and cheap: nothing is asked of the driver. */
SACCADE_API void saccadeGetContextInfo(SaccadeContext context, SaccadeContextInfo* info);

/* What a context has done so far. */
typedef struct SaccadeContextStatistics {
  uint64_t pipelinesCreated;   /* asked of the driver; plans that share one count once */
  uint64_t pipelineCacheHits;  /* of those: found in pipelineCache, as far as the driver says so (Vulkan 1.3) */
  double pipelineMilliseconds; /* spent in vkCreateComputePipelines, summed over threads */
} SaccadeContextStatistics;

/* Thread-safe and cheap: nothing is asked of the driver. */
SACCADE_API void saccadeGetContextStatistics(SaccadeContext context, SaccadeContextStatistics* statistics);

typedef enum SaccadeOperator {
  SACCADE_OPERATOR_ATTENTION = 0,
  SACCADE_OPERATOR_MATMUL = 1,
  SACCADE_OPERATOR_LAYER_NORM = 2,
  SACCADE_OPERATOR_SOFTMAX = 3,
  SACCADE_OPERATOR_ACTIVATION = 4,
  SACCADE_OPERATOR_PATCH_EMBED = 5
} SaccadeOperator;

/* One kernel variant of the registry. Strings live as long as the context. */
typedef struct SaccadeKernelInfo {
  const char* name;     /* e.g. "scalar_rows" */
  SaccadeOperator op;
  const char* idea;     /* one line: how it works and what it is for */
  VkBool32 selectable;  /* a description may ask for it by name; VK_FALSE: it runs as a part of other plans */
  VkBool32 supported;   /* by this context's device */
  const char* reason;   /* why not; "" if supported */
  const char* leftOut;  /* shader modules that this build lacks and why, one per line; "" if none */
} SaccadeKernelInfo;

/* Lists every kernel variant that this version knows, also those that the device or the build lacks.
 * The count pattern of saccadeGetDeviceRequirements. */
SACCADE_API SaccadeStatus saccadeGetKernels(SaccadeContext context, uint32_t* count, SaccadeKernelInfo* kernels,
                                            SaccadeMessage* message);

/* Tensors. */

typedef enum SaccadeDtype {
  SACCADE_DTYPE_NONE = 0, /* the tensor is absent */
  SACCADE_DTYPE_F32 = 1,
  SACCADE_DTYPE_F16 = 2,  /* IEEE 754 binary16 */
  SACCADE_DTYPE_BF16 = 3, /* bfloat16 */
  SACCADE_DTYPE_U8 = 4,   /* boolean masks: non-zero means attend */
  SACCADE_DTYPE_I32 = 5,  /* lengths and block tables */
  SACCADE_DTYPE_MAX_ENUM = 0x7fffffff /* as in Vulkan: room for whatever a host writes, so that it can be refused */
} SaccadeDtype;

/* Shape of a tensor in device memory. The address comes with the record call.
 *
 * strides are in elements; all four 0 means row-major and contiguous. Unless an operator says otherwise, axis 3
 * is contiguous (strides[3] == 1, or 0 with sizes[3] == 1). A stride of 0 broadcasts an input; the elements of an output must
 * not overlap. For an output, sizes of all 0 mean "as the inputs demand". At most 2^32 - 1 elements may lie
 * between the first and the last element of a tensor. */
typedef struct SaccadeTensorDesc {
  SaccadeDtype dtype;
  int64_t sizes[4];
  int64_t strides[4];
} SaccadeTensorDesc;

/* A range of device memory: VkBuffer memory created with VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT.
 * The address must be a multiple of the element size. size counts the bytes from address that the operator
 * may touch; it is checked against what the tensor needs. On a device without 8- and 16-bit storage (or where
 * the host did not enable it) the aligned 32-bit words that hold a tensor's first and last element are
 * touched as well: keep buffers of 8- and 16-bit elements a multiple of 4 bytes long there.
 * An operator whose tensor has no elements, or lacks it, ignores the range. */
typedef struct SaccadeBuffer {
  VkDeviceAddress address;
  VkDeviceSize size;
} SaccadeBuffer;

/* Attention. */

typedef enum SaccadeCausal {
  SACCADE_CAUSAL_NONE = 0,
  SACCADE_CAUSAL_BOTTOM_RIGHT = 1, /* row i sees keys j <= i + seqlen_k - seqlen_q, per batch entry */
  SACCADE_CAUSAL_TOP_LEFT = 2,     /* row i sees keys j <= i */
  SACCADE_CAUSAL_MAX_ENUM = 0x7fffffff
} SaccadeCausal;

typedef enum SaccadeNormalizer {
  SACCADE_NORMALIZER_SOFTMAX = 0,
  SACCADE_NORMALIZER_SIGMOID = 1, /* refused by this version */
  SACCADE_NORMALIZER_RELU = 2,    /* refused by this version */
  SACCADE_NORMALIZER_MAX_ENUM = 0x7fffffff
} SaccadeNormalizer;

/* Scaled dot-product attention (Vaswani et al. 2017), computed with an online softmax (Milakov and Gimelshein
 * 2018) so that memory grows with the number of tokens and not with its square (Dao et al. 2022).
 *
 *   s_ij  = softmax_scale / temperature * dot(q_i, k_j)
 *   s_ij  = softcap * tanh(s_ij / softcap)                                   if softcap > 0
 *   s_ij += bias_ij - alibi_slope * |i + offset - j|                         as far as given
 *   o_i   = sum_j exp(s_ij) * v_j / (sum_j exp(s_ij) + exp(sink))            over the visible keys j
 *   lse_i = log(sum_j exp(s_ij) + exp(sink))                                 natural logarithm
 *
 * offset is 0 with SACCADE_CAUSAL_TOP_LEFT and else seqlen_k - seqlen_q of the batch entry (of its lengths, where those are
 * given), also where causal is NONE: it serves causal masks, windows and ALiBi alike.
 *
 * Query head h reads key/value head floor(h * num_heads_kv / num_heads_q). A key is visible if the causal mask, the window, the
 * lengths and the boolean mask all say so and its score is not -inf; what a hidden key, its value or its bias holds has no
 * influence, NaN included. A row that sees no key has output 0 and lse -inf (with a sink: lse is the sink). NaN in anything
 * visible propagates. Products, statistics and sums are fp32; the output is rounded once, to nearest even.
 *
 * Packed sequences: with hasCuSeqlens the batch is numSequences sequences that lie one after the other along axis 2 of q, k, v,
 * out and lse, whose axis 0 has size 1. Sequence b is the query rows cu_seqlens_q[b] .. cu_seqlens_q[b + 1] - 1 and the keys
 * cu_seqlens_k[b] .. cu_seqlens_k[b + 1] - 1; both arrays start at 0 and do not decrease. i, j, lengths and offset count inside
 * the sequence. Rows at or past the last entry of cu_seqlens_q give 0 and lse -inf. Lengths, mask, bias and probs
 * cannot be combined with packed sequences.
 *
 * Paged K/V (Kwon et al. 2023): with a blockTable, axis 0 of k and v counts pages and axis 2 the tokens of a page. Key j of batch
 * entry b is token j % page_size of page block_table[b][j / page_size], so seqlen_k is max_pages * page_size. Entries past the
 * length of b are never read; on the device, entries outside [0, pages) are clamped. With packed sequences the
 * differences of cu_seqlens_k are the lengths. */
typedef struct SaccadeAttentionDesc {
  uint32_t structSize; /* sizeof(SaccadeAttentionDesc) */

  SaccadeTensorDesc q;   /* [B, num_heads_q, seqlen_q, head_dim_qk]; F32, F16 or BF16 */
  SaccadeTensorDesc k;   /* [B, num_heads_kv, seqlen_k, head_dim_qk]; dtype of q; num_heads_q % num_heads_kv == 0 */
  SaccadeTensorDesc v;   /* [B, num_heads_kv, seqlen_k, head_dim_v]; dtype of q; head dims from 1 to 256 */
  SaccadeTensorDesc out; /* [B, num_heads_q, seqlen_q, head_dim_v]; dtype of q */

  SaccadeTensorDesc lse;   /* optional output [B, num_heads_q, seqlen_q, 1], F32 */
  SaccadeTensorDesc probs; /* optional output [B, num_heads_q, seqlen_q, seqlen_k], dtype of q: the weights */
  SaccadeTensorDesc mask;  /* optional U8, each size full or 1: non-zero means attend */
  SaccadeTensorDesc bias;  /* optional F32, F16 or BF16, each size full or 1: added to the scaled scores */
  SaccadeTensorDesc alibiSlopes; /* optional F32 [1, 1, B or 1, num_heads_q] (Press et al. 2022) */
  SaccadeTensorDesc sink;        /* optional F32 [1, 1, 1, num_heads_q]: a logit per query head without a value */
  SaccadeTensorDesc blockTable;  /* optional I32 [1, 1, B, max_pages]: paged K/V */
  VkBool32 hasSeqlensQ;    /* int32 [B]: rows at or past it give 0, lse -inf, probs 0; clamped to [0, seqlen_q] */
  VkBool32 hasSeqlensK;    /* int32 [B]: keys at or past it are hidden; clamped to [0, seqlen_k] */
  VkBool32 hasCuSeqlens;   /* packed sequences: cu_seqlens_q and cu_seqlens_k, int32 [numSequences + 1] each */
  uint32_t numSequences;   /* 0 unless packed */

  SaccadeCausal causal;
  int64_t windowLeft;       /* row i sees keys from i + offset - windowLeft on; -1: unbounded */
  int64_t windowRight;      /* row i sees keys up to i + offset + windowRight; -1: unbounded */
  VkBool32 hasSoftmaxScale; /* VK_FALSE: softmaxScale is ignored and 1/sqrt(head_dim_qk) used */
  float softmaxScale;       /* finite; 0 and negative values are legal */
  float temperature;        /* divides the scale; finite and > 0; default 1 */
  float softcap;            /* finite and > 0; 0: off */

  /* Fields of rules that this version refuses unless they have the value that switches them off. */
  float dropout;                /* probability; 0: off */
  uint64_t dropoutSeed;
  uint64_t dropoutOffset;
  SaccadeNormalizer normalizer; /* softmax */
  float sigmoidBias;            /* 0 */

  const char* kernel; /* optional: use this kernel variant or refuse, with the fields of a tile behind it as in
                         "scalar_rows keys=4" that tile; NULL: the context's choice */
} SaccadeAttentionDesc;

static inline SaccadeAttentionDesc saccadeAttentionDescDefault(void) {
  SaccadeAttentionDesc desc;
  memset(&desc, 0, sizeof desc);
  desc.structSize = (uint32_t)sizeof desc;
  desc.temperature = 1.0f;
  desc.windowLeft = -1;
  desc.windowRight = -1;
  return desc;
}

/* The memory of one recorded attention. Ranges of absent tensors are ignored.
 *
 * The host pointers are optional copies of what the device arrays of the same name will hold when the work runs. Where given,
 * the record call checks them and names the entry that is wrong; it keeps no pointer. */
typedef struct SaccadeAttentionBuffers {
  uint32_t structSize; /* sizeof(SaccadeAttentionBuffers) */
  SaccadeBuffer q, k, v, out, lse, probs, mask, bias, alibiSlopes, sink, blockTable;
  SaccadeBuffer seqlensQ, seqlensK;
  SaccadeBuffer cuSeqlensQ, cuSeqlensK;
  SaccadeBuffer scratch;         /* SaccadePlanInfo::scratchBytes, aligned to 16; contents need not be kept */
  const int32_t* hostSeqlensQ;   /* [B] */
  const int32_t* hostSeqlensK;   /* [B] */
  const int32_t* hostCuSeqlensQ; /* [numSequences + 1] */
  const int32_t* hostCuSeqlensK; /* [numSequences + 1] */
  const int32_t* hostBlockTable; /* [B, max_pages], contiguous; checked as far as the lengths are known to the host */
} SaccadeAttentionBuffers;

static inline SaccadeAttentionBuffers saccadeAttentionBuffersDefault(void) {
  SaccadeAttentionBuffers buffers;
  memset(&buffers, 0, sizeof buffers);
  buffers.structSize = (uint32_t)sizeof buffers;
  return buffers;
}

/* The layers around it. */

typedef enum SaccadeActivation {
  SACCADE_ACTIVATION_NONE = 0,
  SACCADE_ACTIVATION_GELU = 1,     /* x * Phi(x), by the error function (Hendrycks and Gimpel 2016) */
  SACCADE_ACTIVATION_GELU_TANH = 2, /* its tanh approximation */
  SACCADE_ACTIVATION_MAX_ENUM = 0x7fffffff
} SaccadeActivation;

/* Matrix product with epilogue: out = residual + activation(a b^T + bias), products summed in fp32.
 *   a        [B0, B1, M, K], any strides
 *   b        [B0 or 1, B1 or 1, N, K], any strides: a weight stored as [K, N] is strides {.., 1, N}
 *   bias     [1, 1, 1, N], optional
 *   residual [B0 or 1, B1 or 1, M or 1, N], optional
 *   out      [B0, B1, M, N]
 * All of one dtype: F32, F16 or BF16. K of 0 gives residual + activation(bias); K is at most 2^31 - 1. out may be
 * the residual itself: the same address and strides, nothing broadcast. */
typedef struct SaccadeMatmulDesc {
  uint32_t structSize;
  SaccadeTensorDesc a, b, bias, residual, out;
  SaccadeActivation activation;
  const char* kernel;
} SaccadeMatmulDesc;

typedef struct SaccadeMatmulBuffers {
  uint32_t structSize;
  SaccadeBuffer a, b, bias, residual, out;
} SaccadeMatmulBuffers;

/* Layer normalisation over axis 3 (Ba et al. 2016): (x - mean) / sqrt(var + epsilon) * weight + bias, biased
 * variance, fp32 statistics. x and out [.., .., .., N] of one dtype, F32, F16 or BF16; weight and bias
 * [1, 1, 1, N] of the same dtype, both or neither. out may be x itself: the same address and strides. */
typedef struct SaccadeLayerNormDesc {
  uint32_t structSize;
  SaccadeTensorDesc x, weight, bias, out;
  float epsilon; /* finite, >= 0; default 1e-5 */
  const char* kernel;
} SaccadeLayerNormDesc;

typedef struct SaccadeLayerNormBuffers {
  uint32_t structSize;
  SaccadeBuffer x, weight, bias, out;
} SaccadeLayerNormBuffers;

/* Softmax over axis 3. x and out of one dtype. -inf gives exactly 0; a row of only -inf gives 0 throughout; NaN
 * or +inf makes its row NaN. out may be x itself: the same address and strides. */
typedef struct SaccadeSoftmaxDesc {
  uint32_t structSize;
  SaccadeTensorDesc x, out;
  const char* kernel;
} SaccadeSoftmaxDesc;

typedef struct SaccadeSoftmaxBuffers {
  uint32_t structSize;
  SaccadeBuffer x, out;
} SaccadeSoftmaxBuffers;

/* An activation, element by element. x and out of one dtype and shape. out may be x itself: the same address and
 * strides. */
typedef struct SaccadeActivationDesc {
  uint32_t structSize;
  SaccadeTensorDesc x, out;
  SaccadeActivation activation;
  const char* kernel;
} SaccadeActivationDesc;

typedef struct SaccadeActivationBuffers {
  uint32_t structSize;
  SaccadeBuffer x, out;
} SaccadeActivationBuffers;

/* Patch embedding of a Vision Transformer (Dosovitskiy et al. 2021): a convolution with stride = patch size.
 *   image    [B, C, H, W]; H and W multiples of patchSize
 *   weight   [E, C, patchSize, patchSize], contiguous
 *   bias     [1, 1, 1, E], optional
 *   residual [B or 1, 1, (H/patchSize) * (W/patchSize), E], optional: position embeddings
 *   out      [B, 1, (H/patchSize) * (W/patchSize), E], patches row by row; the batch stride may leave room for other tokens
 * All of one dtype. Needs scratch. */
typedef struct SaccadePatchEmbedDesc {
  uint32_t structSize;
  SaccadeTensorDesc image, weight, bias, residual, out;
  uint32_t patchSize;
  const char* kernel; /* of the matrix product inside */
} SaccadePatchEmbedDesc;

typedef struct SaccadePatchEmbedBuffers {
  uint32_t structSize;
  SaccadeBuffer image, weight, bias, residual, out, scratch;
} SaccadePatchEmbedBuffers;

#define SACCADE_DEFINE_DEFAULT_(Type, function)     \
  static inline Type function(void) {               \
    Type value;                                     \
    memset(&value, 0, sizeof value);                \
    value.structSize = (uint32_t)sizeof value;      \
    return value;                                   \
  }
SACCADE_DEFINE_DEFAULT_(SaccadeMatmulDesc, saccadeMatmulDescDefault)
SACCADE_DEFINE_DEFAULT_(SaccadeMatmulBuffers, saccadeMatmulBuffersDefault)
SACCADE_DEFINE_DEFAULT_(SaccadeLayerNormBuffers, saccadeLayerNormBuffersDefault)
SACCADE_DEFINE_DEFAULT_(SaccadeSoftmaxDesc, saccadeSoftmaxDescDefault)
SACCADE_DEFINE_DEFAULT_(SaccadeSoftmaxBuffers, saccadeSoftmaxBuffersDefault)
SACCADE_DEFINE_DEFAULT_(SaccadeActivationDesc, saccadeActivationDescDefault)
SACCADE_DEFINE_DEFAULT_(SaccadeActivationBuffers, saccadeActivationBuffersDefault)
SACCADE_DEFINE_DEFAULT_(SaccadePatchEmbedDesc, saccadePatchEmbedDescDefault)
SACCADE_DEFINE_DEFAULT_(SaccadePatchEmbedBuffers, saccadePatchEmbedBuffersDefault)
#undef SACCADE_DEFINE_DEFAULT_

static inline SaccadeLayerNormDesc saccadeLayerNormDescDefault(void) {
  SaccadeLayerNormDesc desc;
  memset(&desc, 0, sizeof desc);
  desc.structSize = (uint32_t)sizeof desc;
  desc.epsilon = 1e-5f;
  return desc;
}

/* Plans. */

/* Opaque, immutable: kernel, specialisation, grid and parameters of one operator. */
typedef struct SaccadePlanT* SaccadePlan;

/* Each of these validates the description, chooses a kernel, creates its pipelines if the context does not have
 * them yet (which may take the driver up to seconds, once; several at once on threads of their own, unless there are
 * allocation callbacks) and stores the parameters in device-visible memory.
 * Errors: INVALID_ARGUMENT and UNSUPPORTED (the message names the field), OUT_OF_MEMORY, DRIVER, DEVICE_LOST.
 * On error *plan is left NULL. */
SACCADE_API SaccadeStatus saccadeCreateAttentionPlan(SaccadeContext context, const SaccadeAttentionDesc* desc,
                                                     SaccadePlan* plan, SaccadeMessage* message);
SACCADE_API SaccadeStatus saccadeCreateMatmulPlan(SaccadeContext context, const SaccadeMatmulDesc* desc,
                                                  SaccadePlan* plan, SaccadeMessage* message);
SACCADE_API SaccadeStatus saccadeCreateLayerNormPlan(SaccadeContext context, const SaccadeLayerNormDesc* desc,
                                                     SaccadePlan* plan, SaccadeMessage* message);
SACCADE_API SaccadeStatus saccadeCreateSoftmaxPlan(SaccadeContext context, const SaccadeSoftmaxDesc* desc,
                                                   SaccadePlan* plan, SaccadeMessage* message);
SACCADE_API SaccadeStatus saccadeCreateActivationPlan(SaccadeContext context, const SaccadeActivationDesc* desc,
                                                      SaccadePlan* plan, SaccadeMessage* message);
SACCADE_API SaccadeStatus saccadeCreatePatchEmbedPlan(SaccadeContext context, const SaccadePatchEmbedDesc* desc,
                                                      SaccadePlan* plan, SaccadeMessage* message);

/* NULL is allowed. No command buffer that holds the plan may still be executing, and no thread be recording it: with checkUse
 * an error is logged then and nothing destroyed. */
SACCADE_API void saccadeDestroyPlan(SaccadePlan plan);

/* A plan explains itself. Strings live as long as the plan. */
typedef struct SaccadePlanInfo {
  SaccadeOperator op;
  const char* kernel;       /* variant, e.g. "scalar_rows" */
  const char* label;        /* what runs, e.g. "attention scalar_rows f32 B1 Hq12 Hkv12 Tq197 Tk197 Dqk64 Dv64 causal" */
  const char* reason;       /* why this variant, and why each other one was not taken; one line each */
  double flops;             /* useful floating-point operations, 4 B H Tq Tk D for attention, less for hidden pairs */
  double bytes;             /* inputs read and outputs written once */
  uint64_t scratchBytes;    /* device memory that the record call needs as scratch */
  uint32_t dispatchCount;   /* vkCmdDispatch calls; for long work it depends on what the context has learnt */
  uint32_t barrierCount;    /* barriers recorded between them */
  const char* tile;         /* the variant with its tile, as `kernel` of a description takes them; "" if it has none */
  double estimatedMilliseconds; /* on this device, by what saccadeReportTime has taught the context; a careful guess until then */
} SaccadePlanInfo;

SACCADE_API void saccadeGetPlanInfo(SaccadePlan plan, SaccadePlanInfo* info);

/* A kernel with a tile that could compute a problem, and what a tuning file calls problems like it. */
typedef struct SaccadeCandidate {
  char problem[128]; /* e.g. "attention f32 dqk64 dv64 tq256 tk256 heads16 group1": sizes rounded up to powers of two */
  char kernel[128];  /* for `kernel` of the description, e.g. "scalar_rows local_size=8 keys=8" */
} SaccadeCandidate;

/* Lists what is worth measuring for a problem on this device; the built-in choice comes first. `kernel` of the description, the
 * context's and its tuning have no influence. The count pattern of saccadeGetDeviceRequirements. Errors: those of the plan. */
SACCADE_API SaccadeStatus saccadeGetAttentionCandidates(SaccadeContext context, const SaccadeAttentionDesc* desc,
                                                        uint32_t* count, SaccadeCandidate* candidates,
                                                        SaccadeMessage* message);
SACCADE_API SaccadeStatus saccadeGetMatmulCandidates(SaccadeContext context, const SaccadeMatmulDesc* desc, uint32_t* count,
                                                     SaccadeCandidate* candidates, SaccadeMessage* message);

/* Tells the context how long one execution of a plan took on the device, by two timestamps around it with nothing else running
 * in between. From then on every plan with the same pipelines is cut by that (SaccadeContextCreateInfo::dispatchBudget);
 * until then a slow device is assumed (10 GFLOP/s on a CPU, else 50). It is worth the timestamps where
 * SaccadePlanInfo::estimatedMilliseconds comes near the budget. The smallest piece is a work-group: a few query rows over all
 * of their keys. Slower executions count at once, faster ones bit by bit (the second, and in full: the first may have held the
 * driver's compiling); where only the device knows the lengths, only slower ones.
 * Ignored unless finite and > 0. Thread-safe. */
SACCADE_API void saccadeReportTime(SaccadePlan plan, double milliseconds);

/* Record a plan into a command buffer in the recording state, outside a render pass, of a queue family with compute.
 * Checks every range first; on error nothing has been recorded. Errors: INVALID_ARGUMENT. */
SACCADE_API SaccadeStatus saccadeCmdAttention(VkCommandBuffer commandBuffer, SaccadePlan plan,
                                              const SaccadeAttentionBuffers* buffers, SaccadeMessage* message);
SACCADE_API SaccadeStatus saccadeCmdMatmul(VkCommandBuffer commandBuffer, SaccadePlan plan,
                                           const SaccadeMatmulBuffers* buffers, SaccadeMessage* message);
SACCADE_API SaccadeStatus saccadeCmdLayerNorm(VkCommandBuffer commandBuffer, SaccadePlan plan,
                                              const SaccadeLayerNormBuffers* buffers, SaccadeMessage* message);
SACCADE_API SaccadeStatus saccadeCmdSoftmax(VkCommandBuffer commandBuffer, SaccadePlan plan,
                                            const SaccadeSoftmaxBuffers* buffers, SaccadeMessage* message);
SACCADE_API SaccadeStatus saccadeCmdActivation(VkCommandBuffer commandBuffer, SaccadePlan plan,
                                               const SaccadeActivationBuffers* buffers, SaccadeMessage* message);
SACCADE_API SaccadeStatus saccadeCmdPatchEmbed(VkCommandBuffer commandBuffer, SaccadePlan plan,
                                               const SaccadePatchEmbedBuffers* buffers, SaccadeMessage* message);

#ifdef __cplusplus
}
#endif

#endif /* SACCADE_SACCADE_H_ */
