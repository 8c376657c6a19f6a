// SPDX-License-Identifier: Apache-2.0
module rate_limiter_cover (
  input logic clk_i,
  input logic rst_ni,
  input logic cfg_i,
  input logic cfg_en_i,
  input logic op_valid_i,
  input logic [13:0] op_bytes_i,
  input logic op_back_i,
  input logic free_valid_o,
  input logic free_ready_i,
  input logic clear_i,
  input logic rate_valid_i,
  input logic [10:0] waiting_o,
  input logic timer_valid_o,
  input logic quiet_o
);
  always_ff @(posedge clk_i) if (rst_ni) begin
    rate_given : cover (cfg_i && cfg_en_i);
    rate_taken_away : cover (cfg_i && !cfg_en_i);
    if (op_valid_i) begin
      charge_and_on : cover (op_bytes_i != 14'd0 && op_back_i);
      charge_only : cover (op_bytes_i != 14'd0 && !op_back_i);
      check_only : cover (op_bytes_i == 14'd0 && op_back_i);
    end
    free_waits : cover (free_valid_o && !free_ready_i);
    clear_while_some_wait : cover (clear_i && waiting_o != '0);
    token : cover (rate_valid_i);
    many_wait : cover (waiting_o >= 11'd40);
    quiet_with_timer : cover (quiet_o && timer_valid_o);
    due : cover (!quiet_o && timer_valid_o);
  end
endmodule

bind rate_limiter rate_limiter_cover u_cover (.*);
