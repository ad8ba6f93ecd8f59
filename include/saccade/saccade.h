/* SPDX-License-Identifier: Apache-2.0 */

/** \file
 * The C API of the core library, and its manual.
 *
 * ~~~{.txt}
 *   describe ──validate──▶ ──choose──▶ plan ──record──▶ VkCommandBuffer
 * ~~~
 *
 * A host describes an operator (SaccadeAttentionDesc, SaccadeMatmulDesc, ...), creates a plan from it once and
 * records the plan into its own command buffers as often as it likes. Every refusal happens before anything is
 * recorded. Recording allocates nothing, submits nothing and waits for nothing: inputs, outputs and scratch
 * memory are device addresses that the host passes.
 *
 * \par Tensors
 * A SaccadeTensorDesc has four sizes and four strides in elements. Where an operator works on fewer axes, its
 * comment says which sizes are 1.
 *
 * \par Threads
 * A context may be used from several threads at once. A plan is immutable: any number of threads may record it at
 * once into different command buffers. Destroying a handle needs external synchronisation, as does the command buffer
 * that is recorded into.
 *
 * \par Lifetime
 * Contexts outlive their plans. A plan outlives the execution of every command buffer into which it was recorded: its
 * parameters are read by the device. What a description or a create info points to need only live until the call
 * returns, unless it says otherwise.
 *
 * \par Synchronisation
 * Inputs must be visible to VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT with VK_ACCESS_SHADER_READ_BIT before a recorded
 * operator executes; outputs and scratch are written in that stage with VK_ACCESS_SHADER_WRITE_BIT (and scratch is read
 * with VK_ACCESS_SHADER_READ_BIT). The barriers between the dispatches of one operator are recorded with it; those before and
 * after it are the host's. Operators that share scratch memory are consecutive users of it: a barrier of the host stands
 * between them.
 *
 * \par State of the command buffer
 * A recorded operator disturbs the binding of VK_PIPELINE_BIND_POINT_COMPUTE and the push constants (bytes 0 to 127), nothing
 * else.
 *
 * \par Errors
 * Functions that can fail return a SaccadeStatus and fill an optional SaccadeMessage, which names the field, its value and
 * what is allowed. No exception crosses this interface, and a call that fails has no effect.
 *
 * \par Valid usage
 * The lists under this title say what must hold. A sentence that ends with a field in brackets is checked: the call returns
 * SACCADE_ERROR_INVALID_ARGUMENT, or the status named, with that field in the message. The other sentences are the host's duty;
 * what happens where they do not hold is undefined. docs/troubleshooting.md explains every message.
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

/** \defgroup version Version */
/** \{ */

#define SACCADE_VERSION_MAJOR 0 /**< of this header; 0: minor versions may break hosts */
#define SACCADE_VERSION_MINOR 1 /**< of this header */
#define SACCADE_VERSION_PATCH 0 /**< of this header */
/** The version of this header, as Vulkan packs versions. */
#define SACCADE_VERSION VK_MAKE_API_VERSION(0, SACCADE_VERSION_MAJOR, SACCADE_VERSION_MINOR, SACCADE_VERSION_PATCH)

/** Marks what the library exports. Define SACCADE_SHARED where the shared library is used on Windows. */
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

/** \} */

/** \defgroup status Status */
/** \{ */

/** What a call returns. */
typedef enum SaccadeStatus {
  SACCADE_OK = 0,                        /**< done */
  SACCADE_ERROR_INVALID_ARGUMENT = 1,    /**< a field has a value that no device could accept */
  SACCADE_ERROR_UNSUPPORTED = 2,         /**< legal, but not on this device or not in this version */
  SACCADE_ERROR_DEVICE_REQUIREMENTS = 3, /**< the device lacks a required feature, or the host did not enable it */
  SACCADE_ERROR_OUT_OF_MEMORY = 4,       /**< host or device memory */
  SACCADE_ERROR_DEVICE_LOST = 5,         /**< VK_ERROR_DEVICE_LOST; the context is of no further use */
  SACCADE_ERROR_DRIVER = 6               /**< the driver failed otherwise, e.g. it could not create a pipeline */
} SaccadeStatus;

/** What was refused and why. Filled by every failing function that is given one; untouched on success. Both texts are
 * UTF-8 and end with a zero; longer ones are cut. */
typedef struct SaccadeMessage {
  SaccadeStatus status; /**< what the call returned */
  char field[64];       /**< the field of the description, e.g. "head_dim_qk" or "k.strides"; "" if none */
  char text[960];       /**< one sentence for people: field, value, what is allowed, the way out */
} SaccadeMessage;

/** \ingroup version
 * SACCADE_VERSION of the library that is linked, which need not be the header's. Until 1.0 a library takes hosts that were
 * compiled with its own minor version and no other. Thread-safe. */
SACCADE_API uint32_t saccadeGetVersion(void);

/** The name of a status, e.g. "invalid argument". Static storage; never NULL. Thread-safe. */
SACCADE_API const char* saccadeGetStatusName(SaccadeStatus status);

/** \} */

/** \defgroup device Devices */
/** \{ */

/** One thing that a host enables when it creates its VkInstance and VkDevice. All strings have static storage. */
typedef struct SaccadeRequirement {
  const char* name;       /**< e.g. "bufferDeviceAddress", "VK_EXT_debug_utils" */
  const char* structName; /**< the structure that the feature or version sits in, or "instance extension" */
  const char* buys;       /**< what it is needed for */
  VkBool32 required;      /**< VK_FALSE: recommended */
  VkBool32 available;     /**< the physical device has it */
} SaccadeRequirement;

/** Lists what Saccade requires and recommends on a physical device; call it before vkCreateDevice. A missing required feature
 * is reported in the list, not as an error.
 *
 * \param instance             created for Vulkan 1.2 or newer
 * \param physicalDevice       of that instance
 * \param getInstanceProcAddr  the loader's, or that of whoever stands before it
 * \param count                with items NULL it receives the number of requirements; otherwise it holds how many there is room
 *                             for, and receives how many were written
 * \param items                NULL, or room for *count of them
 * \param message              NULL, or filled on failure
 *
 * \par Errors
 * INVALID_ARGUMENT; DEVICE_REQUIREMENTS: the device offers no Vulkan 1.2 ("apiVersion"), or the instance was not made for it
 * (the name of the function that is missing).
 * \par Valid usage
 * - instance, physicalDevice, getInstanceProcAddr and count must not be NULL [the parameter's name]
 * - physicalDevice must be of instance
 * \par Threads
 * Thread-safe. */
SACCADE_API SaccadeStatus saccadeGetDeviceRequirements(VkInstance instance, VkPhysicalDevice physicalDevice,
                                                       PFN_vkGetInstanceProcAddr getInstanceProcAddr,
                                                       uint32_t* count, SaccadeRequirement* items,
                                                       SaccadeMessage* message);

/** One shape at which a device multiplies cooperative matrices: (m x k) times (k x n) plus (m x n), as
 * VkCooperativeMatrixPropertiesKHR says it. */
typedef struct SaccadeCooperativeMatrixShape {
  uint32_t mSize;      /**< rows of a and of the result */
  uint32_t nSize;      /**< columns of b and of the result */
  uint32_t kSize;      /**< columns of a, rows of b */
  uint32_t aType;      /**< VkComponentTypeKHR of a */
  uint32_t bType;      /**< VkComponentTypeKHR of b */
  uint32_t cType;      /**< VkComponentTypeKHR of what is added */
  uint32_t resultType; /**< VkComponentTypeKHR of the result */
  uint32_t scope;      /**< VkScopeKHR: who holds the matrices together */
  VkBool32 saturatingAccumulation; /**< integers saturate */
} SaccadeCooperativeMatrixShape;

