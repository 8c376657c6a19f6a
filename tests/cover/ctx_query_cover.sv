// SPDX-License-Identifier: Apache-2.0
module ctx_query_cover (
  input logic clk_i,
  input logic rst_ni,
  input logic cmd_valid_i,
  input logic cmd_ready_o,
  input rnic_pkg::cmd_t cmd_i,
  input logic read_o,
  input logic sq_pi_valid_i,
  input logic st_valid_i,
  input logic st_err_i,
  input rnic_pkg::tx_state_t st_i,
  input logic cq_pi_valid_i,
  input logic cq_ci_valid_i,
  input logic cq_overrun_i,
  input logic cq_armed_i,
  input logic cq_only_i,
  input logic dm_req_valid_o,
  input logic dm_req_ready_i,
  input rnic_pkg::dm_req_t dm_req_o
);
  logic look_q, qp_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) look_q <= 1'b0;
    else look_q <= read_o;
  end
  always_ff @(posedge clk_i) if (cmd_valid_i && cmd_ready_o) qp_q <= cmd_i.op == rnic_pkg::CmdQpQuery;

  always_ff @(posedge clk_i) if (rst_ni) begin
    if (cmd_valid_i) begin
      qp_query : cover (cmd_i.op == rnic_pkg::CmdQpQuery && cmd_ready_o);
      cq_query : cover (cmd_i.op == rnic_pkg::CmdCqQuery && cmd_ready_o);
      waits_for_the_one_before : cover (!cmd_ready_o);
    end
    if (look_q && qp_q) begin
      qp_of_the_context : cover (!sq_pi_valid_i && !st_valid_i);
      qp_rung_only : cover (sq_pi_valid_i && !st_valid_i);
      qp_between_messages : cover (st_valid_i && !st_i.in_msg);
      qp_amid_a_message : cover (st_valid_i && st_i.in_msg);
      qp_in_error : cover (st_err_i);
    end
    if (look_q && !qp_q) begin
      cq_of_the_context : cover (!cq_pi_valid_i && !cq_ci_valid_i);
      cq_without_consumer : cover (cq_pi_valid_i && !cq_ci_valid_i);
      cq_overrun : cover (cq_overrun_i);
      cq_armed : cover (cq_armed_i && !cq_only_i);
      cq_armed_for_solicited : cover (cq_armed_i && cq_only_i);
      cq_not_armed : cover (!cq_armed_i && cq_only_i);
    end
    answer_waits : cover (dm_req_valid_o && !dm_req_ready_i);
    sequence_starts_again : cover (dm_req_valid_o && dm_req_ready_i && dm_req_o.data[15:0] == 16'hffff);
  end
endmodule

bind ctx_query ctx_query_cover u_cover (.*);
