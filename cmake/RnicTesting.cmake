# SPDX-License-Identifier: Apache-2.0
# rnicsim_add_test(<name> SOURCES files... [LIBS libs...])
#   For users' own suites, with find_package(rnicsim) and with add_subdirectory: a GoogleTest program <name> over the
#   library with the Verilated NIC, registered with CTest test by test. The program's main runs every test in a process
#   of its own (SystemC allows one elaboration a process), and a SystemC warning fails the test that caused it. The
#   fixture rnic::test::SystemTest is in "system/fixture.h". Needs GoogleTest; call enable_testing() first.

if(NOT RNICSIM_TESTING_DIR)
  set(RNICSIM_TESTING_DIR ${CMAKE_CURRENT_LIST_DIR}/../tests)
  set(RNICSIM_PROFILE_DIR ${CMAKE_CURRENT_LIST_DIR}/../sim/profiles)
endif()
get_filename_component(RNICSIM_TESTING_DIR ${RNICSIM_TESTING_DIR} ABSOLUTE)
get_filename_component(RNICSIM_PROFILE_DIR ${RNICSIM_PROFILE_DIR} ABSOLUTE)
set_property(GLOBAL PROPERTY RNICSIM_TESTING_DIR ${RNICSIM_TESTING_DIR})
set_property(GLOBAL PROPERTY RNICSIM_PROFILE_DIR ${RNICSIM_PROFILE_DIR})

function(rnicsim_add_test name)
  cmake_parse_arguments(A "" "" "SOURCES;LIBS" ${ARGN})
  if(NOT A_SOURCES)
    message(FATAL_ERROR "rnicsim_add_test(${name}): SOURCES is missing")
  endif()
  find_package(GTest QUIET)
  if(NOT GTest_FOUND)
    message(FATAL_ERROR "rnicsim_add_test needs GoogleTest: apt-get install libgtest-dev libgmock-dev")
  endif()
  include(GoogleTest)
  get_property(testing GLOBAL PROPERTY RNICSIM_TESTING_DIR)
  get_property(profiles GLOBAL PROPERTY RNICSIM_PROFILE_DIR)
  if(NOT TARGET rnicsim_testing_main)
    # Objects, not an archive: only the shared libsystemc asks for sc_main, and that pulls nothing out of an archive.
    add_library(rnicsim_testing_main OBJECT ${testing}/support/sc_gtest_main.cpp)
    target_link_libraries(rnicsim_testing_main PUBLIC GTest::gtest rnicsim::rnicsim)
  endif()
  add_executable(${name} ${A_SOURCES})
  target_include_directories(${name} PRIVATE ${testing})
  target_link_libraries(${name} PRIVATE ${A_LIBS} rnicsim::rnicsim rnicsim_testing_main GTest::gtest)
  gtest_discover_tests(${name} TEST_PREFIX ${name}.
    PROPERTIES TIMEOUT 300 ENVIRONMENT "RNICSIM_PROFILES=${profiles}" DISCOVERY_TIMEOUT 60)
endfunction()
