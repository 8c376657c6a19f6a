// SPDX-License-Identifier: Apache-2.0
// A dma_read of your own, to start from: `scripts/new_override dma_read DIR` copies it, with dma_read_ref, our block
// under another name. Written by scripts/gen_templates.py from rtl/pcie/dma_read.sv and rtl/templates/contract.toml.
//
// What our block does: the head of rtl/pcie/dma_read.sv, and docs/blocks. What holds for every block:
// docs/howto/override.md.
//
// Latency: rd_valid_i to treq_rd_valid_o 1 cycle, completion to probe_done_o 1, from there to pay_valid_o 3: 5 together
// (DmaMasterTest.Latencies).
// A version that takes N cycles more declares +latency+dma_read+N in its list.
//
// Streams that come in: rd. A beat is taken at the edge before which valid and ready are both high; ready may depend on
// valid, valid never on ready; valid and payload stay until then.
//
// Has to drive, whatever is inside:
//   probe_rd_o         as in dma_master
//   probe_rd_op_o      as in dma_master
//   probe_done_o       as in dma_master
//   probe_done_op_o    as in dma_master
//   stat_unexpected_o  as in dma_master
//   stat_ur_o          as in dma_master
//   stat_ca_o          as in dma_master
//   stat_poisoned_o    as in dma_master
//   stat_timeout_o     as in dma_master
//   stat_malformed_o   as in dma_master
//   idle_o             low while a read is queued, in flight or not yet handed out
module dma_read #(
  parameter int unsigned NumTags = 512,        // 1..768, from 0 on
  parameter int unsigned NumTags8 = 256,       // of them without 10-bit tags: 1..256
  parameter int unsigned NumTags5 = 32,        // of them without extended tags: 1..32
  parameter int unsigned BufBytes = 65536,     // power of two, at least 8192
  parameter int unsigned MaxReads = 128        // power of two, at least 2
) (
  input  logic clk_i,
  input  logic rst_ni,                 // of the function: a tag in use becomes an orphan
  input  logic link_rst_ni,            // of the link: of the tags, too; only with rst_ni
  input  logic [63:0] now_i,           // ns
  input  rnic_pkg::pcie_cfg_t cfg_i,
  input  logic tag_go_i,               // tags may be chosen; tag10 and ext_tag may change while none is held
  output logic tag_held_o,             // one is reserved or in use
  // Reads in, payload out
  input  logic rd_valid_i,
  output logic rd_ready_o,
  input  rnic_pkg::rd_req_t rd_i,
  output logic pay_valid_o,
  input  logic pay_ready_i,
  output rnic_pkg::payload_t pay_o,
  // Requests to pcie_tlp_gen
  output logic treq_rd_valid_o,
  input  logic treq_rd_ready_i,
  output rnic_pkg::tlp_req_t treq_rd_o,
  // Completions; always taken
  input  logic cpl_valid_i,
  input  rnic_pkg::cpl_t cpl_i,
  input  logic cpl_mid_i,              // a completion is under way, also where none of its beats comes
  // Room for completions that a read had, given back in this cycle; 0: none
  output logic [6:0] back_h_o,
  output logic [8:0] back_d_o,         // in 16 B
  // Observation
  output logic stat_unexpected_o,
  output logic stat_ur_o,
  output logic stat_ca_o,
  output logic stat_poisoned_o,
  output logic stat_timeout_o,
  output logic stat_malformed_o,
  output logic probe_rd_o,
  output rnic_pkg::op_t probe_rd_op_o,
  output logic probe_done_o,
  output rnic_pkg::op_t probe_done_op_o,
  output logic idle_o
);
  // ---- Places for registers: 1 puts one into the stream, which costs a cycle --------------------
  localparam bit RegRd = 1'b0;

  logic rd_valid, rd_ready;
  rnic_pkg::rd_req_t rd;
  if (RegRd) begin : gen_rd_reg
    stream_register #(.Width($bits(rd_i))) u_rd_reg (
      .clk_i, .rst_ni,
      .in_valid_i(rd_valid_i), .in_ready_o(rd_ready_o), .in_data_i(rd_i),
      .out_valid_o(rd_valid), .out_ready_i(rd_ready), .out_data_o(rd)
    );
  end else begin : gen_rd_wire
    assign rd_valid = rd_valid_i;
    assign rd_ready_o = rd_ready;
    assign rd = rd_i;
  end

  // ---- Your logic stands here, instead of ours or around it --------------------------------------
  logic idle;
  dma_read_ref #(
    .NumTags(NumTags), .NumTags8(NumTags8), .NumTags5(NumTags5), .BufBytes(BufBytes), .MaxReads(MaxReads)
  ) u_ref (
    .clk_i, .rst_ni, .link_rst_ni, .now_i, .cfg_i, .tag_go_i, .tag_held_o, .rd_valid_i(rd_valid),
    .rd_ready_o(rd_ready), .rd_i(rd), .pay_valid_o, .pay_ready_i, .pay_o, .treq_rd_valid_o,
    .treq_rd_ready_i, .treq_rd_o, .cpl_valid_i, .cpl_i, .cpl_mid_i, .back_h_o, .back_d_o,
    .stat_unexpected_o, .stat_ur_o, .stat_ca_o, .stat_poisoned_o, .stat_timeout_o,
    .stat_malformed_o, .probe_rd_o, .probe_rd_op_o, .probe_done_o, .probe_done_op_o, .idle_o(idle)
  );

  // What stands in a register is work: no edge may be left out while it does.
  assign idle_o = idle && !(RegRd && rd_valid);
endmodule
