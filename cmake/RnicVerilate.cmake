# SPDX-License-Identifier: Apache-2.0
# rnic_verilate(<target> TOP <module> [PREFIX name] [SOURCES files...] [ARGS args...])
#   A static library with the Verilated model of <module>; header V<module>.h. Verilator's runtime is linked in.
# rnic_add_rtl_test(<block> [TOP <module>] [SOURCES rtl...] [TEST files...] [LIBS libs...])
#   GoogleTest program test_<block> over the Verilated block, registered with CTest test by test.

set(RNICSIM_VERILATOR_EXTRA "" CACHE STRING "More Verilator flags for every model")
option(RNICSIM_RTL_COVERAGE "Line and user coverage points in the Verilated models" OFF)
# --x-initial unique: what a register holds before reset follows the context's randReset (0 by default, random on request);
# no slower than `fast`, measured.
# --reloop-limit: Verilator 5.006 declares the variable of a re-rolled loop in the wrong function when an assertion
# samples a signal of 40 words or more (Verilator's pull request 4062 mends it, after 5.008), so loops stay unrolled.
set(RNICSIM_VERILATOR_FLAGS
  --cc -O3 --x-assign fast --x-initial unique --assert --trace-fst --trace-structs
  -Wall --timescale 1ps/1ps --timescale-override 1ps/1ps --reloop-limit 100000
  ${RNICSIM_VERILATOR_EXTRA})
if(RNICSIM_RTL_COVERAGE)
  list(APPEND RNICSIM_VERILATOR_FLAGS --coverage-line)
endif()

find_program(RNICSIM_CCACHE ccache)
if(RNICSIM_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${RNICSIM_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${RNICSIM_CCACHE})
endif()

set(_vinc ${RNICSIM_VERILATOR_ROOT}/include)
add_library(rnic_verilated STATIC
  ${_vinc}/verilated.cpp ${_vinc}/verilated_threads.cpp ${_vinc}/verilated_fst_c.cpp
  $<$<BOOL:${RNICSIM_RTL_COVERAGE}>:${_vinc}/verilated_cov.cpp>)
target_include_directories(rnic_verilated SYSTEM PUBLIC ${_vinc} ${_vinc}/vltstd)
target_link_libraries(rnic_verilated PUBLIC Threads::Threads ZLIB::ZLIB)
target_compile_definitions(rnic_verilated PUBLIC VM_COVERAGE=$<BOOL:${RNICSIM_RTL_COVERAGE}> VM_SC=0 VM_TRACE=1 VM_TRACE_FST=1 VM_TRACE_VCD=0)
target_compile_options(rnic_verilated PRIVATE -O3 -w)

# Packages first, then every module: Verilator takes what the top needs.
set(RNICSIM_RTL_PACKAGES
  ${PROJECT_SOURCE_DIR}/rtl/pkg/pcie_pkg.sv ${PROJECT_SOURCE_DIR}/rtl/pkg/roce_pkg.sv
  ${PROJECT_SOURCE_DIR}/rtl/pkg/rnic_pkg.sv ${PROJECT_SOURCE_DIR}/rtl/pkg/crc_pkg.sv)
file(GLOB RNICSIM_RTL_MODULES CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/rtl/tx/*.sv ${PROJECT_SOURCE_DIR}/rtl/rx/*.sv ${PROJECT_SOURCE_DIR}/rtl/pcie/*.sv
  ${PROJECT_SOURCE_DIR}/rtl/host/*.sv ${PROJECT_SOURCE_DIR}/rtl/collective/*.sv ${PROJECT_SOURCE_DIR}/rtl/common/*.sv)
set(RNICSIM_RTL_DIRS
  +incdir+${PROJECT_SOURCE_DIR}/rtl/common
  -y ${PROJECT_SOURCE_DIR}/rtl/tx -y ${PROJECT_SOURCE_DIR}/rtl/rx -y ${PROJECT_SOURCE_DIR}/rtl/pcie
  -y ${PROJECT_SOURCE_DIR}/rtl/host -y ${PROJECT_SOURCE_DIR}/rtl/collective -y ${PROJECT_SOURCE_DIR}/rtl/common)
set(RNICSIM_RTL_WAIVERS ${PROJECT_SOURCE_DIR}/rtl/waivers.vlt)
include(${CMAKE_CURRENT_LIST_DIR}/RnicOverride.cmake)

function(rnic_verilate target)
  cmake_parse_arguments(A "" "TOP;PREFIX" "SOURCES;ARGS" ${ARGN})
  if(NOT A_PREFIX)
    set(A_PREFIX V${A_TOP})
  endif()
  rnic_without_overridden(A_SOURCES ${A_SOURCES})
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
      ${RNICSIM_RTL_OVERRIDE_ARGS} ${RNICSIM_RTL_DIRS} ${RNICSIM_RTL_WAIVERS} ${RNICSIM_RTL_PACKAGES} ${RNICSIM_RTL_OVERRIDE_FILES} ${A_SOURCES}
      > ${mdir}/verilator.log 2>&1 || ${CMAKE_COMMAND} -E cat ${mdir}/verilator.log && test -f ${archive}
    DEPENDS ${RNICSIM_RTL_PACKAGES} ${RNICSIM_RTL_MODULES} ${RNICSIM_RTL_WAIVERS} ${RNICSIM_RTL_OVERRIDE_FILES} ${A_SOURCES}
    COMMENT "Verilating ${A_TOP}"
    VERBATIM)
  add_custom_target(${target}_gen DEPENDS ${archive})
  add_library(${target} INTERFACE)
  add_dependencies(${target} ${target}_gen)
  target_include_directories(${target} SYSTEM INTERFACE ${mdir})
  target_link_libraries(${target} INTERFACE ${archive} rnic_verilated)
endfunction()

function(rnic_add_rtl_test block)
  cmake_parse_arguments(A "" "TOP" "SOURCES;TEST;LIBS;ARGS" ${ARGN})
  if(NOT A_TOP)
    set(A_TOP ${block})
  endif()
  rnic_verilate(v_${block} TOP ${A_TOP} SOURCES ${A_SOURCES} ARGS ${A_ARGS})
  add_executable(test_${block} ${A_TEST})
  target_include_directories(test_${block} PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/tests)
  target_compile_options(test_${block} PRIVATE -Wall -Wextra)
  target_link_libraries(test_${block} PRIVATE v_${block} GTest::gtest GTest::gtest_main fmt::fmt ${A_LIBS})
  add_dependencies(test_${block} v_${block}_gen)
  gtest_discover_tests(test_${block} TEST_PREFIX ${block}. PROPERTIES TIMEOUT 300 DISCOVERY_TIMEOUT 60)
endfunction()
