// SPDX-License-Identifier: Apache-2.0
// WQE fetch engine: for each granted QP finds the context, the transmit state and the next WQE (from the BlueFlame
// buffer or the ring in device memory), decodes and checks it, and emits one job. In order; up to Depth jobs wait for
// their WQE at the same time.
//
// Emits a job for every grant, without exception: noop when there is nothing to send, so that the QP is released.
module wqe_fetch_engine #(
  parameter int unsigned Depth = 32
) (
  input  logic clk_i,
  input  logic rst_ni,
  // Grants
  input  logic grant_valid_i,
  output logic grant_ready_o,
  input  logic [9:0] grant_qpn_i,
  // Producer index and BlueFlame buffer in doorbell_intake
  output logic pi_re_o,
  output logic [9:0] pi_qpn_o,
  input  logic [15:0] pi_i,
  output logic bf_re_o,
  output logic [9:0] bf_qpn_o,
  output logic [15:0] bf_wqe_o,
  input  logic bf_hit_i,
  input  logic bf_miss_pushed_i,
  input  logic [1023:0] bf_data_i,
  // Transmit state
  output logic st_re_o,
  output logic [9:0] st_qpn_o,
  input  logic st_valid_i,
  input  logic st_err_i,
  input  rnic_pkg::tx_state_t st_i,
  // QP context cache
  output logic qpc_req_valid_o,
  input  logic qpc_req_ready_i,
  output logic [9:0] qpc_req_idx_o,
  input  logic qpc_rsp_valid_i,
  output logic qpc_rsp_ready_o,
  input  rnic_pkg::qpc_t qpc_rsp_i,
  // WQE reads in device memory; room for the answers is reserved before asking
  output logic dm_req_valid_o,
  input  logic dm_req_ready_i,
  output rnic_pkg::dm_req_t dm_req_o,
  input  logic dm_rsp_valid_i,
  input  rnic_pkg::dm_rsp_t dm_rsp_i,
  // Jobs
  output logic job_valid_o,
  input  logic job_ready_i,
  output rnic_pkg::tx_job_t job_o,
  // Doorbell for a QP that cannot send (never set up, not in RTS)
  output logic evt_valid_o,
  input  logic evt_ready_i,
  output rnic_pkg::event_t evt_o,
  // Observation
  output logic stat_db_invalid_o,
  output logic stat_bf_hit_o,
  output logic stat_bf_fallback_o,
  output logic stat_wqe_fetch_o,
  output logic probe_wqe_o,
  output rnic_pkg::op_t probe_wqe_op_o,
  output logic idle_o
);
endmodule
