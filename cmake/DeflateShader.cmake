# SPDX-License-Identifier: Apache-2.0
# cmake -DIN=module.spv -DOUT=module.spv.gz -P DeflateShader.cmake
# CMake is its own gzip. What is embedded begins after the 10 bytes of a header without options (RFC 1952).
file(ARCHIVE_CREATE OUTPUT "${OUT}" PATHS "${IN}" FORMAT raw COMPRESSION GZip COMPRESSION_LEVEL 9)
file(READ "${OUT}" header HEX LIMIT 4)
if(NOT header STREQUAL "1f8b0800")
  message(FATAL_ERROR "${OUT} begins with ${header}, not with the plain gzip header 1f8b0800")
endif()
