# SPDX-License-Identifier: Apache-2.0
# Compiles every shader of shaders/variants.cmake with the installed glslang, checks it with spirv-val and
# embeds it. A shader that needs a GLSL extension which this glslang lacks is left out with a message and listed as such
# in the generated table, so that the library can say why.

find_program(SACCADE_GLSLANG NAMES glslangValidator glslang REQUIRED
  DOC "GLSL compiler (package glslang-tools)")
find_program(SACCADE_SPIRV_VAL NAMES spirv-val REQUIRED DOC "SPIR-V validator (package spirv-tools)")

# Whether glslang knows a GLSL extension for a target environment. Sets <out> to TRUE or FALSE; the answer is cached.
function(saccade_glsl_extension_known extension target_env out)
  set(cache SACCADE_GLSL_HAS_${extension}_${target_env})
  if(NOT DEFINED ${cache})
    set(probe "${CMAKE_CURRENT_BINARY_DIR}/probe_${extension}_${target_env}.comp")
    file(WRITE "${probe}" "#version 460\n#extension ${extension} : require\nvoid main() {}\n")
    execute_process(
      COMMAND "${SACCADE_GLSLANG}" -V --target-env ${target_env} -o "${probe}.spv" "${probe}"
      RESULT_VARIABLE result OUTPUT_QUIET ERROR_QUIET)
    if(result EQUAL 0)
      set(${cache} TRUE CACHE INTERNAL "glslang knows ${extension}")
    else()
      set(${cache} FALSE CACHE INTERNAL "glslang knows ${extension}")
    endif()
  endif()
  set(${out} ${${cache}} PARENT_SCOPE)
endfunction()

