# SPDX-License-Identifier: Apache-2.0
# Builds a project of somebody else that takes the library in by add_subdirectory, and runs its program and tests.
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)
run("configure" ${CMAKE_COMMAND} -G ${GENERATOR} -S ${CMAKE_CURRENT_LIST_DIR}/consumer -B ${WORK_DIR}/consumer
  -DRNICSIM_SOURCE=${SOURCE_DIR} -DCMAKE_BUILD_TYPE=Release)
run("build" ${CMAKE_COMMAND} --build ${WORK_DIR}/consumer --parallel 2)
run("program" ${WORK_DIR}/consumer/one_write)
if(NOT run_out MATCHES "frame of 138 bytes")
  message(FATAL_ERROR "the program did not print its frame:\n${run_out}")
endif()
run("suite" ${CMAKE_CTEST_COMMAND} --test-dir ${WORK_DIR}/consumer --output-on-failure --no-tests=error)
refused("add_subdirectory with C++20" "rnicsim needs C++17, not C++20" ${CMAKE_COMMAND} -G ${GENERATOR}
  -S ${CMAKE_CURRENT_LIST_DIR}/consumer -B ${WORK_DIR}/cxx20 -DRNICSIM_SOURCE=${SOURCE_DIR} -DCMAKE_CXX_STANDARD=20)
