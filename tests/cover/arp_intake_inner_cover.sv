// SPDX-License-Identifier: Apache-2.0
module arp_intake_inner_cover (
  input logic clk_i,
  input logic rst_ni,
  input logic take,
  input logic cut,
  input logic stray,
  input logic stray_q,
  input logic over,
  input logic ragged_q,
  input logic ends,
  input logic good,
  input logic room,
  input logic [6:0] count_q,
  input logic hold_i,
  input arp_pkg::arp_beat_t frag_i
);
  always_ff @(posedge clk_i) if (rst_ni) begin
    cut_off : cover (cut && !hold_i);
    if (take) begin
      first_beat_without_begin : cover (stray && !stray_q);
      more_beats_without_begin : cover (stray && stray_q);
      begin_behind_stray_beats : cover (frag_i.sop && stray_q);
      beat_beyond_4096 : cover (over && !stray);
      end_with_a_hole_before : cover (ends && ragged_q && !frag_i.sop);
      lines_given_up : cover (ends && !good && count_q != 7'd0);
    end
    buffer_full : cover (!room);
  end
endmodule

bind arp_intake arp_intake_inner_cover u_inner_cover (.*);
