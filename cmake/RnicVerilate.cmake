# SPDX-License-Identifier: Apache-2.0
# rnic_verilate(<target> TOP <module> [PREFIX name] [COVERAGE] [SOURCES files...] [ARGS args...])
#   A static library with the Verilated model of <module>; header V<module>.h. Verilator's runtime is linked in.
#   COVERAGE: with line points and the functional points of tests/cover, which are bound to the blocks (docs/coverage.md).
# rnic_add_rtl_test(<block> [TOP <module>] [SOURCES rtl...] [TEST files...] [LIBS libs...])
#   GoogleTest program test_<block> over the Verilated block, registered with CTest test by test.

set(RNICSIM_VERILATOR_EXTRA "" CACHE STRING "More Verilator flags for every model")
set(RNICSIM_RTL_COVERAGE OFF CACHE STRING "Line and functional coverage points in Verilated models: OFF, TESTS (those that only tests use) or ALL")
set_property(CACHE RNICSIM_RTL_COVERAGE PROPERTY STRINGS OFF TESTS ALL)
if(NOT RNICSIM_RTL_COVERAGE MATCHES "^(OFF|TESTS|ALL)$")
  message(FATAL_ERROR "RNICSIM_RTL_COVERAGE is '${RNICSIM_RTL_COVERAGE}'. Allowed: OFF, TESTS, ALL.")
endif()
option(RNICSIM_RTL_TOGGLE "Toggle points in the models of the blocks' tests, too: far slower to build and to run (scripts/toggle)" OFF)
# --x-initial unique: what a register holds before reset follows the context's randReset (0 by default, random on request);
# no slower than `fast`, measured.
# --reloop-limit: Verilator 5.006 declares the variable of a re-rolled loop in the wrong function when an assertion
# samples a signal of 40 words or more (Verilator's pull request 4062 mends it, after 5.008), so loops stay unrolled.
set(RNICSIM_VERILATOR_FLAGS
  --cc -O3 --x-assign fast --x-initial unique --assert --trace-fst --trace-structs
  -Wall --timescale 1ps/1ps --timescale-override 1ps/1ps --reloop-limit 100000
  ${RNICSIM_VERILATOR_EXTRA})

