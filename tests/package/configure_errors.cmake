# SPDX-License-Identifier: Apache-2.0
# Configuring says in plain words what is wrong, before a compiler or linker would.
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)
set(configure ${CMAKE_COMMAND} -G ${GENERATOR} -S ${SOURCE_DIR})

refused("C++20" "rnicsim needs C++17, not C++20: Debian's SystemC library is built as C++17"
  ${configure} -B ${WORK_DIR}/cxx20 -DCMAKE_CXX_STANDARD=20)

file(WRITE ${WORK_DIR}/bin/verilator "#!/bin/sh\necho 'Verilator 4.038 2020-07-11 rev v4.036'\n")
file(CHMOD ${WORK_DIR}/bin/verilator PERMISSIONS OWNER_READ OWNER_EXECUTE)
refused("old Verilator" "Verilator 4.038 is too old: rnicsim needs 5.006 (Debian 12) or newer"
  ${configure} -B ${WORK_DIR}/old -DRNICSIM_VERILATOR=${WORK_DIR}/bin/verilator)

refused("no Verilator" "Verilator is missing: apt-get install verilator" ${configure} -B ${WORK_DIR}/none -DRNICSIM_VERILATOR=)

get_filename_component(library_dir ${SYSTEMC_LIBRARY} DIRECTORY)
refused("no SystemC" "SystemC is missing: apt-get install libsystemc-dev"
  ${CMAKE_COMMAND} -E env --unset=SYSTEMC_HOME --unset=SYSTEMC_INCLUDE --unset=SYSTEMC_LIBDIR
  ${configure} -B ${WORK_DIR}/systemc "-DCMAKE_IGNORE_PATH=${SYSTEMC_INCLUDE};${library_dir}")

# A SystemC of another standard: its library lacks the symbol that carries C++17.
file(MAKE_DIRECTORY ${WORK_DIR}/lib)
file(WRITE ${WORK_DIR}/lib/empty.c "int nothing;\n")
execute_process(COMMAND cc -shared -o ${WORK_DIR}/lib/libsystemc.so ${WORK_DIR}/lib/empty.c COMMAND_ERROR_IS_FATAL ANY)
refused("SystemC of another standard" "does not link with C++17: it was built with another C++ standard"
  ${configure} -B ${WORK_DIR}/abi -DRNICSIM_SYSTEMC_LIBRARY=${WORK_DIR}/lib/libsystemc.so)
