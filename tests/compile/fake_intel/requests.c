// SPDX-License-Identifier: Apache-2.0
// The requests that all kernel drivers have.
#include <drm/drm.h>
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>

#include "fake_intel.h"

static void giveString(char* to, __kernel_size_t* size, const char* text) {
  if (to) memcpy(to, text, strnlen(text, *size));
  *size = strlen(text);
}

int drmRequest(unsigned number, void* request) {
  switch (number) {
    case _IOC_NR(DRM_IOCTL_VERSION): {
      struct drm_version* version = request;
      version->version_major = 1;
      version->version_minor = chip.xe ? 1 : 6;
      version->version_patchlevel = 0;
      giveString(version->name, &version->name_len, chip.xe ? "xe" : "i915");
      giveString(version->date, &version->date_len, "20240101");
      giveString(version->desc, &version->desc_len, "fake Intel graphics");
      return 0;
    }
    case _IOC_NR(DRM_IOCTL_GET_CAP): {
      const uint64_t capability = REQUEST(drm_get_cap)->capability;
      REQUEST(drm_get_cap)->value = capability == DRM_CAP_SYNCOBJ || capability == DRM_CAP_SYNCOBJ_TIMELINE;
      return 0;
    }
    case _IOC_NR(DRM_IOCTL_GEM_CLOSE): return destroyObject(REQUEST(drm_gem_close)->handle);
    case _IOC_NR(DRM_IOCTL_SYNCOBJ_CREATE):
      return createObject(&REQUEST(drm_syncobj_create)->handle, 0,
                          REQUEST(drm_syncobj_create)->flags & DRM_SYNCOBJ_CREATE_SIGNALED);
    case _IOC_NR(DRM_IOCTL_SYNCOBJ_DESTROY): return destroyObject(REQUEST(drm_syncobj_destroy)->handle);
    case _IOC_NR(DRM_IOCTL_SYNCOBJ_WAIT): {
      struct drm_syncobj_wait* wait = request;
      return waitSignaled(POINTER(wait->handles), NULL, wait->count_handles, wait->flags, wait->timeout_nsec,
                          &wait->first_signaled);
    }
    case _IOC_NR(DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT): {
      struct drm_syncobj_timeline_wait* wait = request;
      return waitSignaled(POINTER(wait->handles), POINTER(wait->points), wait->count_handles, wait->flags,
                          wait->timeout_nsec, &wait->first_signaled);
    }
    case _IOC_NR(DRM_IOCTL_SYNCOBJ_RESET):
    case _IOC_NR(DRM_IOCTL_SYNCOBJ_SIGNAL): {
      const struct drm_syncobj_array* array = request;
      const uint32_t* handles = POINTER(array->handles);
      for (uint32_t i = 0; i < array->count_handles; i++) {
        setSignaled(handles[i], number == _IOC_NR(DRM_IOCTL_SYNCOBJ_SIGNAL), 0);
      }
      return 0;
    }
    case _IOC_NR(DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL):
    case _IOC_NR(DRM_IOCTL_SYNCOBJ_QUERY): {
      const struct drm_syncobj_timeline_array* array = request;
      const uint32_t* handles = POINTER(array->handles);
      uint64_t* points = POINTER(array->points);
      for (uint32_t i = 0; i < array->count_handles; i++) {
        if (number == _IOC_NR(DRM_IOCTL_SYNCOBJ_QUERY)) {
          points[i] = getPoint(handles[i]);
        } else {
          setSignaled(handles[i], true, points[i]);
        }
      }
      return 0;
    }
    case _IOC_NR(DRM_IOCTL_SYNCOBJ_TRANSFER):
      setSignaled(REQUEST(drm_syncobj_transfer)->dst_handle, true, REQUEST(drm_syncobj_transfer)->dst_point);
      return 0;
    default: say("  unknown"); return EINVAL;
  }
}
