// SPDX-License-Identifier: Apache-2.0
// WQE fetch engine: for each granted QP finds the context, the transmit state and the next WQE (from the BlueFlame
// buffer or the ring in device memory), decodes and checks it, and emits one job. In order; up to Depth jobs wait for
// their WQE at the same time.
//
// Emits a job for every grant, without exception: noop when there is nothing to send, so that the QP is released.
//
// A job with a new WQE has st.ci already past that WQE and st.wqe_idx at it. With err set, rkey[7:0] is the vendor
// syndrome. A QP in error gets one flush job for the message in progress or else for the WQE at ci.
//
// Four steps: strobes and context request with the grant; decision when state and context are there; WQE request one
// cycle later, when the BlueFlame buffer has answered; decoding into the output register. An unstalled grant accepted
// at edge n, with a context that takes two cycles, shows its dm_req after edge n+2; a WQE arriving at edge m shows as
// job after edge m+1. Throughput: one a cycle. Backpressure: a full stage holds the ones before it, grants last.
module wqe_fetch_engine #(
  parameter int unsigned Depth = 32
) (
  input  logic clk_i,
  input  logic rst_ni,
  // Grants
  input  logic grant_valid_i,
  output logic grant_ready_o,
  input  logic [9:0] grant_qpn_i,
  // Producer index and BlueFlame buffer in doorbell_intake
  output logic pi_re_o,
  output logic [9:0] pi_qpn_o,
  input  logic pi_valid_i,             // beside pi_i: 0 = no doorbell since the context was set up
  input  logic [15:0] pi_i,
  output logic bf_re_o,
  output logic [9:0] bf_qpn_o,
  output logic [15:0] bf_wqe_o,
  input  logic bf_hit_i,
  input  logic bf_miss_pushed_i,
  input  logic [1023:0] bf_data_i,
  // Transmit state
  output logic st_re_o,
  output logic [9:0] st_qpn_o,
  input  logic st_valid_i,
  input  logic st_err_i,
  input  rnic_pkg::tx_state_t st_i,
  // QP context cache
  output logic qpc_req_valid_o,
  input  logic qpc_req_ready_i,
  output logic [9:0] qpc_req_idx_o,
  input  logic qpc_rsp_valid_i,
  output logic qpc_rsp_ready_o,
  input  rnic_pkg::qpc_t qpc_rsp_i,
  // WQE reads in device memory; room for the answers is reserved before asking
  output logic dm_req_valid_o,
  input  logic dm_req_ready_i,
  output rnic_pkg::dm_req_t dm_req_o,
  input  logic dm_rsp_valid_i,
  input  rnic_pkg::dm_rsp_t dm_rsp_i,
  // Jobs
  output logic job_valid_o,
  input  logic job_ready_i,
  output rnic_pkg::tx_job_t job_o,
  // Doorbell for a QP that cannot send (never set up, not in RTS)
  output logic evt_valid_o,
  input  logic evt_ready_i,
  output rnic_pkg::event_t evt_o,
  // Observation
  output logic stat_db_invalid_o,
  output logic stat_bf_hit_o,
  output logic stat_bf_fallback_o,
  output logic stat_wqe_fetch_o,
  output logic probe_wqe_o,
  output rnic_pkg::op_t probe_wqe_op_o,
  output logic idle_o
);
  localparam int unsigned JobW = 3903;             // tx_job_t
  localparam int unsigned StW = 730;               // tx_state_t
  localparam int unsigned GrantedDepth = 8;        // grants waiting for their context
  localparam int unsigned GrantedW = 29 + StW;
  localparam int unsigned PendingW = 18 + JobW;
  localparam int unsigned WqeW = 384;              // the part of a WQE that is looked at: three segments

  // ---- Grant: strobes ---------------------------------------------------------------------------------------------
  logic granted_valid, granted_pop, granted_room;
  logic [GrantedW-1:0] granted_data;
  logic [$clog2(GrantedDepth):0] granted_fill;
  logic strobed_q;                                 // state and producer index are on their ports
  logic [9:0] strobed_qpn_q;
  logic grant_room, grant_fire;

  assign grant_room = granted_fill + {3'b0, strobed_q} < 4'd8;
  assign qpc_req_valid_o = grant_valid_i && grant_room;
  assign qpc_req_idx_o = grant_qpn_i;
  assign grant_ready_o = qpc_req_ready_i && grant_room;
  assign grant_fire = grant_valid_i && grant_ready_o;
  assign pi_re_o = grant_fire;
  assign pi_qpn_o = grant_qpn_i;
  assign st_re_o = grant_fire;
  assign st_qpn_o = grant_qpn_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) strobed_q <= 1'b0;
    else strobed_q <= grant_fire;
  end

  always_ff @(posedge clk_i) begin
    if (grant_fire) strobed_qpn_q <= grant_qpn_i;
  end

  fifo #(.Width(GrantedW), .Depth(GrantedDepth)) u_granted (
    .clk_i, .rst_ni,
    .wr_valid_i(strobed_q),
    .wr_ready_o(granted_room),
    .wr_data_i({strobed_qpn_q, pi_valid_i, pi_i, st_valid_i, st_err_i, st_i}),
    .rd_valid_o(granted_valid),
    .rd_ready_i(granted_pop),
    .rd_data_o(granted_data),
    .fill_o(granted_fill)
  );

  // ---- Decision: what this turn is --------------------------------------------------------------------------------
  logic [9:0] g_qpn;
  logic g_pi_valid, g_st_valid, g_err;
  logic [15:0] g_pi;
  rnic_pkg::tx_state_t g_st;

  assign g_qpn = granted_data[GrantedW-1-:10];
  assign g_pi_valid = granted_data[StW+18];
  assign g_pi = granted_data[StW+2+:16];
  assign g_st_valid = granted_data[StW+1];
  assign g_err = granted_data[StW];
  assign g_st = granted_data[StW-1:0];

  logic [15:0] ci, rem, ring;
  logic [22:0] block;                              // block number in device memory, with carry
  logic ready_to_send, supported, invalid, in_err, in_msg, noop, fresh, outside, overrun, bad_mtu, fetch;
  logic decide, want_ready;

  assign ci = g_st_valid ? g_st.ci : qpc_rsp_i.sq_ci;
  assign rem = g_pi - ci;
  assign ring = 16'd1 << qpc_rsp_i.log_sq_size;
  assign block = {1'b0, qpc_rsp_i.sq_base[27:6]} + {7'b0, ci & (ring - 16'd1)};
  assign ready_to_send = qpc_rsp_i.state == rnic_pkg::QpStRts || qpc_rsp_i.state == rnic_pkg::QpStErr;
  assign supported = !qpc_rsp_i.transport[1] && !qpc_rsp_i.ipv6 && !qpc_rsp_i.vlan_en &&
                     qpc_rsp_i.sq_where == rnic_pkg::SqInDevice;
  assign invalid = !ready_to_send || !supported;
  assign in_err = g_err || qpc_rsp_i.state == rnic_pkg::QpStErr;
  assign in_msg = g_st_valid && g_st.in_msg;
  assign noop = invalid || (!in_msg && (!g_pi_valid || rem == '0));
  assign fresh = !noop && !in_msg;
  assign outside = qpc_rsp_i.sq_base[63:28] != '0 || qpc_rsp_i.sq_base[5:0] != '0 || block[22];
  assign overrun = rem > ring;
  assign fetch = fresh && !outside && !overrun;
  assign bad_mtu = qpc_rsp_i.mtu == 3'd0 || qpc_rsp_i.mtu > 3'd5;

  logic evt_valid_q;
  logic [9:0] evt_qpn_q;
  logic evt_unsupported_q;

  assign qpc_rsp_ready_o = granted_valid && want_ready && (!invalid || !evt_valid_q || evt_ready_i);
  assign decide = qpc_rsp_valid_i && qpc_rsp_ready_o;
  assign granted_pop = decide;
  assign bf_re_o = decide && fetch;
  assign bf_qpn_o = g_qpn;
  assign bf_wqe_o = ci;
  assign stat_db_invalid_o = decide && invalid;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) evt_valid_q <= 1'b0;
    else if (decide && invalid) evt_valid_q <= 1'b1;
    else if (evt_ready_i) evt_valid_q <= 1'b0;
  end

  always_ff @(posedge clk_i) begin
    if (decide && invalid) begin
      evt_qpn_q <= g_qpn;
      evt_unsupported_q <= ready_to_send;
    end
  end

  assign evt_valid_o = evt_valid_q;
  always_comb begin
    evt_o = '0;
    evt_o.kind = rnic_pkg::EvtDbInvalid;
    evt_o.index = {14'b0, evt_qpn_q};
    evt_o.syndrome = evt_unsupported_q ? rnic_pkg::SynLocalQpOp : 8'd0;
    evt_o.vendor = evt_unsupported_q ? rnic_pkg::VenOpcode : rnic_pkg::VenNone;
  end

  // ---- WQE request: BlueFlame buffer's answer, or a read of the ring ----------------------------------------------
  logic want_valid_q, want_fetch_q, want_first_q, want_hit_q;
  logic [21:0] want_block_q;
  logic [15:0] want_rem_q;
  logic [WqeW-1:0] want_bf_q;                      // BlueFlame's answer is on its port for one cycle only
  rnic_pkg::tx_job_t want_job_q;
  logic want_hit, want_read, want_fire, pending_ready;

  assign want_hit = want_fetch_q && (want_first_q ? bf_hit_i : want_hit_q);
  assign want_read = want_fetch_q && !want_hit;
  assign want_fire = want_valid_q && pending_ready && (!want_read || dm_req_ready_i);
  assign want_ready = !want_valid_q || want_fire;
  assign dm_req_valid_o = want_valid_q && want_read && pending_ready;
  assign stat_bf_hit_o = want_first_q && want_fetch_q && bf_hit_i;
  assign stat_bf_fallback_o = want_first_q && want_fetch_q && bf_miss_pushed_i;
  assign stat_wqe_fetch_o = dm_req_valid_o && dm_req_ready_i;

  always_comb begin
    dm_req_o = '0;
    dm_req_o.addr = {want_block_q, 6'b0};
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      want_valid_q <= 1'b0;
      want_first_q <= 1'b0;
    end else begin
      if (want_ready) want_valid_q <= decide;
      want_first_q <= decide;
    end
  end

  always_ff @(posedge clk_i) begin
    if (want_first_q) begin
      want_hit_q <= bf_hit_i;
      want_bf_q <= bf_data_i[WqeW-1:0];
    end
    if (decide) begin
      want_fetch_q <= fetch;
      want_block_q <= block[21:0];
      want_rem_q <= rem;
      want_job_q.qpn <= g_qpn;
      want_job_q.noop <= noop;
      want_job_q.pi <= (noop || !g_pi_valid) ? ci : g_pi;
      want_job_q.flush <= !noop && in_err;
      want_job_q.err <= 8'd0;
      want_job_q.raddr <= '0;
      want_job_q.rkey <= '0;
      want_job_q.qpc <= qpc_rsp_i;
      if (in_msg) begin
        want_job_q.st <= g_st;
        if (!noop && !in_err && bad_mtu) begin
          want_job_q.err <= rnic_pkg::SynLocalQpOp;
          want_job_q.rkey <= {24'b0, rnic_pkg::VenLength};
        end
      end else begin
        want_job_q.st <= '0;
        want_job_q.st.ci <= ci;
        want_job_q.st.psn <= g_st_valid ? g_st.psn : qpc_rsp_i.sq_psn;
        want_job_q.st.ip_id <= g_st_valid ? g_st.ip_id : qpc_rsp_i.ip_id;
        want_job_q.st.wqe_idx <= ci;
        if (fresh && !fetch) begin
          // The ring can't be read: one report stands for everything up to the producer index.
          want_job_q.st.ci <= g_pi;
          if (!in_err) begin
            want_job_q.err <= rnic_pkg::SynLocalQpOp;
            want_job_q.rkey <= {24'b0, outside ? rnic_pkg::VenBounds : rnic_pkg::VenWqeSize};
          end
        end
      end
    end
  end

  // ---- Waiting for the WQE ----------------------------------------------------------------------------------------
  // Every read has its place in u_pending, and u_read and u_pushed are as deep, so there is always room for answers.
  logic pending_valid, read_valid, pushed_valid, emit;
  logic read_room, pushed_room;
  logic [$clog2(Depth):0] pending_fill, read_fill, pushed_fill;
  logic [PendingW-1:0] pending_data;
  logic [WqeW-1:0] read_data, pushed_data;
  logic p_new, p_pushed;
  logic [15:0] p_rem;
  rnic_pkg::tx_job_t p_job;

  assign p_new = pending_data[JobW+17];
  assign p_pushed = pending_data[JobW+16];
  assign p_rem = pending_data[JobW+:16];
  assign p_job = pending_data[JobW-1:0];

  fifo #(.Width(PendingW), .Depth(Depth)) u_pending (
    .clk_i, .rst_ni,
    .wr_valid_i(want_fire),
    .wr_ready_o(pending_ready),
    .wr_data_i({want_fetch_q, want_hit, want_rem_q, want_job_q}),
    .rd_valid_o(pending_valid),
    .rd_ready_i(emit),
    .rd_data_o(pending_data),
    .fill_o(pending_fill)
  );

  fifo #(.Width(WqeW), .Depth(Depth)) u_pushed (
    .clk_i, .rst_ni,
    .wr_valid_i(want_fire && want_hit),
    .wr_ready_o(pushed_room),
    .wr_data_i(want_first_q ? bf_data_i[WqeW-1:0] : want_bf_q),
    .rd_valid_o(pushed_valid),
    .rd_ready_i(emit && p_pushed),
    .rd_data_o(pushed_data),
    .fill_o(pushed_fill)
  );

  fifo #(.Width(WqeW), .Depth(Depth)) u_read (
    .clk_i, .rst_ni,
    .wr_valid_i(dm_rsp_valid_i),
    .wr_ready_o(read_room),
    .wr_data_i(dm_rsp_i.data[WqeW-1:0]),
    .rd_valid_o(read_valid),
    .rd_ready_i(emit && p_new && !p_pushed),
    .rd_data_o(read_data),
    .fill_o(read_fill)
  );

  // ---- Decoding ---------------------------------------------------------------------------------------------------
  function automatic logic [31:0] be32(input logic [31:0] bytes);
    be32 = {bytes[7:0], bytes[15:8], bytes[23:16], bytes[31:24]};
  endfunction

  logic [WqeW-1:0] w;
  logic [31:0] w_dw0, w_dw1, byte_count;
  logic [127:0] data_seg;
  logic [7:0] w_opcode, w_ds;
  logic [6:0] w_blocks;
  logic w_write, w_send, w_has_data, w_bad_ds, w_bad_mtu, w_unsized;
  logic [7:0] w_err, w_vendor;

  assign w = p_pushed ? pushed_data : read_data;
  assign w_dw0 = be32(w[31:0]);
  assign w_dw1 = be32(w[63:32]);
  assign w_opcode = w_dw0[7:0];
  assign w_ds = w_dw1[7:0];
  assign w_blocks = {1'b0, w_ds[7:2]} + {6'b0, w_ds[1:0] != 2'b0};
  assign w_unsized = w_ds == '0 || {9'b0, w_blocks} > p_rem;
  assign w_write = w_opcode == roce_pkg::WqeRdmaWrite || w_opcode == roce_pkg::WqeRdmaWriteImm;
  assign w_send = w_opcode == roce_pkg::WqeSend || w_opcode == roce_pkg::WqeSendImm;
  assign w_has_data = w_ds == (w_write ? 8'd3 : 8'd2);
  assign w_bad_ds = !w_has_data && w_ds != (w_write ? 8'd2 : 8'd1);
  assign data_seg = w_write ? w[383:256] : w[255:128];
  assign byte_count = be32(data_seg[31:0]);
  assign w_bad_mtu = p_job.qpc.mtu == 3'd0 || p_job.qpc.mtu > 3'd5;

  always_comb begin
    w_err = rnic_pkg::SynLocalQpOp;
    w_vendor = rnic_pkg::VenNone;
    if (w_unsized) begin
      w_vendor = rnic_pkg::VenWqeSize;
    end else if (w_dw1[31:8] != {14'b0, p_job.qpn} || w_dw0[23:8] != p_job.st.wqe_idx) begin
      w_vendor = rnic_pkg::VenWqeQpn;
    end else if (!w_write && !w_send) begin
      w_vendor = rnic_pkg::VenOpcode;
    end else if (w_bad_ds) begin
      w_vendor = rnic_pkg::VenWqeSize;
    end else if (w_has_data && byte_count[31]) begin
      w_err = rnic_pkg::SynLocalLength;
      w_vendor = rnic_pkg::VenLength;
    end else if (w_bad_mtu) begin
      w_vendor = rnic_pkg::VenLength;
    end else begin
      w_err = 8'd0;
    end
  end

  // ---- Job --------------------------------------------------------------------------------------------------------
  logic job_valid_q, job_decoded_q;
  rnic_pkg::tx_job_t job_q;

  assign emit = pending_valid && (!p_new || (p_pushed ? pushed_valid : read_valid)) && (!job_valid_q || job_ready_i);
  assign job_valid_o = job_valid_q;
  assign job_o = job_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) job_valid_q <= 1'b0;
    else if (emit) job_valid_q <= 1'b1;
    else if (job_ready_i) job_valid_q <= 1'b0;
  end

  always_ff @(posedge clk_i) begin
    if (emit) begin
      job_q <= p_job;
      job_decoded_q <= p_new && !p_job.flush && w_err == 8'd0;
      if (p_new) begin
        job_q.st.ci <= w_unsized ? p_job.pi : p_job.st.ci + {9'b0, w_blocks};
        job_q.st.wqebbs <= w_blocks[1:0] - 2'd1;
        job_q.st.opcode <= w_opcode;
        job_q.st.signaled <= w[91];                // byte 11: 0x08
        job_q.st.solicited <= w[89];               //          0x02
        job_q.st.imm <= be32(w[127:96]);
        job_q.st.msg_len <= !w_has_data ? 32'd0 : byte_count == 32'd0 ? 32'h8000_0000 : byte_count;
        job_q.st.sge0.lkey <= be32(data_seg[63:32]);
        job_q.st.sge0.addr <= {be32(data_seg[95:64]), be32(data_seg[127:96])};
        job_q.raddr <= {be32(w[159:128]), be32(w[191:160])};
        job_q.rkey <= be32(w[223:192]);
        if (p_job.flush) begin
          job_q.rkey <= '0;
        end else if (w_err != 8'd0) begin
          job_q.err <= w_err;
          job_q.rkey <= {24'b0, w_vendor};
        end
      end
    end
  end

  assign probe_wqe_o = job_valid_q && job_ready_i && job_decoded_q;
  always_comb begin
    probe_wqe_op_o = '0;
    probe_wqe_op_o.qpn = job_q.qpn;
    probe_wqe_op_o.wqe = job_q.st.wqe_idx;
    probe_wqe_op_o.psn = job_q.st.psn;
  end

  assign idle_o = !strobed_q && !granted_valid && !evt_valid_q && !want_valid_q && !pending_valid && !job_valid_q;

`ifndef SYNTHESIS
  // job_o is loaded by emit alone. ($stable of a signal this wide does not get through Verilator 5.006.)
  assert property (@(posedge clk_i) disable iff (!rst_ni) job_valid_o && !job_ready_i |-> !emit);
  assert property (@(posedge clk_i) disable iff (!rst_ni) job_valid_o && !job_ready_i |=> job_valid_o);
  assert property (@(posedge clk_i) disable iff (!rst_ni)
                   dm_req_valid_o && !dm_req_ready_i |=> dm_req_valid_o && $stable(dm_req_o));
  assert property (@(posedge clk_i) disable iff (!rst_ni)
                   evt_valid_o && !evt_ready_i |=> evt_valid_o && $stable(evt_o));
  assert property (@(posedge clk_i) disable iff (!rst_ni) dm_rsp_valid_i |-> read_room);
  assert property (@(posedge clk_i) disable iff (!rst_ni) strobed_q |-> granted_room);
  assert property (@(posedge clk_i) disable iff (!rst_ni) want_fire && want_hit |-> pushed_room);
  assert property (@(posedge clk_i) disable iff (!rst_ni) qpc_rsp_valid_i |-> granted_valid || strobed_q);
`endif
endmodule
