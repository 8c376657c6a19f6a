// SPDX-License-Identifier: Apache-2.0
module arp_events_inner_cover (
  input logic clk_i,
  input logic rst_ni,
  input logic [1:0] drops,
  input logic a_in,
  input logic b_in,
  input logic a_valid_i,
  input logic [15:0] lost_q
);
  always_ff @(posedge clk_i) if (rst_ni) begin
    one_lost : cover (drops == 2'd1);
    two_lost : cover (drops == 2'd2);
    last_place_for_the_result : cover (a_valid_i && !a_in && b_in);
    told_later : cover (lost_q > 16'd1);
  end
endmodule

bind arp_events arp_events_inner_cover u_inner_cover (.*);
