// SPDX-License-Identifier: Apache-2.0
module wqe_fetch_engine_cover (
  input logic clk_i,
  input logic rst_ni,
  input logic grant_valid_i,
  input logic grant_ready_o,
  input logic st_re_o,
  input logic st_valid_i,
  input logic st_err_i,
  input logic qpc_req_valid_o,
  input logic qpc_req_ready_i,
  input logic qpc_rsp_valid_i,
  input logic qpc_rsp_ready_o,
  input rnic_pkg::qpc_t qpc_rsp_i,
  input logic dm_req_valid_o,
  input logic dm_req_ready_i,
  input rnic_pkg::dm_req_t dm_req_o,
  input logic dm_rsp_valid_i,
  input logic pf_req_valid_o,
  input logic pf_req_ready_i,
  input logic pf_rsp_valid_i,
  input logic pf_rsp_ready_o,
  input logic pf_rsp_hit_i,
  input logic [2:0] pf_rsp_status_i,
  input logic job_valid_o,
  input logic job_ready_i,
  input rnic_pkg::tx_job_t job_o,
  input logic evt_valid_o,
  input logic evt_ready_i,
  input rnic_pkg::event_t evt_o,
  input logic stat_db_invalid_o,
  input logic stat_bf_hit_o,
  input logic stat_bf_fallback_o,
  input logic stat_wqe_fetch_o,
  input logic probe_wqe_o,
  input logic idle_o
);
  logic job, fresh, good, decided;
  assign job = job_valid_o && job_ready_i;
  assign good = job && !job_o.noop && !job_o.flush && job_o.err == 8'd0;
  assign fresh = good && !job_o.st.in_msg;
  assign decided = qpc_rsp_valid_i && qpc_rsp_ready_o;

  // names(opcode): SEND_INVAL WRITE WRITE_IMM SEND SEND_IMM READ CMP_SWAP FETCH_ADD
  // names(transport): RC UC UD
  for (genvar o = 0; o < 8; o++) begin : opcode
    localparam logic [7:0] Code = o == 0 ? 8'h01 : o < 5 ? 8'h07 + 8'(o) : 8'h0B + 8'(o);
    for (genvar t = 0; t < 3; t++) begin : transport
      if (t == 0 || (t == 1 && o > 0 && o < 5) || (t == 2 && (o == 3 || o == 4))) begin : can
        always_ff @(posedge clk_i) if (rst_ni && fresh && job_o.st.opcode == Code && job_o.qpc.transport == 2'(t)) begin
          one_segment : cover (job_o.st.num_sge == 3'd1);
          signaled : cover (job_o.st.signaled);
          unsignaled : cover (!job_o.st.signaled);
          solicited : cover (job_o.st.solicited);
        end
        if (o < 6) begin : any_length
          always_ff @(posedge clk_i) if (rst_ni && fresh && job_o.st.opcode == Code && job_o.qpc.transport == 2'(t)) begin
            without_data : cover (job_o.st.msg_len == 32'd0);
            two_segments : cover (job_o.st.num_sge == 3'd2);
            three_segments : cover (job_o.st.num_sge == 3'd3);
            four_segments : cover (job_o.st.num_sge == 3'd4);
          end
        end
        if (o < 5) begin : payload
          always_ff @(posedge clk_i) if (rst_ni && fresh && job_o.st.opcode == Code && job_o.qpc.transport == 2'(t)) begin
            inline_data : cover (job_o.inl);
            inline_data_of_the_largest_size : cover (job_o.inl && job_o.st.msg_len == (t == 2 ? 32'd188 : o == 1 || o == 2 ? 32'd220 : 32'd236));
          end
        end
        if (o < 5 && t < 2) begin : long
          always_ff @(posedge clk_i) if (rst_ni && good && job_o.st.in_msg) begin
            continued : cover (job_o.st.opcode == Code && job_o.qpc.transport == 2'(t));
          end
        end
      end
    end
  end

  // names(blocks): one two three four
  for (genvar n = 0; n < 4; n++) begin : blocks
    always_ff @(posedge clk_i) if (rst_ni && fresh) begin
      wqe_of : cover (job_o.st.wqebbs == 2'(n));
      inline_in_wqe_of : cover (job_o.st.wqebbs == 2'(n) && job_o.inl);
    end
  end

  // names(mtu): 0 256 512 1024 2048 4096 6 7
  for (genvar m = 1; m < 6; m++) begin : mtu
    always_ff @(posedge clk_i) if (rst_ni && fresh) begin
      known_mtu : cover (job_o.qpc.mtu == 3'(m));
    end
  end
  for (genvar m = 0; m < 8; m++) begin : code
    if (m == 0 || m > 5) begin : bad
      always_ff @(posedge clk_i) if (rst_ni && job && job_o.err != 8'd0 && job_o.rkey[7:0] == rnic_pkg::VenLength) begin
        unknown_mtu : cover (job_o.qpc.mtu == 3'(m) && !job_o.st.in_msg);
        unknown_mtu_inside_a_message : cover (job_o.qpc.mtu == 3'(m) && job_o.st.in_msg);
      end
    end
  end

  // names(vendor): none Opcode WqeSize WqeQpn Length Key Bounds
  for (genvar v = 1; v < 7; v++) begin : vendor
    if (v != 5) begin : here
      always_ff @(posedge clk_i) if (rst_ni && job && job_o.err != 8'd0) begin
        refused : cover (job_o.rkey[7:0] == 8'(v));
      end
    end
  end

  // A QP that cannot send, by its context's state (0 Reset, 1 Init, 2 RTR, 3 RTS, 6 Err) ...
  for (genvar s = 0; s < 8; s++) begin : state
    if (s != 3 && s != 6) begin : cannot
      always_ff @(posedge clk_i) if (rst_ni && decided && stat_db_invalid_o) begin
        not_ready_to_send : cover (qpc_rsp_i.state == 4'(s));
      end
    end
  end

  for (genvar n = 0; n < 16; n++) begin : log_size
    always_ff @(posedge clk_i) if (rst_ni && fresh) begin
      ring : cover (job_o.qpc.log_sq_size == 4'(n));
    end
  end

  always_ff @(posedge clk_i) if (rst_ni) begin
    if (job) begin
      nothing_to_send : cover (job_o.noop);
      flushed : cover (job_o.flush && !job_o.st.in_msg);
      flushed_inside_a_message : cover (job_o.flush && job_o.st.in_msg);
      syndrome_local_length : cover (job_o.err == rnic_pkg::SynLocalLength);
      syndrome_local_qp_op : cover (job_o.err == rnic_pkg::SynLocalQpOp);
    end
    if (fresh) begin
      largest_message : cover (job_o.st.msg_len == 32'h8000_0000);
      two_gib_in_several_segments : cover (job_o.st.msg_len == 32'h8000_0000 && job_o.st.num_sge > 3'd1);
      ud_fills_its_mtu : cover (job_o.qpc.transport == rnic_pkg::TransUd && job_o.st.msg_len == 32'd128 << job_o.qpc.mtu);
      ipv6 : cover (job_o.qpc.ipv6);
      vlan : cover (job_o.qpc.vlan_en);
      last_wqe : cover (job_o.st.ci == job_o.pi);
      more_wqes_behind : cover (job_o.st.ci != job_o.pi);
      index_wraps : cover (job_o.pi < job_o.st.wqe_idx && job_o.pi != 16'd0);
      index_wraps_to_zero : cover (job_o.pi == 16'd0);
      ring_wraps : cover (job_o.st.wqe_idx != 16'd0 && (job_o.st.wqe_idx & ((16'd1 << job_o.qpc.log_sq_size) - 16'd1)) == 16'd0);
      ring_in_host_memory : cover (job_o.qpc.sq_where == rnic_pkg::SqInHost);
      last_block_of_device_memory : cover (job_o.qpc.sq_where == rnic_pkg::SqInDevice && job_o.qpc.sq_base[27:6] + {6'b0, job_o.st.wqe_idx & ((16'd1 << job_o.qpc.log_sq_size) - 16'd1)} == 22'h3FFFFF);
      probe : cover (probe_wqe_o);
    end
    if (decided && stat_db_invalid_o) begin
      // ... or by what is not built
      transport_3 : cover (qpc_rsp_i.state == rnic_pkg::QpStRts && qpc_rsp_i.transport == 2'd3);
      ring_in_unknown_place : cover (qpc_rsp_i.state == rnic_pkg::QpStRts && qpc_rsp_i.sq_where > rnic_pkg::SqInHost);
      in_error_and_not_built : cover (qpc_rsp_i.state == rnic_pkg::QpStErr && qpc_rsp_i.transport == 2'd3);
    end
    if (decided) begin
      context_in_error : cover (qpc_rsp_i.state == rnic_pkg::QpStErr && !stat_db_invalid_o);
    end
    first_turn_since_set_up : cover (st_re_o && !st_valid_i);
    if (grant_valid_i && !grant_ready_o) begin
      grant_waits_for_context_cache : cover (qpc_req_valid_o && !qpc_req_ready_i);
      grant_waits_for_room : cover (!qpc_req_valid_o);
    end
    if (grant_valid_i && grant_ready_o) begin
      grant_of_idle_engine : cover (idle_o);
      grant_of_busy_engine : cover (!idle_o);
    end
    context_waits : cover (qpc_rsp_valid_i && !qpc_rsp_ready_o);
    if (dm_req_valid_o) begin
      read_waits : cover (!dm_req_ready_i);
      read_and_answer_together : cover (dm_req_ready_i && dm_rsp_valid_i);
      read_of_one_block : cover (dm_req_ready_i && !dm_req_o.two);
      read_of_two_blocks : cover (dm_req_ready_i && dm_req_o.two);
    end
    lookup_of_ring_in_host_memory : cover (pf_req_valid_o && pf_req_ready_i);
    lookup_waits : cover (pf_req_valid_o && !pf_req_ready_i);
    if (pf_rsp_valid_i && pf_rsp_ready_o) begin
      prefetched_wqe_used : cover (pf_rsp_hit_i && pf_rsp_status_i == rnic_pkg::DmaOk);
      prefetched_wqe_missing : cover (!pf_rsp_hit_i);
      prefetched_wqe_unreadable : cover (pf_rsp_hit_i && pf_rsp_status_i != rnic_pkg::DmaOk);
    end
    job_waits : cover (job_valid_o && !job_ready_i);
    event_waits : cover (evt_valid_o && !evt_ready_i);
    event_not_ready : cover (evt_valid_o && evt_ready_i && evt_o.syndrome == 8'd0);
    event_not_built : cover (evt_valid_o && evt_ready_i && evt_o.syndrome == rnic_pkg::SynLocalQpOp);
    pushed_wqe_used : cover (stat_bf_hit_o);
    pushed_wqe_not_usable : cover (stat_bf_fallback_o);
    wqe_read : cover (stat_wqe_fetch_o);
  end
endmodule

bind wqe_fetch_engine wqe_fetch_engine_cover u_cover (.*);
