# SPDX-License-Identifier: Apache-2.0
# Stands for an installed Saccade where a guide's part of a CMakeLists.txt is configured. Whether the installed files are
# right is asked by the programs of tests/consumer.
set(saccade_known_components runtime static shared)
foreach(component IN LISTS saccade_FIND_COMPONENTS)
  if(NOT component IN_LIST saccade_known_components)
    set(saccade_FOUND FALSE)
    set(saccade_NOT_FOUND_MESSAGE "there is no component ${component}")
    return()
  endif()
endforeach()
foreach(target IN ITEMS saccade runtime)
  if(NOT TARGET saccade::${target})
    add_library(saccade::${target} INTERFACE IMPORTED)
  endif()
endforeach()
