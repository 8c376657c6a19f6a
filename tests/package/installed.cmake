# SPDX-License-Identifier: Apache-2.0
# Installs this build into a folder, builds a project of somebody else on it, and runs that project's program and tests.
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)
run("install" ${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${WORK_DIR}/prefix)
# A package that was moved after installing must work as well.
file(RENAME ${WORK_DIR}/prefix ${WORK_DIR}/moved)
run("configure" ${CMAKE_COMMAND} -G ${GENERATOR} -S ${CMAKE_CURRENT_LIST_DIR}/consumer -B ${WORK_DIR}/consumer
  -DCMAKE_PREFIX_PATH=${WORK_DIR}/moved -DCMAKE_BUILD_TYPE=Release)
run("build" ${CMAKE_COMMAND} --build ${WORK_DIR}/consumer)
set(ENV{RNICSIM_PROFILES} ${WORK_DIR}/moved/share/rnicsim/profiles)
run("program" ${WORK_DIR}/consumer/one_write)
if(NOT run_out MATCHES "frame of 138 bytes")
  message(FATAL_ERROR "the program did not print its frame:\n${run_out}")
endif()
unset(ENV{RNICSIM_PROFILES})
run("suite" ${CMAKE_CTEST_COMMAND} --test-dir ${WORK_DIR}/consumer --output-on-failure --no-tests=error)
if(NOT run_out MATCHES "0 tests failed out of 2")
  message(FATAL_ERROR "not both tests ran:\n${run_out}")
endif()
refused("find_package with C++20" "rnicsim needs C++17, not C++20" ${CMAKE_COMMAND} -G ${GENERATOR}
  -S ${CMAKE_CURRENT_LIST_DIR}/consumer -B ${WORK_DIR}/cxx20 -DCMAKE_PREFIX_PATH=${WORK_DIR}/moved -DCMAKE_CXX_STANDARD=20)
if(EXISTS ${WORK_DIR}/moved/bin/rnicsim)
  run("installed command" ${WORK_DIR}/moved/bin/rnicsim version)
  # Its profiles are the ones that were moved with it.
  file(RENAME ${WORK_DIR}/moved/share/rnicsim/profiles/gen4-200g.toml ${WORK_DIR}/moved/share/rnicsim/profiles/moved.toml)
  run("installed command's profiles" ${WORK_DIR}/moved/bin/rnicsim profile show moved)
endif()
