# SPDX-License-Identifier: Apache-2.0
# Tests, the manifest tool and the check that every header compiles alone.

include(googletest)

# What the tests link: the library with another allocator, whose failures can be provoked. Objects come before archives, so the
# library's own allocator stays out.
add_library(posenc_testing OBJECT "${PROJECT_SOURCE_DIR}/src/posenc/core/memory.cpp")
posenc_our_code(posenc_testing)
target_link_libraries(posenc_testing PUBLIC posenc)
target_compile_options(posenc_testing PRIVATE -fno-exceptions -fno-rtti)
target_compile_definitions(posenc_testing PUBLIC POSENC_FAULT_INJECTION=1)

file(GLOB posenc_test_support CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/support/*.cpp")
file(GLOB posenc_test_sources CONFIGURE_DEPENDS
  "${PROJECT_SOURCE_DIR}/tests/core/*_test.cpp"
  "${PROJECT_SOURCE_DIR}/tests/encodings/*_test.cpp"
  "${PROJECT_SOURCE_DIR}/tests/attention/*_test.cpp"
  "${PROJECT_SOURCE_DIR}/tests/cache/*_test.cpp")
cmake_path(SET posenc_shared_golden NORMALIZE "${PROJECT_SOURCE_DIR}/../shared/golden")

if(EMSCRIPTEN)
  set(posenc_tests posenc_wasm_tests)
else()
  set(posenc_tests posenc_tests)
endif()

if(posenc_test_sources)
  set(posenc_fewer_widths "")
  if(EMSCRIPTEN OR POSENC_SANITIZE)  # tests/arches.hpp says why
    set(posenc_fewer_widths POSENC_FEWER_WIDTHS=1)
    list(FILTER posenc_test_support EXCLUDE REGEX "emulated_128")
  endif()
  # What takes longest comes first, so that it is not left for one core at the end.
  add_executable(${posenc_tests} ${posenc_test_support} ${posenc_test_sources})
  posenc_our_code(${posenc_tests})
  target_include_directories(${posenc_tests} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
  target_link_libraries(${posenc_tests} PRIVATE posenc_testing gtest gtest_main)
  target_compile_definitions(${posenc_tests} PRIVATE ${posenc_fewer_widths}
    POSENC_GOLDEN_DIR="${PROJECT_SOURCE_DIR}/tests/golden"
    POSENC_SHARED_GOLDEN_DIR="${posenc_shared_golden}")
  # Three builds of every kernel at three widths: -O1 halves the time to compile them, and each test still takes milliseconds.
  target_compile_options(${posenc_tests} PRIVATE -O1)
  target_precompile_headers(${posenc_tests} PRIVATE <gtest/gtest.h> <xsimd/xsimd.hpp>)
endif()

if(EMSCRIPTEN)
  if(TARGET posenc_wasm_tests)
    # The real file system, so that golden files are read where they lie.
    target_link_options(posenc_wasm_tests PRIVATE
      -sNODERAWFS=1 -sALLOW_MEMORY_GROWTH -sSTACK_SIZE=1MB -sEXIT_RUNTIME -sENVIRONMENT=node)
    # The project's own package.json would make Node read the .js as an ES module.
    file(WRITE "${CMAKE_BINARY_DIR}/package.json" "{ \"type\": \"commonjs\" }\n")
  endif()
  return()
endif()

# The instrumented build would only say the same again.
if(POSENC_SANITIZE)
  return()
endif()

add_executable(posenc_manifest tools/manifest.cpp)
posenc_our_code(posenc_manifest)
target_link_libraries(posenc_manifest PRIVATE posenc)
# It runs for a moment; not optimizing it saves half the time to compile it.
target_compile_options(posenc_manifest PRIVATE -O0)

# One file for each header, which includes it first and twice: nothing before it to lean on, and a guard that works.
set(posenc_alone_sources "")
foreach(header IN LISTS posenc_headers)
  string(REPLACE "/" "-" name "${header}")
  set(source "${CMAKE_BINARY_DIR}/headers-alone/${name}.cpp")
  file(CONFIGURE OUTPUT "${source}" CONTENT "#include \"@header@\"\n#include \"@header@\"\n" @ONLY)
  list(APPEND posenc_alone_sources "${source}")
endforeach()
add_library(posenc_headers_alone OBJECT ${posenc_alone_sources})
posenc_our_code(posenc_headers_alone)
target_link_libraries(posenc_headers_alone PRIVATE posenc)
# Only whether it compiles matters, so no time goes into optimizing.
target_compile_options(posenc_headers_alone PRIVATE -O0 -g0)
