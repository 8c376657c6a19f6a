# SPDX-License-Identifier: Apache-2.0
# rnic_add_model_test(<name> [TEST files...] [LIBS libs...])
#   GoogleTest program test_<name> over the library, run from sc_main, registered with CTest test by test. Every test runs
#   in a process of its own, whether CTest or a person starts it: SystemC allows one elaboration a process.

include(GoogleTest)

if(NOT TARGET rnic_sc_gtest_main)
  # Objects, not an archive: only the shared libsystemc asks for sc_main, and that pulls nothing out of an archive.
  add_library(rnic_sc_gtest_main OBJECT ${PROJECT_SOURCE_DIR}/tests/support/sc_gtest_main.cpp)
  target_compile_options(rnic_sc_gtest_main PRIVATE -Wall -Wextra)
  target_include_directories(rnic_sc_gtest_main PRIVATE ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(rnic_sc_gtest_main PUBLIC GTest::gtest rnic_systemc fmt::fmt)
endif()

# rnic_add_system_test(<name> ...): the same over the whole library with the Verilated NIC.

function(rnic_add_system_test name)
  rnic_add_model_test(${name} ${ARGN} LIBS rnicsim::tested)
endfunction()

function(rnic_add_model_test name)
  cmake_parse_arguments(A "" "" "TEST;LIBS" ${ARGN})
  if(NOT A_TEST)
    set(A_TEST ${name}_test.cpp)
  endif()
  add_executable(test_${name} ${A_TEST})
  target_include_directories(test_${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_compile_options(test_${name} PRIVATE -Wall -Wextra)
  target_compile_definitions(test_${name} PRIVATE RNICSIM_TEST_DATA="${PROJECT_SOURCE_DIR}/tests")
  # libsystemc's main() calls sc_main in rnic_sc_gtest_main
  target_link_libraries(test_${name} PRIVATE ${A_LIBS} rnic_models rnic_sc_gtest_main GTest::gtest)
  gtest_discover_tests(test_${name} TEST_PREFIX ${name}. PROPERTIES TIMEOUT 300 DISCOVERY_TIMEOUT 60)
endfunction()
