// SPDX-License-Identifier: Apache-2.0
module arp_intake_cover (
  input logic clk_i,
  input logic rst_ni,
  input logic hold_i,
  input logic frag_valid_i,
  input logic frag_ready_o,
  input arp_pkg::arp_beat_t frag_i,
  input logic head_valid_o,
  input logic head_ready_i,
  input logic head_good_o,
  input logic [3:0] head_kind_o,
  input logic [6:0] head_lines_o,
  input logic line_take_i,
  input logic skip_i
);
  always_ff @(posedge clk_i) if (rst_ni) begin
    held : cover (hold_i && frag_valid_i);
    input_waits : cover (!hold_i && frag_valid_i && !frag_ready_o);
    if (head_valid_o && head_ready_i) begin
      good_of_one_line : cover (head_good_o && head_lines_o == 7'd1);
      good_of_64_lines : cover (head_good_o && head_lines_o == 7'd64);
      damaged : cover (!head_good_o && head_kind_o == arp_pkg::ArpDamaged);
      wrong_length : cover (!head_good_o && head_kind_o == arp_pkg::ArpBadLength);
    end
    marked_bad : cover (frag_valid_i && frag_ready_o && frag_i.eop && frag_i.bad);
    in_and_out : cover (frag_valid_i && frag_ready_o && line_take_i);
    in_and_left_out : cover (frag_valid_i && frag_ready_o && skip_i);
  end
endmodule

bind arp_intake arp_intake_cover u_cover (.*);
