// SPDX-License-Identifier: Apache-2.0
module event_mux_cover (
  input logic clk_i,
  input logic rst_ni,
  input logic a_valid_i,
  input logic a_ready_o,
  input logic b_valid_i,
  input logic b_ready_o,
  input logic evt_ready_i
);
  always_ff @(posedge clk_i) if (rst_ni) begin
    both_at_once : cover (a_valid_i && b_valid_i && a_ready_o);
    a_comes_while_b_waits : cover (a_valid_i && b_valid_i && b_ready_o);
    a_alone_waits : cover (a_valid_i && !b_valid_i && !evt_ready_i);
    b_alone_waits : cover (b_valid_i && !a_valid_i && !evt_ready_i);
  end
endmodule

bind event_mux event_mux_cover u_cover (.*);
