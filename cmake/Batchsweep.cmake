# Helpers that every folder's CMakeLists.txt uses.

find_program(BATCHSWEEP_CCACHE ccache)
if(BATCHSWEEP_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Without the first setting ccache refuses whatever uses a precompiled header; the second lets two clones share results.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}
    ${BATCHSWEEP_CCACHE})
endif()

add_library(batchsweep_options INTERFACE)
target_include_directories(batchsweep_options INTERFACE ${CMAKE_SOURCE_DIR})
# Designated initialisers name what matters and leave the rest at its default on purpose.
target_compile_options(batchsweep_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-missing-field-initializers)
if(BATCHSWEEP_WERROR)
  target_compile_options(batchsweep_options INTERFACE -Werror)
endif()

# batchsweep_library(NAME [DEPENDS target...]): a static library of all .cpp files of the current folder.
function(batchsweep_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  add_library(${name} STATIC ${sources})
  target_link_libraries(${name} PUBLIC batchsweep_options ${ARG_DEPENDS})
  # One precompiled header (json, fmt) for all layers: a third of the build time.
  if(name STREQUAL bs_base)
    target_precompile_headers(${name} PRIVATE <nlohmann/json.hpp> <fmt/format.h> <spdlog/spdlog.h> <string> <vector>)
  else()
    target_precompile_headers(${name} REUSE_FROM bs_base)
  endif()
endfunction()

# batchsweep_unit_tests(NAME LABEL label [DEPENDS target...]): one program from all *_test.cpp of the current folder.
function(batchsweep_unit_tests name)
  cmake_parse_arguments(ARG "" "LABEL" "DEPENDS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*_test.cpp)
  if(NOT sources)
    return()
  endif()
  add_executable(${name} ${sources})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} bs_base GTest::gmock_main)
  if(NOT TARGET bs_test_headers)
    file(WRITE ${CMAKE_BINARY_DIR}/test_headers.cpp "")
    add_library(bs_test_headers STATIC ${CMAKE_BINARY_DIR}/test_headers.cpp)
    target_link_libraries(bs_test_headers PUBLIC bs_base GTest::gmock_main)
    target_precompile_headers(bs_test_headers PRIVATE <gmock/gmock.h> <gtest/gtest.h> <nlohmann/json.hpp> <fmt/format.h> <spdlog/spdlog.h>)
  endif()
  target_precompile_headers(${name} REUSE_FROM bs_test_headers)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS ${ARG_LABEL} TIMEOUT 120)
endfunction()