# saccade_shader(NAME name SOURCE file DEFINES A=1 B=2 EXTENSIONS GL_EXT_x [TARGET_ENV vulkan1.3])
# Adds one SPIR-V module to the embedded table. TARGET_ENV: vulkan1.2 unless the shader needs more; vulkan1.3 is SPIR-V 1.6, for
# devices of Vulkan 1.3 with maintenance4.
function(saccade_shader)
  cmake_parse_arguments(S "" "NAME;SOURCE;TARGET_ENV" "DEFINES;EXTENSIONS" ${ARGN})
  if(NOT S_TARGET_ENV)
    set(S_TARGET_ENV vulkan1.2)
  endif()
  foreach(extension IN LISTS S_EXTENSIONS)
    saccade_glsl_extension_known(${extension} ${S_TARGET_ENV} known)
    if(NOT known)
      message(STATUS "Shader ${S_NAME} is left out: this glslang does not know ${extension}")
      set_property(GLOBAL APPEND PROPERTY SACCADE_SHADERS_LEFT_OUT "${S_NAME}=${extension}")
      return()
    endif()
  endforeach()
  set(source "${CMAKE_CURRENT_SOURCE_DIR}/${S_SOURCE}")
  set(spv "${CMAKE_CURRENT_BINARY_DIR}/spv/${S_NAME}.spv")
  set(defines ${S_DEFINES})
  list(TRANSFORM defines PREPEND "-D")
  file(MAKE_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/spv")  # not every generator does it
  add_custom_command(
    OUTPUT "${spv}"
    COMMAND "${SACCADE_GLSLANG}" -V --quiet -g0 --target-env ${S_TARGET_ENV} -S comp ${defines}
      "-I${CMAKE_CURRENT_SOURCE_DIR}/include" --depfile "${spv}.d" -o "${spv}" "${source}"
    COMMAND "${SACCADE_SPIRV_VAL}" --target-env ${S_TARGET_ENV} "${spv}"
    DEPENDS "${source}"
    DEPFILE "${spv}.d"
    COMMENT "Shader ${S_NAME}"
    VERBATIM)
  set_property(GLOBAL APPEND PROPERTY SACCADE_SHADERS "${S_NAME}")
endfunction()

# saccade_finish_shaders(target function [DEFLATED])
# Writes the table of the shaders added since the last call: one assembler file that includes the modules, one C++
# file with names. `function` in saccade::core returns the table. Modules are stored as words of SPIR-V or, DEFLATED, as
# spirvOf in runtime/kernels reads them.
function(saccade_finish_shaders target function)
  cmake_parse_arguments(S DEFLATED "" "" ${ARGN})
  get_property(shaders GLOBAL PROPERTY SACCADE_SHADERS)
  get_property(left_out GLOBAL PROPERTY SACCADE_SHADERS_LEFT_OUT)
  set_property(GLOBAL PROPERTY SACCADE_SHADERS)
  set_property(GLOBAL PROPERTY SACCADE_SHADERS_LEFT_OUT)
  set(spvs)
  set(declarations "")
  set(entries "")
  set(blobs "")
  foreach(name IN LISTS shaders)
    set(spv "${CMAKE_CURRENT_BINARY_DIR}/spv/${name}.spv")
    set(included "\"${spv}\"")
    if(S_DEFLATED)
      add_custom_command(
        OUTPUT "${spv}.gz"
        COMMAND "${CMAKE_COMMAND}" "-DIN=${spv}" "-DOUT=${spv}.gz" -P "${PROJECT_SOURCE_DIR}/cmake/DeflateShader.cmake"
        DEPENDS "${spv}" "${PROJECT_SOURCE_DIR}/cmake/DeflateShader.cmake"
        COMMENT "Shader ${name}, deflated"
        VERBATIM)
      set(spv "${spv}.gz")
      set(included "\"${spv}\", 10")
    endif()
    list(APPEND spvs "${spv}")
    string(APPEND blobs
      "  .p2align 2\n  .globl saccadeShader_${name}\n  .hidden saccadeShader_${name}\n  .hidden saccadeShaderEnd_${name}\n"
      "  .globl saccadeShaderEnd_${name}\n"
      "saccadeShader_${name}:\n  .incbin ${included}\nsaccadeShaderEnd_${name}:\n")
    string(APPEND declarations
      "extern \"C\" const std::byte saccadeShader_${name}[], saccadeShaderEnd_${name}[];\n")
    string(APPEND entries
      "    {\"${name}\", saccadeShader_${name}, saccadeShaderEnd_${name}, \"\"},\n")
  endforeach()
  foreach(item IN LISTS left_out)
    string(REPLACE "=" ";" pair "${item}")
    list(GET pair 0 name)
    list(GET pair 1 extension)
    string(APPEND entries "    {\"${name}\", nullptr, nullptr, \"left out of this build: its glslang does not know ${extension}\"},\n")
  endforeach()
  file(CONFIGURE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/shader_blobs.S" CONTENT
    "  .section .rodata\n${blobs}  .section .note.GNU-stack,\"\",%progbits\n" @ONLY)
  file(CONFIGURE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/shader_table.cpp" CONTENT
"// Generated from the saccade_shader calls.
#include \"kernels/shader_table.hpp\"

${declarations}
namespace saccade::core {
namespace {
const ShaderModuleCode kShaders[] = {
${entries}};
}  // namespace
std::span<const ShaderModuleCode> ${function}();
std::span<const ShaderModuleCode> ${function}() { return kShaders; }
}  // namespace saccade::core
" @ONLY)
  set_source_files_properties("${CMAKE_CURRENT_BINARY_DIR}/shader_blobs.S" PROPERTIES
    OBJECT_DEPENDS "${spvs}" LANGUAGE ASM)
  add_library(${target} OBJECT
    "${CMAKE_CURRENT_BINARY_DIR}/shader_blobs.S" "${CMAKE_CURRENT_BINARY_DIR}/shader_table.cpp")
  saccade_target_options(${target})
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/runtime" "${PROJECT_SOURCE_DIR}/include")
  target_link_libraries(${target} PRIVATE Vulkan::Headers)
endfunction()
