# SPDX-License-Identifier: Apache-2.0
# The tests of the C++ side: natively, instrumented, or in WebAssembly under Node.

include(googletest)

# What the tests link: the library with another allocator, whose failures can be provoked. Objects come before archives, so the
# library's own allocator stays out.
add_library(posenc_testing OBJECT "${PROJECT_SOURCE_DIR}/src/posenc/core/memory.cpp")
posenc_our_code(posenc_testing)
target_link_libraries(posenc_testing PUBLIC posenc)
target_compile_options(posenc_testing PRIVATE -fno-exceptions -fno-rtti)
target_compile_definitions(posenc_testing PUBLIC POSENC_FAULT_INJECTION=1)
target_include_directories(posenc_testing PUBLIC "${PROJECT_SOURCE_DIR}/tests")

file(GLOB posenc_test_support CONFIGURE_DEPENDS
  "${PROJECT_SOURCE_DIR}/tests/support/*.cpp" "${PROJECT_SOURCE_DIR}/tests/reference/*.cpp")
if(EMSCRIPTEN OR POSENC_SANITIZE)  # tests/arches.hpp says why
  list(FILTER posenc_test_support EXCLUDE REGEX "emulated_128")
  target_compile_definitions(posenc_testing PUBLIC POSENC_FEWER_WIDTHS=1)
endif()

# The kernels at the emulated widths and the naive attention they are compared with, which do most of what the tests compute:
# -O2 runs them three times as fast as -O1 and takes a quarter longer to compile; instrumented, it takes twice as long.
add_library(posenc_test_support OBJECT ${posenc_test_support})
posenc_our_code(posenc_test_support)
target_link_libraries(posenc_test_support PUBLIC posenc_testing)
target_compile_options(posenc_test_support PRIVATE $<IF:$<BOOL:${POSENC_SANITIZE}>,-O1,-O2>)

if(EMSCRIPTEN)
  set(posenc_tests posenc_wasm_tests)
else()
  set(posenc_tests posenc_tests)
endif()
file(GLOB posenc_test_sources CONFIGURE_DEPENDS
  "${PROJECT_SOURCE_DIR}/tests/core/*_test.cpp"
  "${PROJECT_SOURCE_DIR}/tests/encodings/*_test.cpp"
  "${PROJECT_SOURCE_DIR}/tests/attention/*_test.cpp"
  "${PROJECT_SOURCE_DIR}/tests/cache/*_test.cpp")
cmake_path(SET posenc_shared_golden NORMALIZE "${PROJECT_SOURCE_DIR}/../shared/golden")

add_executable(${posenc_tests} ${posenc_test_sources})
posenc_our_code(${posenc_tests})
target_link_libraries(${posenc_tests} PRIVATE posenc_test_support posenc_testing gtest gtest_main)
target_compile_definitions(${posenc_tests} PRIVATE
  POSENC_GOLDEN_DIR="${PROJECT_SOURCE_DIR}/tests/golden"
  POSENC_SHARED_GOLDEN_DIR="${posenc_shared_golden}")
# Register tiles of many shapes for each instruction set, from tests/support/wide.
if(POSENC_DISPATCH)
  target_compile_definitions(posenc_test_support PRIVATE POSENC_DISPATCH=1)
endif()
posenc_for_wide_instruction_sets(${posenc_tests} tile_shapes "${PROJECT_SOURCE_DIR}/tests/support/wide/tile_shapes.cpp")
# Compiling the tests takes minutes and running them seconds. Under the sanitizers -O0 compiles three times as fast as -O1.
target_compile_options(${posenc_tests} PRIVATE -O0)
foreach(target gtest gtest_main)
  target_compile_options(${target} PRIVATE -O0)
endforeach()
target_precompile_headers(${posenc_tests} PRIVATE <gtest/gtest.h> <xsimd/xsimd.hpp>)

if(EMSCRIPTEN)
  # -O1: nothing is gained by Binaryen's optimizer here. The real file system, so that golden files are read where they lie.
  target_link_options(posenc_wasm_tests PRIVATE
    -O1 "SHELL:--pre-js ${PROJECT_SOURCE_DIR}/tests/support/environment.js" -sNODERAWFS=1 -sALLOW_MEMORY_GROWTH -sSTACK_SIZE=1MB -sEXIT_RUNTIME -sENVIRONMENT=node)
  # The project's own package.json would make Node read the .js as an ES module.
  file(WRITE "${CMAKE_BINARY_DIR}/package.json" "{ \"type\": \"commonjs\" }\n")
endif()
