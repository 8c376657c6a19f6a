// SPDX-License-Identifier: Apache-2.0
// Answers QpQuery and CqQuery: looks at what the chip holds of a queue pair or completion queue, all of it at one edge,
// and writes it as one rnic_pkg::query_t to device memory at rnic_pkg::QueryBase. The record's sequence number counts
// answers from 1 on and is never 0, so a driver that clears it beforehand sees when the answer is there.
//
// One query at a time; the next one waits at the port until the record has been taken by device memory. From the
// command taken at edge n: read_o after edge n, the blocks' answers after edge n+1, dm_req_valid_o after edge n+2.
// Doorbells and commands taken at edge n or before show in the answer, except for a doorbell that the block it went to
// still holds back (cq_arm lets one wait for a CQE).
module ctx_query (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic [63:0] now_i,           // ns
  // CmdQpQuery and CmdCqQuery only
  input  logic cmd_valid_i,
  output logic cmd_ready_o,
  input  rnic_pkg::cmd_t cmd_i,
  // Look-up in the blocks below: strobe at edge n, all data after edge n
  output logic read_o,
  output logic [9:0] idx_o,
  input  logic sq_pi_valid_i,          // doorbell_intake: its producer index
  input  logic [15:0] sq_pi_i,
  input  logic st_valid_i,             // tx_qp_state
  input  logic st_err_i,
  input  rnic_pkg::tx_state_t st_i,
  input  logic cq_pi_valid_i,          // cqe_writer: its indices
  input  logic [23:0] cq_pi_i,
  input  logic cq_ci_valid_i,
  input  logic [23:0] cq_ci_i,
  input  logic cq_overrun_i,
  input  logic cq_armed_i,             // cq_arm
  input  logic cq_only_i,
  // To device memory: writes only
  output logic dm_req_valid_o,
  input  logic dm_req_ready_i,
  output rnic_pkg::dm_req_t dm_req_o,
  output logic idle_o
);
  typedef enum logic [1:0] {
    StIdle,
    StRead,
    StData,
    StWrite
  } state_e;

  state_e state_d, state_q;
  logic take, cq_q;
  logic [9:0] idx_q;
  logic [15:0] seq_q;
  rnic_pkg::query_t answer, answer_q;

  assign take = cmd_valid_i && cmd_ready_o;
  assign cmd_ready_o = state_q == StIdle;
  assign read_o = state_q == StRead;
  assign idx_o = idx_q;
  assign dm_req_valid_o = state_q == StWrite;
  assign idle_o = state_q == StIdle;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      StIdle: if (cmd_valid_i) state_d = StRead;
      StRead: state_d = StData;
      StData: state_d = StWrite;
      default: if (dm_req_ready_i) state_d = StIdle;   // StWrite
    endcase
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= StIdle;
      seq_q <= 16'd0;
    end else begin
      state_q <= state_d;
      if (take) seq_q <= seq_q == 16'hffff ? 16'd1 : seq_q + 16'd1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (take) begin
      idx_q <= cmd_i.index[9:0];
      cq_q <= cmd_i.op == rnic_pkg::CmdCqQuery;
    end
  end

  always_comb begin
    answer = '0;
    answer.seq = seq_q;
    answer.cq = cq_q;
    answer.index = {14'd0, idx_q};
    answer.time_ns = now_i;
    if (cq_q) begin
      answer.pi_valid = cq_pi_valid_i;
      answer.ci_valid = cq_ci_valid_i;
      answer.error = cq_overrun_i;
      answer.armed = cq_armed_i;
      answer.solicited_only = cq_armed_i && cq_only_i;
      if (cq_pi_valid_i) answer.pi = cq_pi_i;
      if (cq_ci_valid_i) answer.ci = cq_ci_i;
    end else begin
      answer.pi_valid = sq_pi_valid_i;
      answer.ci_valid = st_valid_i;
      answer.error = st_err_i;
      if (sq_pi_valid_i) answer.pi = {8'd0, sq_pi_i};
      if (st_valid_i) begin
        answer.ci = {8'd0, st_i.ci};
        answer.psn = st_i.psn;
        answer.ip_id = st_i.ip_id;
        answer.in_msg = st_i.in_msg;
        if (st_i.in_msg) begin
          answer.wqe = st_i.wqe_idx;
          answer.offset = st_i.offset;
          answer.msg_len = st_i.msg_len;
        end
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (state_q == StData) answer_q <= answer;
  end

  always_comb begin
    dm_req_o = '0;
    dm_req_o.write = 1'b1;
    dm_req_o.addr = rnic_pkg::QueryBase;
    dm_req_o.strb = '1;
    dm_req_o.data = answer_q;
  end

`ifndef SYNTHESIS
  QueriesOnly : assert property (@(posedge clk_i) disable iff (!rst_ni) cmd_valid_i |->
                                 cmd_i.op == rnic_pkg::CmdQpQuery || cmd_i.op == rnic_pkg::CmdCqQuery);
  stream_checker #(.Width(27)) u_check_cmd (
    .clk_i, .rst_ni, .valid_i(cmd_valid_i), .ready_i(cmd_ready_o), .data_i(cmd_i)
  );
  stream_checker #(.Width(606)) u_check_dm (
    .clk_i, .rst_ni, .valid_i(dm_req_valid_o), .ready_i(dm_req_ready_i), .data_i(dm_req_o)
  );
`endif
endmodule
