// SPDX-License-Identifier: Apache-2.0
// The C library's functions that the loader, libdrm and the driver call to find a device and to talk to it, in front of
// the real ones. Those that would come back here are called as system calls.
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <drm/drm.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "fake_intel.h"

#define EXPORT __attribute__((visibility("default")))

#define REAL(function)                 \
  static __typeof__(function)* real;   \
  if (!real) real = (__typeof__(real))dlsym(RTLD_NEXT, #function)

EXPORT int ioctl(int fd, unsigned long code, ...) {
  REAL(ioctl);
  const unsigned number = _IOC_NR(code);
  const int saved = errno;
  va_list arguments;
  va_start(arguments, code);
  void* request = va_arg(arguments, void*);
  va_end(arguments);
  const bool ours = _IOC_TYPE(code) == DRM_IOCTL_BASE && isDevice(fd);
  errno = saved;
  if (!ours) return real(fd, code, request);
  int error;
  if (number < DRM_COMMAND_BASE || number >= DRM_COMMAND_END) {
    say("drm request %#x", number);
    error = drmRequest(number, request);
  } else {
    say("%s request %#x", chip.xe ? "xe" : "i915", number - DRM_COMMAND_BASE);
    error = (chip.xe ? xeRequest : i915Request)(number - DRM_COMMAND_BASE, request);
  }
  if (!error) return 0;
  say("  fails: %s", strerror(error));
  errno = error;
  return -1;
}

static int openFile(const char* path, int flags) {
  struct File* file = findFile("open", path);
  if (!file) return -1;
  if (file->kind == DEVICE) {
    char self[32];
    snprintf(self, sizeof self, "/proc/self/fd/%d", deviceFd());
    return syscall(SYS_openat, AT_FDCWD, self, O_RDWR | (flags & O_CLOEXEC));
  }
  int fd = memfd_create("fake_intel_text", flags & O_CLOEXEC ? MFD_CLOEXEC : 0);
  if (fd >= 0 && pwrite(fd, file->text, file->size, 0) != (ssize_t)file->size) say("can't write %s", path);
  return fd;
}

EXPORT int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  unsigned mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(arguments, unsigned) : 0;
  va_end(arguments);
  return isOurs(path) ? openFile(path, flags) : syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}
EXPORT int open64(const char*, int, ...) __attribute__((alias("open")));

EXPORT FILE* fopen(const char* path, const char* mode) {
  REAL(fopen);
  if (!isOurs(path)) return real(path, mode);
  int fd = openFile(path, O_CLOEXEC);
  return fd < 0 ? NULL : fdopen(fd, "r");
}
EXPORT FILE* fopen64(const char*, const char*) __attribute__((alias("fopen")));

// An open directory of ours; its address tells it from one of the C library.
static struct Listing {
  const char* next;
  struct dirent entry;
} listings[16];

static struct Listing* getListing(DIR* dir) {
  struct Listing* listing = (void*)dir;
  return listing >= listings && listing < listings + COUNT(listings) ? listing : NULL;
}

EXPORT DIR* opendir(const char* path) {
  REAL(opendir);
  if (!isOurs(path)) return real(path);
  const struct File* file = findFile("opendir", path);
  if (!file) return NULL;
  if (file->kind != DIRECTORY) {
    errno = ENOTDIR;
    return NULL;
  }
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  struct Listing* found = NULL;
  pthread_mutex_lock(&lock);
  for (unsigned i = 0; i < COUNT(listings) && !found; i++) {
    if (!listings[i].next) (found = &listings[i])->next = file->text;
  }
  pthread_mutex_unlock(&lock);
  if (!found) errno = EMFILE;
  return (DIR*)found;
}

EXPORT struct dirent* readdir(DIR* dir) {
  REAL(readdir);
  struct Listing* listing = getListing(dir);
  if (!listing) return real(dir);
  size_t n = strcspn(listing->next, "\n");
  if (!n) return NULL;
  listing->entry = (struct dirent){.d_ino = 1, .d_type = DT_UNKNOWN};
  memcpy(listing->entry.d_name, listing->next, n);
  listing->next += n + 1;
  return &listing->entry;
}
EXPORT struct dirent64* readdir64(DIR* dir) { return (struct dirent64*)readdir(dir); }

EXPORT int closedir(DIR* dir) {
  REAL(closedir);
  struct Listing* listing = getListing(dir);
  if (!listing) return real(dir);
  listing->next = NULL;
  return 0;
}

static void makeDevice(struct stat* st) {
  st->st_mode = S_IFCHR | 0666;
  st->st_rdev = makedev(226, 128);
  st->st_size = 0;
}

EXPORT int fstat(int fd, struct stat* st) {
  int result = syscall(SYS_fstat, fd, st);
  if (!result && isDevice(fd)) makeDevice(st);
  return result;
}

static int statPath(const char* path, struct stat* st, int flags) {
  if (!isOurs(path)) return syscall(SYS_newfstatat, AT_FDCWD, path, st, flags);
  struct File* file = findFile("stat", path);
  if (!file) return -1;
  bool link = file->kind == LINK && flags & AT_SYMLINK_NOFOLLOW;
  *st = (struct stat){.st_nlink = 1, .st_size = file->size};
  st->st_mode = link ? S_IFLNK | 0777 : file->kind == TEXT ? S_IFREG | 0444 : S_IFDIR | 0755;
  if (file->kind == DEVICE) makeDevice(st);
  return 0;
}

// On 64-bit Linux the two structures are the same.
EXPORT int stat(const char* path, struct stat* st) { return statPath(path, st, 0); }
EXPORT int lstat(const char* path, struct stat* st) { return statPath(path, st, AT_SYMLINK_NOFOLLOW); }
EXPORT int stat64(const char* path, struct stat64* st) { return statPath(path, (struct stat*)st, 0); }
EXPORT int lstat64(const char* path, struct stat64* st) { return statPath(path, (struct stat*)st, AT_SYMLINK_NOFOLLOW); }
EXPORT int fstat64(int fd, struct stat64* st) { return fstat(fd, (struct stat*)st); }

EXPORT int access(const char* path, int mode) {
  if (!isOurs(path)) return syscall(SYS_faccessat, AT_FDCWD, path, mode);
  return findFile("access", path) ? 0 : -1;
}

EXPORT ssize_t readlink(const char* path, char* to, size_t size) {
  if (!isOurs(path)) return syscall(SYS_readlinkat, AT_FDCWD, path, to, size);
  struct File* file = findFile("readlink", path);
  if (!file || file->kind != LINK) {
    errno = file ? EINVAL : ENOENT;
    return -1;
  }
  size = size < file->size ? size : file->size;
  memcpy(to, file->text, size);
  return size;
}

EXPORT char* realpath(const char* path, char* to) {
  REAL(realpath);
  if (!isOurs(path)) return real(path, to);
  struct File* file = findFile("realpath", path);
  if (!file) return NULL;
  return to ? strcpy(to, file->path) : strdup(file->path);
}

EXPORT char* __realpath_chk(const char* path, char* to, size_t size) {
  (void)size;
  return realpath(path, to);
}

__attribute__((constructor)) static void start(void) {
  if (!chooseChip()) return;
  if (!openDevice()) {
    perror("fake_intel: no memory file");
    return;
  }
  addFiles();
  enabled = true;
}