/** Multiples of which the sizes of cooperative matrices may be chosen, as VkCooperativeMatrixFlexibleDimensionsPropertiesNV says it. */
typedef struct SaccadeFlexibleMatrixShape {
  uint32_t mGranularity; /**< m is a multiple of it */
  uint32_t nGranularity; /**< n is a multiple of it */
  uint32_t kGranularity; /**< k is a multiple of it */
  uint32_t aType;        /**< VkComponentTypeKHR of a */
  uint32_t bType;        /**< VkComponentTypeKHR of b */
  uint32_t cType;        /**< VkComponentTypeKHR of what is added */
  uint32_t resultType;   /**< VkComponentTypeKHR of the result */
  uint32_t scope;        /**< VkScopeKHR: who holds the matrices together */
  uint32_t workgroupInvocations;   /**< with work-group scope: invocations that the work-group must have; else 0 */
  VkBool32 saturatingAccumulation; /**< integers saturate */
} SaccadeFlexibleMatrixShape;

/** Room for shapes in SaccadeDeviceFacts. Of a device that lists more, those are kept that kernels can use: of subgroups before
 * others, of 8 and 16 bits before others. */
#define SACCADE_MAX_MATRIX_SHAPES 64

/** What Saccade knows of a device: asked of the driver once, limited to what the host enabled. */
typedef struct SaccadeDeviceFacts {
  char deviceName[256];        /**< VkPhysicalDeviceProperties */
  char driverName[256];        /**< VkPhysicalDeviceDriverProperties */
  char driverInfo[256];        /**< VkPhysicalDeviceDriverProperties */
  uint32_t vendorId;           /**< VkPhysicalDeviceProperties */
  uint32_t deviceId;           /**< VkPhysicalDeviceProperties */
  uint32_t driverVersion;      /**< as the vendor packs it */
  uint32_t apiVersion;         /**< the lower one of device and host */
  uint32_t deviceType;         /**< VkPhysicalDeviceType */
  uint32_t subgroupSize;       /**< invocations */
  uint32_t minSubgroupSize;    /**< invocations; subgroupSize without Vulkan 1.3 and VK_EXT_subgroup_size_control */
  uint32_t maxSubgroupSize;    /**< invocations; subgroupSize without Vulkan 1.3 and VK_EXT_subgroup_size_control */
  uint32_t subgroupOperations; /**< VkSubgroupFeatureFlags of compute shaders */
  VkBool32 subgroupSizeControl;             /**< enabled, and compute shaders may require a size */
  VkBool32 computeFullSubgroups;            /**< enabled */
  uint32_t maxComputeWorkgroupSubgroups;    /**< of one work-group, where a size is required; 0 if the device does not say */
  uint32_t maxComputeSharedMemorySize;      /**< bytes */
  uint32_t maxComputeWorkGroupInvocations;  /**< of one work-group */
  uint32_t maxComputeWorkGroupSize[3];      /**< invocations along each axis */
  uint32_t maxComputeWorkGroupCount[3];     /**< work-groups of one dispatch along each axis */
  uint32_t maxPushConstantsSize;            /**< bytes */
  uint32_t maxStorageBufferRange;           /**< bytes */
  uint64_t maxBufferSize;                   /**< bytes; 0 if the device does not say */
  uint64_t maxMemoryAllocationSize;         /**< bytes */
  float timestampPeriod;                    /**< nanoseconds per tick */
  VkBool32 bufferDeviceAddress;             /**< enabled */
  VkBool32 shaderInt64;                     /**< enabled */
  VkBool32 storageBuffer8BitAccess;         /**< enabled */
  VkBool32 storageBuffer16BitAccess;        /**< enabled */
  VkBool32 shaderFloat16;                   /**< enabled */
  VkBool32 vulkanMemoryModel;               /**< enabled, together with vulkanMemoryModelDeviceScope */
  VkBool32 maintenance4;                    /**< enabled */
  VkBool32 signedZeroInfNanPreserveFloat32; /**< a property of the device */
  VkBool32 pipelineExecutableProperties;    /**< pipelineExecutableInfo is enabled */
  VkBool32 cooperativeMatrix; /**< VK_KHR_cooperative_matrix and its feature are enabled, and compute shaders may use it */
  uint32_t cooperativeMatrixShapeCount;  /**< number of cooperativeMatrixShapes; 0 without cooperativeMatrix */
  SaccadeCooperativeMatrixShape cooperativeMatrixShapes[SACCADE_MAX_MATRIX_SHAPES]; /**< in the order of the device */
  /* Features of VK_NV_cooperative_matrix2, by its names: enabled, together with the extension and cooperativeMatrix. */
  VkBool32 cooperativeMatrixFlexibleDimensions;   /**< sizes may be multiples of flexibleMatrixShapes */
  VkBool32 cooperativeMatrixReductions;           /**< of rows and columns */
  VkBool32 cooperativeMatrixConversions;          /**< results become operands */
  VkBool32 cooperativeMatrixPerElementOperations; /**< functions of an element with its row and column */
  VkBool32 cooperativeMatrixWorkgroupScope;       /**< a work-group may hold a matrix together */
  VkBool32 cooperativeMatrixTensorAddressing;     /**< loads and stores through tensor layouts and views */
  VkBool32 cooperativeMatrixBlockLoads;           /**< loads that decode elements by a function */
  uint32_t cooperativeMatrixWorkgroupScopeMaxWorkgroupSize;     /**< invocations */
  uint32_t cooperativeMatrixWorkgroupScopeReservedSharedMemory; /**< bytes that the driver takes of a work-group's */
  uint32_t cooperativeMatrixFlexibleDimensionsMaxDimension;     /**< of m, n and k */
  uint32_t flexibleMatrixShapeCount; /**< number of flexibleMatrixShapes; 0 without cooperativeMatrixFlexibleDimensions */
  SaccadeFlexibleMatrixShape flexibleMatrixShapes[SACCADE_MAX_MATRIX_SHAPES]; /**< in the order of the device */
} SaccadeDeviceFacts;

/** \} */

/** \defgroup context Contexts */
/** \{ */

/** Opaque: a VkDevice of the host, as Saccade sees it, with its pipelines. */
typedef struct SaccadeContextT* SaccadeContext;

/** How much a message of the log matters. */
typedef enum SaccadeSeverity {
  SACCADE_SEVERITY_DEBUG = 0,   /**< each pipeline with its time, each plan with its reasons, each refusal */
  SACCADE_SEVERITY_INFO = 1,    /**< each context, and what it would gain if the host enabled more */
  SACCADE_SEVERITY_WARNING = 2, /**< works, but not as asked: a tuning file that is ignored */
  SACCADE_SEVERITY_ERROR = 3,   /**< misuse that no status can report: a handle destroyed while in use */
  SACCADE_SEVERITY_MAX_ENUM = 0x7fffffff /**< as in Vulkan: room for whatever a host writes, so that it can be refused */
} SaccadeSeverity;

/** Gets one message of the log. Called on the thread that calls Saccade, or on one that it has made to create pipelines,
 * several at once where several threads do.
 *
 * \param userData  SaccadeContextCreateInfo::logUserData
 * \param severity  at least SaccadeContextCreateInfo::logSeverity
 * \param text      a sentence without a line break at its end; lives as long as the call
 *
 * \par Valid usage
 * - it must not call Saccade
 * - it must be safe to call from several threads at once, if the context is used from several */
