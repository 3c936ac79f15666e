# SPDX-License-Identifier: Apache-2.0
# GoogleTest from source, so that it carries the same instrumentation and target as the tests.

set(INSTALL_GTEST OFF)
set(BUILD_GMOCK OFF)
set(gtest_disable_pthreads ${EMSCRIPTEN})
set(POSENC_GOOGLETEST_SOURCE /usr/src/googletest CACHE PATH "GoogleTest's sources; fetched when this folder does not exist")

if(EXISTS "${POSENC_GOOGLETEST_SOURCE}/CMakeLists.txt")
  add_subdirectory("${POSENC_GOOGLETEST_SOURCE}" "${CMAKE_BINARY_DIR}/googletest" EXCLUDE_FROM_ALL SYSTEM)
else()
  include(FetchContent)
  FetchContent_Declare(googletest SYSTEM
    URL https://github.com/google/googletest/archive/refs/tags/v1.14.0.tar.gz
    URL_HASH SHA256=8ad598c73ad796e0d8280b082cebd82a630d73e73cd3c70057938a6501bba5d7
    DOWNLOAD_EXTRACT_TIMESTAMP OFF)
  FetchContent_MakeAvailable(googletest)
endif()
