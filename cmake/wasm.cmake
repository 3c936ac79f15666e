# SPDX-License-Identifier: Apache-2.0
# The module that the npm package carries: posenc.mjs (glue) and posenc.wasm.

add_executable(posenc_wasm
  bindings/wasm/bindings.cpp bindings/wasm/cache_bindings.cpp bindings/wasm/copy.cpp bindings/wasm/embind_support.cpp)
posenc_our_code(posenc_wasm)
target_link_libraries(posenc_wasm PRIVATE posenc)
# Or the compiler would recognise what these loops do, and call the function they are in.
set_source_files_properties(bindings/wasm/copy.cpp PROPERTIES COMPILE_OPTIONS -fno-builtin)
# The boundary and the option decoder run once a call: small beats fast there.
set_source_files_properties(bindings/wasm/bindings.cpp bindings/wasm/cache_bindings.cpp src/posenc/core/options.cpp
  src/posenc/attention/arguments.cpp src/posenc/attention/merge.cpp
  src/posenc/cache/cache_attention.cpp src/posenc/cache/cache_bytes.cpp src/posenc/cache/kv_cache.cpp
  src/posenc/cache/make_cache.cpp src/posenc/cache/store_tokens.cpp PROPERTIES COMPILE_OPTIONS -Os)
# Without run-time type information Embind cannot name types it was not told of, and says so at compile time unless this is 0.
target_compile_definitions(posenc_wasm PRIVATE EMSCRIPTEN_HAS_UNBOUND_TYPE_NAMES=0)
target_compile_options(posenc_wasm PRIVATE -fno-exceptions -fno-rtti)
# The glue refers to "<its own name>.wasm"; named as published, bundlers see one file and not two.
set_target_properties(posenc_wasm PROPERTIES OUTPUT_NAME posenc SUFFIX .mjs)
target_link_options(posenc_wasm PRIVATE
  -Oz -fno-exceptions -fno-rtti -lembind --no-entry   # the last three choose the system libraries built alike
  -sSTRICT
  -sMODULARIZE -sEXPORT_ES6 -sENVIRONMENT=web,worker
  -sFILESYSTEM=0 -sSUPPORT_LONGJMP=0
  -sDYNAMIC_EXECUTION=0              # pages under script-src 'self' 'wasm-unsafe-eval' may not call new Function
  -sINCOMING_MODULE_JS_API=instantiateWasm
  -sALLOW_MEMORY_GROWTH -sINITIAL_HEAP=1MB -sMAXIMUM_MEMORY=2GB   # 2 GB keeps addresses positive
  -sABORTING_MALLOC=0                # a full heap is an error value, not the end of the instance
  -sSTACK_SIZE=256KB -sMALLOC=emmalloc
  -sEXPORTED_RUNTIME_METHODS=HEAPU8,HEAP32,HEAPU32,HEAPF32,HEAPF64)
if(EMSCRIPTEN_VERSION VERSION_LESS 7)
  target_link_options(posenc_wasm PRIVATE -sEMBIND_AOT)
endif()
# From here on growable buffers are the default, which most of the web's APIs refuse to take views of.
if(EMSCRIPTEN_VERSION VERSION_GREATER_EQUAL 6.0.2)
  target_link_options(posenc_wasm PRIVATE -sGROWABLE_ARRAYBUFFERS=0)
endif()

# Encodings are many and mostly cold code: -Os took 12 KB brotli less than -O3, -Oz takes 6 less again, at the same attention times,
# since their vector loops are written out and the kernels of attention are elsewhere.
set_source_files_properties("${PROJECT_SOURCE_DIR}/src/posenc/encodings/make_encoding.cpp" PROPERTIES COMPILE_OPTIONS -Oz)