typedef void (*SaccadeLogCallback)(void* userData, SaccadeSeverity severity, const char* text);

/** What a host hands over of its device. Start from saccadeContextCreateInfoDefault().
 *
 * \par Valid usage
 * - structSize must be sizeof(SaccadeContextCreateInfo) [structSize]
 * - headerVersion must have the library's major and minor version [headerVersion]
 * - instance, physicalDevice, device, getInstanceProcAddr and enabledFeatures must not be NULL [the field's name]
 * - enabledFeatures->sType must be VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2 [enabledFeatures]
 * - instance and physicalDevice must offer Vulkan 1.2 or newer [apiVersion, DEVICE_REQUIREMENTS]
 * - apiVersion must not be newer than what instance was created for
 * - device must be of physicalDevice, and physicalDevice of instance
 * - enabledFeatures and enabledExtensions must be what device was created with, no more
 * - the required features must be enabled [the feature's name, DEVICE_REQUIREMENTS]
 * - pipelineCache, if given, must be of device, must live as long as the context, and must not be created with
 *   VK_PIPELINE_CACHE_CREATE_EXTERNALLY_SYNCHRONIZED_BIT
 * - allocationCallbacks, if given, must stay valid as long as the context
 * - kernel, if given, must name a kernel that can be asked for [kernel]
 * - tuning must point to tuningSize bytes
 * - dispatchBudget must be above 0 [dispatchBudget]
 * - with debugUtils, VK_EXT_debug_utils must be enabled on instance [debugUtils, DEVICE_REQUIREMENTS]
 * - logSeverity must be a SaccadeSeverity [logSeverity] */
typedef struct SaccadeContextCreateInfo {
  uint32_t structSize;    /**< sizeof(SaccadeContextCreateInfo) */
  uint32_t headerVersion; /**< SACCADE_VERSION of the header that the host was compiled with */
  uint32_t apiVersion;    /**< VkApplicationInfo::apiVersion of the instance; at least VK_API_VERSION_1_2 */
  VkInstance instance;               /**< owned by the host; must outlive the context */
  VkPhysicalDevice physicalDevice;   /**< of the instance */
  VkDevice device;                   /**< owned by the host; must outlive the context */
  PFN_vkGetInstanceProcAddr getInstanceProcAddr;    /**< the only way in: the core links no loader */
  const VkPhysicalDeviceFeatures2* enabledFeatures; /**< with the pNext chain given to vkCreateDevice; read during the call */
  uint32_t enabledExtensionCount;        /**< number of enabledExtensions */
  const char* const* enabledExtensions;  /**< device extensions given to vkCreateDevice; read during the call */
  VkPipelineCache pipelineCache; /**< optional; owned by the host; not VK_PIPELINE_CACHE_CREATE_EXTERNALLY_SYNCHRONIZED_BIT */
  const VkAllocationCallbacks* allocationCallbacks; /**< optional; copied, must stay valid. With them, pipelines are created on the
                                                         calling thread alone */
  const char* kernel;  /**< optional: every plan uses this kernel variant or is refused (SACCADE_KERNEL of the tools); with the
                            fields of a tile behind it as in "scalar_rows keys=4", that tile or the plan is refused. Binds only the
                            operator that has a variant of this name. Read during the call */
  const void* tuning;  /**< optional: the content of a tuning file, as `saccade tune` writes them. Read during the call. One that
                            is corrupt, of another device, driver or version has no effect: see SaccadeContextInfo::tuningIgnored */
  size_t tuningSize;   /**< bytes of tuning */
  /** Milliseconds that one vkCmdDispatch should take at most, so that no watchdog of a driver or a desktop steps in: longer
   * work is cut into dispatches of fewer work-groups. > 0; INFINITY: never cut; default 100. See saccadeReportTime(). */
  double dispatchBudget;
  /** VK_EXT_debug_utils is enabled on the instance: pipelines, buffers and memory of the context get names, and every recorded
   * operator is a labelled region, e.g. "saccade attention scalar_rows f32 B1 Hq12 ...". Default: VK_FALSE. */
  VkBool32 debugUtils;
  /** Checks handles: use after destruction, a plan recorded into a command buffer of another device (as far as the Vulkan loader
   * tells devices apart), a plan destroyed while a thread records it. Costs a lock per call. The default function
   * switches it on where NDEBUG is not defined. */
  VkBool32 checkUse;
  /** Optional: messages of at least logSeverity. The environment variable SACCADE_LOG (debug, info, warning, error or off) prints
   * them to stderr as well; without either, errors alone are printed there. */
  SaccadeLogCallback logCallback;
  void* logUserData;           /**< handed to logCallback */
  SaccadeSeverity logSeverity; /**< default: WARNING */
} SaccadeContextCreateInfo;

/** The create info with its defaults; what it does not set is zero. */
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

/** Creates a context. Compiles nothing yet: pipelines are created with the first plan that needs them.
 *
 * \param info     see SaccadeContextCreateInfo
 * \param context  receives the context, owned by the host until saccadeDestroyContext(); NULL on failure
 * \param message  NULL, or filled on failure
 *
 * \par Errors
 * INVALID_ARGUMENT (a null handle, a structure of another version), DEVICE_REQUIREMENTS (names the missing feature or
 * function), OUT_OF_MEMORY.
 * \par Valid usage
 * - info and context must not be NULL [info, context]
 * \par Threads
 * Thread-safe. Contexts do not know of each other, on one device or on several. */
SACCADE_API SaccadeStatus saccadeCreateContext(const SaccadeContextCreateInfo* info, SaccadeContext* context,
                                               SaccadeMessage* message);

/** Destroys a context with its pipelines.
 *
 * \param context  NULL is allowed
 *
 * \par Valid usage
 * - all plans of the context must have been destroyed: while one exists, an error is logged and nothing destroyed
 * - no other thread may use the context */
SACCADE_API void saccadeDestroyContext(SaccadeContext context);

/** The facts that plans are made from. The pointer lives as long as the context. Thread-safe.
 *
 * \par Valid usage
 * - context must be a context that exists */
SACCADE_API const SaccadeDeviceFacts* saccadeGetDeviceFacts(SaccadeContext context);

/** A context explains itself. Strings and arrays live as long as the context. */
typedef struct SaccadeContextInfo {
  uint32_t gainCount;              /**< number of gains */
  const SaccadeRequirement* gains; /**< what the device has and the host did not enable, and what each would buy */
  uint32_t planCount;              /**< plans that exist now */
  uint32_t tuningEntryCount;       /**< problems for which the tuning file has a kernel; 0 without one and with one that was ignored */
  const char* tuningIgnored;       /**< why it was ignored, naming the field; "" if it was not */
} SaccadeContextInfo;

/** Thread-safe and cheap: nothing is asked of the driver.
 *
 * \param context  a context that exists
 * \param info     is filled
 *
 * \par Valid usage
 * - neither may be NULL */
SACCADE_API void saccadeGetContextInfo(SaccadeContext context, SaccadeContextInfo* info);

/** What a context has done so far. */
typedef struct SaccadeContextStatistics {
  uint64_t pipelinesCreated;   /**< asked of the driver; plans that share one count once */
  uint64_t pipelineCacheHits;  /**< of those: found in pipelineCache, as far as the driver says so (Vulkan 1.3) */
  double pipelineMilliseconds; /**< spent in vkCreateComputePipelines, summed over threads */
} SaccadeContextStatistics;

