// SPDX-License-Identifier: Apache-2.0
module arp_events_cover (
  input logic clk_i,
  input logic rst_ni,
  input logic a_valid_i,
  input logic b_valid_i,
  input logic evt_valid_o,
  input logic evt_ready_i,
  input logic lost_o
);
  always_ff @(posedge clk_i) if (rst_ni) begin
    both_at_once : cover (a_valid_i && b_valid_i);
    in_and_out : cover ((a_valid_i || b_valid_i) && evt_valid_o && evt_ready_i);
    waits : cover (evt_valid_o && !evt_ready_i);
    lost : cover (lost_o);
  end
endmodule

bind arp_events arp_events_cover u_cover (.*);
