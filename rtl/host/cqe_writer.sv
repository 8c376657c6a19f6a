// SPDX-License-Identifier: Apache-2.0
// CQE writer: builds the 64 B completion queue entry (mlx5 layout, big-endian) and writes it to the CQ's ring through
// dma_master, in order. Keeps each CQ's producer index on chip and its consumer index as last told by the driver; a
// full ring drops the CQE, counts it, logs it, and marks the CQ overrun until it is set up again.
module cqe_writer (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic [63:0] now_i,           // ns, for the CQE's time stamp
  input  logic req_valid_i,
  output logic req_ready_o,
  input  rnic_pkg::cqe_req_t req_i,
  // Consumer index doorbells (DbCqCi, DbCqArm); always taken
  input  logic db_valid_i,
  input  rnic_pkg::doorbell_t db_i,
  // CmdCqModify: indices restart from the context
  input  logic clear_i,
  input  logic [9:0] clear_cqn_i,
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
  // Error log
  output logic evt_valid_o,
  input  logic evt_ready_i,
  output rnic_pkg::event_t evt_o,
  output logic stat_cqe_ok_o,
  output logic stat_cqe_err_o,
  output logic stat_overrun_o,
  output logic idle_o
);
endmodule
