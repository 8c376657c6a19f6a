# SPDX-License-Identifier: Apache-2.0
# Every template, with a register in every stream that comes in, has our ports and is accepted in the whole NIC all at once.
include(${CMAKE_CURRENT_LIST_DIR}/../package/run.cmake)
file(GLOB templates ${SOURCE_DIR}/rtl/templates/*.sv)
foreach(template IN LISTS templates)
  get_filename_component(block ${template} NAME_WE)
  file(STRINGS ${template} streams REGEX "^  logic [a-z_0-9]+_valid, ")
  list(TRANSFORM streams REPLACE "^  logic ([a-z_0-9]+)_valid, .*" "--register=\\1")
  run("${block}" ${PYTHON} ${SOURCE_DIR}/scripts/new_override ${block} ${WORK_DIR}/mine ${streams})
endforeach()
run("configure" ${CMAKE_COMMAND} -G ${GENERATOR} -S ${SOURCE_DIR} -B ${WORK_DIR}/build -DRNICSIM_BUILD_SIM=OFF -DRNICSIM_BUILD_TESTS=OFF
  -DRNICSIM_RTL_OVERRIDE=${WORK_DIR}/mine/files.f)
refused("no such block" "there is no block 'tx_packetiser'. Is 'tx_packetizer' meant?"
  ${PYTHON} ${SOURCE_DIR}/scripts/new_override tx_packetiser ${WORK_DIR}/none)
refused("no such stream" "no stream 'pai' comes into tx_packetizer. Streams: desc, pay, inl."
  ${PYTHON} ${SOURCE_DIR}/scripts/new_override tx_packetizer ${WORK_DIR}/none --register pai)
refused("a file that is there" "fifo.sv exists; remove it first" ${PYTHON} ${SOURCE_DIR}/scripts/new_override fifo ${WORK_DIR}/mine)
