// SPDX-License-Identifier: Apache-2.0
// The chips, and what the kernel drivers tell of each.
#include <drm/i915_drm.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fake_intel.h"

static const struct Chip chips[] = {
  {"skl", 0x1912, 0x06, false, 1, 3, 8, 0, 0, 9, 0, 0},     // Skylake, HD Graphics 530
  {"tgl", 0x9a49, 0x01, false, 1, 6, 16, 0, 0, 12, 0, 0},   // Tiger Lake, Iris Xe
  {"adl", 0x4680, 0x0c, false, 1, 2, 16, 0, 0, 12, 0, 0},   // Alder Lake-S, UHD Graphics 770
  {"dg2", 0x56a0, 0x08, false, 8, 4, 16, 4, 16, 12, 55, 8}, // Alchemist, Arc A770
  {"mtl", 0x7d55, 0x04, false, 2, 4, 16, 1, 0, 12, 71, 4},  // Meteor Lake, Arc Graphics
  {"arl", 0x7d51, 0x04, false, 2, 4, 16, 1, 0, 12, 74, 4},  // Arrow Lake-H, Arc 140T
  {"lnl", 0x64a0, 0x04, true, 2, 4, 8, 1, 0, 20, 4, 4},     // Lunar Lake, Arc 140V
  {"bmg", 0xe20b, 0x00, true, 5, 4, 8, 1, 12, 20, 1, 4},    // Battlemage, Arc B580
  {"ptl", 0xb080, 0x04, true, 2, 6, 8, 1, 0, 30, 0, 4},     // Panther Lake, Arc B390
};

struct Chip chip;
bool enabled;
static bool verbose;

unsigned coreCount(void) { return chip.slices * chip.coresPerSlice; }

// Engine 0 renders, 1 copies, the others compute; i915 and xe have the same numbers for these classes.
unsigned engineCount(void) { return 2u + chip.computeEngines; }
unsigned engineClass(unsigned engine) { return engine < 2 ? engine : (unsigned)I915_ENGINE_CLASS_COMPUTE; }
unsigned engineInstance(unsigned engine) { return engine < 2 ? 0 : engine - 2; }

unsigned memoryCount(void) { return chip.vramGib ? 2 : 1; }
uint64_t memorySize(unsigned memory) { return (memory ? chip.vramGib : 16) * GIB; }

uint64_t gpuTicks(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * TIMESTAMP_HZ + (uint64_t)now.tv_nsec * 192 / 10000;
}

void setBits(uint8_t* mask, unsigned count) {
  for (unsigned i = 0; i < count; i++) mask[i / 8] |= (uint8_t)(1 << i % 8);
}

void say(const char* format, ...) {
  va_list arguments;
  if (!verbose) return;
  va_start(arguments, format);
  fputs("fake_intel: ", stderr);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
}

bool chooseChip(void) {
  const char* name = getenv("FAKE_INTEL");
  const char* kernelDriver = getenv("FAKE_INTEL_KMD");
  const char* log = getenv("FAKE_INTEL_LOG");
  if (!name || !*name) return false;
  verbose = log && *log && strcmp(log, "0") != 0;
  for (unsigned i = 0; i < COUNT(chips); i++) {
    if (strcmp(name, chips[i].name) == 0 || strtoul(name, NULL, 16) == chips[i].id) chip = chips[i];
  }
  if (!chip.name) {
    fprintf(stderr, "fake_intel: there is no chip FAKE_INTEL=%s, but:", name);
    for (unsigned i = 0; i < COUNT(chips); i++) fprintf(stderr, " %s (0x%04x)", chips[i].name, chips[i].id);
    fputc('\n', stderr);
    return false;
  }
  if (kernelDriver && *kernelDriver) chip.xe = strcmp(kernelDriver, "xe") == 0;
  return true;
}
