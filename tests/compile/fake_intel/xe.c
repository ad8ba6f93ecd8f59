// SPDX-License-Identifier: Apache-2.0
// The requests of xe, the kernel driver from Lunar Lake on.
#include <drm/xe_drm.h>
#include <errno.h>
#include <string.h>
#include <time.h>

#include "fake_intel.h"

// As i915Answer(); engine cycles take their question from there.
static int xeAnswer(uint32_t query, void* answer) {
  switch (query) {
    case DRM_XE_DEVICE_QUERY_ENGINES: {
      struct drm_xe_query_engines* q = answer;
      q->num_engines = engineCount();
      for (unsigned i = 0; i < q->num_engines; i++) {
        q->engines[i].instance.engine_class = engineClass(i);
        q->engines[i].instance.engine_instance = engineInstance(i);
      }
      return sizeof *q + q->num_engines * sizeof *q->engines;
    }
    case DRM_XE_DEVICE_QUERY_MEM_REGIONS: {
      struct drm_xe_query_mem_regions* q = answer;
      q->num_mem_regions = memoryCount();
      for (unsigned i = 0; i < q->num_mem_regions; i++) {
        struct drm_xe_mem_region* r = &q->mem_regions[i];
        r->mem_class = i ? DRM_XE_MEM_REGION_CLASS_VRAM : DRM_XE_MEM_REGION_CLASS_SYSMEM;
        r->instance = i;
        r->min_page_size = i ? 65536 : 4096;
        r->total_size = memorySize(i);
        r->cpu_visible_size = i ? r->total_size : 0;
      }
      return sizeof *q + q->num_mem_regions * sizeof *q->mem_regions;
    }
    case DRM_XE_DEVICE_QUERY_CONFIG: {
      struct drm_xe_query_config* q = answer;
      q->num_params = 5;
      q->info[DRM_XE_QUERY_CONFIG_REV_AND_DEVICE_ID] = chip.id | chip.revision << 16;
      q->info[DRM_XE_QUERY_CONFIG_FLAGS] = chip.vramGib ? DRM_XE_QUERY_CONFIG_FLAG_HAS_VRAM : 0;
      q->info[DRM_XE_QUERY_CONFIG_MIN_ALIGNMENT] = chip.vramGib ? 65536 : 4096;
      q->info[DRM_XE_QUERY_CONFIG_VA_BITS] = 48;
      q->info[DRM_XE_QUERY_CONFIG_MAX_EXEC_QUEUE_PRIORITY] = 1;
      return sizeof *q + q->num_params * sizeof *q->info;
    }
    case DRM_XE_DEVICE_QUERY_GT_LIST: {
      struct drm_xe_query_gt_list* q = answer;
      q->num_gt = 1;
      q->gt_list[0] = (struct drm_xe_gt){
        .type = DRM_XE_QUERY_GT_TYPE_MAIN,
        .reference_clock = TIMESTAMP_HZ,
        .near_mem_regions = 1 << (memoryCount() - 1),
        .far_mem_regions = chip.vramGib ? 1 : 0,
        .ip_ver_major = chip.version,
        .ip_ver_minor = chip.release,
        .ip_ver_rev = chip.step,
      };
      return sizeof *q + sizeof *q->gt_list;
    }
    case DRM_XE_DEVICE_QUERY_HWCONFIG:
      return 0;  // an empty list: the driver keeps the numbers that it was built with
    case DRM_XE_DEVICE_QUERY_GT_TOPOLOGY: {
      const int types[] = {DRM_XE_TOPO_DSS_GEOMETRY, DRM_XE_TOPO_DSS_COMPUTE,
                chip.version < 20 ? DRM_XE_TOPO_EU_PER_DSS : DRM_XE_TOPO_SIMD16_EU_PER_DSS};
      uint8_t* end = answer;
      for (unsigned i = 0; i < COUNT(types); i++) {
        struct drm_xe_query_topology_mask* m = (void*)end;
        m->type = types[i];
        m->num_bytes = 8;
        setBits(m->mask, i < 2 ? coreCount() : chip.eusPerCore);
        end += sizeof *m + m->num_bytes;
      }
      return end - (uint8_t*)answer;
    }
    case DRM_XE_DEVICE_QUERY_ENGINE_CYCLES: {
      struct drm_xe_query_engine_cycles* c = answer;
      struct timespec now;
      if (clock_gettime(c->clockid, &now)) return -EINVAL;
      c->width = 36;
      c->engine_cycles = gpuTicks();
      c->cpu_timestamp = now.tv_sec * 1000000000ull + now.tv_nsec;
      c->cpu_delta = 100;
      return sizeof *c;
    }
    case DRM_XE_DEVICE_QUERY_UC_FW_VERSION: {  // with an old firmware, compute engines are left unused
      struct drm_xe_query_uc_fw_version* v = answer;
      v->major_ver = 1;
      v->minor_ver = 13;
      return sizeof *v;
    }
  }
  return -EINVAL;
}

