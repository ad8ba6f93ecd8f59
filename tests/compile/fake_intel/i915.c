// SPDX-License-Identifier: Apache-2.0
// The requests of i915, the kernel driver up to Arrow Lake.
#include <drm/i915_drm.h>
#include <errno.h>
#include <string.h>

#include "fake_intel.h"

static int i915Parameter(int param) {
  switch (param) {
    case I915_PARAM_CHIPSET_ID: return chip.id;
    case I915_PARAM_REVISION: return chip.revision;
    case I915_PARAM_CS_TIMESTAMP_FREQUENCY: return TIMESTAMP_HZ;
    case I915_PARAM_MMAP_GTT_VERSION: return 4;  // has GEM_MMAP_OFFSET
    case I915_PARAM_PXP_STATUS: return -ENODEV;
  }
  return 1;  // the others ask for features
}

// Writes the answer to a query and returns its size or -errno.
static int i915Answer(uint64_t query, void* answer) {
  switch (query) {
    case DRM_I915_QUERY_TOPOLOGY_INFO:
    case DRM_I915_QUERY_GEOMETRY_SUBSLICES: {  // i915 tells recent chips as one slice with all cores
      struct drm_i915_query_topology_info* t = answer;
      t->max_slices = 1;
      t->max_subslices = coreCount();
      t->max_eus_per_subslice = chip.eusPerCore;
      t->subslice_offset = 1;
      t->subslice_stride = (coreCount() + 7) / 8;
      t->eu_offset = 1 + t->subslice_stride;
      t->eu_stride = (chip.eusPerCore + 7) / 8;
      setBits(t->data, 1);
      setBits(t->data + t->subslice_offset, coreCount());
      for (unsigned i = 0; i < coreCount(); i++) setBits(t->data + t->eu_offset + i * t->eu_stride, chip.eusPerCore);
      return sizeof *t + t->eu_offset + coreCount() * t->eu_stride;
    }
    case DRM_I915_QUERY_ENGINE_INFO: {
      struct drm_i915_query_engine_info* q = answer;
      q->num_engines = engineCount();
      for (unsigned i = 0; i < q->num_engines; i++) {
        q->engines[i].engine.engine_class = engineClass(i);
        q->engines[i].engine.engine_instance = q->engines[i].logical_instance = engineInstance(i);
        q->engines[i].flags = I915_ENGINE_INFO_HAS_LOGICAL_INSTANCE;
      }
      return sizeof *q + q->num_engines * sizeof *q->engines;
    }
    case DRM_I915_QUERY_MEMORY_REGIONS: {
      struct drm_i915_query_memory_regions* q = answer;
      q->num_regions = memoryCount();
      for (unsigned i = 0; i < q->num_regions; i++) {
        struct drm_i915_memory_region_info* r = &q->regions[i];
        r->region.memory_class = i ? I915_MEMORY_CLASS_DEVICE : I915_MEMORY_CLASS_SYSTEM;
        r->probed_size = r->unallocated_size = memorySize(i);
        r->probed_cpu_visible_size = r->unallocated_cpu_visible_size = memorySize(i);
      }
      return sizeof *q + q->num_regions * sizeof *q->regions;
    }
  }
  return -ENODEV;
}

static void i915Submit(const struct drm_i915_gem_execbuffer2* e) {
  const struct drm_i915_gem_exec_fence* array = POINTER(e->cliprects_ptr);
  for (uint32_t i = 0; e->flags & I915_EXEC_FENCE_ARRAY && i < e->num_cliprects; i++) {
    if (array[i].flags & I915_EXEC_FENCE_SIGNAL) setSignaled(array[i].handle, true, 0);
  }
  const struct i915_user_extension* x = e->flags & I915_EXEC_USE_EXTENSIONS ? POINTER(e->cliprects_ptr) : NULL;
  for (; x; x = POINTER(x->next_extension)) {
    if (x->name != DRM_I915_GEM_EXECBUFFER_EXT_TIMELINE_FENCES) continue;
    const struct drm_i915_gem_execbuffer_ext_timeline_fences* t = (const void*)x;
    const struct drm_i915_gem_exec_fence* fences = POINTER(t->handles_ptr);
    const uint64_t* points = POINTER(t->values_ptr);
    for (uint64_t i = 0; i < t->fence_count; i++) {
      if (fences[i].flags & I915_EXEC_FENCE_SIGNAL) setSignaled(fences[i].handle, true, points ? points[i] : 0);
    }
  }
}

