// SPDX-License-Identifier: Apache-2.0
// An Intel GPU that is not there. Preload libfake_intel.so, and Mesa's Vulkan driver for Intel (ANV) finds a render node with
// an Intel chip behind it. The driver starts, allocates, records, submits and, which is the point, compiles shaders for that
// chip. Nothing is executed: a submit signals its fences and returns, so results are what the memory held before. It does for
// Intel what Mesa's drm-shim does for AMD, NVIDIA, Adreno and Apple.
//
// Written from the kernel's public headers (drm.h, i915_drm.h, xe_drm.h) and from what the driver asks for, which
// FAKE_INTEL_LOG=1 prints. For 64-bit Linux with glibc 2.33 or later. Limits: queries are never available, nothing can be
// exported or imported by file descriptor, and a path is answered for open, fopen, opendir, stat, access, readlink and
// realpath, not for statx or openat.
//
//   FAKE_INTEL       chip: a name or a PCI device id of chips.c; unset, the library does nothing
//   FAKE_INTEL_KMD   kernel driver to play, i915 or xe, if not the one that the chip usually has
//   FAKE_INTEL_LOG   1: print every faked file and request on stderr
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define POINTER(u64) ((void*)(uintptr_t)(u64))
#define REQUEST(type) ((struct type*)request)
#define GIB (1ull << 30)
#define TIMESTAMP_HZ 19200000

// Cores are what Intel calls subslices, from Tiger Lake on dual subslices, now Xe cores. Versions are those of the graphics
// part. The driver knows most of a chip by its PCI id; what it asks the kernel for is here.
struct Chip {
  const char* name;
  uint16_t id;
  uint8_t revision;
  bool xe;  // its kernel driver is xe, not i915
  uint8_t slices, coresPerSlice, eusPerCore, computeEngines, vramGib, version, release, step;
};

extern struct Chip chip;
extern bool enabled;

unsigned coreCount(void);
unsigned engineCount(void);
unsigned engineClass(unsigned engine);
unsigned engineInstance(unsigned engine);
unsigned memoryCount(void);  // memory 0 is the system's, 1 the device's own
uint64_t memorySize(unsigned memory);

// Sets `chip` and the two switches from the environment; false: there is nothing to fake.
bool chooseChip(void);

// Prints a line if FAKE_INTEL_LOG asks for it.
__attribute__((format(printf, 1, 2))) void say(const char* format, ...);

// The faked files.
enum FileKind { DIRECTORY, TEXT, LINK, DEVICE };
struct File {
  const char* path;
  enum FileKind kind;
  size_t size;
  char text[256];  // the content; of a directory the names in it, one a line; of a link its target
};
void addFiles(void);
bool isOurs(const char* path);  // a path that we answer for, whether or not there is a file: real GPUs are hidden
struct File* findFile(const char* call, const char* path);  // NULL with errno if there is none

// The device is a sparse file in memory, and a buffer a range of it: so mmap() of the device needs no help from us, on
// whatever duplicate of the descriptor.
bool openDevice(void);
bool isDevice(int fd);
int deviceFd(void);

// Buffers and synchronisation objects. These functions return 0 or an errno.
int createObject(uint32_t* handle, uint64_t size, bool signaled);
int destroyObject(uint32_t handle);
int getOffset(uint32_t handle, unsigned long long* offset);
uint64_t getPoint(uint32_t handle);  // of a timeline; 0 if there is no such object
void setSignaled(uint32_t handle, bool signaled, uint64_t point);
int waitSignaled(const uint32_t* handles, const uint64_t* points, uint32_t count, uint32_t flags, int64_t deadline,
                 uint32_t* first);

// Contexts, address spaces and queues are only numbers.
uint32_t newId(void);

uint64_t gpuTicks(void);
void setBits(uint8_t* mask, unsigned count);

// The requests of ioctl(), by number: those that all kernel drivers have, and those of each. They return 0 or an errno.
int drmRequest(unsigned number, void* request);
int i915Request(unsigned number, void* request);
int xeRequest(unsigned number, void* request);
