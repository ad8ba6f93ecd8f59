# SPDX-License-Identifier: Apache-2.0
# A part of somebody's CMakeLists.txt that has a program `app`.
cmake_minimum_required(VERSION 3.25)
project(somebody LANGUAGES CXX)
file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/main.cpp" "int main() {}\n")
add_executable(app "${CMAKE_CURRENT_BINARY_DIR}/main.cpp")
BLOCK
