# SPDX-License-Identifier: Apache-2.0
# Fails unless README.md shows the marked part of the program, word for word (indentation apart).
file(READ "${PROGRAM}" program)
file(READ "${README}" readme)
string(REGEX MATCH "README begin\\] \\*/\n(.*)  /\\* \\[README end" match "${program}")
if(NOT match)
  message(FATAL_ERROR "${PROGRAM} has no part marked [README begin] ... [README end]")
endif()
string(REGEX REPLACE "(^|\n)  " "\\1" part "${CMAKE_MATCH_1}")
string(FIND "${readme}" "${part}" position)
if(position EQUAL -1)
  message(FATAL_ERROR "${README} does not show the marked part of ${PROGRAM}:\n${part}")
endif()
