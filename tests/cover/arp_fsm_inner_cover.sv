// SPDX-License-Identifier: Apache-2.0
module arp_fsm_inner_cover (
  input logic clk_i,
  input logic rst_ni,
  input logic work,
  input logic hazard,
  input logic issue,
  input logic last,
  input logic [1:0] banks,
  input logic cur_q,
  input logic cur_drop_q,
  input logic cur_wide_q,
  input logic cur_first_q,
  input logic cmd_valid,
  input logic frag_room,
  input logic head_valid,
  input logic lose,
  input logic [1:0] acc_rd,
  input logic [1:0] drain_rd,
  input logic drain_ready,
  input logic ack_stop
);
  always_ff @(posedge clk_i) if (rst_ni) begin
    if (issue) begin
      first_of_narrow : cover (cur_first_q && !cur_wide_q);
      first_of_wide : cover (cur_first_q && cur_wide_q);
      later_of_narrow : cover (!cur_first_q && !cur_wide_q);
      later_of_wide : cover (!cur_first_q && cur_wide_q);
      half_of_a_row : cover (cur_wide_q && banks == 2'b01);
      next_fragment_at_once : cover (last && cmd_valid);
    end
    lines_left_out : cover (cur_q && cur_drop_q);
    wide_waits : cover (work && hazard && cur_wide_q);
    narrow_waits : cover (work && hazard && !cur_wide_q);
    heads_wait_for_room : cover (head_valid && !frag_room);
    damage_found_while_adding : cover (lose);
    both_read_other_banks : cover (acc_rd != 2'b00 && drain_rd != 2'b00 && drain_ready);
    result_waits_for_its_bank : cover (!drain_ready);
    acknowledge_waits_for_result : cover (ack_stop);
  end
endmodule

bind arp_fsm arp_fsm_inner_cover u_inner_cover (.*);
