// SPDX-License-Identifier: Apache-2.0
module tx_segmenter_inner_cover (
  input logic clk_i,
  input logic rst_ni,
  input logic cur_valid_q,
  input logic cur_check_q,
  input logic [1:0] cur_wait_q,
  input logic cur_inside_q,
  input logic cur_last_q,
  input logic [7:0] chk_ven,
  input logic [1:0] chk_idx,
  input logic rsp_first,
  input logic rsp_next,
  input logic bad_q,
  input logic fits,
  input logic seg_ends,
  input rnic_pkg::tx_job_t cur_job_q,
  input logic cur_done,
  input logic step,
  input logic sends,
  input logic failed,
  input logic must_mark,
  input logic outs_free,
  input logic queue_valid,
  input logic queue_pop,
  input logic [2:0] queue_fill,
  input logic other_waiting_i,
  input logic job_valid_i,
  input logic [1:0] look_left_q,
  input logic mpt_req_ready_i,
  input logic mpt_rsp_valid_i,
  input logic recheck_i,
  input logic cur_stale_q
);
  logic checked, ends_turn;
  assign checked = cur_valid_q && cur_check_q && (rsp_next || (sends && !bad_q));  // a segment's verdict counts
  assign ends_turn = sends && !failed && !cur_last_q && cur_done;

  // names(segment): first second third fourth
  // names(reason): 0 1 2 3 4 key bounds pd rights
  logic [1:0] checked_q;               // segment that is checked
  always_ff @(posedge clk_i) if (rsp_first || rsp_next) checked_q <= chk_idx;
  for (genvar k = 0; k < 4; k++) begin : segment
    for (genvar v = 5; v < 9; v++) begin : reason
      always_ff @(posedge clk_i) if (rst_ni && checked && !cur_job_q.st.in_msg) begin
        segment_refused : cover (checked_q == 2'(k) && chk_ven == 8'(v));
      end
    end
    always_ff @(posedge clk_i) if (rst_ni && sends && !failed && cur_check_q && cur_job_q.st.sge_idx == 2'(k)) begin
      packet_ends_inside_segment : cover (fits && !seg_ends);
      packet_ends_with_segment : cover (fits && seg_ends);
    end
    if (k < 3) begin : other
      always_ff @(posedge clk_i) if (rst_ni && sends && !failed && cur_check_q && cur_job_q.st.sge_idx == 2'(k)) begin
        packet_goes_on_behind_segment : cover (!fits);
      end
    end
  end

  always_ff @(posedge clk_i) if (rst_ni) begin
    if (checked) begin
      second_refusal_does_not_count : cover (rsp_next && bad_q && chk_ven != 8'd0);
    end
    if (look_left_q != 2'd0) begin
      further_lookup_waits : cover (!mpt_req_ready_i);
      job_waits_for_lookups : cover (job_valid_i);
    end
    further_region_taken : cover (rsp_next);
    waits_for_further_region : cover (cur_wait_q != 2'd0 && !mpt_rsp_valid_i);
    others_come_inside_a_packet : cover (cur_inside_q && (other_waiting_i || job_valid_i || queue_valid));
    if (sends) begin
      refused_inside_a_message : cover (failed && cur_job_q.st.in_msg);
      goes_on_in_the_same_turn : cover (!failed && fits && !cur_last_q && !cur_done);
      identification_fixed : cover (!failed && cur_job_q.qpc.ip_id_fixed);
    end
    if (ends_turn) begin
      turn_ends_since_the_scheduler_has_others : cover (other_waiting_i && !job_valid_i && !queue_valid);
      turn_ends_since_a_job_comes : cover (!other_waiting_i && job_valid_i && !queue_valid);
      turn_ends_since_a_job_is_queued : cover (!other_waiting_i && !job_valid_i && queue_valid);
    end
    if (cur_done) begin
      next_wqe_waits : cover (!failed && cur_last_q && cur_job_q.st.ci != cur_job_q.pi && !cur_job_q.noop);
      next_job_follows_at_once : cover (queue_pop);
    end
    if (cur_valid_q && !cur_job_q.noop) begin
      waits_for_outputs : cover (!outs_free && !must_mark);
      waits_for_mark : cover (must_mark);
    end
    if (recheck_i) begin
      region_changes_with_jobs_queued : cover (queue_fill > 3'd1);
      region_changes_as_a_job_is_taken_over : cover (queue_pop);
    end
    turn_ends_since_a_region_changed : cover (sends && !failed && !cur_last_q && cur_done && cur_stale_q && !other_waiting_i &&
                                              !job_valid_i && !queue_valid);
    queue_full : cover (queue_fill == 3'd4);
    noop_passes_though_outputs_are_taken : cover (step && cur_job_q.noop && !outs_free);
  end
endmodule

bind tx_segmenter tx_segmenter_inner_cover u_inner_cover (.*);