/** Thread-safe and cheap: nothing is asked of the driver.
 *
 * \param context     a context that exists
 * \param statistics  is filled
 *
 * \par Valid usage
 * - neither may be NULL */
SACCADE_API void saccadeGetContextStatistics(SaccadeContext context, SaccadeContextStatistics* statistics);

/** Which operator a kernel or a plan is of. */
typedef enum SaccadeOperator {
  SACCADE_OPERATOR_ATTENTION = 0,   /**< SaccadeAttentionDesc */
  SACCADE_OPERATOR_MATMUL = 1,      /**< SaccadeMatmulDesc */
  SACCADE_OPERATOR_LAYER_NORM = 2,  /**< SaccadeLayerNormDesc */
  SACCADE_OPERATOR_SOFTMAX = 3,     /**< SaccadeSoftmaxDesc */
  SACCADE_OPERATOR_ACTIVATION = 4,  /**< SaccadeActivationDesc */
  SACCADE_OPERATOR_PATCH_EMBED = 5  /**< SaccadePatchEmbedDesc */
} SaccadeOperator;

/** One kernel variant of the registry. Strings live as long as the context. */
typedef struct SaccadeKernelInfo {
  const char* name;     /**< e.g. "scalar_rows" */
  SaccadeOperator op;   /**< whose plans may use it */
  const char* idea;     /**< one line: how it works and what it is for */
  VkBool32 selectable;  /**< a description may ask for it by name; VK_FALSE: it runs as a part of other plans */
  VkBool32 supported;   /**< by this context's device */
  const char* reason;   /**< why not; "" if supported */
  const char* leftOut;  /**< shader modules that this build lacks and why, one per line; "" if none */
} SaccadeKernelInfo;

/** Lists every kernel variant that this version knows, also those that the device or the build lacks.
 *
 * \param context  a context that exists
 * \param count    with kernels NULL it receives the number of variants; otherwise it holds how many there is room for, and
 *                 receives how many were written
 * \param kernels  NULL, or room for *count of them
 * \param message  NULL, or filled on failure
 *
 * \par Valid usage
 * - context and count must not be NULL [context, count]
 * \par Threads
 * Thread-safe. */
SACCADE_API SaccadeStatus saccadeGetKernels(SaccadeContext context, uint32_t* count, SaccadeKernelInfo* kernels,
                                            SaccadeMessage* message);

/** \} */

/** \defgroup tensors Tensors */
/** \{ */

/** How the elements of a tensor are stored. Arithmetic is fp32 for all of them. */
typedef enum SaccadeDtype {
  SACCADE_DTYPE_NONE = 0, /**< the tensor is absent */
  SACCADE_DTYPE_F32 = 1,  /**< IEEE 754 binary32 */
  SACCADE_DTYPE_F16 = 2,  /**< IEEE 754 binary16 */
  SACCADE_DTYPE_BF16 = 3, /**< bfloat16 */
  SACCADE_DTYPE_U8 = 4,   /**< boolean masks: non-zero means attend */
  SACCADE_DTYPE_I32 = 5,  /**< lengths and block tables */
  SACCADE_DTYPE_F8E4M3 = 6, /**< OCP "FP8 E4M3": bias 7, largest number 448, no infinity, NaN is 0x7f and 0xff; K and V of
                                 attention only */
  SACCADE_DTYPE_I8 = 7,     /**< two's complement, -128 to 127; K and V of attention only */
  SACCADE_DTYPE_MAX_ENUM = 0x7fffffff /**< as in Vulkan: room for whatever a host writes, so that it can be refused */
} SaccadeDtype;

/** Shape of a tensor in device memory. The address comes with the record call.
 *
 * Unless an operator says otherwise, axis 3 is contiguous (strides[3] == 1, or 0 with sizes[3] == 1). A stride of 0
 * broadcasts an input. For an output, sizes of all 0 mean "as the inputs demand".
 *
 * \par Valid usage
 * - dtype must be one that the operator allows for the tensor [TENSOR.dtype]
 * - each of sizes must be from 0 to 2^32 - 1 [TENSOR.sizes]
 * - each of strides must be from 0 to 2^32 - 1 [TENSOR.strides]
 * - strides[3] must be 1, unless all strides are 0, sizes[3] is at most 1 or the operator allows any [TENSOR.strides]
 * - at most 2^32 - 1 elements may lie between the first and the last element, both included [TENSOR.sizes]
 * - the elements of an output must not overlap: sorted by stride, each axis must step over all that the ones before it
 *   span [TENSOR.strides] */
typedef struct SaccadeTensorDesc {
  SaccadeDtype dtype; /**< NONE: the tensor is absent, and sizes and strides are ignored */
  int64_t sizes[4];   /**< elements along each axis */
  int64_t strides[4]; /**< in elements; all four 0: row-major and contiguous */
} SaccadeTensorDesc;

/** A range of device memory. An operator whose tensor has no elements, or lacks it, ignores the range.
 *
 * On a device without 8- and 16-bit storage (or where the host did not enable it) the aligned 32-bit words that hold a
 * tensor's first and last element are touched as well: keep buffers of 8- and 16-bit elements a multiple of 4 bytes long
 * there.
 *
 * \par Valid usage
 * - address must not be 0 [TENSOR]
 * - address must be a multiple of the element size, of 16 for scratch [TENSOR]
 * - size must be at least what sizes and strides of the tensor reach, SaccadePlanInfo::scratchBytes for scratch [TENSOR]
 * - the range must lie in one VkBuffer of the context's device that was created with
 *   VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT, bound to memory that was allocated with VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT */
typedef struct SaccadeBuffer {
  VkDeviceAddress address; /**< of the tensor's first element */
  VkDeviceSize size;       /**< bytes from address that the operator may touch; checked against what the tensor needs */
} SaccadeBuffer;

/** \} */

/** \defgroup attention Attention */
/** \{ */

/** Causal masks: which keys a row may see. docs/masks-and-lengths.md says when to take which. */
typedef enum SaccadeCausal {
  SACCADE_CAUSAL_NONE = 0,         /**< all */
  SACCADE_CAUSAL_BOTTOM_RIGHT = 1, /**< row i sees keys j <= i + seqlen_k - seqlen_q, per batch entry */
  SACCADE_CAUSAL_TOP_LEFT = 2,     /**< row i sees keys j <= i */
  SACCADE_CAUSAL_MAX_ENUM = 0x7fffffff /**< room for whatever a host writes */
} SaccadeCausal;

/** What makes weights of scores. */
typedef enum SaccadeNormalizer {
  SACCADE_NORMALIZER_SOFTMAX = 0, /**< exp(s_ij) / sum_j exp(s_ij) */
  SACCADE_NORMALIZER_SIGMOID = 1, /**< refused by this version */
  SACCADE_NORMALIZER_RELU = 2,    /**< refused by this version */
  SACCADE_NORMALIZER_MAX_ENUM = 0x7fffffff /**< room for whatever a host writes */
} SaccadeNormalizer;