static void xeSignal(uint64_t array, uint32_t n, bool hostAddresses) {
  const struct drm_xe_sync* s = POINTER(array);
  for (const struct drm_xe_sync* end = s + n; s < end; s++) {
    if (!(s->flags & DRM_XE_SYNC_FLAG_SIGNAL)) continue;
    if (s->type != DRM_XE_SYNC_TYPE_USER_FENCE)
      setSignaled(s->handle, true, s->type == DRM_XE_SYNC_TYPE_TIMELINE_SYNCOBJ ? s->timeline_value : 0);
    else if (hostAddresses) *(uint64_t*)POINTER(s->addr) = s->timeline_value;
  }
}

int xeRequest(unsigned number, void* request) {
  switch (number) {
    case DRM_XE_DEVICE_QUERY: {
      struct drm_xe_device_query* q = request;
      uint64_t answer[512] = {0};
      if (q->query == DRM_XE_DEVICE_QUERY_ENGINE_CYCLES && q->size <= sizeof answer)
        memcpy(answer, POINTER(q->data), q->size);
      int size = xeAnswer(q->query, answer);
      say("  query %u: %d bytes", q->query, size);
      if (size < 0) return -size;
      if (q->size && q->size < (unsigned)size) return EINVAL;
      if (q->size) memcpy(POINTER(q->data), answer, size);
      q->size = size;
      return 0;
    }
    case DRM_XE_GEM_CREATE:
      return createObject(&REQUEST(drm_xe_gem_create)->handle, REQUEST(drm_xe_gem_create)->size, false);
    case DRM_XE_GEM_MMAP_OFFSET:
      return getOffset(REQUEST(drm_xe_gem_mmap_offset)->handle, &REQUEST(drm_xe_gem_mmap_offset)->offset);
    case DRM_XE_VM_CREATE:
      REQUEST(drm_xe_vm_create)->vm_id = newId();
      return 0;
    case DRM_XE_EXEC_QUEUE_CREATE:
      REQUEST(drm_xe_exec_queue_create)->exec_queue_id = newId();
      return 0;
    case DRM_XE_EXEC_QUEUE_GET_PROPERTY:
      REQUEST(drm_xe_exec_queue_get_property)->value = 0;  // not banned
      return 0;
    case DRM_XE_VM_BIND:
      xeSignal(REQUEST(drm_xe_vm_bind)->syncs, REQUEST(drm_xe_vm_bind)->num_syncs, true);
      return 0;
    case DRM_XE_EXEC:
      xeSignal(REQUEST(drm_xe_exec)->syncs, REQUEST(drm_xe_exec)->num_syncs, false);
      return 0;
    case DRM_XE_VM_DESTROY:
    case DRM_XE_EXEC_QUEUE_DESTROY:
    case DRM_XE_WAIT_USER_FENCE: return 0;
  }
  say("  unknown");
  return EINVAL;
}
