// SPDX-License-Identifier: Apache-2.0
module tx_packetizer_inner_cover (
  input logic clk_i,
  input logic rst_ni,
  input logic h1_valid_q,
  input logic h2_valid_q,
  input logic h3_valid_q,
  input logic h4_valid_q,
  input logic h4_pop,
  input logic h4_ready,
  input logic h4_frame_q,
  input logic h4_has_pay_q,
  input logic h4_dead_q,
  input logic h4_skip_q,
  input logic [6:0] h4_beats_q,
  input rnic_pkg::op_t h4_op_q,
  input logic [16:0] ip_fold,
  input logic [18:0] ip_sum,
  input logic h3_same,
  input logic busy_q,
  input logic disc_q,
  input logic [7:0] credit_q,
  input logic order_room,
  input logic pay_here,
  input logic pay_bad,
  input logic src_inl,
  input logic src_valid,
  input logic h4_long_q,
  input logic h4_inl_q,
  input logic start,
  input logic drop,
  input logic dead_set,
  input logic skip_set,
  input logic skip_clr,
  input logic clear_i,
  input logic [9:0] clear_qpn_i,
  input logic ord_wait,
  input logic done_step,
  input logic done_frame,
  input logic frame_gone,
  input logic rd_any,
  input logic rd_step,
  input logic cqe_valid_o,
  input logic [6:0] gone_q,
  input logic fifo_valid,
  input logic [7:0] out_fill
);
  always_ff @(posedge clk_i) if (rst_ni) begin
    if (h4_valid_q && !busy_q && !disc_q) begin
      waits_for_payload : cover (!pay_here && !src_inl);
      waits_for_inline : cover (!pay_here && src_inl);
      waits_for_order_entry : cover (pay_here && !order_room);
      waits_for_output_fifo : cover (pay_here && order_room && h4_frame_q && !h4_dead_q && !pay_bad && credit_q < {1'b0, h4_beats_q});
      credit_just_enough : cover (start && credit_q == {1'b0, h4_beats_q});
    end
    if (h3_valid_q && h4_ready) begin
      checksum_carries : cover (ip_fold[16]);
      checksum_sum_has_carry : cover (ip_sum[18:16] != 3'd0);
      next_description_of_the_qp_follows_failure : cover (dead_set && h3_same);
      next_description_of_another_qp_follows_failure : cover (dead_set && !h3_same);
      next_description_of_the_qp_ends_skip : cover (skip_clr && h3_same);
      clear_as_the_description_enters : cover (clear_i && h3_same && h4_valid_q && h4_pop && clear_qpn_i == h4_op_q.qpn);
    end
    if (drop) begin
      drop_error_description : cover (!h4_frame_q && !h4_dead_q);
      drop_error_description_of_dead_qp : cover (!h4_frame_q && h4_dead_q);
      drop_dead_with_payload : cover (h4_frame_q && h4_dead_q && h4_has_pay_q && !h4_inl_q);
      drop_dead_with_inline : cover (h4_frame_q && h4_dead_q && h4_has_pay_q && h4_inl_q);
      drop_dead_without_payload : cover (h4_frame_q && h4_dead_q && !h4_has_pay_q);
      drop_swallowed_since_reported : cover (h4_dead_q && h4_skip_q && h4_op_q.last);
      drop_inside_a_message : cover (h4_dead_q && !h4_op_q.last);
    end
    failure_inside_a_message : cover (skip_set);
    failure_at_the_end : cover (dead_set && !skip_set);
    payload_thrown_away : cover (disc_q && src_valid && !src_inl);
    inline_thrown_away : cover (disc_q && src_valid && src_inl);
    payload_thrown_away_with_pauses : cover (disc_q && !src_valid);
    other_source_behind_what_is_thrown_away : cover (disc_q && h4_valid_q && h4_has_pay_q && src_inl != h4_inl_q);
    if (start) begin
      header_of_one_beat : cover (!h4_long_q);
      header_of_two_beats : cover (h4_long_q);
    end
    clear_of_the_waiting_description : cover (clear_i && h4_valid_q && !h4_ready && clear_qpn_i == h4_op_q.qpn && h4_dead_q);
    header_pipeline_full : cover (h1_valid_q && h2_valid_q && h3_valid_q && h4_valid_q);
    if (ord_wait) begin
      completion_waits_for_frame : cover (!done_step);
      report_waits_for_frame_before_it : cover (!done_step && drop);
    end
    frames_gone_before_their_entries : cover (gone_q > 7'd1);
    frame_gone_at_its_entrys_turn : cover (done_frame && frame_gone && gone_q == 7'd0);
    entry_without_completion_skipped : cover (rd_any && rd_step && !cqe_valid_o);
    output_fifo_nearly_full : cover (out_fill >= 8'd120);
    output_fifo_runs_dry : cover (!fifo_valid && busy_q);
  end
endmodule

bind tx_packetizer tx_packetizer_inner_cover u_inner_cover (.*);
