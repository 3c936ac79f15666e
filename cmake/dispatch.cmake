# SPDX-License-Identifier: Apache-2.0
# The kernels once more for AVX2 and for AVX-512, of which the library takes the widest that the machine runs.
#
# The danger: an inline function of the standard library or of ours, compiled with -mavx512f, is a weak symbol that the linker may
# keep instead of the one everybody else calls, and the program dies on a machine without AVX-512. So the objects of one instruction
# set are linked into one, out of their COMDAT groups, and all its symbols but its table of functions are made local: nothing
# outside can be resolved to them.

set(posenc_can_dispatch ON)
if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$" OR NOT CMAKE_SIZEOF_VOID_P EQUAL 8)
  set(posenc_can_dispatch OFF)  # no wider instruction set to choose
elseif(NOT CMAKE_EXECUTABLE_FORMAT STREQUAL "ELF" OR NOT CMAKE_CXX_COMPILER_ID MATCHES "^(GNU|Clang)$")
  set(posenc_can_dispatch OFF)
elseif(NOT CMAKE_LINKER OR NOT CMAKE_OBJCOPY)
  set(posenc_can_dispatch OFF)
else()
  execute_process(COMMAND "${CMAKE_LINKER}" --help OUTPUT_VARIABLE posenc_linker_help ERROR_QUIET)
  if(NOT posenc_linker_help MATCHES "force-group-allocation")
    set(posenc_can_dispatch OFF)
  endif()
endif()

include(CMakeDependentOption)
# Instrumented, the sources are the same and the time to compile them three times as long.
cmake_dependent_option(POSENC_DISPATCH "Compile the kernels for AVX2 and AVX-512 as well, and choose at run time" ON
  "posenc_can_dispatch;NOT POSENC_SANITIZE" OFF)

# posenc_for_wide_instruction_sets(TARGET SYMBOL SOURCE…): links SOURCE…, compiled for each wider instruction set, into TARGET, which
# finds of it posenc::avx2::SYMBOL and posenc::avx512::SYMBOL. Nothing where the build has none.
function(posenc_for_wide_instruction_sets target symbol)
  if(NOT POSENC_DISPATCH)
    return()
  endif()
  posenc_compile_wide(${target} ${symbol} avx2 "-mavx2;-mfma" ${ARGN})
  posenc_compile_wide(${target} ${symbol} avx512
    "-mavx2;-mfma;-mavx512f;-mavx512cd;-mavx512dq;-mavx512bw;-mavx512vl" ${ARGN})
endfunction()

function(posenc_compile_wide target symbol name flags)
  set(objects ${target}_${name})
  add_library(${objects} OBJECT ${ARGN})
  posenc_our_code(${objects})
  # Only the compiled bodies of templates differ, so whatever the library is compiled with holds here too.
  target_include_directories(${objects} PRIVATE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/tests")
  target_link_libraries(${objects} PRIVATE xsimd)
  target_compile_definitions(${objects} PRIVATE POSENC_WIDE=${name} POSENC_DISPATCH=1
    $<TARGET_PROPERTY:posenc,COMPILE_DEFINITIONS>)
  target_compile_options(${objects} PRIVATE -ffp-contract=off -fno-exceptions -fno-rtti -fno-lto ${flags})
  # GCC 12 takes the undefined operands of its own AVX-512 intrinsics for a mistake. The other compiler still looks.
  target_compile_options(${objects} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized -Wno-uninitialized>)
  # Symbols of this kind cannot be made local.
  target_compile_options(${objects} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fno-gnu-unique>)
  set(joined "${CMAKE_CURRENT_BINARY_DIR}/${objects}.o")
  string(LENGTH "${name}" length)
  string(LENGTH "${symbol}" symbol_length)
  add_custom_command(OUTPUT "${joined}"
    COMMAND "${CMAKE_LINKER}" -r --force-group-allocation -o "${joined}" $<TARGET_OBJECTS:${objects}>
    COMMAND "${CMAKE_OBJCOPY}" --keep-global-symbol=_ZN6posenc${length}${name}${symbol_length}${symbol}E "${joined}"
    DEPENDS $<TARGET_OBJECTS:${objects}> COMMAND_EXPAND_LISTS VERBATIM
    COMMENT "Joining the code for ${name}")
  set_source_files_properties("${joined}" PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
  target_sources(${target} PRIVATE "${joined}")
endfunction()

if(NOT POSENC_DISPATCH)
  return()
endif()

# Their kernels are spelled out in vectors: -O3 gains nothing there and takes half as long again to compile.
set_source_files_properties("${PROJECT_SOURCE_DIR}/src/posenc/wide/encodings.cpp" PROPERTIES COMPILE_OPTIONS -O2)

file(GLOB posenc_wide_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/posenc/wide/*.cpp")
target_compile_definitions(posenc PRIVATE POSENC_DISPATCH=1)
posenc_for_wide_instruction_sets(posenc kernels ${posenc_wide_sources})
