// SPDX-License-Identifier: Apache-2.0
module tx_egress_cover (
  input logic clk_i,
  input logic rst_ni,
  input logic [7:0] strict_i,
  input logic [7:0] pause_i,
  input logic in_valid_i,
  input rnic_pkg::mac_beat_t in_i,
  input logic out_valid_o,
  input logic out_ready_i,
  input rnic_pkg::mac_beat_t out_o,
  input logic open_i,
  input logic [3:0] open_prio_i,
  input logic close_i,
  input logic [3:0] close_prio_i,
  input logic desc_i,
  input logic [2:0] desc_prio_i,
  input logic drop_i,
  input logic [7:0] prio_ready_o,
  input logic [7:0] room_o,
  input logic passes,
  input logic pass_start,
  input logic from_fifo,
  input logic [2:0] take_prio,
  input logic [7:0] waits
);
  for (genvar p = 0; p < 8; p++) begin : prios
    always_ff @(posedge clk_i) if (rst_ni) begin
      from_fifo_of : cover (from_fifo && take_prio == 3'(p));
    end
  end

  always_ff @(posedge clk_i) if (rst_ni) begin
    passes_straight : cover (pass_start);
    passes_behind_a_stall : cover (in_valid_i && !passes && !in_i.sop);
    pause_in_a_frame : cover (out_valid_o && !out_o.eop && pause_i[out_o.prio]);
    waits_for_pause : cover (waits != 8'd0 && (waits & ~pause_i) == 8'd0);
    strict_before_others : cover (out_valid_o && out_o.sop && strict_i[out_o.prio] && (waits & ~strict_i & ~pause_i) != 8'd0);
    several_wait : cover ((waits & (waits - 8'd1)) != 8'd0);
    one_beat_frame : cover (in_valid_i && in_i.sop && in_i.eop);
    turn_opens : cover (open_i && !open_prio_i[3]);
    turn_of_unknown_priority : cover (open_i && open_prio_i[3]);
    turn_closes : cover (close_i && !close_prio_i[3]);
    frame_dropped : cover (drop_i);
    no_room_for_a_turn : cover (prio_ready_o != 8'hff);
    no_room_for_a_packet : cover (room_o != 8'hff);
    several_events_of_one_priority : cover (open_i && close_i && desc_i && open_prio_i == close_prio_i &&
                                            open_prio_i == {1'b0, desc_prio_i});
    full_while_others_go : cover (!room_o[0] && out_valid_o && out_ready_i && out_o.prio != 3'd0);
  end
endmodule

bind tx_egress tx_egress_cover u_cover (.*);
