// SPDX-License-Identifier: Apache-2.0
module tx_segmenter_inner_cover (
  input logic clk_i,
  input logic rst_ni,
  input logic cur_valid_q,
  input logic cur_payload_q,
  input logic cur_bad_key_q,
  input logic cur_bad_pd_q,
  input logic cur_outside_q,
  input logic [63:0] cur_into_q,
  input logic [63:0] cur_slack_q,
  input rnic_pkg::tx_job_t cur_job_q,
  input logic cur_done,
  input logic step,
  input logic sends,
  input logic failed,
  input logic last,
  input logic must_mark,
  input logic outs_free,
  input logic queue_valid,
  input logic queue_pop,
  input logic [2:0] queue_fill,
  input logic other_waiting_i,
  input logic job_valid_i,
  input logic mpt_rsp_valid_i,
  input rnic_pkg::mpt_t mpt_rsp_i,
  input logic q_lookup,
  input rnic_pkg::tx_job_t q_job
);
  logic checked, ends_turn;
  assign checked = sends && cur_payload_q;
  assign ends_turn = sends && !failed && !last && cur_done;

  always_ff @(posedge clk_i) if (rst_ni) begin
    if (queue_pop && q_lookup) begin
      region_not_valid : cover (!mpt_rsp_i.valid);
      key_of_another_variant : cover (mpt_rsp_i.valid && mpt_rsp_i.variant != q_job.st.sge0.lkey[7:0]);
      region_before_address : cover (q_job.st.sge0.addr < mpt_rsp_i.start);
      region_shorter_than_message : cover ({32'b0, q_job.st.msg_len} > mpt_rsp_i.length);
    end
    if (checked) begin
      fits_exactly : cover (!failed && cur_into_q == 64'd0 && cur_slack_q == 64'd0);
      ends_with_the_region : cover (!failed && cur_into_q == cur_slack_q && cur_into_q != 64'd0);
      one_byte_too_far : cover (!cur_bad_key_q && !cur_bad_pd_q && !cur_outside_q && cur_into_q == cur_slack_q + 64'd1);
      other_domain : cover (!cur_bad_key_q && cur_bad_pd_q);
    end
    if (sends) begin
      refused_inside_a_message : cover (failed && cur_job_q.st.in_msg);
      goes_on_in_the_same_turn : cover (!failed && !last && !cur_done);
      identification_fixed : cover (!failed && cur_job_q.qpc.ip_id_fixed);
    end
    if (ends_turn) begin
      turn_ends_since_the_scheduler_has_others : cover (other_waiting_i && !job_valid_i && !queue_valid);
      turn_ends_since_a_job_comes : cover (!other_waiting_i && job_valid_i && !queue_valid);
      turn_ends_since_a_job_is_queued : cover (!other_waiting_i && !job_valid_i && queue_valid);
    end
    if (cur_done) begin
      next_wqe_waits : cover (!failed && last && cur_job_q.st.ci != cur_job_q.pi && !cur_job_q.noop);
      next_job_follows_at_once : cover (queue_pop);
    end
    if (cur_valid_q && !cur_job_q.noop) begin
      waits_for_outputs : cover (!outs_free && !must_mark);
      waits_for_mark : cover (must_mark);
    end
    queue_full : cover (queue_fill == 3'd4);
    noop_passes_though_outputs_are_taken : cover (step && cur_job_q.noop && !outs_free);
  end
endmodule

bind tx_segmenter tx_segmenter_inner_cover u_inner_cover (.*);
