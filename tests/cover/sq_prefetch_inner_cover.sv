// SPDX-License-Identifier: Apache-2.0
module sq_prefetch_inner_cover (
  input logic clk_i,
  input logic rst_ni,
  input logic [2:0] state_q,           // Idle, Look, Decide, Issue, Choose, Call
  input logic dead,
  input logic own,
  input logic complete,
  input logic hit,
  input logic missing,
  input logic give_up,
  input logic take_over,
  input logic park,
  input logic before_arr,
  input logic some_here,
  input logic s_valid_q,
  input logic s_own_q,
  input logic s_used_q,
  input logic s_others_q,
  input logic s_patient_q,
  input logic [2:0] s_fly_q,
  input logic i_go,
  input logic i_miss_q,
  input logic i_must,
  input logic i_narrow,
  input logic i_ring_end,
  input logic i_all,
  input logic i_full,
  input logic i_no_place,
  input logic fly_room,
  input logic commit,
  input logic arrives_live,
  input logic arrives_bad,
  input logic arrives_single,
  input logic commit_wakes,
  input rnic_pkg::payload_t pay_i,
  input logic clear_i,
  input logic clear_own,
  input logic clear_parked,
  input logic [2:0] clear_fly,
  input logic n_call,
  input logic n_valid_q,
  input logic n_used_q,
  input logic n_patient_q,
  input logic n_dead_q,
  input logic n_wraps
);
  localparam logic [2:0] Decide = 3'd2, Issue = 3'd3, Call = 3'd5;

  always_ff @(posedge clk_i) if (rst_ni) begin
    if (state_q == Decide && !dead) begin
      parked : cover (park);
      wqe_in_part : cover (missing && some_here);
      beyond_what_is_here : cover (own && !before_arr);
      outside_of_window : cover (!own && s_valid_q && s_own_q && s_fly_q == 3'd0);
      outside_with_reads_in_flight : cover (!own && s_valid_q && s_own_q && s_fly_q != 3'd0);
      kept_for_another : cover (!s_valid_q && s_patient_q && !s_own_q && s_fly_q == 3'd0);
      called : cover (take_over && !s_valid_q && s_patient_q);
      newcomer_queues_up : cover (park && !s_own_q && s_used_q && s_others_q && s_fly_q == 3'd0);
      owner_gives_up : cover (give_up);
      owner_used_up : cover (take_over && s_valid_q && !s_own_q && s_used_q);
    end
    cleared_in_lookup : cover (state_q == Decide && dead);
    if (i_go) begin
      prefetch : cover (!i_must);
      prefetch_of_a_full_chunk : cover (!i_miss_q && i_full);
      read_to_ring_end : cover (i_ring_end && !i_all);
      read_to_producer_index : cover (i_all);
      repeated_block : cover (i_narrow);
    end
    if (state_q == Issue && !i_go) begin
      prefetch_waits_for_room : cover (!i_miss_q && i_no_place);
      no_room_for_read : cover (i_must && !fly_room);
    end
    if (commit) begin
      lone_read_rings : cover (commit_wakes);
      arrives_for_nobody : cover (!arrives_live);
      read_dropped_behind_failed : cover (arrives_live && arrives_bad);
      single_read_fails : cover (arrives_live && !arrives_bad && arrives_single && pay_i.status != rnic_pkg::DmaOk);
    end
    if (clear_i) begin
      clear_with_reads_in_flight : cover (clear_own && clear_fly != 3'd0);
      clear_of_parked : cover (clear_parked);
    end
    if (n_call) begin
      called_in_turn : cover (n_wraps);
      owner_away : cover (n_valid_q && !n_used_q && !n_patient_q);
    end
    clear_in_visit : cover (state_q == Call && n_dead_q);
  end
endmodule

bind sq_prefetch sq_prefetch_inner_cover u_inner_cover (
  .some_here(here != '0), .i_narrow(i_narrow_q != '0), .i_ring_end(ring_left < 16'(num)), .i_all(i_left_q == 16'(num)),
  .i_full(num == NumW'(Chunk)), .i_no_place((PosW + 1)'(num) > room), .arrives_live(valid_q[f_slot]),
  .arrives_bad(bad_q[f_slot]), .arrives_single(f_num == NumW'(1)), .commit_wakes(valid_q[f_slot] && await_q[f_slot]),
  .clear_own(valid_q[c_slot] && tag_mem[c_slot] == clear_qpn_i[9:SlotW]),
  .clear_parked(parked_q[{c_slot, clear_qpn_i[9:SlotW]}]), .clear_fly(fly_q[3*c_slot +: 3]), .n_wraps(n_tag_q <= n_last_q), .*
);
