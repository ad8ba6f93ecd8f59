# SPDX-License-Identifier: Apache-2.0
# The one table of shader variants: every SPIR-V module of the library with its defines.
#
# DTYPE   storage type of the tensors: 0 fp32, 1 fp16, 2 bf16. Arithmetic is fp32 throughout.
# NATIVE  1: uses 8- and 16-bit storage, 64-bit integers and subgroup operations, where the device has them all
#         0: needs nothing beyond Vulkan 1.2 and buffer device addresses
#
# MATRIX2 1: of coopmat.comp, its form for VK_NV_cooperative_matrix2
#
# A module is called <kernel>_<dtype>_<native|portable>; the kernels' registry in runtime/kernels relies on it.

foreach(native IN ITEMS 0 1)
  if(native)
    set(access native)
    set(extensions GL_EXT_shader_8bit_storage GL_EXT_shader_16bit_storage GL_EXT_spirv_intrinsics)
  else()
    set(access portable)
    set(extensions)
  endif()
  set(code 0)
  foreach(dtype IN ITEMS f32 f16 bf16)
    foreach(kernel IN ITEMS
        attention/scalar_rows attention/widen attention/combine attention/scalar_tiled attention/flash_decode attention/weights
        ops/matmul_rows ops/matmul_tiled ops/layer_norm ops/softmax ops/activation ops/patches)
      get_filename_component(name ${kernel} NAME)
      saccade_shader(NAME ${name}_${dtype}_${access} SOURCE ${kernel}.comp
        DEFINES DTYPE=${code} NATIVE=${native} EXTENSIONS ${extensions})
    endforeach()
    if(NOT native)  # it is for devices without native access alone
      saccade_shader(NAME channel_lanes_${dtype}_portable SOURCE attention/channel_lanes.comp DEFINES DTYPE=${code} NATIVE=0 EXTENSIONS)
    endif()
    if(native)
      saccade_shader(NAME scalar_lines_${dtype}_native SOURCE attention/scalar_lines.comp DEFINES DTYPE=${code} NATIVE=1
        EXTENSIONS ${extensions} GL_KHR_shader_subgroup_basic GL_KHR_shader_subgroup_shuffle GL_KHR_shader_subgroup_rotate)
    endif()
    if(native AND dtype STREQUAL f16)
      # bf16 needs GL_EXT_bfloat16
      saccade_shader(NAME coopmat_f16_native SOURCE attention/coopmat.comp DEFINES DTYPE=${code} NATIVE=1 MATRIX2=0
        EXTENSIONS ${extensions} GL_KHR_cooperative_matrix GL_KHR_memory_scope_semantics)
      saccade_shader(NAME coopmat2_f16_native SOURCE attention/coopmat.comp DEFINES DTYPE=${code} NATIVE=1 MATRIX2=1
        EXTENSIONS ${extensions} GL_KHR_cooperative_matrix GL_KHR_memory_scope_semantics GL_NV_cooperative_matrix2 TARGET_ENV vulkan1.3)
      saccade_shader(NAME matmul_coopmat_f16_native SOURCE ops/matmul_coopmat.comp DEFINES DTYPE=${code} NATIVE=1
        EXTENSIONS ${extensions} GL_KHR_cooperative_matrix)
    endif()
    math(EXPR code "${code} + 1")
  endforeach()
endforeach()