/** Scaled dot-product attention (Vaswani et al. 2017), computed with an online softmax (Milakov and Gimelshein
 * 2018) so that memory grows with the number of tokens and not with its square (Dao et al. 2022).
 *
 * ~~~{.txt}
 *   s_ij  = softmax_scale / temperature * dot(q_i, k_j)
 *   s_ij  = softcap * tanh(s_ij / softcap)                                   if softcap > 0
 *   s_ij += bias_ij - alibi_slope * |i + offset - j|                         as far as given
 *   o_i   = sum_j exp(s_ij) * v_j / (sum_j exp(s_ij) + exp(sink))            over the visible keys j
 *   lse_i = log(sum_j exp(s_ij) + exp(sink))                                 natural logarithm
 * ~~~
 *
 * offset is 0 with SACCADE_CAUSAL_TOP_LEFT and else seqlen_k - seqlen_q of the batch entry (of its lengths, where those are
 * given), also where causal is NONE: it serves causal masks, windows and ALiBi alike.
 *
 * Query head h reads key/value head floor(h * num_heads_kv / num_heads_q). A key is visible if the causal mask, the window, the
 * lengths and the boolean mask all say so and its score is not -inf; what a hidden key, its value or its bias holds has no
 * influence, NaN included. A row that sees no key has output 0 and lse -inf (with a sink: lse is the sink). NaN in anything
 * visible propagates. Products, statistics and sums are fp32; the output is rounded once, to nearest even.
 *
 * \par Packed sequences
 * With hasCuSeqlens the batch is numSequences sequences that lie one after the other along axis 2 of q, k, v,
 * out and lse, whose axis 0 has size 1. Sequence b is the query rows cu_seqlens_q[b] .. cu_seqlens_q[b + 1] - 1 and the keys
 * cu_seqlens_k[b] .. cu_seqlens_k[b + 1] - 1; both arrays start at 0 and do not decrease. i, j, lengths and offset count inside
 * the sequence. Rows at or past the last entry of cu_seqlens_q give 0 and lse -inf. Lengths, mask, bias and probs
 * cannot be combined with packed sequences.
 *
 * \par Paged K/V (Kwon et al. 2023)
 * With a blockTable, axis 0 of k and v counts pages and axis 2 the tokens of a page. Key j of batch
 * entry b is token j % page_size of page block_table[b][j / page_size], so seqlen_k is max_pages * page_size. Entries past the
 * length of b are never read; on the device, entries outside [0, pages) are clamped. With packed sequences the
 * differences of cu_seqlens_k are the lengths.
 *
 * \par Quantised K/V
 * k and v may both be F8E4M3, or both I8, whatever the dtype of q is. What element [b, h, t, d] of k stands for is
 *
 * ~~~{.txt}
 *   k_scale[b, h, t / scaleBlock, 0] * k[b, h, t, d]        t / scaleBlock rounded down; 0 where scaleBlock is 0
 * ~~~
 *
 * where b, h and t are indices into the tensor, so b may count pages and t the tokens of a page or of all packed sequences: scales
 * lie beside what they belong to. v and vScale are alike. A scale that is absent is 1. A kernel multiplies in fp32, once per key and not once
 * per element where it can: scores by the scale of K, weights by that of V. A scale that is NaN or infinite counts as NaN: it makes scores
 * and values NaN that something visible depends on. The scales of hidden keys have no influence, unless their block has a visible key as well.
 *
 * \par Valid usage
 * - structSize must be sizeof(SaccadeAttentionDesc) [structSize]
 * - each tensor must be valid as SaccadeTensorDesc says, with the dtype and sizes given at the member [q.dtype, k.sizes, ...]
 * - k must have the dtype of q, or be F8E4M3 or I8; v must have the dtype of k [k.dtype, v.dtype]
 * - kScale and vScale must be absent unless k and v are F8E4M3 or I8 [k_scale, v_scale]
 * - scaleBlock must be 0 unless kScale or vScale is given, and at most 2^30 - 1 [scale_block]
 * - head_dim_qk and head_dim_v must be from 1 to 256 [head_dim_qk, head_dim_v]
 * - axis 2 of q and the number of keys must be at most 2^30 - 1 [seqlen_q, seqlen_k, block_table]
 * - num_heads_q must be a multiple of num_heads_kv [num_heads_kv]
 * - causal must be a SaccadeCausal [causal]
 * - windowLeft and windowRight must be at least -1 [window_left, window_right]
 * - with hasSoftmaxScale, softmaxScale must be finite [softmax_scale]
 * - temperature must be finite and above 0, and the scale divided by it finite in fp32 [temperature]
 * - softcap must be 0, or finite and above 0 [softcap]
 * - numSequences must be 0 without hasCuSeqlens, and at most 2^30 - 1 with it [num_sequences]
 * - with hasCuSeqlens, axis 0 of q must have size 1, and so must that of k and v unless they are paged [q.sizes, k.sizes]
 * - with hasCuSeqlens, hasSeqlensQ, hasSeqlensK, mask, bias and probs must not be given [seqlens_q, seqlens_k, mask, bias, probs]
 * - with a blockTable that has entries, k must have at least one page [k.sizes]
 * - dropout must be at least 0 and below 1 [dropout], and 0 in this version [dropout, UNSUPPORTED]
 * - normalizer must be a SaccadeNormalizer [normalizer], and SOFTMAX in this version [normalizer, UNSUPPORTED]
 * - kernel, if given, must name a variant of attention [kernel] that can run here [kernel, UNSUPPORTED] with that tile [kernel] */
typedef struct SaccadeAttentionDesc {
  uint32_t structSize; /**< sizeof(SaccadeAttentionDesc) */

  SaccadeTensorDesc q;   /**< [B, num_heads_q, seqlen_q, head_dim_qk]; F32, F16 or BF16 */
  SaccadeTensorDesc k;   /**< [B, num_heads_kv, seqlen_k, head_dim_qk]; dtype of q, F8E4M3 or I8; num_heads_q % num_heads_kv == 0 */
  SaccadeTensorDesc v;   /**< [B, num_heads_kv, seqlen_k, head_dim_v]; dtype of k; head dims from 1 to 256 */
  SaccadeTensorDesc out; /**< [B, num_heads_q, seqlen_q, head_dim_v]; dtype of q */

  SaccadeTensorDesc lse;   /**< optional output [B, num_heads_q, seqlen_q, 1], F32: log-sum-exp of the scores */
  SaccadeTensorDesc probs; /**< optional output [B, num_heads_q, seqlen_q, seqlen_k], dtype of q: the weights */
  SaccadeTensorDesc mask;  /**< optional U8 [B, num_heads_q, seqlen_q, seqlen_k], each size full or 1, any strides: non-zero means
                                attend */
  SaccadeTensorDesc bias;  /**< optional F32, F16 or BF16, sizes and strides as those of mask: added to the scaled scores */
  SaccadeTensorDesc alibiSlopes; /**< optional F32 [1, 1, B or 1, num_heads_q] (Press et al. 2022) */
  SaccadeTensorDesc sink;        /**< optional F32 [1, 1, 1, num_heads_q]: a logit per query head without a value */
  SaccadeTensorDesc blockTable;  /**< optional I32 [1, 1, B or numSequences, max_pages]: paged K/V */
  SaccadeTensorDesc kScale;      /**< optional F32 [axis 0 of k, num_heads_kv, axis 2 of k / scaleBlock rounded up, 1], each size full or
                                      1, any strides: what quantised elements of k are multiplied by */
  SaccadeTensorDesc vScale;      /**< the same for v */
  uint32_t scaleBlock;           /**< tokens that share a scale; 0: all of them, and axis 2 of the scales has size 1 */
  VkBool32 hasSeqlensQ;    /**< int32 [B]: rows at or past it give 0, lse -inf, probs 0; clamped to [0, seqlen_q] */
  VkBool32 hasSeqlensK;    /**< int32 [B]: keys at or past it are hidden; clamped to [0, seqlen_k] */
  VkBool32 hasCuSeqlens;   /**< packed sequences: cu_seqlens_q and cu_seqlens_k, int32 [numSequences + 1] each */
  uint32_t numSequences;   /**< 0 unless packed */

  SaccadeCausal causal;     /**< default: NONE */
  int64_t windowLeft;       /**< row i sees keys from i + offset - windowLeft on; -1: unbounded */
  int64_t windowRight;      /**< row i sees keys up to i + offset + windowRight; -1: unbounded */
  VkBool32 hasSoftmaxScale; /**< VK_FALSE: softmaxScale is ignored and 1/sqrt(head_dim_qk) used */
  float softmaxScale;       /**< finite; 0 and negative values are legal */
  float temperature;        /**< divides the scale; finite and > 0; default 1 */
  float softcap;            /**< finite and > 0; 0: off */

  float dropout;                /**< probability; refused by this version unless 0 */
  uint64_t dropoutSeed;         /**< has no effect without dropout */
  uint64_t dropoutOffset;       /**< has no effect without dropout */
  SaccadeNormalizer normalizer; /**< refused by this version unless SOFTMAX */
  float sigmoidBias;            /**< has no effect with SOFTMAX */

  const char* kernel; /**< optional: use this kernel variant or refuse, with the fields of a tile behind it as in
                           "scalar_rows keys=4" that tile; NULL: the context's choice */
} SaccadeAttentionDesc;

