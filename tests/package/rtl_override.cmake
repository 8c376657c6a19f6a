# SPDX-License-Identifier: Apache-2.0
# RNICSIM_RTL_OVERRIDE puts a user's module in place of ours; what does not fit is refused while configuring, with the place,
# the port or parameter, and all faults at once.
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)
set(configure ${CMAKE_COMMAND} -G ${GENERATOR} -S ${SOURCE_DIR} -DRNICSIM_BUILD_SIM=OFF)
set(mine ${WORK_DIR}/mine)

# change(<our file> <new file> <regex> <replacement> ...): a changed copy of ours
function(change from to)
  file(READ ${SOURCE_DIR}/rtl/${from} text)
  math(EXPR last "${ARGC} - 1")
  foreach(i RANGE 2 ${last} 2)  # not ARGN: it would split at semicolons
    math(EXPR next "${i} + 1")
    string(REGEX REPLACE "${ARGV${i}}" "${ARGV${next}}" changed "${text}")
    if(changed STREQUAL text)
      message(FATAL_ERROR "rtl/${from} has no '${ARGV${i}}'")
    endif()
    set(text "${changed}")
  endforeach()
  file(WRITE ${mine}/${to} "${text}")
endfunction()

# refused_list(<what> <list> <texts>...): the list is refused, with all of the texts
function(refused_list what lines)
  file(WRITE ${mine}/bad.f "${lines}")
  execute_process(COMMAND ${configure} -B ${WORK_DIR}/bad -DRNICSIM_RTL_OVERRIDE=${mine}/bad.f
    RESULT_VARIABLE status OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(status EQUAL 0)
    message(FATAL_ERROR "${what}: was accepted, but must be refused\n${out}")
  endif()
  string(REGEX REPLACE "[ \n]+" " " flat "${out}")
  # Lines of our files, and of changed copies of them, move with our RTL.
  string(REGEX REPLACE "/(tx_packetizer|fifo|icrc|ctx_cache|rnic_top)\\.sv(:[0-9]+)+" "/\\1.sv:N" flat "${flat}")
  foreach(text IN LISTS ARGN)
    string(FIND "${flat}" "${text}" at)
    if(at EQUAL -1)
      message(FATAL_ERROR "${what}: the message lacks '${text}'\n${out}")
    endif()
  endforeach()
  message(STATUS "${what}: refused with the right words")
endfunction()

# ---- What is accepted: a copy of the FIFO that announces itself, written in every way that is allowed ----------------------
change(common/fifo.sv "my blocks/first fifo.sv"
  "\nmodule fifo" "\n`include \"keep.svh\"\n`KEEP macromodule automatic fifo"
  "endmodule" "`ifdef MINE\n  my_part u_my_part ();\n`endif\nendmodule\n(* keep *) module /* of it */ my_part;\n  initial $display(\"the FIFO of the override\");\nendmodule")
file(READ "${mine}/my blocks/first fifo.sv" text)
string(REPLACE "\n" "\r\n" text "${text}")
file(WRITE "${mine}/my blocks/first fifo.sv" "${text}")
file(WRITE "${mine}/my headers/keep.svh" "`define KEEP (* keep *)\n")
file(WRITE "${mine}/my blocks/part.f" "first fifo.sv  // the FIFO\r\n+latency+fifo+-2\r\n")
file(WRITE ${mine}/typo.sv "// module fifo;\nmodule tx_packetiser;\nendmodule\n")
file(WRITE ${mine}/files.f
  "# mine\r\n+incdir+my headers\r\n-f \"my blocks/part.f\"\r\n\r\n+define+MINE\r\n+latency+icrc+3\r\ntypo.sv\r\n")
run("configure" ${configure} -B ${WORK_DIR}/build -DRNICSIM_RTL_OVERRIDE=${mine}/files.f)
foreach(text "typo.sv:2: module tx_packetiser is none of ours, and nothing instantiates it: it changes nothing. Is 'tx_packetizer' meant"
    "files.f:6: the latency of icrc is declared, but the list replaces neither it nor a block around or inside it")
  string(REGEX REPLACE "[ \n]+" " " flat "${run_out}")
  string(FIND "${flat}" "${text}" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "no warning '${text}'\n${run_out}")
  endif()
endforeach()
file(READ ${WORK_DIR}/build/include/rnic/rtl/latency.h header)
foreach(row "{\"fifo\", -2}" "{\"icrc\", 3}" "{\"tx_packetizer\", 0}" "{\"fifo\", R\"path(first fifo.sv)path\"}")
  string(FIND "${header}" "${row}" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "latency.h lacks ${row}\n${header}")
  endif()
endforeach()
# Where the block is itself the top, and warnings about a second definition would fail the build.
run("build" ${CMAKE_COMMAND} --build ${WORK_DIR}/build --target test_fifo)
run("test" ${WORK_DIR}/build/tests/rtl/test_fifo)
if(NOT run_out MATCHES "the FIFO of the override")
  message(FATAL_ERROR "our FIFO was built, not the override's:\n${run_out}")
endif()
file(STRINGS ${WORK_DIR}/build/build.ninja command REGEX "COMMAND = .*--top-module rnic_top ")
if(NOT command MATCHES "first_fifo.sv")  # a path with a space goes by a link
  message(FATAL_ERROR "the whole NIC is Verilated without the override:\n${command}")
endif()

# ---- The list ------------------------------------------------------------------------------------------------------------
refused("no list" "which is no file" ${configure} -B ${WORK_DIR}/bad -DRNICSIM_RTL_OVERRIDE=${WORK_DIR}/none.f)
file(WRITE ${mine}/sub.f "-f bad.f\n")
file(WRITE ${mine}/text.sv "// nothing\n")
file(WRITE ${mine}/pkg.sv "package rnic_pkg;\nendpackage\n")
refused_list("a list with every fault"
  "# first\nnone.sv\ntext.sv\nmy blocks/first fifo.sv\n${SOURCE_DIR}/rtl/common/fifo.sv\n--trace\n-f none.f\n-f sub.f\n+incdir+none\npkg.sv\n+latency+tx_packetiser+1\n+latency+fifo+x\n+latency+fifo+99999999999\n+latency+fifo\n+latency+fifo+1 +latency+fifo+1\n+incdir+my headers\n"
  "bad.f:2: the file 'none.sv' does not exist" "bad.f:3: 'text.sv' holds no module"
  "bad.f:5: '${SOURCE_DIR}/rtl/common/fifo.sv' defines module fifo, as a file above does"
  "bad.f:6: '--trace' is not understood. Allowed: a file," "bad.f:7: the list 'none.f' does not exist"
  "sub.f:1: the list 'bad.f' is read by itself" "bad.f:9: the folder 'none' does not exist" "pkg.sv:1: defines package rnic_pkg, but packages stay ours"
  "bad.f:11: '+latency+tx_packetiser+1': there is no block 'tx_packetiser'. Is 'tx_packetizer' meant?"
  "bad.f:12: '+latency+fifo+x': 'x' is no number of cycles" "'99999999999' is no number of cycles" "bad.f:14: '+latency+fifo' is not understood"
  "bad.f:15: the latency of fifo is declared already in")

# ---- Ports and parameters --------------------------------------------------------------------------------------------------
# The bodies do not follow, so that Verilator alone would speak of them.
change(tx/tx_packetizer.sv tx_packetizer.sv
  "input  rnic_pkg::payload_t pay_i" "input logic [255:0] pay_i" "output logic err_o," "input logic err_o,"
  "input  logic desc_valid_i" "input logic desc_vld_i" "  output logic idle_o" "  output logic idle_o,\n  output logic debug_o,\n  input logic scan_i")
change(host/cqe_writer.sv cqe_writer.sv "rnic_pkg::cqe_req_t req_i" "rnic_pkg::rd_req_t req_i")
change(pcie/pcie_tlp_gen.sv pcie_tlp_gen.sv "input  rnic_pkg::pcie_fc_t fc_i" "input logic fc_i [30]")
file(WRITE ${mine}/types.sv "package mine_pkg;\n  typedef struct packed {\n    logic [12:0] len;\n    logic [63:0] addr;\n    logic [2:0] attr;\n    rnic_pkg::op_t op;\n  } wr_req_t;\nendpackage\n")
change(pcie/dma_write.sv dma_write.sv "rnic_pkg::wr_req_t wr_i" "mine_pkg::wr_req_t wr_i" "output logic idle_o" "inout wire idle_o")
change(common/fifo.sv fifo.sv "parameter int unsigned Depth = 16" "localparam int unsigned Depth = 16")
change(host/ctx_cache.sv ctx_cache.sv "parameter int unsigned Entries = 256," "" "parameter logic .27:0. Base = '0" "parameter real Base = 0.0"
  "parameter int unsigned LineBytes = 128" "parameter type LineBytes = logic" "LineBytes\\*8-1" "1023")
file(WRITE ${mine}/icrc.sv "module icrc (clk_i, rst_ni, valid_i, sop_i, eop_i, zero_dws_i, data_i, valid_o, icrc_o, idle_o);\n  input clk_i, rst_ni, valid_i, sop_i, eop_i;\n  input [3:0] zero_dws_i;\n  input [511:0] data_i;\n  output valid_o;\n  output [15:0] icrc_o;\n  output idle_o;\nendmodule\n")
file(WRITE ${mine}/qp_scheduler.sv "module qp_scheduler (\n  input logic clk_i;\n);\nendmodule\n")
refused_list("ports of eight blocks"
  "tx_packetizer.sv\ncqe_writer.sv\ntypes.sv\ndma_write.sv\npcie_tlp_gen.sv\nfifo.sv\nctx_cache.sv\nicrc.sv\nqp_scheduler.sv\n"
  "module tx_packetizer: port 'pay_i' has the wrong width: 256 bits, logic [255:0] (ours: input rnic_pkg::payload_t, 524 bits, rtl/tx/tx_packetizer.sv:N)"
  "module tx_packetizer: port 'err_o' has the wrong direction: input (ours: output logic, rtl/tx/tx_packetizer.sv:N). Make it output"
  "mine/tx_packetizer.sv:N: module tx_packetizer: port 'desc_valid_i' is missing" "Is 'desc_vld_i' meant to be it?"
  "mine/tx_packetizer.sv:N: module tx_packetizer: port 'debug_o' (output) is not among ours: nothing would read it"
  "mine/tx_packetizer.sv:N: module tx_packetizer: port 'scan_i' (input) is not among ours: nothing would drive it"
  "module cqe_writer: port 'req_i' has the wrong width: 133 bits, rnic_pkg::rd_req_t"
  "module pcie_tlp_gen: port 'fc_i' has the wrong type: unpacked array of logic"
  "module dma_write: port 'wr_i' has the wrong type: mine_pkg::wr_req_t, where len (13 bits) stands where ours has addr (64 bits)"
  "module dma_write: port 'idle_o' has the wrong direction: inout"
  "module fifo: parameter 'Depth' is a localparam; rtl/"
  "module ctx_cache: parameter 'Entries' is missing, which rtl/common/rnic_top.sv" "module ctx_cache: parameter 'Base' is a real; ours is a number"
  "module ctx_cache: parameter 'LineBytes' is a type; ours is a value"
  "module icrc: port 'icrc_o' has the wrong width: 16 bits"
  "qp_scheduler.sv:2:20: syntax error, unexpected ';'")

# Widths that are right by default, and wrong with what the NIC sets.
change(common/fifo.sv fifo.sv "input  logic .Width-1:0. wr_data_i" "input logic [31:0] wr_data_i")
change(host/ctx_cache.sv ctx_cache.sv "parameter int unsigned Entries = 256" "parameter bit [7:0] Entries = 64")
refused_list("widths with parameters" "fifo.sv\nctx_cache.sv\n"
  "module fifo: port 'wr_data_i' has the wrong width (with Width = " "): 32 bits, logic"
  "module ctx_cache: parameter 'Entries' is too narrow (8 bits): 256, which the NIC sets, becomes 0")

# What Verilator itself says of bodies; warnings fail the build as ours do.
change(common/fifo.sv fifo.sv "endmodule" "  assign nowhere = wr_valid_i;\nendmodule")
change(tx/icrc.sv icrc.sv "endmodule" "  logic [3:0] wide;\n  assign wide = data_i;\nendmodule")
refused_list("bodies" "fifo.sv\nicrc.sv\n" "%Warning-IMPLICIT: ${mine}/fifo.sv:N: Signal definition not found"
  "%Warning-WIDTH: ${mine}/icrc.sv:N: Operator ASSIGNW expects 4 bits")
