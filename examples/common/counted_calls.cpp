// SPDX-License-Identifier: Apache-2.0
#include "common/counted_calls.hpp"

#include <cstring>

namespace example {
namespace {

PFN_vkGetInstanceProcAddr nextInstanceProcAddr = nullptr;
PFN_vkGetDeviceProcAddr nextDeviceProcAddr = nullptr;

// One per type of function, which is enough: those that share one, such as a function of an extension and its later core
// version, do the same.
template <typename Function>
struct Counted;

template <typename Result, typename... Arguments>
struct Counted<Result(VKAPI_PTR*)(Arguments...)> {
  static inline Result(VKAPI_PTR* next)(Arguments...) = nullptr;
  static inline std::uint64_t* counter = nullptr;

  static Result VKAPI_CALL call(Arguments... arguments) {
    ++*counter;
    return next(arguments...);
  }

  static PFN_vkVoidFunction before(PFN_vkVoidFunction function, std::uint64_t& count) {
    next = reinterpret_cast<decltype(next)>(function);
    counter = &count;
    return reinterpret_cast<PFN_vkVoidFunction>(&call);
  }
};

PFN_vkVoidFunction withCounter(const char* name, PFN_vkVoidFunction function) {
  CallCounts& counts = callCounts();
  if (function == nullptr) return nullptr;
  const auto is = [name](const char* other) { return std::strcmp(name, other) == 0; };
  if (is("vkQueueSubmit")) return Counted<PFN_vkQueueSubmit>::before(function, counts.submits);
  if (is("vkQueueSubmit2")) return Counted<PFN_vkQueueSubmit2>::before(function, counts.submits);
  if (is("vkCmdCopyBuffer")) return Counted<PFN_vkCmdCopyBuffer>::before(function, counts.copies);
  if (is("vkCmdCopyBuffer2")) return Counted<PFN_vkCmdCopyBuffer2>::before(function, counts.copies);
  if (is("vkCmdCopyImageToBuffer")) return Counted<PFN_vkCmdCopyImageToBuffer>::before(function, counts.copies);
  if (is("vkCmdCopyImageToBuffer2")) return Counted<PFN_vkCmdCopyImageToBuffer2>::before(function, counts.copies);
  if (is("vkMapMemory")) return Counted<PFN_vkMapMemory>::before(function, counts.copies);
  if (is("vkInvalidateMappedMemoryRanges")) {
    return Counted<PFN_vkInvalidateMappedMemoryRanges>::before(function, counts.copies);
  }
  return function;
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL countedDeviceProcAddr(VkDevice device, const char* name) {
  return withCounter(name, nextDeviceProcAddr(device, name));
}

}  // namespace

CallCounts& callCounts() {
  static CallCounts counts;
  return counts;
}

void countCalls(PFN_vkGetInstanceProcAddr next) { nextInstanceProcAddr = next; }

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL countedProcAddr(VkInstance instance, const char* name) {
  const PFN_vkVoidFunction function = nextInstanceProcAddr(instance, name);
  if (function != nullptr && std::strcmp(name, "vkGetDeviceProcAddr") == 0) {
    nextDeviceProcAddr = reinterpret_cast<PFN_vkGetDeviceProcAddr>(function);
    return reinterpret_cast<PFN_vkVoidFunction>(&countedDeviceProcAddr);
  }
  return withCounter(name, function);
}

}  // namespace example
