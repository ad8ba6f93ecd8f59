# SPDX-License-Identifier: Apache-2.0
# The libraries that users link, as archives and as shared libraries.

# saccade_library(NAME EXPORT_NAME name OUTPUT_NAME name OBJECTS object-library... HEADERS file... SYMBOLS version-script
#   [FEATURES feature...] [LINKS NAME] [PUBLIC target...] [PRIVATE target...])
# Makes target NAME, of the kind that BUILD_SHARED_LIBS asks for, and with SACCADE_BUILD_BOTH also NAME_static or NAME_shared,
# of the other kind. Both consist of the same objects, so nothing is compiled twice. LINKS is another library made by this
# function, of which each kind links its own.
function(saccade_library name)
  if(BUILD_SHARED_LIBS)
    set(kinds shared static)
  else()
    set(kinds static shared)
  endif()
  list(GET kinds 0 kind)
  list(GET kinds 1 other)
  saccade_library_of_kind(${name} ${kind} "" ${ARGN})
  if(SACCADE_BUILD_BOTH)
    saccade_library_of_kind(${name} ${other} _${other} ${ARGN})
  endif()
endfunction()

function(saccade_library_of_kind name kind suffix)
  cmake_parse_arguments(L "" "EXPORT_NAME;OUTPUT_NAME;SYMBOLS;LINKS" "OBJECTS;HEADERS;FEATURES;PUBLIC;PRIVATE" ${ARGN})
  set(target ${name}${suffix})
  string(TOUPPER ${kind} type)
  list(TRANSFORM L_OBJECTS REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>" OUTPUT_VARIABLE objects)
  list(TRANSFORM L_HEADERS PREPEND "${PROJECT_SOURCE_DIR}/include/saccade/" OUTPUT_VARIABLE headers)
  add_library(${target} ${type} ${objects})
  add_library(saccade::${L_EXPORT_NAME}${suffix} ALIAS ${target})
  saccade_target_options(${target})
  set_target_properties(${target} PROPERTIES
    EXPORT_NAME ${L_EXPORT_NAME}
    OUTPUT_NAME ${L_OUTPUT_NAME}
    LINKER_LANGUAGE CXX
    INSTALL_RPATH "$<IF:$<PLATFORM_ID:Darwin>,@loader_path,$ORIGIN>"  # one finds the other wherever both are moved
    VERSION ${PROJECT_VERSION}
    SOVERSION ${saccade_abi_version})
  target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}/include" FILES ${headers})
  target_compile_features(${target} INTERFACE ${L_FEATURES})
  target_link_libraries(${target} PUBLIC ${L_PUBLIC} PRIVATE ${L_PRIVATE})
  if(L_LINKS)
    target_link_libraries(${target} PUBLIC ${L_LINKS}${suffix})
  endif()
  if(kind STREQUAL "shared")
    target_compile_definitions(${target} INTERFACE SACCADE_SHARED)
    saccade_export_only(${target} "${L_SYMBOLS}")
  endif()
  if(SACCADE_INSTALL)
    install(TARGETS ${target} EXPORT saccade-${kind}
      RUNTIME COMPONENT saccade_Runtime
      LIBRARY COMPONENT saccade_Runtime NAMELINK_COMPONENT saccade_Development
      ARCHIVE COMPONENT saccade_Development
      FILE_SET HEADERS COMPONENT saccade_Development)
    set_property(GLOBAL APPEND PROPERTY SACCADE_INSTALLED_KINDS ${kind})
  endif()
endfunction()

# Nothing leaves a shared library but what its version script (NAME.map.in) lists. Where linkers know no such scripts, the
# hidden visibility of everything else has to do.
function(saccade_export_only target script)
  if(NOT UNIX OR APPLE)
    return()
  endif()
  cmake_path(GET script STEM LAST_ONLY name)
  configure_file("${script}" "${name}" @ONLY)
  target_link_options(${target} PRIVATE "LINKER:--version-script=${CMAKE_CURRENT_BINARY_DIR}/${name}")
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS "${CMAKE_CURRENT_BINARY_DIR}/${name}")
  if(NOT saccade_sanitizers)
    target_link_options(${target} PRIVATE LINKER:--no-undefined)
  endif()
endfunction()
