# SPDX-License-Identifier: Apache-2.0
# Provides the target xsimd from the first of: a private include folder, an installed package, the pinned release.

set(POSENC_XSIMD_INCLUDE "" CACHE PATH "Folder that holds xsimd/xsimd.hpp and nothing of the host's libc; empty = find or fetch xsimd")

if(NOT TARGET xsimd AND POSENC_XSIMD_INCLUDE)
  add_library(xsimd INTERFACE IMPORTED GLOBAL)
  target_include_directories(xsimd INTERFACE "${POSENC_XSIMD_INCLUDE}")
  set(posenc_xsimd_header "${POSENC_XSIMD_INCLUDE}/xsimd/config/xsimd_config.hpp")
  if(NOT EXISTS "${posenc_xsimd_header}")
    message(FATAL_ERROR "POSENC_XSIMD_INCLUDE is ${POSENC_XSIMD_INCLUDE}, but there is no xsimd in it.")
  endif()
  file(READ "${posenc_xsimd_header}" posenc_xsimd_text)
  string(REGEX MATCH "XSIMD_VERSION_MAJOR ([0-9]+)" _ "${posenc_xsimd_text}")
  set(xsimd_VERSION ${CMAKE_MATCH_1})
  string(REGEX MATCH "XSIMD_VERSION_MINOR ([0-9]+)" _ "${posenc_xsimd_text}")
  string(APPEND xsimd_VERSION .${CMAKE_MATCH_1})
endif()

if(NOT TARGET xsimd AND NOT EMSCRIPTEN)
  find_package(xsimd CONFIG QUIET)
  if(xsimd_FOUND AND xsimd_VERSION VERSION_LESS POSENC_XSIMD_FLOOR)
    message(FATAL_ERROR "posenc needs xsimd ${POSENC_XSIMD_FLOOR} or newer; ${xsimd_DIR} is ${xsimd_VERSION}. "
      "Run ./run setup, or point CMAKE_PREFIX_PATH or POSENC_XSIMD_INCLUDE at a newer one.")
  endif()
endif()

if(NOT TARGET xsimd)
  include(FetchContent)
  FetchContent_Declare(xsimd SYSTEM
    URL https://github.com/xtensor-stack/xsimd/archive/refs/tags/13.2.0.tar.gz
    URL_HASH SHA256=edd8cd3d548c185adc70321c53c36df41abe64c1fe2c67bc6d93c3ecda82447a
    DOWNLOAD_EXTRACT_TIMESTAMP OFF)
  FetchContent_MakeAvailable(xsimd)
  set(xsimd_VERSION 13.2)
endif()

if(xsimd_VERSION VERSION_LESS POSENC_XSIMD_FLOOR)
  message(FATAL_ERROR "posenc needs xsimd ${POSENC_XSIMD_FLOOR} or newer; this is ${xsimd_VERSION}.")
endif()
