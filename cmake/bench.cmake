# SPDX-License-Identifier: Apache-2.0
# The C++ side of `./run bench --native`. Never part of a test.

find_package(benchmark REQUIRED)
file(GLOB posenc_bench_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/bench/native/*.cpp")
add_executable(posenc_bench EXCLUDE_FROM_ALL ${posenc_bench_sources})
posenc_our_code(posenc_bench)
target_link_libraries(posenc_bench PRIVATE posenc benchmark::benchmark)
