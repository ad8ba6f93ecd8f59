// SPDX-License-Identifier: Apache-2.0
// The files that libdrm and the driver read to find and name the device.
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "fake_intel.h"

#define RENDER_NODE "/dev/dri/renderD128"
#define SYSFS "/sys/dev/char/226:128/device"

static struct File files[16];
static unsigned fileCount;

__attribute__((format(printf, 3, 4))) static void addFile(enum FileKind kind, const char* path, const char* format,
                                                          ...) {
  struct File* file = &files[fileCount++];
  va_list arguments;
  va_start(arguments, format);
  file->path = path;
  file->kind = kind;
  file->size = (size_t)vsnprintf(file->text, sizeof file->text, format, arguments);
  va_end(arguments);
}

void addFiles(void) {
  addFile(DIRECTORY, "/dev/dri", "renderD128\n");
  addFile(DEVICE, RENDER_NODE, "%s", "");
  addFile(DIRECTORY, SYSFS, "drm\nsubsystem\nuevent\nvendor\ndevice\n");
  addFile(DIRECTORY, SYSFS "/drm", "card0\nrenderD128\n");
  addFile(LINK, SYSFS "/subsystem", "/sys/bus/pci");
  addFile(TEXT, SYSFS "/vendor", "0x8086\n");
  addFile(TEXT, SYSFS "/device", "0x%04x\n", chip.id);
  addFile(TEXT, SYSFS "/subsystem_vendor", "0x8086\n");
  addFile(TEXT, SYSFS "/subsystem_device", "0x0000\n");
  addFile(TEXT, SYSFS "/revision", "0x%02x\n", chip.revision);
  addFile(TEXT, SYSFS "/uevent",
          "DRIVER=%s\nPCI_CLASS=30000\nPCI_ID=8086:%04X\nPCI_SUBSYS_ID=8086:0000\nPCI_SLOT_NAME=0000:03:00.0\n",
          chip.xe ? "xe" : "i915", chip.id);
}

bool isOurs(const char* path) {
  return enabled && path && (strncmp(path, "/dev/dri", 8) == 0 || strncmp(path, "/sys/dev/char/226:", 18) == 0);
}

struct File* findFile(const char* call, const char* path) {
  for (unsigned i = 0; i < fileCount; i++) {
    if (strcmp(files[i].path, path) == 0) {
      say("%s %s", call, path);
      return &files[i];
    }
  }
  say("%s %s: absent", call, path);
  errno = ENOENT;
  return NULL;
}