find_program(RNICSIM_CCACHE ccache)
if(RNICSIM_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${RNICSIM_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${RNICSIM_CCACHE})
endif()

set(_vinc ${RNICSIM_VERILATOR_ROOT}/include)
add_library(rnic_verilated STATIC
  ${_vinc}/verilated.cpp ${_vinc}/verilated_threads.cpp ${_vinc}/verilated_fst_c.cpp ${_vinc}/verilated_cov.cpp)
target_include_directories(rnic_verilated SYSTEM PUBLIC ${_vinc} ${_vinc}/vltstd)
target_link_libraries(rnic_verilated PUBLIC Threads::Threads ZLIB::ZLIB)
target_compile_definitions(rnic_verilated PUBLIC VM_SC=0 VM_TRACE=1 VM_TRACE_FST=1 VM_TRACE_VCD=0)
target_compile_options(rnic_verilated PRIVATE -O3 -w)

# Packages first, then every module: Verilator takes what the top needs.
set(RNICSIM_RTL_PACKAGES
  ${PROJECT_SOURCE_DIR}/rtl/pkg/pcie_pkg.sv ${PROJECT_SOURCE_DIR}/rtl/pkg/roce_pkg.sv
  ${PROJECT_SOURCE_DIR}/rtl/pkg/rnic_pkg.sv ${PROJECT_SOURCE_DIR}/rtl/pkg/crc_pkg.sv
  ${PROJECT_SOURCE_DIR}/rtl/pkg/arp_pkg.sv)
file(GLOB RNICSIM_RTL_MODULES CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/rtl/tx/*.sv ${PROJECT_SOURCE_DIR}/rtl/rx/*.sv ${PROJECT_SOURCE_DIR}/rtl/pcie/*.sv
  ${PROJECT_SOURCE_DIR}/rtl/host/*.sv ${PROJECT_SOURCE_DIR}/rtl/collective/*.sv ${PROJECT_SOURCE_DIR}/rtl/common/*.sv)
set(RNICSIM_RTL_DIRS
  +incdir+${PROJECT_SOURCE_DIR}/rtl/common
  -y ${PROJECT_SOURCE_DIR}/rtl/tx -y ${PROJECT_SOURCE_DIR}/rtl/rx -y ${PROJECT_SOURCE_DIR}/rtl/pcie
  -y ${PROJECT_SOURCE_DIR}/rtl/host -y ${PROJECT_SOURCE_DIR}/rtl/collective -y ${PROJECT_SOURCE_DIR}/rtl/common)
set(RNICSIM_RTL_WAIVERS ${PROJECT_SOURCE_DIR}/rtl/waivers.vlt)
# Every cover module goes to every model; one whose block is not in the model makes no points. Where a block is replaced,
# only those that know nothing but its ports stay.
file(GLOB RNICSIM_RTL_COVER CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/cover/*_cover.sv)
set(RNICSIM_RTL_COVER_WAIVERS ${PROJECT_SOURCE_DIR}/tests/cover/waivers.vlt)
if(NOT RNICSIM_RTL_TOGGLE)
  list(APPEND RNICSIM_RTL_COVER_WAIVERS ${PROJECT_SOURCE_DIR}/tests/cover/costly.vlt)
endif()
# Verilator 5.006 counts with atomic additions, also in models of one thread. With their lock the whole NIC takes twice the
# time, without it a third more.
include(CheckCXXCompilerFlag)
check_cxx_compiler_flag(-Wa,-momit-lock-prefix=yes RNICSIM_HAS_OMIT_LOCK_PREFIX)
set(RNICSIM_RTL_COVER_FLAGS)
if(RNICSIM_HAS_OMIT_LOCK_PREFIX)
  set(RNICSIM_RTL_COVER_FLAGS -CFLAGS -Wa,-momit-lock-prefix=yes)
endif()
include(${CMAKE_CURRENT_LIST_DIR}/RnicOverride.cmake)
foreach(_module IN LISTS RNICSIM_RTL_OVERRIDE_MODULES)
  list(REMOVE_ITEM RNICSIM_RTL_COVER ${PROJECT_SOURCE_DIR}/tests/cover/${_module}_inner_cover.sv)
endforeach()

function(rnic_verilate target)
  cmake_parse_arguments(A "COVERAGE" "TOP;PREFIX" "SOURCES;ARGS" ${ARGN})
  if(NOT A_PREFIX)
    set(A_PREFIX V${A_TOP})
  endif()
  rnic_without_overridden(A_SOURCES ${A_SOURCES})
  set(cover)
  if(A_COVERAGE)
    set(cover ${RNICSIM_RTL_COVER})
    list(APPEND A_ARGS --coverage-line --coverage-user ${RNICSIM_RTL_COVER_WAIVERS} ${RNICSIM_RTL_COVER_FLAGS})
    if(RNICSIM_RTL_TOGGLE)
      list(APPEND A_ARGS --coverage-toggle)
    endif()
  endif()
  set(mdir ${CMAKE_CURRENT_BINARY_DIR}/${target}.vl)
  set(stamp ${mdir}/stamp)
  set(archive ${mdir}/${A_PREFIX}__ALL.a)
  add_custom_command(
    OUTPUT ${archive}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${mdir}
    COMMAND ${CMAKE_COMMAND} -E rm -f ${archive}
    COMMAND ${CMAKE_COMMAND} -E env OBJCACHE=${RNICSIM_CCACHE}
      ${RNICSIM_VERILATOR} ${RNICSIM_VERILATOR_FLAGS} ${A_ARGS} --top-module ${A_TOP} --prefix ${A_PREFIX} --Mdir ${mdir}
      --output-split 20000 -CFLAGS -std=c++17 -MAKEFLAGS "OPT_FAST=-O3 OPT_SLOW=-O1 OPT_GLOBAL=-O3" --build -j 2
      ${RNICSIM_RTL_OVERRIDE_ARGS} ${RNICSIM_RTL_DIRS} ${RNICSIM_RTL_WAIVERS} ${RNICSIM_RTL_PACKAGES} ${RNICSIM_RTL_OVERRIDE_FILES} ${A_SOURCES} ${cover}
      > ${mdir}/verilator.log 2>&1 || ${CMAKE_COMMAND} -E cat ${mdir}/verilator.log && test -f ${archive}
    DEPENDS ${RNICSIM_RTL_PACKAGES} ${RNICSIM_RTL_MODULES} ${RNICSIM_RTL_WAIVERS} ${RNICSIM_RTL_OVERRIDE_DEPENDS} ${A_SOURCES} ${cover} ${RNICSIM_RTL_COVER_WAIVERS}
    COMMENT "Verilating ${A_TOP}"
    VERBATIM)
  add_custom_target(${target}_gen DEPENDS ${archive})
  add_library(${target} INTERFACE)
  add_dependencies(${target} ${target}_gen)
  target_include_directories(${target} SYSTEM INTERFACE ${mdir})
  target_compile_definitions(${target} INTERFACE VM_COVERAGE=$<BOOL:${A_COVERAGE}>)
  target_link_libraries(${target} INTERFACE ${archive} rnic_verilated)
endfunction()

function(rnic_add_rtl_test block)
  cmake_parse_arguments(A "" "TOP" "SOURCES;TEST;LIBS;ARGS" ${ARGN})
  if(NOT A_TOP)
    set(A_TOP ${block})
  endif()
  set(coverage)
  if(NOT RNICSIM_RTL_COVERAGE STREQUAL OFF)
    set(coverage COVERAGE)
  endif()
  if(A_TOP STREQUAL block)
    set_property(GLOBAL APPEND PROPERTY RNICSIM_RTL_TESTS ${block})
  endif()
  rnic_verilate(v_${block} TOP ${A_TOP} ${coverage} SOURCES ${A_SOURCES} ARGS ${A_ARGS})
  add_executable(test_${block} ${A_TEST})
  target_include_directories(test_${block} PRIVATE ${PROJECT_SOURCE_DIR}/include ${RNICSIM_GENERATED_INCLUDE} ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests)
  target_compile_options(test_${block} PRIVATE -Wall -Wextra)
  target_link_libraries(test_${block} PRIVATE v_${block} GTest::gtest GTest::gtest_main fmt::fmt ${A_LIBS})
  add_dependencies(test_${block} v_${block}_gen)
  gtest_discover_tests(test_${block} TEST_PREFIX ${block}. PROPERTIES TIMEOUT 300 DISCOVERY_TIMEOUT 60)
endfunction()
