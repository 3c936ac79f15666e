# SPDX-License-Identifier: Apache-2.0
# The C++ side of `./run bench --native` and `./run bench --tiles`. Never part of a test.

find_package(benchmark REQUIRED)
file(GLOB posenc_bench_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/bench/native/*.cpp")
add_executable(posenc_bench EXCLUDE_FROM_ALL ${posenc_bench_sources})
posenc_our_code(posenc_bench)
target_link_libraries(posenc_bench PRIVATE posenc benchmark::benchmark)

# Register tiles of many shapes, which the tests compare too.
add_executable(posenc_tiles EXCLUDE_FROM_ALL
  "${PROJECT_SOURCE_DIR}/bench/native/tiles/main.cpp" "${PROJECT_SOURCE_DIR}/tests/support/tile_shapes.cpp")
posenc_our_code(posenc_tiles)
target_include_directories(posenc_tiles PRIVATE "${PROJECT_SOURCE_DIR}/tests")
target_link_libraries(posenc_tiles PRIVATE posenc benchmark::benchmark)
posenc_for_wide_instruction_sets(posenc_tiles tile_shapes "${PROJECT_SOURCE_DIR}/tests/support/wide/tile_shapes.cpp")
if(POSENC_DISPATCH)
  target_compile_definitions(posenc_tiles PRIVATE POSENC_DISPATCH=1)
endif()
