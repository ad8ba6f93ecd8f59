# SPDX-License-Identifier: Apache-2.0
# `cpack` in the build folder makes Debian packages: libsaccade0.1, libsaccade-dev and saccade-tools. Configured with
# CMAKE_INSTALL_PREFIX=/usr, libraries go to the folder of the architecture, as Debian wants it.
set(library_package libsaccade${saccade_abi_version})
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "The Saccade maintainers <maintainers@saccade.example>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGING_INSTALL_PREFIX "/usr")
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_COMPONENTS_ALL saccade_Runtime saccade_Development)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# So that packages of programs that link the shared libraries depend on this one.
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)

set(CPACK_DEBIAN_SACCADE_RUNTIME_PACKAGE_NAME ${library_package})
set(CPACK_DEBIAN_SACCADE_RUNTIME_PACKAGE_SECTION libs)
set(CPACK_COMPONENT_SACCADE_RUNTIME_DESCRIPTION "Attention and the layers around it as compute shaders: recorded into a host's
own command buffers (libsaccade), or run by a standalone runtime
(libsaccade-runtime), which loads the Vulkan loader when it is used.")
set(CPACK_DEBIAN_SACCADE_RUNTIME_PACKAGE_RECOMMENDS libvulkan1)

set(CPACK_DEBIAN_SACCADE_DEVELOPMENT_PACKAGE_NAME libsaccade-dev)
set(CPACK_DEBIAN_SACCADE_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_COMPONENT_SACCADE_DEVELOPMENT_DESCRIPTION "Headers, static libraries and the files by which CMake and pkg-config find both
kinds of library.")
set(CPACK_DEBIAN_SACCADE_DEVELOPMENT_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_SACCADE_DEVELOPMENT_PACKAGE_DEPENDS "${library_package} (= ${PROJECT_VERSION}), libvulkan-dev")

if(SACCADE_BUILD_TOOL)
  list(APPEND CPACK_COMPONENTS_ALL saccade_Tool)
  set(CPACK_DEBIAN_SACCADE_TOOL_PACKAGE_NAME saccade-tools)
  set(CPACK_DEBIAN_SACCADE_TOOL_PACKAGE_SECTION utils)
  set(CPACK_COMPONENT_SACCADE_TOOL_DESCRIPTION "The program saccade says what a device can do, checks that it computes
attention correctly, measures, tunes, and runs Vision Transformers.")
  set(CPACK_DEBIAN_SACCADE_TOOL_PACKAGE_DEPENDS libvulkan1)
  set(CPACK_DEBIAN_SACCADE_TOOL_PACKAGE_RECOMMENDS "mesa-vulkan-drivers | vulkan-icd")
endif()

# Every package brings its licence.
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER ${component} upper)
  install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" RENAME copyright
    DESTINATION "${CMAKE_INSTALL_DATAROOTDIR}/doc/${CPACK_DEBIAN_${upper}_PACKAGE_NAME}" COMPONENT ${component})
endforeach()

include(CPack)