/** The description with its defaults: temperature 1, windows unbounded, no softmaxScale; all tensors absent. */
static inline SaccadeAttentionDesc saccadeAttentionDescDefault(void) {
  SaccadeAttentionDesc desc;
  memset(&desc, 0, sizeof desc);
  desc.structSize = (uint32_t)sizeof desc;
  desc.temperature = 1.0f;
  desc.windowLeft = -1;
  desc.windowRight = -1;
  return desc;
}

/** The memory of one recorded attention. Ranges of absent tensors are ignored.
 *
 * The host pointers are optional copies of what the device arrays of the same name will hold when the work runs. Where given,
 * the record call checks them and names the entry that is wrong; it keeps no pointer.
 *
 * \par Valid usage
 * - structSize must be sizeof(SaccadeAttentionBuffers) [structSize]
 * - each range that the plan needs must be valid as SaccadeBuffer says [q, k, v, out, lse, probs, mask, bias, alibi_slopes, sink,
 *   block_table, k_scale, v_scale, seqlens_q, seqlens_k, cu_seqlens_q, cu_seqlens_k, scratch]
 * - the addresses of quantised k and v must be multiples of 4 where both head dims and the strides of axes 0 to 2 of both
 *   are: they are read four elements at a time then [k, v]
 * - out, lse, probs and scratch must not overlap each other or an input
 * - a host pointer must point to as many entries as its array has
 * - entries of hostSeqlensQ must be from 0 to seqlen_q, those of hostSeqlensK from 0 to seqlen_k [seqlens_q, seqlens_k]
 * - hostCuSeqlensQ and hostCuSeqlensK must start at 0, must not decrease, and must end at or before the last token of the
 *   tensor; paged, a sequence must fit into the pages of its row [cu_seqlens_q, cu_seqlens_k]
 * - entries of hostBlockTable that are in use must be pages [block_table]
 * - on the device, the arrays should hold such values too: others give wrong results, but no access outside the tensors */
typedef struct SaccadeAttentionBuffers {
  uint32_t structSize;           /**< sizeof(SaccadeAttentionBuffers) */
  SaccadeBuffer q,               /**< input */
      k,                         /**< input */
      v,                         /**< input */
      out,                       /**< output */
      lse,                       /**< output */
      probs,                     /**< output */
      mask,                      /**< input */
      bias,                      /**< input */
      alibiSlopes,               /**< input */
      sink,                      /**< input */
      blockTable,                /**< input */
      kScale,                    /**< input */
      vScale;                    /**< input */
  SaccadeBuffer seqlensQ,        /**< input, int32 [B] */
      seqlensK;                  /**< input, int32 [B] */
  SaccadeBuffer cuSeqlensQ,      /**< input, int32 [numSequences + 1] */
      cuSeqlensK;                /**< input, int32 [numSequences + 1] */
  SaccadeBuffer scratch;         /**< SaccadePlanInfo::scratchBytes, aligned to 16; contents need not be kept */
  const int32_t* hostSeqlensQ;   /**< [B] */
  const int32_t* hostSeqlensK;   /**< [B] */
  const int32_t* hostCuSeqlensQ; /**< [numSequences + 1] */
  const int32_t* hostCuSeqlensK; /**< [numSequences + 1] */
  const int32_t* hostBlockTable; /**< [B, max_pages], contiguous; checked as far as the lengths are known to the host */
} SaccadeAttentionBuffers;

/** No ranges, no host pointers. */
static inline SaccadeAttentionBuffers saccadeAttentionBuffersDefault(void) {
  SaccadeAttentionBuffers buffers;
  memset(&buffers, 0, sizeof buffers);
  buffers.structSize = (uint32_t)sizeof buffers;
  return buffers;
}

/** \} */

/** \defgroup layers The layers around it
 * Their descriptions and buffers follow the rules of SaccadeTensorDesc and SaccadeBuffer. structSize must be the size of the
 * structure [structSize]; start from the structure's default function. kernel, if given, must name a variant of the operator
 * [kernel] that can run here [kernel, UNSUPPORTED]. Outputs must not overlap inputs, but for what each operator allows. */
/** \{ */

/** Element-wise functions. */
typedef enum SaccadeActivation {
  SACCADE_ACTIVATION_NONE = 0,      /**< x */
  SACCADE_ACTIVATION_GELU = 1,      /**< x * Phi(x), by the error function (Hendrycks and Gimpel 2016) */
  SACCADE_ACTIVATION_GELU_TANH = 2, /**< its tanh approximation */
  SACCADE_ACTIVATION_MAX_ENUM = 0x7fffffff /**< room for whatever a host writes */
} SaccadeActivation;

/** Matrix product with epilogue: out = residual + activation(a b^T + bias), products summed in fp32. All tensors are of one
 * dtype: F32, F16 or BF16. K of 0 gives residual + activation(bias). out may be the residual itself: the same address and strides,
 * nothing broadcast.
 *
 * \par Valid usage
 * - b, bias, residual and out must have the dtype of a [b.dtype, bias.dtype, residual.dtype, out.dtype]
 * - sizes must be as given at the members [b.sizes, bias.sizes, residual.sizes, out.sizes]
 * - K must be at most 2^31 - 1 [a.sizes]
 * - activation must be a SaccadeActivation [activation] */
typedef struct SaccadeMatmulDesc {
  uint32_t structSize;        /**< sizeof(SaccadeMatmulDesc) */
  SaccadeTensorDesc a,        /**< [B0, B1, M, K], any strides */
      b,                      /**< [B0 or 1, B1 or 1, N, K], any strides: a weight stored as [K, N] is strides {.., 1, N} */
      bias,                   /**< [1, 1, 1, N], optional */
      residual,               /**< [B0 or 1, B1 or 1, M or 1, N], optional */
      out;                    /**< [B0, B1, M, N] */
  SaccadeActivation activation; /**< of the product with its bias; default NONE */
  const char* kernel;           /**< optional, as in SaccadeAttentionDesc */
} SaccadeMatmulDesc;

