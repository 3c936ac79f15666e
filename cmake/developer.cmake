# SPDX-License-Identifier: Apache-2.0
# Tests, the manifest tool and the check that every header compiles alone.

include(tests)

# Of these the other builds would only say the same again.
if(EMSCRIPTEN OR POSENC_SANITIZE)
  return()
endif()

add_executable(posenc_manifest tools/manifest.cpp)
posenc_our_code(posenc_manifest)
target_link_libraries(posenc_manifest PRIVATE posenc)
# It runs for a moment; not optimizing it saves half the time to compile it.
target_compile_options(posenc_manifest PRIVATE -O0)

include(headers_alone)
