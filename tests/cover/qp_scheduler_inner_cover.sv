// SPDX-License-Identifier: Apache-2.0
module qp_scheduler_inner_cover (
  input logic clk_i,
  input logic rst_ni,
  input rnic_pkg::sched_cfg_t cfg_i,
  input logic chosen,
  input logic [3:0] load_class,
  input logic b_pass,
  input logic ring_i,
  input logic [9:0] ring_qpn_i,
  input logic ring_new,
  input logic ring_busy,
  input logic ring_released,
  input logic ring_pass,
  input logic release_i,
  input logic release_pass,
  input rnic_pkg::turn_end_t turn_end_i,
  input logic back,
  input logic done,
  input logic [9:0] release_qpn,
  input logic [1023:0] again_q,
  input logic [1023:0] out_q,
  input logic [10:0] num_busy_q,
  input logic [10:0] ringq_fill,
  input logic ringq_valid,
  input logic free_valid,
  input logic hold,
  input logic b_valid_q,
  input logic [1:0] b_kind_q,
  input logic [2:0] b_rounds,
  input logic [15:0] b_ahead,
  input logic b_same,
  input logic b_turn,
  input logic b_put,
  input logic b_limited,
  input logic take,
  input logic list_close,
  input logic [6:0] take_list,
  input logic [6:0] close_list,
  input logic [8:0] over,
  input logic [8:0] filled_now,
  input logic starving_i,
  input logic refill,
  input logic sel_valid_q,
  input logic load,
  input logic [71:0] filled
);
  // What comes: 0 the end of a turn, 1 a ring, 2 from the rate limiter.
  // names(kinds): turn ring free
  for (genvar k = 0; k < 3; k++) begin : kinds
    always_ff @(posedge clk_i) if (rst_ni && b_valid_q) begin
      comes : cover (b_kind_q == 2'(k));
    end
  end

  // Quanta that a QP gets after its turn.
  for (genvar r = 0; r < 5; r++) begin : quanta
    always_ff @(posedge clk_i) if (rst_ni && b_turn) begin
      given : cover (b_rounds == 3'(r));
    end
  end

  // Priority of a chosen QP; 8: unknown.
  for (genvar p = 0; p < 9; p++) begin : prios
    always_ff @(posedge clk_i) if (rst_ni && chosen) begin
      class_of_chosen : cover (load_class == 4'(p));
    end
  end

  always_ff @(posedge clk_i) if (rst_ni) begin
    strict_priorities : cover (chosen && !load_class[3] && cfg_i.strict[load_class[2:0]]);
    past_the_lists : cover (b_pass);
    if (ring_busy) begin
      rung_while_waiting : cover (!out_q[ring_qpn_i]);
      rung_while_handed_out : cover (out_q[ring_qpn_i] && !again_q[ring_qpn_i]);
      rung_again_while_handed_out : cover (out_q[ring_qpn_i] && again_q[ring_qpn_i]);
    end
    if (release_i) begin
      done_for_now : cover (done);
      back_for_more : cover (turn_end_i.more && !again_q[release_qpn] && !ring_released);
      back_for_remembered_ring : cover (!turn_end_i.more && again_q[release_qpn] && !ring_released);
      back_for_ring_at_this_edge : cover (!turn_end_i.more && !again_q[release_qpn] && ring_released);
    end
    new_one_passes_into_the_register : cover (ring_pass);
    returning_one_passes_into_the_register : cover (release_pass);
    new_one_queues : cover (ring_new && !ring_pass);
    new_one_passes_as_another_comes_back : cover (ring_pass && back);
    ring_gives_way_to_a_release : cover (release_i && ringq_valid);
    ring_gives_way_to_a_free_one : cover (!release_i && free_valid && ringq_valid);
    free_one_gives_way_to_a_release : cover (release_i && free_valid);
    grants_hold : cover (hold && sel_valid_q && load);
    many_rings_queue : cover (ringq_fill >= 11'd16);
    all_busy : cover (num_busy_q == 11'd1024);
    new_and_done_together : cover (ring_new && done);
    if (b_turn) begin
      turn_of_a_later_round : cover (b_same && b_ahead != 16'd0 && b_ahead <= 16'd3);
      turn_of_a_round_long_over : cover (b_same && b_ahead > 16'd3);
      turn_of_another_priority : cover (!b_same);
      turn_to_the_rate_limiter : cover (b_limited);
    end
    if (b_put && b_kind_q != 2'd0) begin
      comes_to_its_place : cover (b_same && b_ahead <= 16'd7);
      comes_after_its_place : cover (b_same && b_ahead > 16'd7);
    end
    taken_from_a_list : cover (take);
    taken_and_closed_in_one_list : cover (take && list_close && take_list == close_list);
    taken_and_closed_in_two_lists : cover (take && list_close && take_list != close_list);
    taken_as_one_comes : cover (take && b_put);
    round_ends : cover (over != '0);
    round_ends_early : cover ((over & ~filled_now) != '0 && starving_i);
    priorities_get_their_share : cover (refill);
    list_found_empty : cover (sel_valid_q && load && !hold && !filled[take_list]);
  end
endmodule

bind qp_scheduler qp_scheduler_inner_cover u_inner_cover (.*);