/** The memory of one recorded matrix product [a, b, bias, residual, out]. */
typedef struct SaccadeMatmulBuffers {
  uint32_t structSize; /**< sizeof(SaccadeMatmulBuffers) */
  SaccadeBuffer a,     /**< input */
      b,               /**< input */
      bias,            /**< input */
      residual,        /**< input */
      out;             /**< output */
} SaccadeMatmulBuffers;

/** Layer normalisation over axis 3 (Ba et al. 2016): (x - mean) / sqrt(var + epsilon) * weight + bias, biased
 * variance, fp32 statistics. out may be x itself: the same address and strides.
 *
 * \par Valid usage
 * - weight, bias and out must have the dtype of x [weight.dtype, bias.dtype, out.dtype]
 * - weight and bias must both be given or both be absent [weight.dtype, bias.dtype]
 * - sizes must be as given at the members [weight.sizes, bias.sizes, out.sizes]
 * - epsilon must be finite and at least 0 [epsilon] */
typedef struct SaccadeLayerNormDesc {
  uint32_t structSize;  /**< sizeof(SaccadeLayerNormDesc) */
  SaccadeTensorDesc x,  /**< [.., .., .., N]; F32, F16 or BF16 */
      weight,           /**< [1, 1, 1, N], optional */
      bias,             /**< [1, 1, 1, N], optional */
      out;              /**< sizes of x */
  float epsilon;        /**< finite, >= 0; default 1e-5 */
  const char* kernel;   /**< optional, as in SaccadeAttentionDesc */
} SaccadeLayerNormDesc;

/** The memory of one recorded layer normalisation [x, weight, bias, out]. */
typedef struct SaccadeLayerNormBuffers {
  uint32_t structSize; /**< sizeof(SaccadeLayerNormBuffers) */
  SaccadeBuffer x,     /**< input */
      weight,          /**< input */
      bias,            /**< input */
      out;             /**< output; may be x */
} SaccadeLayerNormBuffers;

/** Softmax over axis 3. -inf gives exactly 0; a row of only -inf gives 0 throughout; NaN or +inf makes its row NaN. out may be
 * x itself: the same address and strides.
 *
 * \par Valid usage
 * - out must have the dtype and sizes of x [out.dtype, out.sizes] */
typedef struct SaccadeSoftmaxDesc {
  uint32_t structSize;  /**< sizeof(SaccadeSoftmaxDesc) */
  SaccadeTensorDesc x,  /**< any sizes; F32, F16 or BF16 */
      out;              /**< sizes and dtype of x */
  const char* kernel;   /**< optional, as in SaccadeAttentionDesc */
} SaccadeSoftmaxDesc;

/** The memory of one recorded softmax [x, out]. */
typedef struct SaccadeSoftmaxBuffers {
  uint32_t structSize; /**< sizeof(SaccadeSoftmaxBuffers) */
  SaccadeBuffer x,     /**< input */
      out;             /**< output; may be x */
} SaccadeSoftmaxBuffers;

/** An activation, element by element. out may be x itself: the same address and strides.
 *
 * \par Valid usage
 * - out must have the dtype and sizes of x [out.dtype, out.sizes]
 * - activation must be a SaccadeActivation [activation] */
typedef struct SaccadeActivationDesc {
  uint32_t structSize;          /**< sizeof(SaccadeActivationDesc) */
  SaccadeTensorDesc x,          /**< any sizes; F32, F16 or BF16 */
      out;                      /**< sizes and dtype of x */
  SaccadeActivation activation; /**< which one; default NONE, which copies */
  const char* kernel;           /**< optional, as in SaccadeAttentionDesc */
} SaccadeActivationDesc;

/** The memory of one recorded activation [x, out]. */
typedef struct SaccadeActivationBuffers {
  uint32_t structSize; /**< sizeof(SaccadeActivationBuffers) */
  SaccadeBuffer x,     /**< input */
      out;             /**< output; may be x */
} SaccadeActivationBuffers;

/** Patch embedding of a Vision Transformer (Dosovitskiy et al. 2021): a convolution with stride = patch size. All tensors are
 * of one dtype: F32, F16 or BF16. Needs scratch.
 *
 * \par Valid usage
 * - weight, bias, residual and out must have the dtype of image [weight.dtype, bias.dtype, residual.dtype, out.dtype]
 * - patchSize must be at least 1 and divide H and W [patchSize]
 * - sizes must be as given at the members [weight.sizes, bias.sizes, residual.sizes, out.sizes]
 * - weight must be contiguous [weight.strides]
 * - the patches must have at most 2^32 - 1 elements in all [image.sizes] */
typedef struct SaccadePatchEmbedDesc {
  uint32_t structSize;      /**< sizeof(SaccadePatchEmbedDesc) */
  SaccadeTensorDesc image,  /**< [B, C, H, W]; H and W multiples of patchSize */
      weight,               /**< [E, C, patchSize, patchSize], contiguous */
      bias,                 /**< [1, 1, 1, E], optional */
      residual,             /**< [B or 1, 1, (H/patchSize) * (W/patchSize), E], optional: position embeddings */
      out;                  /**< [B, 1, (H/patchSize) * (W/patchSize), E], patches row by row; the batch stride may leave room for
                                 other tokens */
  uint32_t patchSize;       /**< side of a patch, in pixels */
  const char* kernel;       /**< optional: of the matrix product inside */
} SaccadePatchEmbedDesc;

/** The memory of one recorded patch embedding [image, weight, bias, residual, out, scratch]. */
typedef struct SaccadePatchEmbedBuffers {
  uint32_t structSize; /**< sizeof(SaccadePatchEmbedBuffers) */
  SaccadeBuffer image, /**< input */
      weight,          /**< input */
      bias,            /**< input */
      residual,        /**< input */
      out,             /**< output */
      scratch;         /**< SaccadePlanInfo::scratchBytes, aligned to 16; contents need not be kept */
} SaccadePatchEmbedBuffers;

/** Defines a function that returns a structure of zeros with its size. */
#define SACCADE_DEFINE_DEFAULT_(Type, function)     \
  static inline Type function(void) {               \
    Type value;                                     \
    memset(&value, 0, sizeof value);                \
    value.structSize = (uint32_t)sizeof value;      \
    return value;                                   \
  }
/** The structure with its defaults. */
SACCADE_DEFINE_DEFAULT_(SaccadeMatmulDesc, saccadeMatmulDescDefault)
/** The structure with its defaults. */
SACCADE_DEFINE_DEFAULT_(SaccadeMatmulBuffers, saccadeMatmulBuffersDefault)
/** The structure with its defaults. */
SACCADE_DEFINE_DEFAULT_(SaccadeLayerNormBuffers, saccadeLayerNormBuffersDefault)
/** The structure with its defaults. */
SACCADE_DEFINE_DEFAULT_(SaccadeSoftmaxDesc, saccadeSoftmaxDescDefault)
/** The structure with its defaults. */
SACCADE_DEFINE_DEFAULT_(SaccadeSoftmaxBuffers, saccadeSoftmaxBuffersDefault)
/** The structure with its defaults. */
SACCADE_DEFINE_DEFAULT_(SaccadeActivationDesc, saccadeActivationDescDefault)
/** The structure with its defaults. */
SACCADE_DEFINE_DEFAULT_(SaccadeActivationBuffers, saccadeActivationBuffersDefault)
/** The structure with its defaults. */
SACCADE_DEFINE_DEFAULT_(SaccadePatchEmbedDesc, saccadePatchEmbedDescDefault)
/** The structure with its defaults. */
SACCADE_DEFINE_DEFAULT_(SaccadePatchEmbedBuffers, saccadePatchEmbedBuffersDefault)
#undef SACCADE_DEFINE_DEFAULT_

