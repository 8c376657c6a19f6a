// SPDX-License-Identifier: Apache-2.0
// What dma_master's points do not see: the reassembly.
module dma_read_inner_cover (
  input logic clk_i,
  input logic rst_ni,
  input logic rd_valid_i,
  input logic full,
  input logic [31:0] free_lines,
  input logic nx_valid_q,
  input logic tag_valid,
  input logic sp_valid,
  input logic b_valid_q,
  input logic b_act_q,
  input logic b_write,
  input logic b_over,
  input logic b_end,
  input logic b_fin,
  input logic b_err,
  input logic b_all,
  input logic a_sop,
  input logic a_same,
  input logic a_hit,
  input logic [2:0] b_st,
  input logic start,
  input logic step,
  input logic mid_q,
  input logic fail,
  input logic advance,
  input logic [6:0] b_from,
  input logic b_piece_end,
  input logic [1:0] b_pad_q,
  input logic [5:0] b_pos_low,
  input logic b_free,
  input logic b_gone,
  input logic b_orphan_q,
  input logic b_timer_q,
  input logic s1_stays,
  input logic in_flush,
  input logic accept,
  input logic link_rst_ni,
  input logic tag_go_i,
  input logic [9:0] open_q,
  input logic b_eop_q
);
  always_ff @(posedge clk_i) if (link_rst_ni && !rst_ni) begin
    reset_with_reads_open : cover (open_q != 10'd0);
    reset_amid_completion : cover (b_valid_q && b_act_q && !b_eop_q);
    reserved_tag_dropped : cover (tag_valid);
  end
  always_ff @(posedge clk_i) if (rst_ni) begin
    if (rd_valid_i) begin
      read_waits_for_slot : cover (full);
      read_waits_for_lines : cover (!full && free_lines < 32'd64);
      read_waits_for_splitter : cover (!full && free_lines >= 32'd64 && nx_valid_q);
    end
    waits_for_tag : cover (sp_valid && !tag_valid && tag_go_i);
    waits_for_tag_bits : cover (sp_valid && !tag_valid && !tag_go_i);
    if (b_valid_q && b_act_q) begin
      surplus_dropped : cover (b_write && b_over);
      piece_answered_in_part : cover (b_end && !b_fin);
      piece_answered : cover (b_fin && !b_all);
      read_answered : cover (b_all);
      error_first : cover (b_fin && b_err && b_st == 3'd0);
      error_after_error : cover (b_fin && b_err && b_st != 3'd0);
      good_piece_after_error : cover (b_fin && !b_err && b_st != 3'd0);
    end
    if (b_end) begin
      given_up_unanswered : cover (b_gone && b_timer_q);
      given_up_for_surplus : cover (b_gone && !b_timer_q);
      orphan_answered_in_part : cover (b_orphan_q && !b_timer_q && !b_free);
      orphan_answered : cover (b_orphan_q && !b_timer_q && b_free);
      orphan_times_out : cover (b_orphan_q && b_timer_q && b_free);
    end
    too_old_behind_another : cover (s1_stays);
    flush : cover (accept && in_flush);
    beats_of_no_read_dropped : cover (b_valid_q && !b_act_q);
    next_completion_of_the_same_tag_at_once : cover (a_sop && a_same && !b_fin);
    completion_of_a_tag_just_finished : cover (a_sop && a_same && b_fin);
    unknown_tag : cover (a_sop && !a_hit && !a_same);
    if (start) begin
      payload_fails : cover (fail);
      payload : cover (!fail);
    end
    if (b_write) begin
      beat_in_one_row : cover (b_pos_low == 6'd0);
      beat_in_two_rows : cover (b_pos_low != 6'd0);
      bytes_before_the_read_left_out : cover (b_from != 7'd0);
      bytes_behind_the_read_left_out : cover (b_piece_end && b_pad_q != 2'd0);
    end
    output_waits : cover (!advance && step == 1'b0 && mid_q);
  end
endmodule

bind dma_read dma_read_inner_cover u_inner_cover (.free_lines(32'(free_q)), .b_pos_low(b_pos_q[5:0]), .*);
