// SPDX-License-Identifier: Apache-2.0
// TX segmenter: turns a job into packets of at most one path MTU, checks the memory region, asks dma_master for the
// payload and hands the packet's description to tx_packetizer in the same order.
//
// One packet a turn: after each the QP goes back to the scheduler, unless no other QP waits (other_waiting_i, or a job
// behind this one), so that a long message never holds up the others for more than one packet. A lone QP, and jobs of
// different QPs, run at one packet a cycle.
//
// Description and read request enter their output registers in the same cycle, only when both are free; from there each
// leaves when its taker is ready. Job valid in cycle 0, region answer in cycle 2: both are valid in cycle 4. The
// state is written in cycle 4, too, and the QP released in cycle 5.
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
  // Payload reads, in the same order; none for packets without payload
  output logic rd_valid_o,
  input  logic rd_ready_i,
  output rnic_pkg::rd_req_t rd_o,
  // Transmit state, written at the end of a turn
  output logic st_we_o,
  output logic [9:0] st_qpn_o,
  output rnic_pkg::tx_state_t st_o,
  output logic err_o,                  // QP to error
  output logic [9:0] err_qpn_o,
  // End of the turn
  output logic release_o,
  output logic [9:0] release_qpn_o,
  output logic release_more_o,
  // QP state in the BAR1 context set to error
  output logic dm_req_valid_o,
  input  logic dm_req_ready_i,
  output rnic_pkg::dm_req_t dm_req_o,
  output logic idle_o
);
  localparam int unsigned JobW = 3903;             // tx_job_t
  localparam int unsigned EntryW = JobW + 98;

  // ---- Job in, region looked up -----------------------------------------------------------------------------------
  logic in_payload, in_lookup, in_fire, queue_ready, queue_valid, queue_pop;
  logic [64:0] in_end;
  logic [2:0] queue_fill;
  logic [EntryW-1:0] queue_data;

  assign in_payload = !job_i.noop && !job_i.flush && job_i.err == 8'd0 && job_i.st.msg_len != 32'd0;
  assign in_lookup = in_payload && job_i.st.sge0.lkey[31:24] == 8'd0;
  assign in_end = {1'b0, job_i.st.sge0.addr} + {33'b0, job_i.st.msg_len};
  assign mpt_req_valid_o = job_valid_i && in_lookup && queue_ready;
  assign mpt_req_idx_o = job_i.st.sge0.lkey[23:8];
  assign job_ready_o = queue_ready && (!in_lookup || mpt_req_ready_i);
  assign in_fire = job_valid_i && job_ready_o;

  fifo #(.Width(EntryW), .Depth(4)) u_queue (
    .clk_i, .rst_ni,
    .wr_valid_i(in_fire),
    .wr_ready_o(queue_ready),
    .wr_data_i({in_lookup, in_end > {1'b1, 64'b0}, job_i.st.sge0.addr + {32'b0, job_i.st.offset},
                job_i.st.msg_len - job_i.st.offset, job_i}),
    .rd_valid_o(queue_valid),
    .rd_ready_i(queue_pop),
    .rd_data_o(queue_data),
    .fill_o(queue_fill)
  );

  logic q_lookup, q_wraps;
  logic [63:0] q_pos;                              // virtual address of the packet's first byte
  logic [31:0] q_left;
  rnic_pkg::tx_job_t q_job;

  assign q_lookup = queue_data[JobW+97];
  assign q_wraps = queue_data[JobW+96];
  assign q_pos = queue_data[JobW+32+:64];
  assign q_left = queue_data[JobW+:32];
  assign q_job = queue_data[JobW-1:0];

  // ---- Current job: differences taken, waiting for its packets to leave -------------------------------------------
  logic cur_valid_q;
  rnic_pkg::tx_job_t cur_job_q;
  logic cur_payload_q, cur_bad_key_q, cur_bad_pd_q, cur_outside_q, cur_reported_q;
  logic [63:0] cur_iova_q;
  logic [63:0] cur_into_q;                         // message's first byte from the region's first
  logic [63:0] cur_slack_q;                        // region's length less the message's
  logic [63:0] cur_pos_q;                          // packet's first byte from the region's first
  logic [31:0] cur_left_q;                         // bytes of the message from this packet on
  logic cur_first_q;
  logic cur_done, cur_ready;

  assign cur_ready = !cur_valid_q || cur_done;
  assign queue_pop = queue_valid && cur_ready && (!q_lookup || mpt_rsp_valid_i);
  assign mpt_rsp_ready_o = queue_valid && cur_ready && q_lookup;

  // ---- Verdict and cut --------------------------------------------------------------------------------------------
  logic [7:0] syn, ven;
  logic [12:0] mtu, len;
  logic last, imm_op, send_op;
  logic [7:0] bth_op;

  always_comb begin
    syn = 8'd0;
    ven = rnic_pkg::VenNone;
    if (cur_job_q.flush) begin
      syn = rnic_pkg::SynFlushed;
    end else if (cur_job_q.err != 8'd0) begin
      syn = cur_job_q.err;
      ven = cur_job_q.rkey[7:0];
    end else if (cur_payload_q) begin
      syn = rnic_pkg::SynLocalProt;
      if (cur_bad_key_q) ven = rnic_pkg::VenKey;
      else if (cur_bad_pd_q) ven = rnic_pkg::VenPd;
      else if (cur_outside_q || cur_into_q > cur_slack_q) ven = rnic_pkg::VenBounds;
      else syn = 8'd0;
    end
  end

  always_comb begin
    unique case (cur_job_q.qpc.mtu)
      3'd1: mtu = 13'd256;
      3'd2: mtu = 13'd512;
      3'd3: mtu = 13'd1024;
      3'd4: mtu = 13'd2048;
      default: mtu = 13'd4096;
    endcase
  end

  assign last = cur_left_q <= {19'b0, mtu};
  assign len = last ? cur_left_q[12:0] : mtu;
  assign send_op = cur_job_q.st.opcode == roce_pkg::WqeSend || cur_job_q.st.opcode == roce_pkg::WqeSendImm;
  assign imm_op = cur_job_q.st.opcode == roce_pkg::WqeSendImm || cur_job_q.st.opcode == roce_pkg::WqeRdmaWriteImm;

  always_comb begin
    unique case ({cur_first_q, last})
      2'b10: bth_op = send_op ? roce_pkg::SendFirst : roce_pkg::WriteFirst;
      2'b00: bth_op = send_op ? roce_pkg::SendMiddle : roce_pkg::WriteMiddle;
      2'b01: bth_op = send_op ? (imm_op ? roce_pkg::SendLastImm : roce_pkg::SendLast) :
                                (imm_op ? roce_pkg::WriteLastImm : roce_pkg::WriteLast);
      default: bth_op = send_op ? (imm_op ? roce_pkg::SendOnlyImm : roce_pkg::SendOnly) :
                                  (imm_op ? roce_pkg::WriteOnlyImm : roce_pkg::WriteOnly);
    endcase
  end

  // ---- Control ----------------------------------------------------------------------------------------------------
  logic desc_valid_q, rd_valid_q, dm_valid_q, st_we_q, err_q, turn_q, turn_more_q, release_q, release_more_q;
  logic failed, must_mark, outs_free, step, sends, others, more;
  logic [23:0] next_psn;
  logic [15:0] next_ip_id;
  logic [31:0] next_offset;
  logic [9:0] turn_qpn_q, release_qpn_q;
  rnic_pkg::pkt_desc_t desc_q;
  rnic_pkg::rd_req_t rd_q;
  rnic_pkg::tx_state_t st_q;
  logic [9:0] dm_qpn_q;
  logic [1:0] dm_transport_q;

  assign failed = syn != 8'd0;
  assign must_mark = failed && !cur_job_q.flush && !cur_job_q.noop && !cur_reported_q;
  assign outs_free = (!desc_valid_q || desc_ready_i) && (!rd_valid_q || rd_ready_i);
  assign step = cur_valid_q && (cur_job_q.noop || (outs_free && !must_mark));
  assign sends = step && !cur_job_q.noop;
  assign others = other_waiting_i || job_valid_i || queue_valid;
  assign cur_done = step && (cur_job_q.noop || failed || last || others);
  assign more = !cur_job_q.noop && ((!failed && !last) || cur_job_q.st.ci != cur_job_q.pi);
  assign next_psn = cur_job_q.st.psn + 24'd1;
  assign next_ip_id = cur_job_q.st.ip_id + {15'b0, !cur_job_q.qpc.ip_id_fixed};
  assign next_offset = cur_job_q.st.offset + {19'b0, len};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      cur_valid_q <= 1'b0;
      desc_valid_q <= 1'b0;
      rd_valid_q <= 1'b0;
      dm_valid_q <= 1'b0;
      st_we_q <= 1'b0;
      err_q <= 1'b0;
      turn_q <= 1'b0;
      release_q <= 1'b0;
    end else begin
      if (cur_ready) cur_valid_q <= queue_pop;
      if (sends) desc_valid_q <= 1'b1;
      else if (desc_ready_i) desc_valid_q <= 1'b0;
      if (sends && !failed && len != 13'd0) rd_valid_q <= 1'b1;
      else if (rd_ready_i) rd_valid_q <= 1'b0;
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
      cur_payload_q <= !q_job.noop && !q_job.flush && q_job.err == 8'd0 && q_job.st.msg_len != 32'd0;
      cur_bad_key_q <= !q_lookup || !mpt_rsp_i.valid || mpt_rsp_i.variant != q_job.st.sge0.lkey[7:0];
      cur_bad_pd_q <= mpt_rsp_i.pd != q_job.qpc.pd;
      cur_outside_q <= q_job.st.sge0.addr < mpt_rsp_i.start || {32'b0, q_job.st.msg_len} > mpt_rsp_i.length || q_wraps;
      cur_iova_q <= mpt_rsp_i.iova;
      cur_into_q <= q_job.st.sge0.addr - mpt_rsp_i.start;
      cur_slack_q <= mpt_rsp_i.length - {32'b0, q_job.st.msg_len};
      cur_pos_q <= q_pos - mpt_rsp_i.start;
      cur_left_q <= q_left;
      cur_first_q <= q_job.st.offset == 32'd0;
    end else if (sends) begin
      // The message goes on in the same turn.
      cur_job_q.st.psn <= next_psn;
      cur_job_q.st.ip_id <= next_ip_id;
      cur_job_q.st.offset <= next_offset;
      cur_job_q.st.in_msg <= 1'b1;
      cur_pos_q <= cur_pos_q + {51'b0, mtu};
      cur_left_q <= cur_left_q - {19'b0, mtu};
      cur_first_q <= 1'b0;
    end
    if (queue_pop) cur_reported_q <= 1'b0;
    else if (dm_valid_q && dm_req_ready_i) cur_reported_q <= 1'b1;
    if (cur_valid_q && must_mark && !dm_valid_q) begin
      dm_qpn_q <= cur_job_q.qpn;
      dm_transport_q <= cur_job_q.qpc.transport;
    end
  end

  // ---- Description and read request -------------------------------------------------------------------------------
  always_ff @(posedge clk_i) begin
    if (sends) begin
      desc_q.op.qpn <= cur_job_q.qpn;
      desc_q.op.wqe <= cur_job_q.st.wqe_idx;
      desc_q.op.psn <= cur_job_q.st.psn;
      desc_q.op.last <= last || failed;
      desc_q.err <= syn;
      desc_q.signaled <= cur_job_q.st.signaled;
      desc_q.wqe_opcode <= cur_job_q.st.opcode;
      desc_q.cqn <= cur_job_q.qpc.cqn;
      desc_q.msg_len <= cur_job_q.st.msg_len;
      desc_q.bth_opcode <= bth_op | (cur_job_q.qpc.transport == rnic_pkg::TransUc ? roce_pkg::BthUc : roce_pkg::BthRc);
      desc_q.solicited <= !failed && last && cur_job_q.st.solicited && (send_op || imm_op);
      desc_q.ack_req <= !failed && cur_job_q.qpc.transport == rnic_pkg::TransRc &&
                        (last || cur_job_q.st.psn[5:0] == 6'd31);
      desc_q.has_reth <= !failed && cur_first_q && !send_op;
      desc_q.has_imm <= !failed && last && imm_op;
      desc_q.raddr <= cur_job_q.raddr;
      desc_q.rkey <= cur_job_q.rkey;
      desc_q.imm <= failed ? {24'b0, ven} : cur_job_q.st.imm;
      desc_q.payload_len <= failed ? 13'd0 : len;
      desc_q.ip_id <= cur_job_q.st.ip_id;
      desc_q.mig_req <= cur_job_q.qpc.mig_req;
      desc_q.prio <= cur_job_q.qpc.prio;
      desc_q.port <= cur_job_q.qpc.port;
      desc_q.dest_qpn <= cur_job_q.qpc.dest_qpn;
      desc_q.pkey <= cur_job_q.qpc.pkey;
      desc_q.udp_sport <= cur_job_q.qpc.udp_sport;
      desc_q.tos <= cur_job_q.qpc.tos;
      desc_q.ttl <= cur_job_q.qpc.ttl;
      desc_q.smac <= cur_job_q.qpc.smac;
      desc_q.dmac <= cur_job_q.qpc.dmac;
      desc_q.sgid <= cur_job_q.qpc.sgid;
      desc_q.dgid <= cur_job_q.qpc.dgid;
    end
    if (sends && !failed && len != 13'd0) begin
      rd_q.addr <= cur_iova_q + cur_pos_q;
      rd_q.len <= len;
      rd_q.more <= 1'b0;
      rd_q.op.qpn <= cur_job_q.qpn;
      rd_q.op.wqe <= cur_job_q.st.wqe_idx;
      rd_q.op.psn <= cur_job_q.st.psn;
      rd_q.op.last <= last;
    end
  end

  assign desc_valid_o = desc_valid_q;
  assign desc_o = desc_q;
  assign rd_valid_o = rd_valid_q;
  assign rd_o = rd_q;

  // ---- End of the turn --------------------------------------------------------------------------------------------
  always_ff @(posedge clk_i) begin
    if (cur_done) begin
      turn_qpn_q <= cur_job_q.qpn;
      turn_more_q <= more;
      if (!cur_job_q.noop) begin
        st_q <= cur_job_q.st;
        if (failed) begin
          st_q.in_msg <= 1'b0;
        end else begin
          st_q.in_msg <= !last;
          st_q.psn <= next_psn;
          st_q.ip_id <= next_ip_id;
          st_q.offset <= next_offset;
        end
      end
    end
    if (turn_q) begin
      release_qpn_q <= turn_qpn_q;
      release_more_q <= turn_more_q;
    end
  end

  assign st_we_o = st_we_q;
  assign st_qpn_o = turn_qpn_q;
  assign st_o = st_q;
  assign err_o = err_q;
  assign err_qpn_o = turn_qpn_q;
  assign release_o = release_q;
  assign release_qpn_o = release_qpn_q;
  assign release_more_o = release_more_q;

  // ---- Context's state to error -----------------------------------------------------------------------------------
  assign dm_req_valid_o = dm_valid_q;
  always_comb begin
    dm_req_o = '0;
    dm_req_o.write = 1'b1;
    dm_req_o.addr = rnic_pkg::QpcBase + {11'b0, dm_qpn_q, 7'b0};
    dm_req_o.strb = 64'd1;
    dm_req_o.data[7:0] = {2'b0, dm_transport_q, rnic_pkg::QpStErr};
  end

  assign idle_o = !queue_valid && !cur_valid_q && !desc_valid_q && !rd_valid_q && !dm_valid_q && !turn_q && !release_q;

`ifndef SYNTHESIS
  assert property (@(posedge clk_i) disable iff (!rst_ni)
                   desc_valid_o && !desc_ready_i |=> desc_valid_o && $stable(desc_o));
  assert property (@(posedge clk_i) disable iff (!rst_ni) rd_valid_o && !rd_ready_i |=> rd_valid_o && $stable(rd_o));
  assert property (@(posedge clk_i) disable iff (!rst_ni)
                   dm_req_valid_o && !dm_req_ready_i |=> dm_req_valid_o && $stable(dm_req_o));
  assert property (@(posedge clk_i) disable iff (!rst_ni) mpt_rsp_valid_i |-> queue_valid);
`endif
endmodule
