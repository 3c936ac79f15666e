# SPDX-License-Identifier: Apache-2.0
# The library, and the variant of it that the tests link.

file(GLOB_RECURSE posenc_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/posenc/*.cpp")
file(GLOB_RECURSE posenc_headers CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/src/posenc/*.hpp")

function(posenc_add_library target)
  add_library(${target} STATIC ${posenc_sources})
  target_include_directories(${target} PUBLIC
    "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>" "$<INSTALL_INTERFACE:include>")
  target_link_libraries(${target} PUBLIC xsimd)
  target_compile_features(${target} PUBLIC cxx_std_20)
  # Kernels are templates in headers, so whoever instantiates them must round as we do: no contraction behind the source's back.
  target_compile_options(${target} PUBLIC -ffp-contract=off)
  target_compile_options(${target} PRIVATE -fno-exceptions -fno-rtti)
  if(EMSCRIPTEN)
    target_compile_options(${target} PUBLIC -msimd128)
  endif()
  posenc_our_code(${target})
endfunction()

posenc_add_library(posenc)
add_library(posenc::posenc ALIAS posenc)
