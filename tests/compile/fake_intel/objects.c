// SPDX-License-Identifier: Apache-2.0
// Buffers and synchronisation objects: what a handle names.
#define _GNU_SOURCE
#include <drm/drm.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "fake_intel.h"

static int memory = -1;
static struct stat memoryStat;

bool openDevice(void) {
  memory = memfd_create("fake_intel_memory", MFD_CLOEXEC);
  return memory >= 0 && ftruncate(memory, 1ll << 46) == 0 && syscall(SYS_fstat, memory, &memoryStat) == 0;
}

int deviceFd(void) { return memory; }

bool isDevice(int fd) {
  struct stat found;
  return enabled && syscall(SYS_fstat, fd, &found) == 0 && found.st_ino == memoryStat.st_ino &&
         found.st_dev == memoryStat.st_dev;
}

static struct Object {
  bool used, signaled;
  uint64_t point;         // of a timeline
  uint64_t offset, size;  // of a buffer
} objects[1 << 16];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int createObject(uint32_t* handle, uint64_t size, bool signaled) {
  static uint64_t nextOffset = 1 << 20;
  uint32_t i = 1;
  pthread_mutex_lock(&lock);
  while (i < COUNT(objects) && objects[i].used) i++;
  if (i < COUNT(objects)) {
    objects[i] = (struct Object){.used = true, .signaled = signaled, .offset = nextOffset, .size = size};
    nextOffset += (size + 0xffff) & ~0xffffull;
    *handle = i;
  }
  pthread_mutex_unlock(&lock);
  return i < COUNT(objects) ? 0 : ENOMEM;
}

// Call with the lock held.
static struct Object* getObject(uint32_t handle) {
  return handle < COUNT(objects) && objects[handle].used ? &objects[handle] : NULL;
}

int destroyObject(uint32_t handle) {
  pthread_mutex_lock(&lock);
  struct Object* object = getObject(handle);
  if (object) {
    if (object->size) {  // gives the memory back
      fallocate(memory, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)object->offset, (off_t)object->size);
    }
    object->used = false;
  }
  pthread_mutex_unlock(&lock);
  return object ? 0 : EINVAL;
}

int getOffset(uint32_t handle, unsigned long long* offset) {
  pthread_mutex_lock(&lock);
  struct Object* object = getObject(handle);
  if (object) *offset = object->offset;
  pthread_mutex_unlock(&lock);
  return object ? 0 : ENOENT;
}

uint64_t getPoint(uint32_t handle) {
  pthread_mutex_lock(&lock);
  struct Object* object = getObject(handle);
  const uint64_t point = object ? object->point : 0;
  pthread_mutex_unlock(&lock);
  return point;
}

void setSignaled(uint32_t handle, bool signaled, uint64_t point) {
  pthread_mutex_lock(&lock);
  struct Object* object = getObject(handle);
  if (object) {
    object->signaled = signaled;
    if (!signaled || point > object->point) object->point = point;
  }
  pthread_mutex_unlock(&lock);
}

// Whatever was submitted is done. What was not may still come from another thread.
int waitSignaled(const uint32_t* handles, const uint64_t* points, uint32_t count, uint32_t flags, int64_t deadline,
                 uint32_t* first) {
  for (;;) {
    const struct timespec nap = {0, 200000};
    struct timespec now;
    uint32_t done = 0;
    pthread_mutex_lock(&lock);
    for (uint32_t i = count; i-- > 0;) {
      const struct Object* object = getObject(handles[i]);
      if (!object || (object->signaled && (!points || object->point >= points[i]))) {
        done++;
        *first = i;
      }
    }
    pthread_mutex_unlock(&lock);
    if (done == count || (done && !(flags & DRM_SYNCOBJ_WAIT_FLAGS_WAIT_ALL))) return 0;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (now.tv_sec * 1000000000ll + now.tv_nsec >= deadline) return ETIME;
    nanosleep(&nap, NULL);
  }
}

uint32_t newId(void) {
  static uint32_t id = 1;
  return __atomic_add_fetch(&id, 1, __ATOMIC_RELAXED);
}
