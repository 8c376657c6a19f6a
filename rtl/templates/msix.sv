// SPDX-License-Identifier: Apache-2.0
// A msix of your own, to start from: `scripts/new_override msix DIR` copies it, with msix_ref, our block under another
// name. Written by scripts/gen_templates.py from rtl/host/msix.sv and rtl/templates/contract.toml.
//
// What our block does: the head of rtl/host/msix.sv, and docs/blocks. What holds for every block:
// docs/howto/override.md.
//
// Latency: a CQE none (MsixTest.CqePassesWithoutLatency); request to message 3 edges.
// A version that takes N cycles more declares +latency+msix+N in its list.
//
// Streams that come in: cqe_wr, cqe_wdata. A beat is taken at the edge before which valid and ready are both high;
// ready may depend on valid, valid never on ready; valid and payload stay until then.
//
// Has to drive, whatever is inside:
//   stat_sent_o  once for each message, when both its write and its data have been taken
//   idle_o       high while every pending vector is masked; low from a request that can go until dma_master has
//                reported its write
//
// Has to keep:
//   done   cqe_done_o with wr_done_i for the write of a CQE, never for a message
//   order  writes leave in the order in which they got the channel; a message never before a CQE handed over before its
//          request
//   turns  of a CQE and a message that both wait, the one that did not go last
module msix (
  input  logic clk_i,
  input  logic rst_ni,
  // Table, function control
  input  logic msix_we_i,
  input  logic [5:0] msix_idx_i,
  input  logic [1:0] msix_reg_i,
  input  logic [31:0] msix_wdata_i,
  input  logic msix_en_i,
  input  logic msix_mask_i,
  output logic [63:0] msix_pending_o,
  // Requests; always taken
  input  logic irq_valid_i,
  input  logic [5:0] irq_vector_i,
  // CQEs, of one beat each
  input  logic cqe_wr_valid_i,
  output logic cqe_wr_ready_o,
  input  rnic_pkg::wr_req_t cqe_wr_i,
  input  logic cqe_wdata_valid_i,
  output logic cqe_wdata_ready_o,
  input  logic [511:0] cqe_wdata_i,
  output logic cqe_done_o,                     // wr_done_i is a CQE's
  // To dma_master
  output logic wr_valid_o,
  input  logic wr_ready_i,
  output rnic_pkg::wr_req_t wr_o,
  output logic wdata_valid_o,
  input  logic wdata_ready_i,
  output logic [511:0] wdata_o,
  input  logic wr_done_i,
  output logic stat_sent_o,                    // a message has been handed over
  output logic idle_o                          // nothing that could be sent
);
  // ---- Places for registers: 1 puts one into the stream, which costs a cycle --------------------
  localparam bit RegCqeWr = 1'b0;
  localparam bit RegCqeWdata = 1'b0;

  logic cqe_wr_valid, cqe_wr_ready;
  rnic_pkg::wr_req_t cqe_wr;
  if (RegCqeWr) begin : gen_cqe_wr_reg
    stream_register #(.Width($bits(cqe_wr_i))) u_cqe_wr_reg (
      .clk_i, .rst_ni,
      .in_valid_i(cqe_wr_valid_i), .in_ready_o(cqe_wr_ready_o), .in_data_i(cqe_wr_i),
      .out_valid_o(cqe_wr_valid), .out_ready_i(cqe_wr_ready), .out_data_o(cqe_wr)
    );
  end else begin : gen_cqe_wr_wire
    assign cqe_wr_valid = cqe_wr_valid_i;
    assign cqe_wr_ready_o = cqe_wr_ready;
    assign cqe_wr = cqe_wr_i;
  end

  logic cqe_wdata_valid, cqe_wdata_ready;
  logic [511:0] cqe_wdata;
  if (RegCqeWdata) begin : gen_cqe_wdata_reg
    stream_register #(.Width($bits(cqe_wdata_i))) u_cqe_wdata_reg (
      .clk_i, .rst_ni,
      .in_valid_i(cqe_wdata_valid_i), .in_ready_o(cqe_wdata_ready_o), .in_data_i(cqe_wdata_i),
      .out_valid_o(cqe_wdata_valid), .out_ready_i(cqe_wdata_ready), .out_data_o(cqe_wdata)
    );
  end else begin : gen_cqe_wdata_wire
    assign cqe_wdata_valid = cqe_wdata_valid_i;
    assign cqe_wdata_ready_o = cqe_wdata_ready;
    assign cqe_wdata = cqe_wdata_i;
  end

  // ---- Your logic stands here, instead of ours or around it --------------------------------------
  logic idle;
  msix_ref u_ref (
    .clk_i, .rst_ni, .msix_we_i, .msix_idx_i, .msix_reg_i, .msix_wdata_i, .msix_en_i, .msix_mask_i,
    .msix_pending_o, .irq_valid_i, .irq_vector_i, .cqe_wr_valid_i(cqe_wr_valid),
    .cqe_wr_ready_o(cqe_wr_ready), .cqe_wr_i(cqe_wr), .cqe_wdata_valid_i(cqe_wdata_valid),
    .cqe_wdata_ready_o(cqe_wdata_ready), .cqe_wdata_i(cqe_wdata), .cqe_done_o, .wr_valid_o,
    .wr_ready_i, .wr_o, .wdata_valid_o, .wdata_ready_i, .wdata_o, .wr_done_i, .stat_sent_o,
    .idle_o(idle)
  );

  // What stands in a register is work: no edge may be left out while it does.
  assign idle_o = idle && !(RegCqeWr && cqe_wr_valid) && !(RegCqeWdata && cqe_wdata_valid);
endmodule
