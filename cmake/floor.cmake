# SPDX-License-Identifier: Apache-2.0
# The oldest tools the project is known to work with. Older ones fail in ways that do not name the cause, so they are named here.

set(POSENC_XSIMD_FLOOR 13.2)

if(EMSCRIPTEN AND EMSCRIPTEN_VERSION VERSION_LESS 3.1.69)
  message(FATAL_ERROR "posenc needs Emscripten 3.1.69 or newer; this is ${EMSCRIPTEN_VERSION}. Run ./run setup, or install a newer Emscripten SDK.")
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 12)
  message(FATAL_ERROR "posenc needs C++20 as GCC 12 has it; this is GCC ${CMAKE_CXX_COMPILER_VERSION}.")
endif()
if(NOT "cxx_std_20" IN_LIST CMAKE_CXX_COMPILE_FEATURES)
  message(FATAL_ERROR "posenc needs a compiler with C++20; ${CMAKE_CXX_COMPILER} has none.")
endif()
