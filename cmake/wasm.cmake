# SPDX-License-Identifier: Apache-2.0
# The module that the npm package carries: posenc.mjs (glue) and posenc.wasm.

# Twice: the deterministic build, and the one whose multiply-add is fused where the machine can. The boundary is compiled once.
# What is shipped is optimized as a whole when it is linked. The tests link `posenc`, which is not: each of their programs would go
# through the optimizer again.
# What stands in for a part of Embind comes first: the linker takes the part itself as soon as something asks for it.
add_library(posenc_boundary OBJECT
  bindings/wasm/embind_support.cpp bindings/wasm/bindings.cpp bindings/wasm/cache_bindings.cpp bindings/wasm/copy.cpp)
posenc_our_code(posenc_boundary)
target_link_libraries(posenc_boundary PRIVATE posenc_deterministic)
# Or the compiler would recognise what these loops do, and call the function they are in.
set_source_files_properties(bindings/wasm/copy.cpp PROPERTIES COMPILE_OPTIONS "-fno-builtin;-fno-lto")
# Without run-time type information Embind cannot name types it was not told of, and says so at compile time unless this is 0.
target_compile_definitions(posenc_boundary PRIVATE EMSCRIPTEN_HAS_UNBOUND_TYPE_NAMES=0)
target_compile_options(posenc_boundary PRIVATE -flto -fno-exceptions -fno-rtti)

function(posenc_module target library name)
  add_executable(${target} bindings/wasm/build.cpp)
  posenc_our_code(${target})
  target_link_libraries(${target} PRIVATE posenc_boundary ${library})
  target_compile_definitions(${target} PRIVATE EMSCRIPTEN_HAS_UNBOUND_TYPE_NAMES=0)
  target_compile_options(${target} PRIVATE -flto -fno-exceptions -fno-rtti)
  # The glue refers to "<its own name>.wasm"; named as published, bundlers see one file and not two.
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name} SUFFIX .mjs)
  target_link_options(${target} PRIVATE
    -Oz -fno-exceptions -fno-rtti -lembind --no-entry   # the last three choose the system libraries built alike
    -sSTRICT
    -sMODULARIZE -sEXPORT_ES6 -sENVIRONMENT=web,worker
    -sFILESYSTEM=0 -sSUPPORT_LONGJMP=0
    -sBINARYEN_EXTRA_PASSES=-Oz        # its passes once more, after what they enabled: 0.5 KB
    -sDYNAMIC_EXECUTION=0              # pages under script-src 'self' 'wasm-unsafe-eval' may not call new Function
    -sINCOMING_MODULE_JS_API=instantiateWasm
    -sALLOW_MEMORY_GROWTH -sINITIAL_HEAP=1MB -sMAXIMUM_MEMORY=2GB   # 2 GB keeps addresses positive
    -sABORTING_MALLOC=0                # a full heap is an error value, not the end of the instance
    -sSTACK_SIZE=256KB -sMALLOC=emmalloc
    -sEXPORTED_RUNTIME_METHODS=HEAPU8,HEAP32,HEAPU32,HEAPF32,HEAPF64)
  # Made by running the module, which Node 20 refuses with relaxed instructions. Only one glue is published, as the modules differ in
  # nothing that it sees.
  if(EMSCRIPTEN_VERSION VERSION_LESS 7 AND name STREQUAL posenc)
    target_link_options(${target} PRIVATE -sEMBIND_AOT)
  endif()
  # From here on growable buffers are the default, which most of the web's APIs refuse to take views of.
  if(EMSCRIPTEN_VERSION VERSION_GREATER_EQUAL 6.0.2)
    target_link_options(${target} PRIVATE -sGROWABLE_ARRAYBUFFERS=0)
  endif()
endfunction()

# posenc_shipped_library(NAME FLAG…): the library's sources once more.
function(posenc_shipped_library name)
  add_library(${name} STATIC ${posenc_sources})
  posenc_our_code(${name})
  target_include_directories(${name} PUBLIC "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(${name} PUBLIC xsimd)
  target_compile_features(${name} PUBLIC cxx_std_20)
  target_compile_options(${name} PUBLIC "$<TARGET_PROPERTY:posenc,INTERFACE_COMPILE_OPTIONS>" ${ARGN}
    PRIVATE -flto -fno-exceptions -fno-rtti)
  target_compile_definitions(${name} PUBLIC "$<TARGET_PROPERTY:posenc,INTERFACE_COMPILE_DEFINITIONS>")
endfunction()

posenc_shipped_library(posenc_deterministic)
posenc_module(posenc_wasm posenc_deterministic posenc)
posenc_shipped_library(posenc_relaxed -mrelaxed-simd)
posenc_module(posenc_relaxed_wasm posenc_relaxed posenc-relaxed)
add_dependencies(posenc_wasm posenc_relaxed_wasm)

# For size, except where the time goes: the kernels of attention and rotation, sines, cosines and powers. With everything at -O3 the
# module took 13 KB brotli more; attention is 3 % slower for it. With the kernels at -Os it took more than twice the time.
file(GLOB_RECURSE posenc_small_sources CONFIGURE_DEPENDS
  "${PROJECT_SOURCE_DIR}/src/posenc/*.cpp" "${PROJECT_SOURCE_DIR}/bindings/wasm/*.cpp")
list(FILTER posenc_small_sources EXCLUDE REGEX "attention/kernels.cpp|core/waves.cpp|core/powers.cpp|rotary/angles.cpp|wasm/copy.cpp")
set_source_files_properties(${posenc_small_sources} PROPERTIES COMPILE_OPTIONS -Oz)
# Rotating 12 x 512 x 64 took 1.24 times as long with -Oz here.
set_source_files_properties("${PROJECT_SOURCE_DIR}/src/posenc/core/apply.cpp" PROPERTIES COMPILE_OPTIONS -Os)
