// SPDX-License-Identifier: Apache-2.0
// A cqe_writer of your own, to start from: `scripts/new_override cqe_writer DIR` copies it, with cqe_writer_ref, our
// block under another name. Written by scripts/gen_templates.py from rtl/host/cqe_writer.sv and
// rtl/templates/contract.toml.
//
// What our block does: the head of rtl/host/cqe_writer.sv, and docs/blocks. What holds for every block:
// docs/howto/override.md.
//
// Latency: request to write 4 cycles with a cache hit (CqeWriterTest.WriteFollowsRequestInFourCycles).
// A version that takes N cycles more declares +latency+cqe_writer+N in its list.
//
// Streams that come in: req, cqc_rsp. A beat is taken at the edge before which valid and ready are both high; ready may
// depend on valid, valid never on ready; valid and payload stay until then.
//
// Has to drive, whatever is inside:
//   stat_cqe_ok_o   once for each entry without syndrome that is written
//   stat_cqe_err_o  once for each entry with a syndrome that is written
//   stat_overrun_o  once for each entry dropped because the ring is full
//   idle_o          low from the request until the write and its data, or its event, have been taken
//
// Has to keep:
//   order  entries in the order of the requests; write and data leave independently of each other
module cqe_writer (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic [63:0] now_i,           // ns, for the CQE's time stamp
  input  logic req_valid_i,
  output logic req_ready_o,
  input  rnic_pkg::cqe_req_t req_i,
  // Consumer index doorbells (DbCqCi); always taken, other kinds without effect
  input  logic db_valid_i,
  input  rnic_pkg::doorbell_t db_i,
  // CmdCqModify: indices restart from the context
  input  logic clear_i,
  input  logic [9:0] clear_cqn_i,
  // For ctx_query: strobe at edge n, indices as they were before it after edge n; each with a valid bit
  input  logic q_re_i,
  input  logic [9:0] q_cqn_i,
  output logic q_pi_valid_o,
  output logic [23:0] q_pi_o,
  output logic q_ci_valid_o,
  output logic [23:0] q_ci_o,
  output logic q_overrun_o,
  // CQ context cache
  output logic cqc_req_valid_o,
  input  logic cqc_req_ready_i,
  output logic [9:0] cqc_req_idx_o,
  input  logic cqc_rsp_valid_i,
  output logic cqc_rsp_ready_o,
  input  rnic_pkg::cqc_t cqc_rsp_i,
  // To dma_master
  output logic wr_valid_o,
  input  logic wr_ready_i,
  output rnic_pkg::wr_req_t wr_o,
  output logic wdata_valid_o,
  input  logic wdata_ready_i,
  output logic [511:0] wdata_o,
  // To cq_arm: the entry's write and data have been taken
  output logic note_valid_o,
  output rnic_pkg::cq_note_t note_o,
  // Error log
  output logic evt_valid_o,
  input  logic evt_ready_i,
  output rnic_pkg::event_t evt_o,
  output logic stat_cqe_ok_o,
  output logic stat_cqe_err_o,
  output logic stat_overrun_o,
  output logic idle_o
);
  // ---- Places for registers: 1 puts one into the stream, which costs a cycle --------------------
  localparam bit RegReq = 1'b0;
  localparam bit RegCqcRsp = 1'b0;

  logic req_valid, req_ready;
  rnic_pkg::cqe_req_t req;
  if (RegReq) begin : gen_req_reg
    stream_register #(.Width($bits(req_i))) u_req_reg (
      .clk_i, .rst_ni,
      .in_valid_i(req_valid_i), .in_ready_o(req_ready_o), .in_data_i(req_i),
      .out_valid_o(req_valid), .out_ready_i(req_ready), .out_data_o(req)
    );
  end else begin : gen_req_wire
    assign req_valid = req_valid_i;
    assign req_ready_o = req_ready;
    assign req = req_i;
  end

  logic cqc_rsp_valid, cqc_rsp_ready;
  rnic_pkg::cqc_t cqc_rsp;
  if (RegCqcRsp) begin : gen_cqc_rsp_reg
    stream_register #(.Width($bits(cqc_rsp_i))) u_cqc_rsp_reg (
      .clk_i, .rst_ni,
      .in_valid_i(cqc_rsp_valid_i), .in_ready_o(cqc_rsp_ready_o), .in_data_i(cqc_rsp_i),
      .out_valid_o(cqc_rsp_valid), .out_ready_i(cqc_rsp_ready), .out_data_o(cqc_rsp)
    );
  end else begin : gen_cqc_rsp_wire
    assign cqc_rsp_valid = cqc_rsp_valid_i;
    assign cqc_rsp_ready_o = cqc_rsp_ready;
    assign cqc_rsp = cqc_rsp_i;
  end

  // ---- Your logic stands here, instead of ours or around it --------------------------------------
  logic idle;
  cqe_writer_ref u_ref (
    .clk_i, .rst_ni, .now_i, .req_valid_i(req_valid), .req_ready_o(req_ready), .req_i(req),
    .db_valid_i, .db_i, .clear_i, .clear_cqn_i, .q_re_i, .q_cqn_i, .q_pi_valid_o, .q_pi_o,
    .q_ci_valid_o, .q_ci_o, .q_overrun_o, .cqc_req_valid_o, .cqc_req_ready_i, .cqc_req_idx_o,
    .cqc_rsp_valid_i(cqc_rsp_valid), .cqc_rsp_ready_o(cqc_rsp_ready), .cqc_rsp_i(cqc_rsp),
    .wr_valid_o, .wr_ready_i, .wr_o, .wdata_valid_o, .wdata_ready_i, .wdata_o, .note_valid_o,
    .note_o, .evt_valid_o, .evt_ready_i, .evt_o, .stat_cqe_ok_o, .stat_cqe_err_o, .stat_overrun_o,
    .idle_o(idle)
  );

  // What stands in a register is work: no edge may be left out while it does.
  assign idle_o = idle && !(RegReq && req_valid) && !(RegCqcRsp && cqc_rsp_valid);
endmodule
