# SPDX-License-Identifier: Apache-2.0
# An overlay port that builds the tree it lies in: vcpkg install saccade --overlay-ports=packaging/vcpkg
# glslangValidator and spirv-val are taken from the system (Debian: glslang-tools, spirv-tools).
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

vcpkg_check_features(OUT_FEATURE_OPTIONS feature_options FEATURES
  runtime SACCADE_BUILD_RUNTIME)
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}" OPTIONS
  ${feature_options}
  -DSACCADE_BUILD_TOOL=OFF
  -DSACCADE_BUILD_TESTS=OFF
  -DSACCADE_BUILD_EXAMPLES=OFF
  -DSACCADE_BUILD_BENCH=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(PACKAGE_NAME saccade CONFIG_PATH lib/cmake/saccade)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share"
  "${CURRENT_PACKAGES_DIR}/share/doc")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
