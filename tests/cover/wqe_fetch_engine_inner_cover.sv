// SPDX-License-Identifier: Apache-2.0
module wqe_fetch_engine_inner_cover (
  input logic clk_i,
  input logic rst_ni,
  input logic decide,
  input logic fresh,
  input logic overrun,
  input logic in_err,
  input logic g_err,
  input logic g_st_valid,
  input logic g_pi_valid,
  input logic noop,
  input logic in_msg,
  input logic invalid,
  input logic fetch,
  input rnic_pkg::qpc_t qpc_rsp_i,
  input logic [22:0] block,
  input logic qpc_rsp_valid_i,
  input logic granted_valid,
  input logic want_ready,
  input logic want_valid_q,
  input logic want_read,
  input logic want_hit,
  input logic want_first_q,
  input logic want_fire,
  input logic pending_ready,
  input logic pending_valid,
  input logic read_valid,
  input logic job_valid_q,
  input logic job_ready_i,
  input logic dm_req_ready_i,
  input logic evt_valid_q,
  input logic evt_ready_i,
  input logic emit,
  input logic p_new,
  input logic p_pushed,
  input rnic_pkg::tx_job_t p_job,
  input logic [7:0] w_vendor,
  input logic [7:0] w_err,
  input logic w_unsized,
  input logic w_write,
  input logic w_send,
  input logic w_bad_ds,
  input logic [7:0] w_ds,
  input logic [31:0] byte_count,
  input logic w_has_data
);
  logic decoded;
  assign decoded = emit && p_new && !p_job.flush;

  // names(source): ring pushed
  // names(vendor): none Opcode WqeSize WqeQpn Length
  for (genvar p = 0; p < 2; p++) begin : source
    for (genvar v = 0; v < 5; v++) begin : vendor
      always_ff @(posedge clk_i) if (rst_ni && decoded && p_pushed == p[0]) begin
        decoded_as : cover (w_vendor == 8'(v));
      end
    end
    always_ff @(posedge clk_i) if (rst_ni && decoded && p_pushed == p[0]) begin
      no_size : cover (w_ds == 8'd0);
      beyond_producer_index : cover (w_unsized && w_ds != 8'd0);
      size_wrong_for_a_write : cover (w_err != 8'd0 && w_vendor == rnic_pkg::VenWqeSize && w_write && !w_unsized && w_bad_ds);
      size_wrong_for_a_send : cover (w_err != 8'd0 && w_vendor == rnic_pkg::VenWqeSize && w_send && !w_unsized && w_bad_ds);
      bytes_zero_means_two_gib : cover (w_err == 8'd0 && w_has_data && byte_count == 32'd0);
      longer_than_two_gib : cover (w_err == rnic_pkg::SynLocalLength);
    end
  end

  always_ff @(posedge clk_i) if (rst_ni) begin
    if (decide) begin
      ring_not_in_device_memory : cover (fresh && qpc_rsp_i.sq_base[63:28] != '0);
      ring_not_aligned : cover (fresh && qpc_rsp_i.sq_base[5:0] != '0);
      ring_passes_end_of_device_memory : cover (fresh && qpc_rsp_i.sq_base[63:28] == '0 && block[22]);
      producer_index_beyond_ring : cover (fresh && overrun);
      no_doorbell_since_set_up : cover (!invalid && !in_msg && !g_pi_valid);
      doorbell_repeated : cover (!invalid && !in_msg && g_pi_valid && noop);
      error_by_state_bit : cover (!noop && g_err);
      error_by_context_alone : cover (!noop && in_err && !g_err);
      error_and_ring_not_readable : cover (fresh && !fetch && in_err);
      state_from_context : cover (fresh && !g_st_valid);
      state_from_chip : cover (fresh && g_st_valid);
    end
    if (qpc_rsp_valid_i && granted_valid) begin
      decision_waits_for_request : cover (!want_ready);
      decision_waits_for_event : cover (want_ready && invalid && evt_valid_q && !evt_ready_i);
    end
    if (want_valid_q) begin
      request_waits_for_place : cover (!pending_ready);
      request_waits_for_memory : cover (pending_ready && want_read && !dm_req_ready_i);
      pushed_wqe_kept_while_waiting : cover (want_fire && want_hit && !want_first_q);
    end
    if (pending_valid) begin
      job_waits_for_wqe : cover (p_new && !p_pushed && !read_valid);
      job_waits_for_segmenter : cover (!emit && job_valid_q && !job_ready_i);
      pushed_wqe_waits_behind_a_read : cover (p_new && !p_pushed && !read_valid && want_fire && want_hit);
      answer_waits_for_its_turn : cover (read_valid && !(p_new && !p_pushed));
    end
    flush_of_a_read_wqe : cover (emit && p_new && !p_pushed && p_job.flush);
    flush_of_a_pushed_wqe : cover (emit && p_new && p_pushed && p_job.flush);
  end
endmodule

bind wqe_fetch_engine wqe_fetch_engine_inner_cover u_inner_cover (.*);
