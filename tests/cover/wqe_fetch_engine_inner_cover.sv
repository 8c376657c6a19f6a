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
  input logic [22:0] ring_end,
  input logic qpc_rsp_valid_i,
  input logic granted_valid,
  input logic want_ready,
  input logic want_valid_q,
  input logic want_ask,
  input logic want_go,
  input logic want_hit,
  input logic want_first_q,
  input logic want_fire,
  input logic want_split,
  input logic want_rest_q,
  input logic stall_q,
  input logic late_req_q,
  input logic late_ask,
  input logic late_go,
  input logic late_two_q,
  input logic late_split_q,
  input logic late_rest_q,
  input logic late_need,
  input logic late_done,
  input logic got_read,
  input logic got_late,
  input logic got_half,
  input logic beat_q,
  input logic order_load,
  input logic order_skip,
  input logic order_valid,
  input logic ask_go,
  input logic in_host,
  input logic host_seen_q,
  input logic host_formed_q,
  input logic host_missed_q,
  input logic host_failed_q,
  input logic p_host,
  input logic pf_rsp_valid_i,
  input logic dm_req_valid_o,
  input logic skip_q,
  input logic read1_valid,
  input logic pending_ready,
  input logic pending_valid,
  input logic read0_valid,
  input logic job_valid_q,
  input logic job_ready_i,
  input logic dm_req_ready_i,
  input logic evt_valid_q,
  input logic evt_ready_i,
  input logic emit,
  input logic p_new,
  input logic p_pushed,
  input logic p_two,
  input logic p_read,
  input logic p_flush,
  input logic [7:0] w_vendor,
  input logic [7:0] w_err,
  input logic w_unsized,
  input logic w_bad_size,
  input logic w_bad_len,
  input logic w_too_long,
  input logic w_short_av,
  input logic w_inl,
  input logic w_ud,
  input logic [2:0] w_num,
  input logic [1:0] w_start,
  input logic w_over,
  input logic [6:0] w_blocks,
  input logic [7:0] w_ds,
  input logic [31:0] w_len
);
  logic decoded;
  assign decoded = emit && p_new && !p_flush;

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
      size_wrong_for_the_opcode : cover (w_err != 8'd0 && w_vendor == rnic_pkg::VenWqeSize && !w_unsized && w_bad_size && !w_inl);
      inline_size_wrong : cover (w_err != 8'd0 && w_vendor == rnic_pkg::VenWqeSize && !w_unsized && w_bad_size && w_inl);
      address_vector_of_another_form : cover (w_vendor == rnic_pkg::VenWqeSize && !w_unsized && !w_bad_size && w_short_av);
      bytes_zero_means_two_gib : cover (w_err == 8'd0 && w_num == 3'd1 && w_len == 32'h8000_0000);
      longer_than_two_gib : cover (w_err == rnic_pkg::SynLocalLength && !w_over && !w_bad_len && w_too_long);
      longer_than_four_gib : cover (w_err == rnic_pkg::SynLocalLength && w_over);
      not_the_size_of_an_atomic : cover (w_err == rnic_pkg::SynLocalLength && w_bad_len && w_start == 2'd2);
      two_gib_and_more : cover (w_err == rnic_pkg::SynLocalLength && w_bad_len && w_start != 2'd2);
      ud_longer_than_its_mtu : cover (w_err == rnic_pkg::SynLocalLength && !w_too_long && w_ud);
    end
  end

  // names(behind): control remote operands address
  // names(size): one two three four
  for (genvar d = 0; d < 4; d++) begin : behind
    if (d != 2) begin : payload
      for (genvar n = 0; n < 4; n++) begin : size
        if (d != 3 || n != 0) begin : fits
          always_ff @(posedge clk_i) if (rst_ni && decoded && w_err == 8'd0 && w_inl) begin
            inline_data : cover (w_start == 2'(d) && w_blocks == 7'(n + 1));
          end
        end
      end
    end
  end

  always_ff @(posedge clk_i) if (rst_ni) begin
    if (decide) begin
      ring_not_in_device_memory : cover (fresh && !in_host && qpc_rsp_i.sq_base[63:28] != '0);
      ring_not_aligned : cover (fresh && qpc_rsp_i.sq_base[5:0] != '0);
      ring_passes_end_of_device_memory : cover (fresh && !in_host && qpc_rsp_i.sq_base[63:28] == '0 && ring_end[22]);
      ring_in_host_memory_not_aligned : cover (fresh && in_host && qpc_rsp_i.sq_base[5:0] != '0);
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
      request_waits_for_memory : cover (want_ask && !dm_req_ready_i);
      request_waits_for_late_one : cover (late_ask && !want_ask && pending_ready && !want_first_q);
      pushed_wqe_kept_while_waiting : cover (want_fire && want_hit && !want_first_q);
    end
    if (pending_valid) begin
      job_waits_for_wqe : cover (p_read && !read0_valid);
      job_waits_for_second_block : cover (p_read && read0_valid && w_ds > 8'd4 && p_two && !read1_valid);
      job_waits_for_late_blocks : cover (p_read && read0_valid && late_need && !late_done);
      job_waits_for_segmenter : cover (!emit && job_valid_q && !job_ready_i);
      pushed_wqe_waits_behind_a_read : cover (p_read && !read0_valid && want_fire && want_hit);
      answer_waits_for_its_turn : cover (read0_valid && !p_read);
    end
    if (want_go) begin
      pair_round_the_end : cover (want_split && want_rest_q);
      two_posted_at_the_end_stay_apart : cover (want_split && !want_rest_q);
    end
    if (late_go) begin
      third_block_read : cover (!late_two_q);
      third_and_fourth_block_read : cover (late_two_q && !late_split_q);
      third_and_fourth_block_round_the_end : cover (late_split_q && late_rest_q);
    end
    late_read_waits_for_offered_one : cover (late_req_q && stall_q);
    late_read_waits_for_memory : cover (late_ask && !dm_req_ready_i);
    late_block_between_the_halves_of_a_pair : cover (got_late && want_rest_q);
    second_block_with_its_read : cover (got_read && got_half && beat_q);
    second_block_with_a_read_of_its_own : cover (got_read && got_half && !beat_q);
    second_block_not_needed : cover (skip_q && read1_valid);
    second_block_not_needed_waits : cover (skip_q && !read1_valid);
    second_block_there_and_not_needed : cover (emit && p_read && p_two && read1_valid && w_ds <= 8'd4);
    if (order_load) begin
      place_kept_in_order : cover (order_valid);
      place_past_the_queue : cover (order_skip && ask_go);
    end
    job_waits_for_prefetched_wqe : cover (pending_valid && p_host && !pf_rsp_valid_i);
    prefetched_wqe_waits_to_be_counted : cover (host_seen_q && !host_formed_q && dm_req_valid_o);
    missing_while_in_error : cover (emit && host_missed_q && p_flush);
    unreadable_while_in_error : cover (emit && host_failed_q && p_flush);
    flush_of_a_prefetched_wqe : cover (emit && p_host && !host_missed_q && !host_failed_q && p_flush);
    flush_of_a_read_wqe : cover (emit && p_read && p_flush);
    flush_of_a_pushed_wqe : cover (emit && p_new && p_pushed && p_flush);
  end
endmodule

bind wqe_fetch_engine wqe_fetch_engine_inner_cover u_inner_cover (.*);
