// SPDX-License-Identifier: Apache-2.0
module arp_slots_inner_cover (
  input logic clk_i,
  input logic rst_ni,
  input logic accept,
  input logic busy,
  input logic used,
  input logic newer,
  input logic [15:0] ahead,
  input logic j_valid_q,
  input logic j_good_q,
  input logic chk_valid_i,
  input logic [9:0] chk_slot_i,
  input logic [9:0] j_slot_q,
  input logic take,
  input logic frees,
  input logic end_i,
  input logic clear_busy,
  input logic clear_done
);
  always_ff @(posedge clk_i) if (rst_ni) begin
    if (j_valid_q && j_good_q) begin
      never_used : cover (!busy && !used);
      newer_step : cover (!busy && used && newer && ahead != 16'd0);
      newer_lap : cover (!busy && used && newer && ahead == 16'd0);
      half_of_the_circle_ahead : cover (ahead == 16'd32767);
      just_behind_half : cover (ahead == 16'd32768);
    end
    same_slot_back_to_back : cover (accept && chk_valid_i && chk_slot_i == j_slot_q);
    taken_and_freed : cover (take && frees);
    freed_and_ended : cover (frees && end_i);
    busy_slot_cleared : cover (clear_busy && !clear_done);
    done_slot_cleared : cover (clear_done);
  end
endmodule

bind arp_slots arp_slots_inner_cover u_inner_cover (.*);
