// SPDX-License-Identifier: Apache-2.0
module arp_check_cover (
  input logic clk_i,
  input logic rst_ni,
  input logic head_valid_i,
  input logic frag_room_i,
  input logic chk_valid_o,
  input logic chk_good_o,
  input logic [3:0] chk_kind_o,
  input logic ack_stop_i,
  input logic ackc_valid_o,
  input logic ackc_bad_o
);
  // names(reason): bad_group bad_type bad_offset bad_length bad_rank damaged
  for (genvar k = 0; k < 6; k++) begin : reason
    always_ff @(posedge clk_i) if (rst_ni && chk_valid_o && !chk_good_o) begin
      refused_for : cover (chk_kind_o == 4'(k) + arp_pkg::ArpBadGroup);
    end
  end
  always_ff @(posedge clk_i) if (rst_ni) begin
    passes : cover (chk_valid_o && chk_good_o);
    waits_for_room : cover (head_valid_i && !frag_room_i);
    acknowledge_passes : cover (ackc_valid_o && !ackc_bad_o && !ack_stop_i);
    acknowledge_of_nothing : cover (ackc_valid_o && ackc_bad_o);
    acknowledge_stops : cover (ackc_valid_o && ack_stop_i);
  end
endmodule

bind arp_check arp_check_cover u_cover (.*);
