// SPDX-License-Identifier: Apache-2.0
// A pcie_tlp_gen of your own, to start from: `scripts/new_override pcie_tlp_gen DIR` copies it, with pcie_tlp_gen_ref,
// our block under another name. Written by scripts/gen_templates.py from rtl/pcie/pcie_tlp_gen.sv and
// rtl/templates/contract.toml.
//
// What our block does: the head of rtl/pcie/pcie_tlp_gen.sv, and docs/blocks. What holds for every block:
// docs/howto/override.md.
//
// Latency: request to pins 1 cycle, pins to completion 1, 2 together (PcieTlpGenTest.OneCycleEachWay).
// A version that takes N cycles more declares +latency+pcie_tlp_gen+N in its list.
//
// Streams that come in: treq_rd, treq_wr, twd, tlp_rx. A beat is taken at the edge before which valid and ready are
// both high; ready may depend on valid, valid never on ready; valid and payload stay until then.
//
// Has to drive, whatever is inside:
//   stat_unexpected_o  once for each TLP that is no completion, or another requester's
//   stat_malformed_o   once for each completion whose length and beats disagree
//   idle_o             low while anything is inside; credits that are awaited keep the requester busy
//
// Has to keep:
//   order       a write may pass a blocked read, never the other way round
//   twr_sent_o  in the cycle in which the last beat of a write is accepted at the pins
module pcie_tlp_gen (
  input  logic clk_i,
  input  logic rst_ni,                 // of the function: what stands at the pins still goes, the rest of a write does not
  input  logic link_rst_ni,            // of the link: of its credits, too; only with rst_ni
  input  rnic_pkg::pcie_cfg_t cfg_i,
  input  rnic_pkg::pcie_fc_t fc_i,
  // Requests
  input  logic treq_rd_valid_i,
  output logic treq_rd_ready_o,
  input  rnic_pkg::tlp_req_t treq_rd_i,
  input  logic treq_wr_valid_i,
  output logic treq_wr_ready_o,
  input  rnic_pkg::tlp_req_t treq_wr_i,
  input  logic twd_valid_i,
  output logic twd_ready_o,
  input  rnic_pkg::tlp_wdata_t twd_i,
  output logic twr_sent_o,
  // To the link
  output logic tlp_tx_valid_o,
  input  logic tlp_tx_ready_i,
  output rnic_pkg::tlp_beat_t tlp_tx_o,
  // From the link: completions
  input  logic tlp_rx_valid_i,
  output logic tlp_rx_ready_o,
  input  rnic_pkg::tlp_beat_t tlp_rx_i,
  // To dma_master; always taken
  output logic cpl_valid_o,
  output rnic_pkg::cpl_t cpl_o,
  output logic cpl_mid_o,              // the completion of which a beat came last goes on
  input  logic [7:0] back_h_i,         // room for completions that reads had, given back
  input  logic [9:0] back_d_i,         // in 16 B
  output logic stat_unexpected_o,      // wrong requester, or not a completion
  output logic stat_malformed_o,       // length field and data beats disagree
  output logic idle_o
);
  // ---- Places for registers: 1 puts one into the stream, which costs a cycle --------------------
  localparam bit RegTreqRd = 1'b0;
  localparam bit RegTreqWr = 1'b0;
  localparam bit RegTwd = 1'b0;
  localparam bit RegTlpRx = 1'b0;

  logic treq_rd_valid, treq_rd_ready;
  rnic_pkg::tlp_req_t treq_rd;
  if (RegTreqRd) begin : gen_treq_rd_reg
    stream_register #(.Width($bits(treq_rd_i))) u_treq_rd_reg (
      .clk_i, .rst_ni,
      .in_valid_i(treq_rd_valid_i), .in_ready_o(treq_rd_ready_o), .in_data_i(treq_rd_i),
      .out_valid_o(treq_rd_valid), .out_ready_i(treq_rd_ready), .out_data_o(treq_rd)
    );
  end else begin : gen_treq_rd_wire
    assign treq_rd_valid = treq_rd_valid_i;
    assign treq_rd_ready_o = treq_rd_ready;
    assign treq_rd = treq_rd_i;
  end

  logic treq_wr_valid, treq_wr_ready;
  rnic_pkg::tlp_req_t treq_wr;
  if (RegTreqWr) begin : gen_treq_wr_reg
    stream_register #(.Width($bits(treq_wr_i))) u_treq_wr_reg (
      .clk_i, .rst_ni,
      .in_valid_i(treq_wr_valid_i), .in_ready_o(treq_wr_ready_o), .in_data_i(treq_wr_i),
      .out_valid_o(treq_wr_valid), .out_ready_i(treq_wr_ready), .out_data_o(treq_wr)
    );
  end else begin : gen_treq_wr_wire
    assign treq_wr_valid = treq_wr_valid_i;
    assign treq_wr_ready_o = treq_wr_ready;
    assign treq_wr = treq_wr_i;
  end

  logic twd_valid, twd_ready;
  rnic_pkg::tlp_wdata_t twd;
  if (RegTwd) begin : gen_twd_reg
    stream_register #(.Width($bits(twd_i))) u_twd_reg (
      .clk_i, .rst_ni,
      .in_valid_i(twd_valid_i), .in_ready_o(twd_ready_o), .in_data_i(twd_i),
      .out_valid_o(twd_valid), .out_ready_i(twd_ready), .out_data_o(twd)
    );
  end else begin : gen_twd_wire
    assign twd_valid = twd_valid_i;
    assign twd_ready_o = twd_ready;
    assign twd = twd_i;
  end

  logic tlp_rx_valid, tlp_rx_ready;
  rnic_pkg::tlp_beat_t tlp_rx;
  if (RegTlpRx) begin : gen_tlp_rx_reg
    stream_register #(.Width($bits(tlp_rx_i))) u_tlp_rx_reg (
      .clk_i, .rst_ni,
      .in_valid_i(tlp_rx_valid_i), .in_ready_o(tlp_rx_ready_o), .in_data_i(tlp_rx_i),
      .out_valid_o(tlp_rx_valid), .out_ready_i(tlp_rx_ready), .out_data_o(tlp_rx)
    );
  end else begin : gen_tlp_rx_wire
    assign tlp_rx_valid = tlp_rx_valid_i;
    assign tlp_rx_ready_o = tlp_rx_ready;
    assign tlp_rx = tlp_rx_i;
  end

  // ---- Your logic stands here, instead of ours or around it --------------------------------------
  logic idle;
  pcie_tlp_gen_ref u_ref (
    .clk_i, .rst_ni, .link_rst_ni, .cfg_i, .fc_i, .treq_rd_valid_i(treq_rd_valid),
    .treq_rd_ready_o(treq_rd_ready), .treq_rd_i(treq_rd), .treq_wr_valid_i(treq_wr_valid),
    .treq_wr_ready_o(treq_wr_ready), .treq_wr_i(treq_wr), .twd_valid_i(twd_valid),
    .twd_ready_o(twd_ready), .twd_i(twd), .twr_sent_o, .tlp_tx_valid_o, .tlp_tx_ready_i, .tlp_tx_o,
    .tlp_rx_valid_i(tlp_rx_valid), .tlp_rx_ready_o(tlp_rx_ready), .tlp_rx_i(tlp_rx), .cpl_valid_o,
    .cpl_o, .cpl_mid_o, .back_h_i, .back_d_i, .stat_unexpected_o, .stat_malformed_o, .idle_o(idle)
  );

  // What stands in a register is work: no edge may be left out while it does.
  assign idle_o = idle && !(RegTreqRd && treq_rd_valid) && !(RegTreqWr && treq_wr_valid) && !(RegTwd && twd_valid) && !(RegTlpRx && tlp_rx_valid);
endmodule