int i915Request(unsigned number, void* request) {
  switch (number) {
    case DRM_I915_GETPARAM: {
      int value = i915Parameter(REQUEST(drm_i915_getparam)->param);
      say("  parameter %d = %d", REQUEST(drm_i915_getparam)->param, value);
      if (value < 0) return -value;
      *REQUEST(drm_i915_getparam)->value = value;
      return 0;
    }
    case DRM_I915_QUERY: {
      struct drm_i915_query_item* items = POINTER(REQUEST(drm_i915_query)->items_ptr);
      for (uint32_t i = 0; i < REQUEST(drm_i915_query)->num_items; i++) {
        uint64_t answer[512] = {0};
        int size = i915Answer(items[i].query_id, answer);
        say("  query %d: %d bytes", (int)items[i].query_id, size);
        if (size > 0 && items[i].length && items[i].length < size) size = -EINVAL;
        if (size > 0 && items[i].length) memcpy(POINTER(items[i].data_ptr), answer, size);
        items[i].length = size;
      }
      return 0;
    }
    case DRM_I915_GEM_GET_APERTURE:
      REQUEST(drm_i915_gem_get_aperture)->aper_size = REQUEST(drm_i915_gem_get_aperture)->aper_available_size = 4 * GIB;
      return 0;
    case DRM_I915_GEM_CREATE:
      return createObject(&REQUEST(drm_i915_gem_create)->handle, REQUEST(drm_i915_gem_create)->size, false);
    case DRM_I915_GEM_CREATE_EXT:
      return createObject(&REQUEST(drm_i915_gem_create_ext)->handle, REQUEST(drm_i915_gem_create_ext)->size, false);
    case DRM_I915_GEM_USERPTR:
      if (!REQUEST(drm_i915_gem_userptr)->user_size)
        return EINVAL;  // the driver probes with it
      return createObject(&REQUEST(drm_i915_gem_userptr)->handle, REQUEST(drm_i915_gem_userptr)->user_size, false);
    case DRM_I915_GEM_MMAP_GTT:  // GEM_MMAP_OFFSET is a new form of it with the same number
      return getOffset(REQUEST(drm_i915_gem_mmap_offset)->handle, &REQUEST(drm_i915_gem_mmap_offset)->offset);
    case DRM_I915_GEM_CONTEXT_CREATE:
      REQUEST(drm_i915_gem_context_create)->ctx_id = newId();
      return 0;
    case DRM_I915_GEM_VM_CREATE:
      REQUEST(drm_i915_gem_vm_control)->vm_id = newId();
      return 0;
    case DRM_I915_GEM_CONTEXT_GETPARAM: {
      struct drm_i915_gem_context_param* p = request;
      p->size = 0;
      p->value = p->param == I915_CONTEXT_PARAM_GTT_SIZE ? 1ull << 48 : p->param == I915_CONTEXT_PARAM_VM;
      return 0;
    }
    case DRM_I915_GEM_EXECBUFFER2:
      i915Submit(request);
      return 0;
    case DRM_I915_GET_RESET_STATS:
      REQUEST(drm_i915_reset_stats)->reset_count = 0;
      REQUEST(drm_i915_reset_stats)->batch_active = REQUEST(drm_i915_reset_stats)->batch_pending = 0;
      return 0;
    case DRM_I915_REG_READ:  // only ever of the timestamp
      REQUEST(drm_i915_reg_read)->val = gpuTicks();
      return 0;
    case DRM_I915_GEM_GET_TILING:
      return EOPNOTSUPP;  // as on chips without fence registers
    case DRM_I915_GEM_CONTEXT_SETPARAM:
    case DRM_I915_GEM_CONTEXT_DESTROY:
    case DRM_I915_GEM_VM_DESTROY: return 0;
  }
  say("  unknown");
  return EINVAL;
}
