// SPDX-License-Identifier: Apache-2.0
module doorbell_intake_inner_cover (
  input logic clk_i,
  input logic rst_ni,
  input logic push0,
  input logic push1,
  input logic one_piece,
  input logic take,
  input logic joins,
  input logic first1,
  input logic evict,
  input logic p_own,
  input logic p_valid,
  input logic p_open,
  input logic p_have0,
  input logic p_dead,
  input logic p_lost0,
  input logic p_lost1,
  input logic c_hit,
  input logic l_hit,
  input logic l_own,
  input logic l_open,
  input logic l_same,
  input logic l_kill,
  input logic [26:0] l_tag,
  input logic late_push,
  input logic late_pop,
  input logic late_valid,
  input logic db_ring,
  input logic [6:0] late_fill
);
  // names(pieces): 1 2
  for (genvar n = 0; n < 2; n++) begin : pieces
    always_ff @(posedge clk_i) if (rst_ni && l_own) begin
      hit : cover (l_hit && l_tag[26] == n[0]);
    end
  end

  always_ff @(posedge clk_i) if (rst_ni) begin
    if (push0) begin
      into_free_entry : cover (!p_valid);
      piece_one_was_there : cover (!one_piece && first1);
      replaces_complete_wqe_of_the_qp : cover (p_own && !p_open);
      replaces_incomplete_wqe_of_the_qp : cover (p_own && p_open && p_have0);
      replaces_complete_wqe_of_another_qp : cover (p_valid && !p_own && !p_open);
      piece_one_was_lost : cover (!one_piece && p_lost1);
      one_piece_after_a_lost_piece_one : cover (one_piece && p_lost1);
    end
    if (push1) begin
      completes_the_wqe : cover (take && joins && !p_dead);
      completes_a_dead_wqe : cover (take && joins && p_dead);
      comes_first : cover (take && !joins);
      dropped_since_piece_zero_was_lost : cover (p_lost0);
    end
    if (evict) begin
      entry_taken_after_piece_zero : cover (p_have0 && !p_dead);
      entry_taken_after_piece_one : cover (!p_have0);
      dead_entry_taken : cover (p_have0 && p_dead);
    end
    if (l_own) begin
      lookup_of_another_index : cover (!l_open && !l_same);
      lookup_of_an_incomplete_wqe : cover (l_kill);
      lookup_of_a_dead_wqe : cover (!l_open && l_same && !l_hit);
    end
    clear_empties_an_entry : cover (c_hit);
    hit_and_new_piece_at_one_edge : cover (l_hit && push0 && !p_valid);
    if (late_valid) begin
      late_ring : cover (late_pop);
      late_ring_waits : cover (db_ring);
    end
    late_ring_at_once_followed : cover (late_push && late_pop);
    many_late_rings : cover (late_fill >= 7'd32);
  end
endmodule

bind doorbell_intake doorbell_intake_inner_cover u_inner_cover (.*);
