// SPDX-License-Identifier: Apache-2.0
// A wqe_fetch_engine of your own, to start from: `scripts/new_override wqe_fetch_engine DIR` copies it, with
// wqe_fetch_engine_ref, our block under another name. Written by scripts/gen_templates.py from
// rtl/tx/wqe_fetch_engine.sv and rtl/templates/contract.toml.
//
// What our block does: the head of rtl/tx/wqe_fetch_engine.sv, and docs/blocks. What holds for every block:
// docs/howto/override.md.
//
// Latency: grant to read 3 cycles, answer to job 2, 5 together
// (WqeFetchEngineTest.LatencyIsThreeCyclesToTheReadAndTwoFromIt); 5 without a read
// (WqeFetchEngineTest.JobFollowsGrantInFiveCyclesWithoutARead).
// A version that takes N cycles more declares +latency+wqe_fetch_engine+N in its list.
//
// Streams that come in: grant, qpc_rsp, pf_rsp. A beat is taken at the edge before which valid and ready are both high;
// ready may depend on valid, valid never on ready; valid and payload stay until then.
//
// Has to drive, whatever is inside:
//   probe_wqe_o         in the cycle in which the job of a good, new WQE is taken (job_valid_o && job_ready_i); not for
//                       continued, flushed, bad or empty jobs
//   probe_wqe_op_o      with probe_wqe_o: QP, index and first PSN of the WQE
//   stat_db_invalid_o   once for each grant of a QP that cannot send, together with its event
//   stat_bf_hit_o       once for each WQE taken from the BlueFlame buffer
//   stat_bf_fallback_o  once for each pushed WQE that has to be fetched
//   stat_wqe_fetch_o    in the cycle in which a read of the ring, of one block or two, is taken; once for each WQE that
//                       was prefetched
//   idle_o              low from the grant until its job has been taken, and while an event waits
//
// Has to keep:
//   jobs     exactly one for every grant, in order, a noop where there is nothing to send
//   answers  of device memory are always taken: room is reserved before asking
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
  input  logic pi_valid_i,             // beside pi_i: 0 = no doorbell since the context was set up
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
  // WQEs in host memory: lookups in sq_prefetch, answered in order
  output logic pf_req_valid_o,
  input  logic pf_req_ready_i,
  output logic [9:0] pf_req_qpn_o,
  output logic [15:0] pf_req_idx_o,
  output logic [15:0] pf_req_pi_o,
  output logic [63:0] pf_req_base_o,
  output logic [3:0] pf_req_log_size_o,
  input  logic pf_rsp_valid_i,
  output logic pf_rsp_ready_o,
  input  logic pf_rsp_hit_i,           // else the QP's turn ends, and it is rung when the WQE is there
  input  logic [2:0] pf_rsp_status_i,  // with a hit; not DmaOk: the WQE can't be read
  input  logic [2047:0] pf_rsp_data_i,
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
  // ---- Places for registers: 1 puts one into the stream, which costs a cycle --------------------
  localparam bit RegGrant = 1'b0;
  localparam bit RegQpcRsp = 1'b0;
  localparam bit RegPfRsp = 1'b0;

  logic grant_valid, grant_ready;
  logic [9:0] grant_qpn;
  if (RegGrant) begin : gen_grant_reg
    stream_register #(.Width($bits(grant_qpn_i))) u_grant_reg (
      .clk_i, .rst_ni,
      .in_valid_i(grant_valid_i), .in_ready_o(grant_ready_o), .in_data_i(grant_qpn_i),
      .out_valid_o(grant_valid), .out_ready_i(grant_ready), .out_data_o(grant_qpn)
    );
  end else begin : gen_grant_wire
    assign grant_valid = grant_valid_i;
    assign grant_ready_o = grant_ready;
    assign grant_qpn = grant_qpn_i;
  end

  logic qpc_rsp_valid, qpc_rsp_ready;
  rnic_pkg::qpc_t qpc_rsp;
  if (RegQpcRsp) begin : gen_qpc_rsp_reg
    stream_register #(.Width($bits(qpc_rsp_i))) u_qpc_rsp_reg (
      .clk_i, .rst_ni,
      .in_valid_i(qpc_rsp_valid_i), .in_ready_o(qpc_rsp_ready_o), .in_data_i(qpc_rsp_i),
      .out_valid_o(qpc_rsp_valid), .out_ready_i(qpc_rsp_ready), .out_data_o(qpc_rsp)
    );
  end else begin : gen_qpc_rsp_wire
    assign qpc_rsp_valid = qpc_rsp_valid_i;
    assign qpc_rsp_ready_o = qpc_rsp_ready;
    assign qpc_rsp = qpc_rsp_i;
  end

  logic pf_rsp_valid, pf_rsp_ready;
  logic pf_rsp_hit;
  logic [2:0] pf_rsp_status;
  logic [2047:0] pf_rsp_data;
  if (RegPfRsp) begin : gen_pf_rsp_reg
    stream_register #(.Width($bits({pf_rsp_hit_i, pf_rsp_status_i, pf_rsp_data_i}))) u_pf_rsp_reg (
      .clk_i, .rst_ni,
      .in_valid_i(pf_rsp_valid_i), .in_ready_o(pf_rsp_ready_o), .in_data_i({pf_rsp_hit_i, pf_rsp_status_i, pf_rsp_data_i}),
      .out_valid_o(pf_rsp_valid), .out_ready_i(pf_rsp_ready), .out_data_o({pf_rsp_hit, pf_rsp_status, pf_rsp_data})
    );
  end else begin : gen_pf_rsp_wire
    assign pf_rsp_valid = pf_rsp_valid_i;
    assign pf_rsp_ready_o = pf_rsp_ready;
    assign pf_rsp_hit = pf_rsp_hit_i;
    assign pf_rsp_status = pf_rsp_status_i;
    assign pf_rsp_data = pf_rsp_data_i;
  end

  // ---- Your logic stands here, instead of ours or around it --------------------------------------
  logic idle;
  wqe_fetch_engine_ref #(
    .Depth(Depth)
  ) u_ref (
    .clk_i, .rst_ni, .grant_valid_i(grant_valid), .grant_ready_o(grant_ready),
    .grant_qpn_i(grant_qpn), .pi_re_o, .pi_qpn_o, .pi_valid_i, .pi_i, .bf_re_o, .bf_qpn_o,
    .bf_wqe_o, .bf_hit_i, .bf_miss_pushed_i, .bf_data_i, .st_re_o, .st_qpn_o, .st_valid_i,
    .st_err_i, .st_i, .qpc_req_valid_o, .qpc_req_ready_i, .qpc_req_idx_o,
    .qpc_rsp_valid_i(qpc_rsp_valid), .qpc_rsp_ready_o(qpc_rsp_ready), .qpc_rsp_i(qpc_rsp),
    .dm_req_valid_o, .dm_req_ready_i, .dm_req_o, .dm_rsp_valid_i, .dm_rsp_i, .pf_req_valid_o,
    .pf_req_ready_i, .pf_req_qpn_o, .pf_req_idx_o, .pf_req_pi_o, .pf_req_base_o, .pf_req_log_size_o,
    .pf_rsp_valid_i(pf_rsp_valid), .pf_rsp_ready_o(pf_rsp_ready), .pf_rsp_hit_i(pf_rsp_hit),
    .pf_rsp_status_i(pf_rsp_status), .pf_rsp_data_i(pf_rsp_data), .job_valid_o, .job_ready_i,
    .job_o, .evt_valid_o, .evt_ready_i, .evt_o, .stat_db_invalid_o, .stat_bf_hit_o,
    .stat_bf_fallback_o, .stat_wqe_fetch_o, .probe_wqe_o, .probe_wqe_op_o, .idle_o(idle)
  );

  // What stands in a register is work: no edge may be left out while it does.
  assign idle_o = idle && !(RegGrant && grant_valid) && !(RegQpcRsp && qpc_rsp_valid) && !(RegPfRsp && pf_rsp_valid);
endmodule
