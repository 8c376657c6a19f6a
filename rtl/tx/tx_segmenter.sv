// SPDX-License-Identifier: Apache-2.0
// TX segmenter: turns a job into packets of at most one path MTU, checks the memory regions of its data segments, asks
// dma_master for the payload and hands the packet's description to tx_packetizer in the same order.
//
// One packet a turn: after each the QP goes back to the scheduler, unless no other QP waits (other_waiting_i, or a job
// behind this one), so that a long message never holds up the others for more than one packet. A lone QP, and jobs of
// different QPs, run at one packet a cycle.
//
// Data segments, up to four: those from the one of the next byte on are looked up, one a cycle, and checked as a whole
// before the turn's first packet leaves; the first one refused is reported. A packet that spans segments is several
// pieces: its description leaves with the first, then one read a cycle (rd_o.more on all but the last). Inline payload
// leaves the same way in pieces of 64 B, as beats of a stream of its own. READ and atomics are one packet and read
// nothing here; their segments, where the response will go, have to grant local writes.
//
// After recheck_i (a region changed) a turn that has looked up earlier ends with its next packet, so that a long message
// does not go on with a region that is gone. stale_o is high while there is such a turn, or a read of it, here.
//
// Description and first piece enter their output registers in the same cycle, only when all of these are free; from
// there each leaves when its taker is ready. Job valid in cycle 0, region answer in cycle 2: both are valid in cycle 4;
// each further segment takes a cycle more. The state is written in cycle 4, too, and the QP released in cycle 5.
//
// Job with err or flush: one description with the syndrome (vendor syndrome in imm[7:0]), no read. An error, found here
// or before, first sets the state in the context to Err, and only then reports; so no CQE is seen earlier.
module tx_segmenter (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic job_valid_i,
  output logic job_ready_o,
  input  rnic_pkg::tx_job_t job_i,
  input  logic other_waiting_i,        // scheduler's grant_valid
  input  logic recheck_i,              // the region cache has forgotten an entry
  output logic stale_o,
  // Memory protection table cache
  output logic mpt_req_valid_o,
  input  logic mpt_req_ready_i,
  output logic [15:0] mpt_req_idx_o,
  input  logic mpt_rsp_valid_i,
  output logic mpt_rsp_ready_o,
  input  rnic_pkg::mpt_t mpt_rsp_i,
  // Packet descriptions, in order
  output logic desc_valid_o,
  input  logic desc_ready_i,
  output rnic_pkg::pkt_desc_t desc_o,
  // Payload reads, in the same order; none for packets without payload from memory
  output logic rd_valid_o,
  input  logic rd_ready_i,
  output rnic_pkg::xl_req_t rd_o,
  // Inline payload, in the same order; beats of a packet follow each other unless inl_ready_i is low
  output logic inl_valid_o,
  input  logic inl_ready_i,
  output rnic_pkg::payload_t inl_o,
  // Transmit state, written at the end of a turn
  output logic st_we_o,
  output logic [9:0] st_qpn_o,
  output rnic_pkg::tx_state_t st_o,
  output logic err_o,                  // QP to error
  output logic [9:0] err_qpn_o,
  // End of the turn; bytes 0 when it sent no packet
  output logic release_o,
  output rnic_pkg::turn_end_t turn_end_o,
  // QP state in the BAR1 context set to error
  output logic dm_req_valid_o,
  input  logic dm_req_ready_i,
  output rnic_pkg::dm_req_t dm_req_o,
  output logic idle_o
);
  localparam int unsigned JobW = 3903;             // tx_job_t
  localparam int unsigned EntryW = JobW + 64;

  // ---- Job in, regions looked up: the first one with the job, the others behind it ----------------------------------
  logic in_check, in_fire, queue_ready, queue_valid, queue_pop;
  logic [1:0] look_left_q;                         // lookups still to make for the last job
  logic [47:0] look_idx_q;                         // of these segments
  logic [15:0] in_idx;
  logic [31:0] in_len, in_avail, in_left;
  logic [2:0] queue_fill;
  logic [EntryW-1:0] queue_data;

  // Payload from memory, or a response that goes there: the segments are checked.
  assign in_check = !job_i.noop && !job_i.flush && job_i.err == 8'd0 && !job_i.inl && job_i.st.num_sge != 3'd0 &&
                    job_i.st.msg_len != 32'd0;
  always_comb begin
    unique case (job_i.st.sge_idx)
      2'd0: {in_idx, in_len} = {job_i.st.sge0.lkey[23:8], job_i.st.sge0.len};
      2'd1: {in_idx, in_len} = {job_i.st.sge1.lkey[23:8], job_i.st.sge1.len};
      2'd2: {in_idx, in_len} = {job_i.st.sge2.lkey[23:8], job_i.st.sge2.len};
      default: {in_idx, in_len} = {job_i.st.sge3.lkey[23:8], job_i.st.sge3.len};
    endcase
  end
  assign in_avail = job_i.inl ? 32'd64 : in_len - job_i.st.sge_off;
  // READ and atomics, 0x10 and above, send no payload.
  assign in_left = job_i.st.opcode[7:4] == 4'd0 ? job_i.st.msg_len - job_i.st.offset : 32'd0;
  assign mpt_req_valid_o = look_left_q != 2'd0 || (job_valid_i && in_check && queue_ready);
  assign mpt_req_idx_o = look_left_q != 2'd0 ? look_idx_q[15:0] : in_idx;
  assign job_ready_o = queue_ready && look_left_q == 2'd0 && (!in_check || mpt_req_ready_i);
  assign in_fire = job_valid_i && job_ready_o;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) look_left_q <= 2'd0;
    else if (in_fire && in_check) look_left_q <= job_i.st.num_sge[1:0] - job_i.st.sge_idx - 2'd1;
    else if (look_left_q != 2'd0 && mpt_req_ready_i) look_left_q <= look_left_q - 2'd1;
  end

  always_ff @(posedge clk_i) begin
    if (in_fire && in_check) begin
      look_idx_q <= {job_i.st.sge3.lkey[23:8], job_i.st.sge2.lkey[23:8], job_i.st.sge1.lkey[23:8]} >>
                    {job_i.st.sge_idx, 4'b0};
    end else if (look_left_q != 2'd0 && mpt_req_ready_i) begin
      look_idx_q[31:0] <= look_idx_q[47:16];
    end
  end

  fifo #(.Width(EntryW), .Depth(4)) u_queue (
    .clk_i, .rst_ni,
    .wr_valid_i(in_fire),
    .wr_ready_o(queue_ready),
    .wr_data_i({in_left, in_avail, job_i}),
    .rd_valid_o(queue_valid),
    .rd_ready_i(queue_pop),
    .rd_data_o(queue_data),
    .fill_o(queue_fill)
  );

  rnic_pkg::tx_job_t q_job;
  rnic_pkg::sge_t q_sge;                           // segment of the next byte
  logic q_check, q_last;
  logic [31:0] q_left, q_avail;
  logic [12:0] q_mtu, q_len;

  assign q_job = queue_data[JobW-1:0];
  assign {q_left, q_avail} = queue_data[JobW+:64];
  assign q_check = !q_job.noop && !q_job.flush && q_job.err == 8'd0 && !q_job.inl && q_job.st.num_sge != 3'd0 &&
                   q_job.st.msg_len != 32'd0;
  always_comb begin
    unique case (q_job.st.sge_idx)
      2'd0: q_sge = q_job.st.sge0;
      2'd1: q_sge = q_job.st.sge1;
      2'd2: q_sge = q_job.st.sge2;
      default: q_sge = q_job.st.sge3;
    endcase
    unique case (q_job.qpc.mtu)
      3'd1: q_mtu = 13'd256;
      3'd2: q_mtu = 13'd512;
      3'd3: q_mtu = 13'd1024;
      3'd4: q_mtu = 13'd2048;
      default: q_mtu = 13'd4096;
    endcase
  end
  assign q_last = q_left <= {19'b0, q_mtu};
  assign q_len = q_last ? q_left[12:0] : q_mtu;

  // ---- Current job ------------------------------------------------------------------------------------------------
  // What changes from packet to packet stands in cur_job_q.st, and beside it what is derived from it.
  logic cur_valid_q;
  rnic_pkg::tx_job_t cur_job_q;
  logic cur_check_q, cur_reported_q;
  logic [12:0] cur_mtu_q;
  logic [31:0] cur_left_q;                         // bytes of the message from this packet on
  logic [12:0] cur_len_q;                          // bytes of this packet
  logic cur_first_q, cur_last_q;                   // it is the message's first, last
  logic cur_inside_q;                              // its first pieces have left
  logic [12:0] cur_rem_q;                          // bytes of it that have not
  logic [31:0] cur_avail_q;                        // bytes of the current segment, or inline beat, from there on
  logic [1:0] cur_wait_q;                          // regions still to come
  logic cur_done, cur_ready, rsp_first, rsp_next;

  assign cur_ready = !cur_valid_q || cur_done;
  assign queue_pop = queue_valid && cur_ready && (!q_check || mpt_rsp_valid_i);
  assign mpt_rsp_ready_o = cur_wait_q != 2'd0 || (queue_valid && cur_ready && q_check);
  assign rsp_first = queue_pop && q_check;
  assign rsp_next = cur_wait_q != 2'd0 && mpt_rsp_valid_i;

  // ---- Region against segment ---------------------------------------------------------------------------------------
  logic [1:0] chk_idx;                             // segment whose region is expected
  rnic_pkg::sge_t chk_next, chk_sge;
  logic [23:0] chk_pd;
  logic [7:0] chk_op;
  logic bad_q;                                     // an earlier segment was refused
  logic [7:0] bad_ven_q, chk_ven;
  logic [63:0] delta0_q, delta1_q, delta2_q, delta3_q;  // place less virtual address
  logic [1:0] attr0_q, attr1_q, attr2_q, attr3_q;    // {ID-based, relaxed ordering}
  logic [66:0] way0_q, way1_q, way2_q, way3_q;       // {paged, log_page, mtt, pages, window_en, window}

  assign chk_idx = cur_wait_q == 2'd0 ? q_job.st.sge_idx : cur_job_q.st.num_sge[1:0] - cur_wait_q;
  always_comb begin
    unique case (chk_idx)
      2'd1: chk_next = cur_job_q.st.sge1;
      2'd2: chk_next = cur_job_q.st.sge2;
      default: chk_next = cur_job_q.st.sge3;
    endcase
  end
  assign chk_sge = cur_wait_q == 2'd0 ? q_sge : chk_next;
  assign chk_pd = cur_wait_q == 2'd0 ? q_job.qpc.pd : cur_job_q.qpc.pd;
  assign chk_op = cur_wait_q == 2'd0 ? q_job.st.opcode : cur_job_q.st.opcode;

  // READ and atomics, 0x10 and above, write their response.
  mr_check u_mr_check (
    .clk_i,
    .en_i(rsp_first || rsp_next),
    .region_i(mpt_rsp_i),
    .key_i(chk_sge.lkey),
    .pd_i(chk_pd),
    .addr_i(chk_sge.addr),
    .len_i(chk_sge.len),
    .need_i({3'b0, chk_op[7:4] != 4'd0}),
    .ven_o(chk_ven)
  );

  logic [66:0] chk_way;
  logic [63:0] chk_delta;
  logic [1:0] chk_attr;
  assign chk_way = {mpt_rsp_i.paged, mpt_rsp_i.log_page, mpt_rsp_i.mtt, mpt_rsp_i.pages, mpt_rsp_i.window_en,
                    mpt_rsp_i.window};
  assign chk_delta = mpt_rsp_i.iova - mpt_rsp_i.start;
  assign chk_attr = {mpt_rsp_i.id_based, mpt_rsp_i.relaxed};

  always_ff @(posedge clk_i) begin
    if (rsp_first || rsp_next) begin
      unique case (chk_idx)
        2'd0: {attr0_q, way0_q, delta0_q} <= {chk_attr, chk_way, chk_delta};
        2'd1: {attr1_q, way1_q, delta1_q} <= {chk_attr, chk_way, chk_delta};
        2'd2: {attr2_q, way2_q, delta2_q} <= {chk_attr, chk_way, chk_delta};
        default: {attr3_q, way3_q, delta3_q} <= {chk_attr, chk_way, chk_delta};
      endcase
    end
    if (queue_pop) begin
      bad_q <= 1'b0;
    end else if (rsp_next && !bad_q) begin
      bad_q <= chk_ven != rnic_pkg::VenNone;
      bad_ven_q <= chk_ven;
    end
  end

  // ---- Verdict ------------------------------------------------------------------------------------------------------
  logic [7:0] syn, ven;

  always_comb begin
    syn = 8'd0;
    ven = rnic_pkg::VenNone;
    if (cur_job_q.flush) begin
      syn = rnic_pkg::SynFlushed;
    end else if (cur_job_q.err != 8'd0) begin
      syn = cur_job_q.err;
      ven = cur_job_q.rkey[7:0];
    end else if (cur_check_q) begin
      ven = bad_q ? bad_ven_q : chk_ven;
      if (ven != rnic_pkg::VenNone) syn = rnic_pkg::SynLocalProt;
    end
  end

  // ---- Cut: piece, packet, message ----------------------------------------------------------------------------------
  logic fits, seg_ends, piece_read, piece_inl;
  logic [12:0] piece;
  logic [31:0] next_left, next_avail, seg_len;
  logic [12:0] next_len;
  logic next_last;
  logic [1:0] next_idx;
  logic [31:0] next_sge_off;
  logic [63:0] seg_addr, seg_delta;
  logic [1:0] seg_attr;
  logic [66:0] seg_way;

  assign fits = {19'b0, cur_rem_q} <= cur_avail_q;
  assign seg_ends = {19'b0, cur_rem_q} >= cur_avail_q;
  assign piece = fits ? cur_rem_q : cur_avail_q[12:0];
  assign piece_inl = cur_job_q.inl && cur_len_q != 13'd0;
  assign piece_read = !cur_job_q.inl && cur_len_q != 13'd0;
  assign next_left = cur_left_q - {19'b0, cur_mtu_q};
  assign next_last = next_left <= {19'b0, cur_mtu_q};
  assign next_len = next_last ? next_left[12:0] : cur_mtu_q;
  assign next_idx = cur_job_q.st.sge_idx + {1'b0, seg_ends};
  assign next_sge_off = seg_ends ? 32'd0 : cur_job_q.st.sge_off + {19'b0, cur_rem_q};
  assign next_avail = cur_job_q.inl ? 32'd64 : seg_ends ? seg_len : cur_avail_q - {19'b0, cur_rem_q};
  always_comb begin
    // the segment behind this one
    unique case (cur_job_q.st.sge_idx)
      2'd0: seg_len = cur_job_q.st.sge1.len;
      2'd1: seg_len = cur_job_q.st.sge2.len;
      default: seg_len = cur_job_q.st.sge3.len;
    endcase
    unique case (cur_job_q.st.sge_idx)
      2'd0: {seg_attr, seg_way, seg_addr, seg_delta} = {attr0_q, way0_q, cur_job_q.st.sge0.addr, delta0_q};
      2'd1: {seg_attr, seg_way, seg_addr, seg_delta} = {attr1_q, way1_q, cur_job_q.st.sge1.addr, delta1_q};
      2'd2: {seg_attr, seg_way, seg_addr, seg_delta} = {attr2_q, way2_q, cur_job_q.st.sge2.addr, delta2_q};
      default: {seg_attr, seg_way, seg_addr, seg_delta} = {attr3_q, way3_q, cur_job_q.st.sge3.addr, delta3_q};
    endcase
  end

  // ---- Operation ----------------------------------------------------------------------------------------------------
  logic imm_op, inval_op, send_op, read_op, atomic_op;
  logic [7:0] bth_op, bth_transport;

  assign imm_op = cur_job_q.st.opcode == roce_pkg::WqeSendImm || cur_job_q.st.opcode == roce_pkg::WqeRdmaWriteImm;
  assign inval_op = cur_job_q.st.opcode == roce_pkg::WqeSendInval;
  assign send_op = cur_job_q.st.opcode == roce_pkg::WqeSend || cur_job_q.st.opcode == roce_pkg::WqeSendImm || inval_op;
  assign read_op = cur_job_q.st.opcode == roce_pkg::WqeRdmaRead;
  assign atomic_op = cur_job_q.st.opcode == roce_pkg::WqeAtomicCs || cur_job_q.st.opcode == roce_pkg::WqeAtomicFa;

  always_comb begin
    unique case ({cur_first_q, cur_last_q})
      2'b10: bth_op = send_op ? roce_pkg::SendFirst : roce_pkg::WriteFirst;
      2'b00: bth_op = send_op ? roce_pkg::SendMiddle : roce_pkg::WriteMiddle;
      2'b01: begin
        if (inval_op) bth_op = roce_pkg::SendLastInval;
        else if (send_op) bth_op = imm_op ? roce_pkg::SendLastImm : roce_pkg::SendLast;
        else bth_op = imm_op ? roce_pkg::WriteLastImm : roce_pkg::WriteLast;
      end
      default: begin
        if (read_op) bth_op = roce_pkg::ReadRequest;
        else if (atomic_op) bth_op = cur_job_q.st.opcode[0] ? roce_pkg::CmpSwap : roce_pkg::FetchAdd;
        else if (inval_op) bth_op = roce_pkg::SendOnlyInval;
        else if (send_op) bth_op = imm_op ? roce_pkg::SendOnlyImm : roce_pkg::SendOnly;
        else bth_op = imm_op ? roce_pkg::WriteOnlyImm : roce_pkg::WriteOnly;
      end
    endcase
    unique case (cur_job_q.qpc.transport)
      rnic_pkg::TransUc: bth_transport = roce_pkg::BthUc;
      rnic_pkg::TransUd: bth_transport = roce_pkg::BthUd;
      default: bth_transport = roce_pkg::BthRc;
    endcase
  end

  // A READ uses as many PSNs as its response has packets: whole ones, and one more for the rest or for nothing at all.
  logic [23:0] psn_whole;
  logic psn_rest;
  always_comb begin
    unique case (cur_job_q.qpc.mtu)
      3'd1: {psn_whole, psn_rest} = {cur_job_q.st.msg_len[31:8], cur_job_q.st.msg_len[7:0] != 8'd0};
      3'd2: {psn_whole, psn_rest} = {1'b0, cur_job_q.st.msg_len[31:9], cur_job_q.st.msg_len[8:0] != 9'd0};
      3'd3: {psn_whole, psn_rest} = {2'b0, cur_job_q.st.msg_len[31:10], cur_job_q.st.msg_len[9:0] != 10'd0};
      3'd4: {psn_whole, psn_rest} = {3'b0, cur_job_q.st.msg_len[31:11], cur_job_q.st.msg_len[10:0] != 11'd0};
      default: {psn_whole, psn_rest} = {4'b0, cur_job_q.st.msg_len[31:12], cur_job_q.st.msg_len[11:0] != 12'd0};
    endcase
    if (!read_op || cur_job_q.st.msg_len == 32'd0) {psn_whole, psn_rest} = 25'd1;
  end

  // ---- Control ----------------------------------------------------------------------------------------------------
  logic desc_valid_q, rd_valid_q, inl_valid_q, dm_valid_q, st_we_q, err_q, turn_q, release_q;
  logic failed, must_mark, outs_free, step, sends, starts, rd_loads, others, rated, more;
  logic cur_stale_q, rd_stale_q;                   // of a turn whose lookups may be out of date
  logic [23:0] next_psn;
  logic [15:0] next_ip_id;
  logic [31:0] next_offset;
  logic [9:0] dm_qpn_q;
  logic [1:0] dm_transport_q;

  assign failed = syn != 8'd0;
  assign must_mark = failed && !cur_job_q.flush && !cur_job_q.noop && !cur_reported_q && cur_wait_q == 2'd0;
  assign outs_free = (!desc_valid_q || desc_ready_i) && (!rd_valid_q || rd_ready_i) && (!inl_valid_q || inl_ready_i);
  assign step = cur_valid_q && (cur_job_q.noop || (outs_free && !must_mark && cur_wait_q == 2'd0));
  assign sends = step && !cur_job_q.noop;          // a piece, an empty packet or a report
  assign starts = sends && !cur_inside_q;          // its description with it
  assign rd_loads = sends && !failed && piece_read;
  // A QP with a rate gets one packet a turn: its rate is looked at between turns.
  assign rated = cur_job_q.qpc.rate_en && !cur_job_q.noop;
  assign others = other_waiting_i || job_valid_i || queue_valid;
  assign cur_done = step && (cur_job_q.noop || failed || (fits && (cur_last_q || others || rated || cur_stale_q)));
  assign more = !cur_job_q.noop && ((!failed && !cur_last_q) || cur_job_q.st.ci != cur_job_q.pi);
  assign next_psn = cur_job_q.st.psn + psn_whole + {23'b0, psn_rest};
  assign next_ip_id = cur_job_q.st.ip_id + {15'b0, !cur_job_q.qpc.ip_id_fixed};
  assign next_offset = cur_job_q.st.offset + {19'b0, cur_len_q};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      cur_valid_q <= 1'b0;
      cur_wait_q <= 2'd0;
      desc_valid_q <= 1'b0;
      rd_valid_q <= 1'b0;
      inl_valid_q <= 1'b0;
      dm_valid_q <= 1'b0;
      st_we_q <= 1'b0;
      err_q <= 1'b0;
      turn_q <= 1'b0;
      release_q <= 1'b0;
    end else begin
      if (cur_ready) cur_valid_q <= queue_pop;
      if (rsp_first) cur_wait_q <= q_job.st.num_sge[1:0] - q_job.st.sge_idx - 2'd1;
      else if (rsp_next) cur_wait_q <= cur_wait_q - 2'd1;
      if (starts) desc_valid_q <= 1'b1;
      else if (desc_ready_i) desc_valid_q <= 1'b0;
      if (rd_loads) rd_valid_q <= 1'b1;
      else if (rd_ready_i) rd_valid_q <= 1'b0;
      if (sends && !failed && piece_inl) inl_valid_q <= 1'b1;
      else if (inl_ready_i) inl_valid_q <= 1'b0;
      if (dm_valid_q) dm_valid_q <= !dm_req_ready_i;
      else dm_valid_q <= cur_valid_q && must_mark;
      st_we_q <= cur_done && !cur_job_q.noop;
      err_q <= sends && failed && !cur_job_q.flush;
      turn_q <= cur_done;
      release_q <= turn_q;
    end
  end

  always_ff @(posedge clk_i) begin
    if (queue_pop) begin
      cur_job_q <= q_job;
      cur_check_q <= q_check;
      cur_mtu_q <= q_mtu;
      cur_left_q <= q_left;
      cur_len_q <= q_len;
      cur_last_q <= q_last;
      cur_first_q <= q_job.st.offset == 32'd0;
      cur_inside_q <= 1'b0;
      cur_rem_q <= q_len;
      cur_avail_q <= q_avail;
    end else if (sends) begin
      // The message goes on in the same turn, or the packet with its next piece.
      cur_job_q.st.sge_idx <= next_idx;
      cur_job_q.st.sge_off <= next_sge_off;
      cur_avail_q <= next_avail;
      cur_inside_q <= !fits;
      if (fits) begin
        cur_job_q.st.psn <= next_psn;
        cur_job_q.st.ip_id <= next_ip_id;
        cur_job_q.st.offset <= next_offset;
        cur_job_q.st.in_msg <= 1'b1;
        cur_left_q <= next_left;
        cur_len_q <= next_len;
        cur_last_q <= next_last;
        cur_first_q <= 1'b0;
        cur_rem_q <= next_len;
      end else begin
        cur_rem_q <= cur_rem_q - cur_avail_q[12:0];
      end
    end
    if (queue_pop) cur_reported_q <= 1'b0;
    else if (dm_valid_q && dm_req_ready_i) cur_reported_q <= 1'b1;
    if (cur_valid_q && must_mark && !dm_valid_q) begin
      dm_qpn_q <= cur_job_q.qpn;
      dm_transport_q <= cur_job_q.qpc.transport;
    end
  end

  // ---- Regions that have changed since the lookup ---------------------------------------------------------------------
  logic [2:0] stale_left_q;                        // jobs in the queue, the first ones, looked up before the last change

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      stale_left_q <= 3'd0;
      cur_stale_q <= 1'b0;
      rd_stale_q <= 1'b0;
    end else begin
      if (recheck_i) stale_left_q <= queue_fill - {2'b0, queue_pop};
      else if (queue_pop && stale_left_q != 3'd0) stale_left_q <= stale_left_q - 3'd1;
      if (queue_pop) cur_stale_q <= recheck_i || stale_left_q != 3'd0;
      else if (cur_done) cur_stale_q <= 1'b0;
      else if (cur_valid_q && recheck_i) cur_stale_q <= 1'b1;
      if (rd_loads) rd_stale_q <= cur_stale_q || recheck_i;
      else if (rd_ready_i) rd_stale_q <= 1'b0;
      else if (rd_valid_q && recheck_i) rd_stale_q <= 1'b1;
    end
  end
  assign stale_o = stale_left_q != 3'd0 || cur_stale_q || rd_stale_q;

  // ---- Description, read request, inline beat -----------------------------------------------------------------------
  rnic_pkg::pkt_desc_t desc_q;
  rnic_pkg::xl_req_t rd_q;
  rnic_pkg::payload_t inl_q;

  always_ff @(posedge clk_i) begin
    if (starts) begin
      desc_q.op.qpn <= cur_job_q.qpn;
      desc_q.op.wqe <= cur_job_q.st.wqe_idx;
      desc_q.op.psn <= cur_job_q.st.psn;
      desc_q.op.last <= cur_last_q || failed;
      desc_q.err <= syn;
      desc_q.signaled <= cur_job_q.st.signaled && !read_op && !atomic_op;
      desc_q.wqe_opcode <= cur_job_q.st.opcode;
      desc_q.cqn <= cur_job_q.qpc.cqn;
      desc_q.msg_len <= cur_job_q.st.msg_len;
      desc_q.bth_opcode <= bth_op | bth_transport;
      desc_q.solicited <= !failed && cur_last_q && cur_job_q.st.solicited && (send_op || imm_op);
      desc_q.ack_req <= !failed && cur_job_q.qpc.transport == rnic_pkg::TransRc &&
                        (cur_last_q || cur_job_q.st.psn[5:0] == 6'd31);
      desc_q.has_deth <= !failed && cur_job_q.qpc.transport == rnic_pkg::TransUd;
      desc_q.has_reth <= !failed && cur_first_q && !send_op && !atomic_op;
      desc_q.has_atomic <= !failed && atomic_op;
      desc_q.has_imm <= !failed && cur_last_q && (imm_op || inval_op);
      desc_q.raddr <= cur_job_q.raddr;
      desc_q.rkey <= cur_job_q.rkey;
      desc_q.swap_add <= cur_job_q.swap_add;
      desc_q.compare <= cur_job_q.compare;
      desc_q.qkey <= cur_job_q.qpc.qkey;
      desc_q.imm <= failed ? {24'b0, ven} : cur_job_q.st.imm;
      desc_q.payload_len <= failed ? 13'd0 : cur_len_q;
      desc_q.inl <= !failed && piece_inl;
      desc_q.ip_id <= cur_job_q.st.ip_id;
      desc_q.mig_req <= cur_job_q.qpc.mig_req;
      desc_q.prio <= cur_job_q.qpc.prio;
      desc_q.port <= cur_job_q.qpc.port;
      desc_q.dest_qpn <= cur_job_q.qpc.dest_qpn;
      desc_q.pkey <= cur_job_q.qpc.pkey;
      desc_q.udp_sport <= cur_job_q.qpc.udp_sport;
      desc_q.tos <= cur_job_q.qpc.tos;
      desc_q.ttl <= cur_job_q.qpc.ttl;
      desc_q.flow_label <= cur_job_q.qpc.flow_label;
      desc_q.ipv6 <= cur_job_q.qpc.ipv6;
      desc_q.vlan_en <= cur_job_q.qpc.vlan_en;
      desc_q.vlan_tci <= cur_job_q.qpc.vlan_tci;
      desc_q.smac <= cur_job_q.qpc.smac;
      desc_q.dmac <= cur_job_q.qpc.dmac;
      desc_q.sgid <= cur_job_q.qpc.sgid;
      desc_q.dgid <= cur_job_q.qpc.dgid;
    end
    if (rd_loads) begin
      {rd_q.paged, rd_q.log_page, rd_q.mtt, rd_q.pages, rd_q.window_en, rd_q.window} <= seg_way;
      rd_q.addr <= seg_addr + seg_delta + {32'b0, cur_job_q.st.sge_off};
      rd_q.len <= piece;
      rd_q.more <= !fits;
      rd_q.attr <= {seg_attr, 1'b0};
      rd_q.op.qpn <= cur_job_q.qpn;
      rd_q.op.wqe <= cur_job_q.st.wqe_idx;
      rd_q.op.psn <= cur_job_q.st.psn;
      rd_q.op.last <= cur_last_q;
    end
    if (sends && !failed && piece_inl) begin : beat
      logic [511:0] data;
      unique case (cur_job_q.st.sge_idx)
        2'd0: data = cur_job_q.inl_data[511:0];
        2'd1: data = cur_job_q.inl_data[1023:512];
        2'd2: data = cur_job_q.inl_data[1535:1024];
        default: data = {160'b0, cur_job_q.inl_data[1887:1536]};
      endcase
      inl_q.last <= fits;
      inl_q.more <= 1'b0;
      inl_q.bytes <= piece[6:0];
      inl_q.status <= rnic_pkg::DmaOk;
      inl_q.data <= data & ({512{1'b1}} >> {7'd64 - piece[6:0], 3'b0});  // zeros behind, as dma_master does
    end
  end

  assign desc_valid_o = desc_valid_q;
  assign desc_o = desc_q;
  assign rd_valid_o = rd_valid_q;
  assign rd_o = rd_q;
  assign inl_valid_o = inl_valid_q;
  assign inl_o = inl_q;

  // ---- End of the turn --------------------------------------------------------------------------------------------
  rnic_pkg::tx_state_t st_q;
  rnic_pkg::turn_end_t turn_end_q, end_q;          // end_q: with the payload's bytes, 0 for none, and its pad
  logic end_sent_q, end_vlan_q, end_ipv6_q, end_deth_q, end_reth_q, end_atomic_q, end_imm_q;
  logic [13:0] end_bytes;

  // MAC header and FCS, IP, UDP, BTH and ICRC
  assign end_bytes = end_q.bytes + 14'd62 + {11'b0, end_vlan_q, 2'b0} + (end_ipv6_q ? 14'd20 : 14'd0) +
                     {10'b0, end_deth_q, 3'b0} + {9'b0, end_reth_q, 4'b0} + (end_atomic_q ? 14'd28 : 14'd0) +
                     {11'b0, end_imm_q, 2'b0};

  always_ff @(posedge clk_i) begin
    if (cur_done) begin
      end_q.qpn <= cur_job_q.qpn;
      end_q.more <= more;
      end_q.bytes <= {1'b0, cur_len_q[12:2] + {10'b0, cur_len_q[1:0] != 2'd0}, 2'b0};
      end_q.prio <= cur_job_q.qpc.prio;
      end_q.weight <= cur_job_q.qpc.weight;
      end_q.rate_en <= cur_job_q.qpc.rate_en;
      end_q.rate_gap <= cur_job_q.qpc.rate_gap;
      end_q.rate_burst <= cur_job_q.qpc.rate_burst;
      end_sent_q <= !cur_job_q.noop && !failed;
      end_vlan_q <= cur_job_q.qpc.vlan_en;
      end_ipv6_q <= cur_job_q.qpc.ipv6;
      end_deth_q <= cur_job_q.qpc.transport == rnic_pkg::TransUd;
      end_reth_q <= cur_first_q && !send_op && !atomic_op;
      end_atomic_q <= atomic_op;
      end_imm_q <= cur_last_q && (imm_op || inval_op);
      if (!cur_job_q.noop) begin
        st_q <= cur_job_q.st;
        if (failed) begin
          st_q.in_msg <= 1'b0;
        end else begin
          st_q.in_msg <= !cur_last_q;
          st_q.psn <= next_psn;
          st_q.ip_id <= next_ip_id;
          st_q.offset <= next_offset;
          st_q.sge_idx <= next_idx;
          st_q.sge_off <= next_sge_off;
        end
      end
    end
    if (turn_q) begin
      turn_end_q <= end_q;
      turn_end_q.bytes <= !end_sent_q ? 14'd0 : end_bytes < 14'd64 ? 14'd64 : end_bytes;
    end
  end

  assign st_we_o = st_we_q;
  assign st_qpn_o = end_q.qpn;
  assign st_o = st_q;
  assign err_o = err_q;
  assign err_qpn_o = end_q.qpn;
  assign release_o = release_q;
  assign turn_end_o = turn_end_q;

  // ---- Context's state to error -----------------------------------------------------------------------------------
  assign dm_req_valid_o = dm_valid_q;
  always_comb begin
    dm_req_o = '0;
    dm_req_o.write = 1'b1;
    dm_req_o.addr = rnic_pkg::QpcBase + {11'b0, dm_qpn_q, 7'b0};
    dm_req_o.strb = 64'd1;
    dm_req_o.data[7:0] = {2'b0, dm_transport_q, rnic_pkg::QpStErr};
  end

  assign idle_o = !queue_valid && !cur_valid_q && !desc_valid_q && !rd_valid_q && !inl_valid_q && !dm_valid_q &&
                  !turn_q && !release_q;

`ifndef SYNTHESIS
  assert property (@(posedge clk_i) disable iff (!rst_ni)
                   desc_valid_o && !desc_ready_i |=> desc_valid_o && $stable(desc_o));
  assert property (@(posedge clk_i) disable iff (!rst_ni) rd_valid_o && !rd_ready_i |=> rd_valid_o && $stable(rd_o));
  assert property (@(posedge clk_i) disable iff (!rst_ni)
                   inl_valid_o && !inl_ready_i |=> inl_valid_o && $stable(inl_q.last) && $stable(inl_q.bytes));
  assert property (@(posedge clk_i) disable iff (!rst_ni)
                   dm_req_valid_o && !dm_req_ready_i |=> dm_req_valid_o && $stable(dm_req_o));
  assert property (@(posedge clk_i) disable iff (!rst_ni) mpt_rsp_valid_i |-> queue_valid || cur_wait_q != 2'd0);
  // The current segment is one of the message's.
  assert property (@(posedge clk_i) disable iff (!rst_ni)
                   job_valid_i && in_check |-> {1'b0, job_i.st.sge_idx} < job_i.st.num_sge);
`endif
endmodule
