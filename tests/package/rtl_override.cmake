# SPDX-License-Identifier: Apache-2.0
# RNICSIM_RTL_OVERRIDE puts a user's module in place of ours, and a wrong list is refused with its line.
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)
set(configure ${CMAKE_COMMAND} -G ${GENERATOR} -S ${SOURCE_DIR} -DRNICSIM_BUILD_SIM=OFF)

# A copy of the FIFO that announces itself, found by a path relative to the list.
file(READ ${SOURCE_DIR}/rtl/common/fifo.sv fifo)
string(REPLACE "endmodule" "  initial $display(\"the FIFO of the override\");\nendmodule" changed "${fifo}")
if(changed STREQUAL fifo)
  message(FATAL_ERROR "rtl/common/fifo.sv was not changed")
endif()
file(WRITE ${WORK_DIR}/mine/blocks/my_fifo.sv "${changed}")
file(WRITE ${WORK_DIR}/mine/files.f "# mine\nblocks/my_fifo.sv  // the FIFO\n\n+define+MINE\n")
run("configure" ${configure} -B ${WORK_DIR}/build -DRNICSIM_RTL_OVERRIDE=${WORK_DIR}/mine/files.f)
# Where the block is itself the top, and warnings about a second definition would fail the build.
run("build" ${CMAKE_COMMAND} --build ${WORK_DIR}/build --target test_fifo)
run("test" ${WORK_DIR}/build/tests/rtl/test_fifo)
if(NOT run_out MATCHES "the FIFO of the override")
  message(FATAL_ERROR "our FIFO was built, not the override's:\n${run_out}")
endif()

# Where it is found below another top: lint only, with the same arguments as the build's.
file(STRINGS ${WORK_DIR}/build/build.ninja command REGEX "COMMAND = .*--top-module rnic_top ")
if(NOT command MATCHES "mine/blocks/my_fifo.sv")
  message(FATAL_ERROR "the whole NIC is Verilated without the override:\n${command}")
endif()
file(GLOB packages ${SOURCE_DIR}/rtl/pkg/*.sv)
list(FILTER packages EXCLUDE REGEX "(rnic|crc)_pkg")
run("lint of rnic_top with the override" ${VERILATOR} --lint-only --assert -Wall --timescale 1ps/1ps --top-module rnic_top
  -y ${SOURCE_DIR}/rtl/tx -y ${SOURCE_DIR}/rtl/pcie -y ${SOURCE_DIR}/rtl/host -y ${SOURCE_DIR}/rtl/common
  ${SOURCE_DIR}/rtl/waivers.vlt ${WORK_DIR}/build/rtl_override.vlt ${packages} ${SOURCE_DIR}/rtl/pkg/rnic_pkg.sv ${SOURCE_DIR}/rtl/pkg/crc_pkg.sv
  ${WORK_DIR}/mine/blocks/my_fifo.sv ${SOURCE_DIR}/rtl/common/rnic_top.sv)

function(refused_list what lines text)
  file(WRITE ${WORK_DIR}/bad.f "${lines}")
  refused("${what}" "${text}" ${configure} -B ${WORK_DIR}/bad -DRNICSIM_RTL_OVERRIDE=${WORK_DIR}/bad.f)
endfunction()
refused("no list" "which is no file" ${configure} -B ${WORK_DIR}/bad -DRNICSIM_RTL_OVERRIDE=${WORK_DIR}/none.f)
refused_list("missing file" "# first\nnone.sv\n" "bad.f:2: the file 'none.sv' does not exist")
refused_list("file without module" "bad.f\n" "bad.f:1: 'bad.f' holds no module")
refused_list("the same module twice" "mine/blocks/my_fifo.sv\n${SOURCE_DIR}/rtl/common/fifo.sv\n" "defines module fifo, as a file above does")
refused_list("an option" "--trace\n" "bad.f:1: '--trace' is not understood")
