// SPDX-License-Identifier: Apache-2.0
module tx_segmenter_cover (
  input logic clk_i,
  input logic rst_ni,
  input logic job_valid_i,
  input logic job_ready_o,
  input rnic_pkg::tx_job_t job_i,
  input logic other_waiting_i,
  input logic recheck_i,
  input logic stale_o,
  input logic mpt_req_valid_o,
  input logic mpt_req_ready_i,
  input logic mpt_rsp_valid_i,
  input logic mpt_rsp_ready_o,
  input logic desc_valid_o,
  input logic desc_ready_i,
  input rnic_pkg::pkt_desc_t desc_o,
  input logic rd_valid_o,
  input logic rd_ready_i,
  input rnic_pkg::xl_req_t rd_o,
  input logic inl_valid_o,
  input logic inl_ready_i,
  input rnic_pkg::payload_t inl_o,
  input logic st_we_o,
  input rnic_pkg::tx_state_t st_o,
  input logic err_o,
  input logic release_o,
  input rnic_pkg::turn_end_t turn_end_o,
  input logic dm_req_valid_o,
  input logic dm_req_ready_i,
  input logic idle_o
);
  logic job, fresh, desc, good, read;
  assign job = job_valid_i && job_ready_o;
  assign fresh = job && !job_i.noop && !job_i.flush && job_i.err == 8'd0 && !job_i.st.in_msg;
  assign desc = desc_valid_o && desc_ready_i;
  assign good = desc && desc_o.err == 8'd0;
  assign read = rd_valid_o && rd_ready_i;

  // ---- Every opcode x length class x MTU x transport, as the message comes in -----------------------------------------
  logic [31:0] mtu_bytes;
  logic [3:0] len_class;
  assign mtu_bytes = 32'd128 << job_i.qpc.mtu;
  always_comb begin
    if (job_i.st.msg_len == 32'd0) len_class = 4'd0;
    else if (job_i.st.msg_len < 32'd4) len_class = 4'd1;
    else if (job_i.st.msg_len < 32'd64) len_class = 4'd2;
    else if (job_i.st.msg_len == 32'd64) len_class = 4'd3;
    else if (job_i.st.msg_len < mtu_bytes - 32'd1) len_class = 4'd4;
    else if (job_i.st.msg_len < mtu_bytes) len_class = 4'd5;
    else if (job_i.st.msg_len == mtu_bytes) len_class = 4'd6;
    else if (job_i.st.msg_len == mtu_bytes + 32'd1) len_class = 4'd7;
    else len_class = 4'd8;
  end

  // names(opcode): WRITE WRITE_IMM SEND SEND_IMM SEND_INVAL READ
  // names(transport): RC UC UD
  // names(mtu): 0 256 512 1024 2048 4096
  // names(length): 0 1-3 4-63 64 65..MTU-2 MTU-1 MTU MTU+1 more
  for (genvar o = 0; o < 6; o++) begin : opcode
    for (genvar t = 0; t < 3; t++) begin : transport
      for (genvar m = 1; m < 6; m++) begin : mtu
        for (genvar l = 0; l < 9; l++) begin : length
          if (t == 0 || (t == 1 && o < 4) || (t == 2 && o / 2 == 1 && l < 7)) begin : allowed
            always_ff @(posedge clk_i) if (rst_ni && fresh && !job_i.inl) begin
              message : cover (job_i.st.opcode == (o < 4 ? 8'h08 + 8'(o) : o == 4 ? 8'h01 : 8'h10) &&
                               job_i.qpc.transport == 2'(t) && job_i.qpc.mtu == 3'(m) && len_class == 4'(l));
            end
          end
        end
      end
    end
  end

  // names(bth): SEND_FIRST SEND_MIDDLE SEND_LAST SEND_LAST_IMM SEND_ONLY SEND_ONLY_IMM WRITE_FIRST WRITE_MIDDLE WRITE_LAST WRITE_LAST_IMM WRITE_ONLY WRITE_ONLY_IMM READ_REQUEST 13 14 15 16 17 18 CMP_SWAP FETCH_ADD 21 SEND_LAST_INVAL SEND_ONLY_INVAL
  for (genvar b = 0; b < 24; b++) begin : bth
    for (genvar t = 0; t < 3; t++) begin : transport
      if (b < 12 ? t < 2 || b / 2 == 2 : t == 0 && (b == 12 || b == 19 || b == 20 || b > 21)) begin : allowed
        always_ff @(posedge clk_i) if (rst_ni && good) begin
          packet : cover (desc_o.bth_opcode == (t == 2 ? 8'h60 : t == 1 ? 8'h20 : 8'h00) + 8'(b));
        end
      end
    end
  end

  // ---- Segments -----------------------------------------------------------------------------------------------------
  // names(segments): 0 1 2 3 4
  // names(at): first second third fourth
  for (genvar n = 1; n < 5; n++) begin : segments
    always_ff @(posedge clk_i) if (rst_ni && fresh && job_i.st.opcode[7:4] == 4'd0) begin
      message_of_segments : cover (job_i.st.num_sge == 3'(n));
    end
    for (genvar a = 0; a < n; a++) begin : at
      always_ff @(posedge clk_i) if (rst_ni && job && !job_i.noop && !job_i.flush && job_i.st.in_msg) begin
        continued_in_segment : cover (job_i.st.num_sge == 3'(n) && job_i.st.sge_idx == 2'(a));
      end
    end
  end
  // names(pieces): 0 1 2 3 4
  logic [2:0] pieces_q;                // of this packet that have left
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) pieces_q <= 3'd0;
    else if (read) pieces_q <= rd_o.more ? pieces_q + 3'd1 : 3'd0;
  end
  for (genvar n = 1; n < 5; n++) begin : pieces
    always_ff @(posedge clk_i) if (rst_ni && read && !rd_o.more) begin
      packet_of_pieces : cover (pieces_q == 3'(n - 1));
    end
  end
  // names(beat): first second third fourth
  // names(fill): 1 2-63 64
  logic [1:0] beat_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) beat_q <= 2'd0;
    else if (inl_valid_o && inl_ready_i) beat_q <= inl_o.last ? 2'd0 : beat_q + 2'd1;
  end
  for (genvar n = 0; n < 4; n++) begin : beat
    for (genvar f = 0; f < 3; f++) begin : fill
      if (n < 3 || f < 2) begin : possible  // 236 B at most
        always_ff @(posedge clk_i) if (rst_ni && inl_valid_o && inl_ready_i && inl_o.last) begin
          inline_ends : cover (beat_q == 2'(n) && (f == 0 ? inl_o.bytes == 7'd1 : f == 1 ? inl_o.bytes > 7'd1 && inl_o.bytes < 7'd64 :
                                                                                   inl_o.bytes == 7'd64));
        end
      end
    end
  end

  // ---- Errors -----------------------------------------------------------------------------------------------------
  // names(vendor): none Opcode WqeSize WqeQpn Length Key Bounds Pd Rights
  for (genvar v = 1; v < 9; v++) begin : vendor
    always_ff @(posedge clk_i) if (rst_ni && desc && desc_o.err != 8'd0) begin
      refused : cover (desc_o.imm[7:0] == 8'(v));
    end
  end
  // names(syndrome): success LocalLength LocalQpOp 3 LocalProt Flushed
  for (genvar y = 1; y < 6; y++) begin : syndrome
    if (y != 3) begin : known
      always_ff @(posedge clk_i) if (rst_ni && desc) begin
        reported : cover (desc_o.err == 8'(y));
      end
    end
  end

  // ---- Reads ------------------------------------------------------------------------------------------------------
  // names(page): within end cross
  for (genvar p = 0; p < 3; p++) begin : page
    always_ff @(posedge clk_i) if (rst_ni && read) begin
      read_at_page : cover (p == 0 ? {1'b0, rd_o.addr[11:0]} + rd_o.len < 13'd4096 :
                            p == 1 ? {1'b0, rd_o.addr[11:0]} + rd_o.len == 13'd4096 :
                                     {1'b0, rd_o.addr[11:0]} + rd_o.len > 13'd4096);
    end
  end
  for (genvar a = 0; a < 4; a++) begin : lane
    always_ff @(posedge clk_i) if (rst_ni && read) begin
      read_starts_at : cover (rd_o.addr[1:0] == 2'(a));
      read_ends_at : cover (rd_o.addr[1:0] + rd_o.len[1:0] == 2'(a));
    end
  end

  always_ff @(posedge clk_i) if (rst_ni) begin
    if (job) begin
      nothing_to_send : cover (job_i.noop);
      flush : cover (job_i.flush && !job_i.st.in_msg);
      flush_inside_a_message : cover (job_i.flush && job_i.st.in_msg);
      error_from_decoding : cover (job_i.err != 8'd0);
      message_continued : cover (!job_i.noop && !job_i.flush && job_i.st.in_msg);
      two_gib : cover (fresh && job_i.st.msg_len == 32'h8000_0000);
      key_beyond_the_table : cover (fresh && job_i.st.msg_len != 0 && job_i.st.sge0.lkey[31:24] != 8'd0);
      inline_without_payload : cover (fresh && job_i.inl && job_i.st.msg_len == 32'd0);
      region_looked_up : cover (mpt_req_valid_o && mpt_req_ready_i);
      address_wraps : cover (fresh && {1'b0, job_i.st.sge0.addr} + {33'b0, job_i.st.sge0.len} > {1'b1, 64'b0});
      ends_at_end_of_address_space : cover (fresh && {1'b0, job_i.st.sge0.addr} + {33'b0, job_i.st.sge0.len} == {1'b1, 64'b0});
    end
    if (good) begin
      psn_wraps : cover (desc_o.op.psn == 24'hFFFFFF);
      ip_id_wraps : cover (desc_o.ip_id == 16'hFFFF);
      solicited : cover (desc_o.solicited);
      ack_asked_for_at_the_end : cover (desc_o.ack_req && desc_o.op.last);
      ack_asked_for_inside : cover (desc_o.ack_req && !desc_o.op.last);
      packet_without_payload : cover (desc_o.payload_len == 13'd0);
      signaled : cover (desc_o.signaled);
      unsignaled : cover (!desc_o.signaled);
      migrated : cover (desc_o.mig_req);
    end
    job_waits_for_region_cache : cover (job_valid_i && !job_ready_o && mpt_req_valid_o);
    job_waits_for_queue : cover (job_valid_i && !job_ready_o && !mpt_req_valid_o);
    region_waits : cover (mpt_rsp_valid_i && !mpt_rsp_ready_o);
    waits_for_region : cover (mpt_rsp_ready_o && !mpt_rsp_valid_i);
    description_waits : cover (desc_valid_o && !desc_ready_i);
    read_waits : cover (rd_valid_o && !rd_ready_i);
    description_before_read : cover (desc && rd_valid_o && !rd_ready_i);
    read_before_description : cover (read && desc_valid_o && !desc_ready_i);
    piece_every_cycle : cover (read && rd_o.more && pieces_q != 3'd0);
    inline_waits : cover (inl_valid_o && !inl_ready_i);
    inline_before_description : cover (inl_valid_o && inl_ready_i && desc_valid_o && !desc_ready_i);
    packet_every_cycle : cover (desc && !desc_o.op.last && read);
    context_marked : cover (dm_req_valid_o && dm_req_ready_i);
    mark_waits : cover (dm_req_valid_o && !dm_req_ready_i);
    to_error : cover (err_o);
    if (st_we_o) begin
      state_inside_a_message : cover (st_o.in_msg);
      state_behind_a_message : cover (!st_o.in_msg);
    end
    if (release_o) begin
      release_with_more : cover (turn_end_o.more);
      release_without_more : cover (!turn_end_o.more);
      turn_without_frame : cover (turn_end_o.bytes == 14'd0);
      turn_with_shortest_frame : cover (turn_end_o.bytes == 14'd64);
      turn_with_longest_frame : cover (turn_end_o.bytes == 14'd4202);
      turn_with_atomic_over_ipv6 : cover (turn_end_o.bytes == 14'd110 || turn_end_o.bytes == 14'd114);
    end
    if (recheck_i) begin
      region_changes_while_idle : cover (idle_o);
      region_changes_as_a_job_comes : cover (job);
      region_changes_as_a_read_waits : cover (rd_valid_o && !rd_ready_i);
    end
    stale_turn_ends : cover (release_o && turn_end_o.more && stale_o);
    others_wait : cover (other_waiting_i && !idle_o);
  end
endmodule

bind tx_segmenter tx_segmenter_cover u_cover (.*);
