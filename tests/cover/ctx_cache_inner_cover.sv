// SPDX-License-Identifier: Apache-2.0
module ctx_cache_inner_cover #(
  parameter int unsigned IdxW = 10,
  parameter int unsigned Entries = 256,
  parameter int unsigned Misses = 16
) (
  input logic clk_i,
  input logic rst_ni,
  input logic s1_valid_q,
  input logic [IdxW-1:0] s1_idx_q,
  input logic s1_hit,
  input logic s1_pass,
  input logic s1_wait,
  input logic s1_share,
  input logic s1_miss,
  input logic s1_go,
  input logic take,
  input logic [IdxW-1:0] req_idx_i,
  input logic [Misses-1:0] used,
  input logic [Misses-1:0] same,
  input logic [Misses-1:0] come_q,
  input logic [Misses-1:0] killed_q,
  input logic any_free,
  input logic order_room,
  input logic order_valid,
  input logic order_hit,
  input logic [$clog2(Misses)-1:0] order_num,
  input logic hits_room,
  input logic pop,
  input logic ask_valid,
  input logic fill_valid,
  input logic fill_last,
  input logic fill_keep,
  input logic [$clog2(Misses)-1:0] fill_num,
  input logic [IdxW-1:0] fill_idx,
  input logic inval_i,
  input logic [IdxW-1:0] inval_idx_i,
  input logic inval_all_i,
  input logic rsp_valid_q,
  input logic rsp_free
);
  localparam int unsigned SlotW = $clog2(Entries);
  logic inval_s1, inval_fill, head_here, into_s1, into_take;
  assign inval_s1 = inval_i && inval_idx_i[SlotW-1:0] == s1_idx_q[SlotW-1:0];
  assign inval_fill = inval_i && inval_idx_i[SlotW-1:0] == fill_idx[SlotW-1:0];
  assign head_here = order_valid && !order_hit && order_num == fill_num;
  assign into_s1 = s1_valid_q && !s1_go && s1_idx_q[SlotW-1:0] == fill_idx[SlotW-1:0];
  assign into_take = take && req_idx_i[SlotW-1:0] == fill_idx[SlotW-1:0];

  // The slot that the latest miss was for, for two lines of one slot under way.
  logic [IdxW-1:0] last_idx_q;
  always_ff @(posedge clk_i) if (s1_miss) last_idx_q <= s1_idx_q;

  always_ff @(posedge clk_i) if (rst_ni) begin
    if (s1_valid_q && s1_hit) begin
      hit_passes : cover (s1_pass);
      hit_passes_as_answer_leaves : cover (s1_pass && rsp_valid_q);
      hit_waits_behind_a_miss : cover (s1_wait && order_valid);
      hit_waits_for_answer_register : cover (s1_wait && !order_valid);
      hit_finds_no_room : cover (!order_room || !hits_room);
    end
    if (s1_valid_q && !s1_hit) begin
      shares_line_on_its_way : cover (s1_share && (same & come_q) == '0 && !(fill_last && same[fill_num]));
      shares_line_that_comes : cover (s1_share && fill_last && same[fill_num]);
      shares_line_that_waits : cover (s1_share && (same & come_q) != '0);
      shares_line_as_it_is_handed_on : cover (s1_share && pop && !order_hit && same[order_num]);
      share_finds_no_room : cover (same != '0 && !order_room);
      miss_finds_no_line : cover (same == '0 && !any_free);
    end
    if (s1_miss) begin
      missed : cover (1'b1);
      invalidated_as_it_misses : cover (inval_s1);
      another_line_of_the_slot_on_its_way : cover (fill_valid && last_idx_q != s1_idx_q &&
                                                   last_idx_q[SlotW-1:0] == s1_idx_q[SlotW-1:0]);
      asks_behind_another_miss : cover (ask_valid);
    end
    if (s1_share) begin
      invalidated_as_it_shares : cover (inval_s1);
    end
    all_invalidated_with_lines_on_their_way : cover (inval_all_i && (used & ~come_q) != '0);
    all_invalidated_as_a_line_comes : cover (inval_all_i && fill_keep);
    all_lines_in_use : cover (used == '1);
    if (fill_last) begin
      fill_kept : cover (fill_keep && !inval_fill && !inval_all_i);
      fill_dropped : cover (killed_q[fill_num]);
      fill_leaves_the_slot_to_another : cover (!fill_keep && !killed_q[fill_num]);
      fill_invalidated_as_it_comes : cover (fill_keep && inval_fill);
      answered_at_once : cover (pop && head_here);
      waits_for_its_turn : cover (!head_here);
      waits_for_answer_register : cover (head_here && !rsp_free);
    end
    if (fill_keep) begin
      comes_for_the_waiting_lookup : cover (into_s1 && s1_idx_q == fill_idx);
      takes_the_slot_of_the_waiting_lookup : cover (into_s1 && s1_idx_q != fill_idx);
      comes_as_it_is_looked_up : cover (into_take && req_idx_i == fill_idx);
      takes_the_slot_of_a_lookup : cover (into_take && req_idx_i != fill_idx);
    end
  end
endmodule

bind ctx_cache ctx_cache_inner_cover #(.IdxW(IdxW), .Entries(Entries), .Misses(Misses)) u_inner_cover (.*);