/** The description with its defaults: epsilon 1e-5. */
static inline SaccadeLayerNormDesc saccadeLayerNormDescDefault(void) {
  SaccadeLayerNormDesc desc;
  memset(&desc, 0, sizeof desc);
  desc.structSize = (uint32_t)sizeof desc;
  desc.epsilon = 1e-5f;
  return desc;
}

/** \} */

/** \defgroup plans Plans */
/** \{ */

/** Opaque, immutable: kernel, specialisation, grid and parameters of one operator. */
typedef struct SaccadePlanT* SaccadePlan;

/** \name Creating plans
 * Each validates the description, chooses a kernel, creates its pipelines if the context does not have them yet (which may take
 * the driver up to seconds, once; several at once on threads of their own, unless there are allocation callbacks) and
 * stores the parameters in device-visible memory. The description is not kept.
 *
 * A description without elements to compute is legal: its plan records nothing. */
/** \{ */

/** Creates a plan.
 *
 * \param context  a context that exists
 * \param desc     the description; start from its default function
 * \param plan     receives the plan, owned by the host until saccadeDestroyPlan(); NULL on failure
 * \param message  NULL, or filled on failure
 *
 * \par Errors
 * INVALID_ARGUMENT and UNSUPPORTED (the message names the field), OUT_OF_MEMORY, DRIVER, DEVICE_LOST.
 * \par Valid usage
 * - context, desc and plan must not be NULL [context, desc, plan]
 * - desc must be valid as its structure says
 * \par Threads
 * Thread-safe. */
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
/** \} */

/** Destroys a plan. Its pipelines stay with the context.
 *
 * \param plan  NULL is allowed
 *
 * \par Valid usage
 * - no command buffer that holds the plan may be executing, nor be submitted later
 * - no thread may be recording it: with checkUse an error is logged then and nothing destroyed
 * - its context must exist */
SACCADE_API void saccadeDestroyPlan(SaccadePlan plan);

/** A plan explains itself. Strings live as long as the plan. */
typedef struct SaccadePlanInfo {
  SaccadeOperator op;       /**< which record call takes it */
  const char* kernel;       /**< variant, e.g. "scalar_rows" */
  const char* label;        /**< what runs, e.g. "attention scalar_rows f32 B1 Hq12 Hkv12 Tq197 Tk197 Dqk64 Dv64 causal" */
  const char* reason;       /**< why this variant, and why each other one was not taken; one line each */
  double flops;             /**< useful floating-point operations, 4 B H Tq Tk D for attention, less for hidden pairs */
  double bytes;             /**< inputs read and outputs written once */
  uint64_t scratchBytes;    /**< device memory that the record call needs as scratch */
  uint32_t dispatchCount;   /**< vkCmdDispatch calls; for long work it depends on what the context has learnt */
  uint32_t barrierCount;    /**< barriers recorded between them */
  const char* tile;         /**< the variant with its tile, as `kernel` of a description takes them; "" if it has none */
  double estimatedMilliseconds; /**< on this device, by what saccadeReportTime() has taught the context; a careful guess until then */
} SaccadePlanInfo;

/** Asks a plan. Thread-safe.
 *
 * \param plan  a plan that exists
 * \param info  is filled
 *
 * \par Valid usage
 * - neither may be NULL */
SACCADE_API void saccadeGetPlanInfo(SaccadePlan plan, SaccadePlanInfo* info);

/** A kernel with a tile that could compute a problem, and what a tuning file calls problems like it. */
typedef struct SaccadeCandidate {
  char problem[128]; /**< e.g. "attention f32 dqk64 dv64 tq256 tk256 heads16 group1": sizes rounded up to powers of two */
  char kernel[128];  /**< for `kernel` of the description, e.g. "scalar_rows local_size=8 keys=8" */
} SaccadeCandidate;

/** \name What could be measured */
/** \{ */

/** Lists what is worth measuring for a problem on this device; the built-in choice comes first. `kernel` of the description, the
 * context's and its tuning have no influence.
 *
 * \param context     a context that exists
 * \param desc        the problem
 * \param count       with candidates NULL it receives their number; otherwise it holds how many there is room for, and receives
 *                    how many were written
 * \param candidates  NULL, or room for *count of them
 * \param message     NULL, or filled on failure
 *
 * \par Errors
 * Those of the plan.
 * \par Valid usage
 * - context, desc and count must not be NULL [context, desc, count]
 * - desc must be valid as its structure says
 * \par Threads
 * Thread-safe. */
SACCADE_API SaccadeStatus saccadeGetAttentionCandidates(SaccadeContext context, const SaccadeAttentionDesc* desc,
                                                        uint32_t* count, SaccadeCandidate* candidates,
                                                        SaccadeMessage* message);
SACCADE_API SaccadeStatus saccadeGetMatmulCandidates(SaccadeContext context, const SaccadeMatmulDesc* desc, uint32_t* count,
                                                     SaccadeCandidate* candidates, SaccadeMessage* message);
/** \} */

/** Tells the context how long one execution of a plan took on the device, by two timestamps around it with nothing else running
 * in between. From then on every plan with the same pipelines is cut by that (SaccadeContextCreateInfo::dispatchBudget);
 * until then a slow device is assumed (10 GFLOP/s on a CPU, else 50). It is worth the timestamps where
 * SaccadePlanInfo::estimatedMilliseconds comes near the budget. The smallest piece is a work-group: a few query rows over all
 * of their keys. Slower executions count at once, faster ones bit by bit (the second, and in full: the first may have held the
 * driver's compiling); where only the device knows the lengths, only slower ones. What is recorded already stays as it is cut.
 *
 * \param plan          a plan that exists; not NULL
 * \param milliseconds  ignored unless finite and > 0
 *
 * \par Threads
 * Thread-safe. */
SACCADE_API void saccadeReportTime(SaccadePlan plan, double milliseconds);

/** \} */

/** \defgroup recording Recording */
/** \{ */

/** \name Record calls
 * Each checks every range first; on error nothing has been recorded. Nothing is allocated. The head of this file says how inputs
 * and outputs are synchronised and what of the command buffer's state is disturbed. */
/** \{ */

/** Records a plan into a command buffer. The plan may be recorded as often as one likes, with the same or with other memory.
 *
 * \param commandBuffer  primary or secondary, in the recording state, outside a render pass
 * \param plan           of this operator
 * \param buffers        the memory; start from its default function. Not kept
 * \param message        NULL, or filled on failure
 *
 * \par Errors
 * INVALID_ARGUMENT.
 * \par Valid usage
 * - commandBuffer must not be NULL [commandBuffer]
 * - commandBuffer must be in the recording state, outside a render pass, of a queue family with VK_QUEUE_COMPUTE_BIT
 * - commandBuffer must be of the device of the plan's context; checked with checkUse, as far as it can be seen [commandBuffer]
 * - plan must not be NULL, and be of this operator [plan]
 * - plan must exist; checked with checkUse [plan]
 * - buffers must not be NULL, and be valid as its structure says [buffers, and the names of the ranges]
 * - the memory of the ranges and the plan must live until the execution of commandBuffer is over
 * \par Threads
 * Thread-safe for different command buffers; access to commandBuffer and its pool needs external synchronisation. */
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
/** \} */

/** \} */

#ifdef __cplusplus
}
#endif

#endif /* SACCADE_SACCADE_H_ */
