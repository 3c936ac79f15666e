# SPDX-License-Identifier: Apache-2.0
# The library: the same objects for those who install it, for the WebAssembly module and for the tests.

file(GLOB_RECURSE posenc_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/posenc/*.cpp")
file(GLOB_RECURSE posenc_headers CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/src/posenc/*.hpp")

# Compiled for other instruction sets, by dispatch.cmake.
list(FILTER posenc_sources EXCLUDE REGEX "/wide/")
list(FILTER posenc_headers EXCLUDE REGEX "/wide/")

add_library(posenc STATIC ${posenc_sources})
add_library(posenc::posenc ALIAS posenc)
target_include_directories(posenc PUBLIC
  "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>" "$<INSTALL_INTERFACE:include>")
target_link_libraries(posenc PUBLIC xsimd)
target_compile_features(posenc PUBLIC cxx_std_20)
# Kernels are templates in headers, so whoever instantiates them must round as we do: no contraction behind the source's back.
target_compile_options(posenc PUBLIC -ffp-contract=off)
target_compile_options(posenc PRIVATE -fno-exceptions -fno-rtti)
if(EMSCRIPTEN)
  target_compile_options(posenc PUBLIC -msimd128 -mnontrapping-fptoint)
  target_compile_definitions(posenc PUBLIC "$<BUILD_INTERFACE:POSENC_KERNELS_APART>")  # wasm.cmake compiles the rest for size
endif()
posenc_our_code(posenc)
if(POSENC_DEVELOPER)
  # The tests' emulated widths. Here and not only there, because xsimd's list of architectures is part of its types, and the tests
  # link these objects. The library instantiates none of them.
  target_compile_definitions(posenc PUBLIC "$<BUILD_INTERFACE:XSIMD_WITH_EMULATED=1>")
endif()
