# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Build rules of the compiler's libraries: MLIR by find_package, warnings as errors, and ccache and lld if present.

find_program(CCACHE ccache)
if(CCACHE)
  # Without these two ccache passes over files that start with precompiled headers. With the third it reads such headers (up to 880 MB) once, not for every file, which takes two seconds.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_INODECACHE=1 ${CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE})
endif()
# The compiler finds lld only by the name ld.lld, which it has in LLVM's own folder.
find_program(LLD NAMES ld.lld HINTS /usr/lib/llvm-22/bin)
if(LLD)
  get_filename_component(LLD_DIR ${LLD} DIRECTORY)
  add_link_options(-B${LLD_DIR} -fuse-ld=lld)
endif()

# Debian and LLVM's own packages install each version under its own prefix.
find_package(MLIR REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/mlir)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
if(LLVM_VERSION_MAJOR LESS 22)
  message(FATAL_ERROR "mpc needs MLIR 22, found ${LLVM_PACKAGE_VERSION}; run tools/setup.sh")
endif()
include(TableGen)
include(AddLLVM)
include(AddMLIR)

set(MPC_SOURCE_DIR ${CMAKE_SOURCE_DIR})
set(MPC_BINARY_DIR ${CMAKE_BINARY_DIR})

# These flags are for all code that includes MLIR: dialects and passes have no exceptions, like MLIR itself.
add_library(MpcMlir INTERFACE)
target_include_directories(MpcMlir SYSTEM INTERFACE ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
target_include_directories(MpcMlir INTERFACE ${MPC_SOURCE_DIR} ${MPC_BINARY_DIR})
target_compile_definitions(MpcMlir INTERFACE ${LLVM_DEFINITIONS_LIST})
target_compile_options(MpcMlir INTERFACE -Wall -Wextra -Werror -Wno-unused-parameter)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  target_compile_options(MpcMlir INTERFACE -Wno-maybe-uninitialized) # false alarms on std::optional (GCC bug 80635)
endif()
# Debian builds LLVM without assertions. Ours can have them, and with them those of the inline functions of LLVM's headers, for NDEBUG changes no type there: what does is under
# LLVM_ENABLE_ABI_BREAKING_CHECKS, which the packages set to 0.
option(MPC_ASSERTIONS "Keep assertions in the optimised code of dialects, passes and compiler" OFF)
if(MPC_ASSERTIONS)
  target_compile_options(MpcMlir INTERFACE -UNDEBUG)
endif()
target_link_libraries(MpcMlir INTERFACE MLIR LLVM)

# Most of the time of a build goes into parsing MLIR's headers and those that TableGen generates. These sets of headers are parsed once, and every file of a library starts with the
# result; it includes what it uses all the same, which `make test-assertions` checks by a build without the sets. A set is compiled with the flags of the libraries that use it.
option(MPC_PRECOMPILED_HEADERS "Parse the headers of MLIR and of the dialects once" ON)
set(MPC_DIALECT_HEADERS <mlir/IR/Builders.h> <mlir/IR/BuiltinOps.h> <mlir/IR/PatternMatch.h> <mlir/IR/SymbolTable.h> <mlir/Pass/Pass.h>
  <dialects/Graph/IR/Graph.h> <dialects/Train/IR/Train.h> <dialects/Kernel/IR/Kernel.h>)
set(MPC_LOWERING_HEADERS ${MPC_DIALECT_HEADERS} <mlir/Dialect/Arith/IR/Arith.h> <mlir/Dialect/LLVMIR/LLVMDialect.h> <mlir/Dialect/SCF/IR/SCF.h>)

# mpc_headers(NAME headers... [EXCEPTIONS] [LIBS libs...])
function(mpc_headers NAME)
  cmake_parse_arguments(ARG "EXCEPTIONS" "" "LIBS" ${ARGN})
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/${NAME}.cpp CONTENT "")
  add_library(${NAME} OBJECT EXCLUDE_FROM_ALL ${CMAKE_BINARY_DIR}/${NAME}.cpp)
  target_link_libraries(${NAME} PRIVATE MpcMlir ${ARG_LIBS})
  if(NOT ARG_EXCEPTIONS)
    target_compile_options(${NAME} PRIVATE -fno-exceptions)
  endif()
  if(MPC_PRECOMPILED_HEADERS)
    target_precompile_headers(${NAME} PRIVATE ${ARG_UNPARSED_ARGUMENTS})
  endif()
  add_dependencies(${NAME} mpc-tablegen)
endfunction()

# Lets a target start with a set.
function(mpc_use_headers TARGET NAME)
  get_target_property(TYPE ${TARGET} TYPE)
  if(TYPE STREQUAL EXECUTABLE)
    # Headers that were parsed as position-independent code of a library do not fit that of an executable.
    set_target_properties(${TARGET} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${TARGET} PRIVATE -fPIC)
  endif()
  if(MPC_PRECOMPILED_HEADERS)
    target_precompile_headers(${TARGET} REUSE_FROM ${NAME})
  endif()
endfunction()

# The sets that the libraries of a folder start with: those without exceptions, and those with them (none unless the folder names one).
set(MPC_HEADERS MpcDialectHeaders)
set(MPC_EXCEPTIONS_HEADERS)

# mpc_library(NAME sources... [EXCEPTIONS] [LIBS libs...] [TABLEGEN targets...])
# Makes a static library over MLIR. EXCEPTIONS is for code at the edges (CLI, JSON, protobuf), which catches exceptions and turns them into diagnostics.
function(mpc_library NAME)
  cmake_parse_arguments(ARG "EXCEPTIONS" "" "LIBS;TABLEGEN" ${ARGN})
  add_library(${NAME} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${NAME} PUBLIC MpcMlir ${ARG_LIBS})
  if(NOT ARG_EXCEPTIONS)
    target_compile_options(${NAME} PRIVATE -fno-exceptions)
    mpc_use_headers(${NAME} ${MPC_HEADERS})
  elseif(MPC_EXCEPTIONS_HEADERS)
    mpc_use_headers(${NAME} ${MPC_EXCEPTIONS_HEADERS})
  endif()
  if(ARG_TABLEGEN)
    add_dependencies(${NAME} ${ARG_TABLEGEN})
  endif()
  # The generated headers of all dialects must exist before any library compiles.
  if(TARGET mpc-tablegen)
    add_dependencies(${NAME} mpc-tablegen)
  endif()
endfunction()

add_custom_target(mpc-tablegen)
mpc_headers(MpcDialectHeaders ${MPC_DIALECT_HEADERS})
mpc_headers(MpcLoweringHeaders ${MPC_LOWERING_HEADERS})

# mpc_tablegen(FILE.td TARGET out1 -gen-x out2 -gen-y ...): runs mlir-tblgen and hooks the result into mpc-tablegen.
function(mpc_tablegen FILE TARGET)
  set(LLVM_TARGET_DEFINITIONS ${FILE})
  set(OUTPUTS ${ARGN})
  while(OUTPUTS)
    list(POP_FRONT OUTPUTS OUT)
    list(POP_FRONT OUTPUTS GENS)
    string(REPLACE " " ";" GENS "${GENS}")
    mlir_tablegen(${OUT} ${GENS} EXTRA_INCLUDES ${MPC_SOURCE_DIR} ${MLIR_INCLUDE_DIRS})
  endwhile()
  add_public_tablegen_target(${TARGET})
  add_dependencies(mpc-tablegen ${TARGET})
endfunction()
