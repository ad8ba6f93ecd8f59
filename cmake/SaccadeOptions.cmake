# SPDX-License-Identifier: Apache-2.0
# Compiler options of our own targets. Nothing here is global, so a parent project is not affected.

set_property(CACHE SACCADE_SANITIZE PROPERTY STRINGS OFF address thread)
if(NOT SACCADE_SANITIZE MATCHES "^(OFF|address|thread)$")
  message(FATAL_ERROR "SACCADE_SANITIZE is '${SACCADE_SANITIZE}'; it must be OFF, address (with undefined behaviour) "
    "or thread")
endif()
if(SACCADE_BUILD_FUZZERS AND NOT (CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND SACCADE_SANITIZE STREQUAL "address"))
  message(FATAL_ERROR "SACCADE_BUILD_FUZZERS needs Clang, whose libFuzzer it uses, and SACCADE_SANITIZE=address")
endif()

# What compiles and links every target of a build with sanitizers. undefined leaves conversions that overflow out.
set(saccade_sanitizers_address address,undefined,float-cast-overflow)
set(saccade_sanitizers_thread thread)
set(saccade_sanitizers ${saccade_sanitizers_${SACCADE_SANITIZE}})
if(SACCADE_BUILD_FUZZERS)
  string(APPEND saccade_sanitizers ",fuzzer-no-link")
endif()

# Every library and program of the project is created through this, so that all get the same options.
function(saccade_target_options target)
  target_compile_features(${target} PRIVATE cxx_std_20)
  set_target_properties(${target} PROPERTIES
    CXX_EXTENSIONS OFF
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON
    POSITION_INDEPENDENT_CODE ON)
  if(CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
    # A designated initialiser that leaves members to their defaults is the idiom of this interface.
    target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wconversion;-Wno-sign-conversion;-Wnon-virtual-dtor;-Wno-missing-field-initializers;-Werror>")
  endif()
  # GCC warns of members whose type is in an anonymous namespace of a file that is not the one compiled.
  if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>")
  endif()
  if(saccade_sanitizers)
    target_compile_options(${target} PRIVATE -fsanitize=${saccade_sanitizers} -fno-sanitize-recover=all
      -fno-omit-frame-pointer)
    target_link_options(${target} PUBLIC -fsanitize=${saccade_sanitizers})
  endif()
endfunction()
