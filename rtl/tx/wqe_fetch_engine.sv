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
// A WQE has 1..4 blocks of 64 B. Two are read at once when the producer index says that there are two; the third and
// fourth, which only inline data needs, follow in a second read when the first block says so. At the end of the ring
// a read of two is two reads of one.
//
// Four steps: strobes and context request with the grant; decision when state and context are there; WQE request one
// cycle later, when the BlueFlame buffer has answered; decoding into the output register. An unstalled grant accepted
// at edge n, with a context that takes two cycles, shows its dm_req after edge n+2; a WQE's last block arriving at
// edge m shows as job after edge m+1. Throughput: one a cycle, when as many blocks arrive. Backpressure: a full stage
// holds the ones before it, grants last.
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
  // WQEs in host memory: lookups in sq_prefetch, answered in order
  output logic pf_req_valid_o,
  input  logic pf_req_ready_i,
  output logic [9:0] pf_req_qpn_o,
  output logic [15:0] pf_req_idx_o,
  output logic [15:0] pf_req_pi_o,
  output logic [63:0] pf_req_base_o,
  output logic [3:0] pf_req_log_size_o,
  input  logic pf_rsp_valid_i,
  output logic pf_rsp_ready_o,
  input  logic pf_rsp_hit_i,           // else the QP's turn ends, and it is rung when the WQE is there
  input  logic [2:0] pf_rsp_status_i,  // with a hit; not DmaOk: the WQE can't be read
  input  logic [2047:0] pf_rsp_data_i,
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
  localparam int unsigned StW = 730;               // tx_state_t
  localparam int unsigned QpcW = 1024;             // qpc_t
  localparam int unsigned GrantedDepth = 32;       // grants waiting for their context
  localparam int unsigned GrantedW = 29 + StW;
  localparam int unsigned PendingW = 56 + StW + QpcW;
  localparam int unsigned FormW = 44;              // what form_of() says of a WQE

  // ---- Grant: strobes ---------------------------------------------------------------------------------------------
  logic granted_valid, granted_pop, granted_room;
  logic [GrantedW-1:0] granted_data;
  logic [$clog2(GrantedDepth):0] granted_fill;
  logic strobed_q;                                 // state and producer index are on their ports
  logic [9:0] strobed_qpn_q;
  logic grant_room, grant_fire;

  assign grant_room = granted_fill + {5'b0, strobed_q} < 6'd32;
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

  // Last slot of a ring of 2^log blocks.
  function automatic logic [15:0] ring_mask(input logic [3:0] log);
    ring_mask = '0;
    for (int unsigned i = 0; i < 15; i++) ring_mask[i] = log > i[3:0];
  endfunction

  logic [15:0] ci, rem, behind, mask, slot;       // behind: blocks posted behind the one at ci
  logic [21:0] block;                              // in device memory
  logic [22:0] ring_end;                           // its last block's number in device memory
  logic ready_to_send, supported, in_host, invalid, in_err, in_msg, noop, fresh, outside, overrun, bad_mtu, fetch;
  logic decide, want_ready;

  assign ci = g_st_valid ? g_st.ci : qpc_rsp_i.sq_ci;
  assign rem = g_pi - ci;
  assign behind = g_pi + ~ci;
  assign mask = ring_mask(qpc_rsp_i.log_sq_size);
  assign slot = ci & mask;
  assign block = qpc_rsp_i.sq_base[27:6] + {6'b0, slot};
  assign ring_end = {1'b0, qpc_rsp_i.sq_base[27:6]} + {7'b0, mask};
  assign ready_to_send = qpc_rsp_i.state == rnic_pkg::QpStRts || qpc_rsp_i.state == rnic_pkg::QpStErr;
  assign in_host = qpc_rsp_i.sq_where == rnic_pkg::SqInHost;
  assign supported = qpc_rsp_i.transport != 2'd3 && (in_host || qpc_rsp_i.sq_where == rnic_pkg::SqInDevice);
  assign invalid = !ready_to_send || !supported;
  assign in_err = g_err || qpc_rsp_i.state == rnic_pkg::QpStErr;
  assign in_msg = g_st_valid && g_st.in_msg;
  assign noop = invalid || (!in_msg && (!g_pi_valid || rem == '0));
  assign fresh = !noop && !in_msg;
  assign outside = qpc_rsp_i.sq_base[5:0] != '0 || (!in_host && (qpc_rsp_i.sq_base[63:28] != '0 || ring_end[22]));
  assign overrun = (behind & ~mask) != '0;         // more posted than the ring has
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

  // ---- WQE request: BlueFlame buffer's answer, or a read of the ring, or a lookup of what is prefetched -------------
  logic want_valid_q, want_fetch_q, want_first_q, want_hit_q, want_host_q;
  logic want_two_q, want_wrap_q, want_rest_q;      // two blocks; the first is the ring's last; the first is asked for
  logic [21:0] want_block_q, want_base_q;
  logic [15:0] want_rem_q;
  logic [1023:0] want_bf_q;                        // BlueFlame's answer is on its port for one cycle only
  logic [9:0] want_qpn_q;
  logic want_noop_q, want_flush_q;
  logic [7:0] want_vendor_q;
  logic [15:0] want_pi_q;
  rnic_pkg::tx_state_t want_st_q;
  rnic_pkg::qpc_t want_qpc_q;
  logic want_hit, want_host, want_split, want_ask, want_go, want_fire, pending_ready;
  logic ask_go, host_form;
  logic late_ask, late_go, late_split_q, late_two_q, late_rest_q, stall_q;
  logic [21:0] late_block_q, late_base_q;

  assign want_hit = want_fetch_q && (want_first_q ? bf_hit_i : want_hit_q);
  assign want_split = want_two_q && want_wrap_q;
  assign want_host = want_fetch_q && !want_hit && want_host_q;
  assign want_ask = want_valid_q && want_fetch_q && !want_hit && !want_host_q && pending_ready && !late_ask;
  assign want_go = want_ask && dm_req_ready_i;
  assign want_fire = want_valid_q &&
                     (want_host ? pending_ready && pf_req_ready_i :
                      want_fetch_q && !want_hit ? want_go && (!want_split || want_rest_q) : pending_ready);
  assign want_ready = !want_valid_q || want_fire;
  assign late_go = late_ask && dm_req_ready_i;
  assign dm_req_valid_o = want_ask || late_ask;
  assign stat_bf_hit_o = want_first_q && want_fetch_q && bf_hit_i;
  assign stat_bf_fallback_o = want_first_q && want_fetch_q && bf_miss_pushed_i;
  assign ask_go = dm_req_valid_o && dm_req_ready_i;
  // A WQE that takes several reads counts with its first.
  assign stat_wqe_fetch_o = (want_go && !want_rest_q) || (host_form && pf_rsp_hit_i);

  assign pf_req_valid_o = want_valid_q && want_host && pending_ready;
  assign pf_req_qpn_o = want_qpn_q;
  assign pf_req_idx_o = want_st_q.ci;
  assign pf_req_pi_o = want_pi_q;
  assign pf_req_base_o = want_qpc_q.sq_base;
  assign pf_req_log_size_o = want_qpc_q.log_sq_size;

  always_comb begin
    dm_req_o = '0;
    dm_req_o.two = late_ask ? late_two_q && !late_split_q : want_two_q && !want_wrap_q;
    dm_req_o.addr = {late_ask ? (late_rest_q ? late_base_q : late_block_q) : (want_rest_q ? want_base_q : want_block_q),
                     6'b0};
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      want_valid_q <= 1'b0;
      want_first_q <= 1'b0;
      want_rest_q <= 1'b0;
      stall_q <= 1'b0;
    end else begin
      if (want_ready) want_valid_q <= decide;
      want_first_q <= decide;
      if (want_go) want_rest_q <= want_split && !want_rest_q;
      stall_q <= dm_req_valid_o && !dm_req_ready_i && !late_ask;
    end
  end

  always_ff @(posedge clk_i) begin
    if (want_first_q) begin
      want_hit_q <= bf_hit_i;
      want_bf_q <= bf_data_i;
    end
    if (decide) begin
      want_fetch_q <= fetch;
      want_host_q <= in_host;
      want_two_q <= rem != 16'd1;
      want_wrap_q <= slot == mask;
      want_base_q <= qpc_rsp_i.sq_base[27:6];
      want_block_q <= block;
      want_rem_q <= rem;
      want_qpn_q <= g_qpn;
      want_noop_q <= noop;
      want_pi_q <= (noop || !g_pi_valid) ? ci : g_pi;
      want_flush_q <= !noop && in_err;
      want_vendor_q <= rnic_pkg::VenNone;
      want_qpc_q <= qpc_rsp_i;
      if (in_msg) begin
        want_st_q <= g_st;
        if (!noop && !in_err && bad_mtu) want_vendor_q <= rnic_pkg::VenLength;
      end else begin
        want_st_q <= '0;
        want_st_q.ci <= ci;
        want_st_q.psn <= g_st_valid ? g_st.psn : qpc_rsp_i.sq_psn;
        want_st_q.ip_id <= g_st_valid ? g_st.ip_id : qpc_rsp_i.ip_id;
        want_st_q.wqe_idx <= ci;
        if (fresh && !fetch) begin
          // The ring can't be read: one report stands for everything up to the producer index.
          want_st_q.ci <= g_pi;
          if (!in_err) want_vendor_q <= outside ? rnic_pkg::VenBounds : rnic_pkg::VenWqeSize;
        end
      end
    end
  end

  // ---- Answers ----------------------------------------------------------------------------------------------------
  // Where each block belongs, in the order of the requests: which half of a pair of blocks, and whether the pair is
  // the first one of its WQE (read) or the second one (late). A block of half 1 follows the one of half 0, directly or
  // with the next request; blocks of late pairs may come between them.
  // The oldest one stands in a register, for the depth of the logic behind it. There is always room: at most Depth
  // WQEs wait, and each has two requests open at most.
  logic order_valid_q, order_late_q, order_half_q, order_ud_q;
  logic order_valid, order_room, order_pop, order_load, order_skip;
  logic [2:0] order_new, order_data;
  logic [$clog2(Depth)+1:0] order_fill;
  logic beat_q;                                    // the block at the port is a read's second
  logic got_half, got_read, got_late;

  assign order_new = {late_ask, late_ask ? late_rest_q : want_rest_q, want_qpc_q.transport == rnic_pkg::TransUd};
  assign order_pop = dm_rsp_valid_i && dm_rsp_i.last;
  assign order_load = !order_valid_q || order_pop;
  assign order_skip = order_load && !order_valid;  // past the FIFO

  fifo #(.Width(3), .Depth(2 * Depth)) u_order (
    .clk_i, .rst_ni,
    .wr_valid_i(ask_go && !order_skip),
    .wr_ready_o(order_room),
    .wr_data_i(order_new),
    .rd_valid_o(order_valid),
    .rd_ready_i(order_load),
    .rd_data_o(order_data),
    .fill_o(order_fill)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) order_valid_q <= 1'b0;
    else if (order_load) order_valid_q <= order_valid || ask_go;
  end

  always_ff @(posedge clk_i) begin
    if (order_load) {order_late_q, order_half_q, order_ud_q} <= order_valid ? order_data : order_new;
  end

  assign got_half = order_half_q || beat_q;
  assign got_read = dm_rsp_valid_i && !order_late_q;
  assign got_late = dm_rsp_valid_i && order_late_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) beat_q <= 1'b0;
    else if (dm_rsp_valid_i) beat_q <= !dm_rsp_i.last;
  end

  // ---- Form of a WQE ----------------------------------------------------------------------------------------------
  function automatic logic [31:0] be32(input logic [31:0] bytes);
    be32 = {bytes[7:0], bytes[15:8], bytes[23:16], bytes[31:24]};
  endfunction

  // Where a WQE's data is and how much, from its opcode, its size, and the first four bytes of its 16 B units 1..7:
  // {wrong size, wrong length, inline, number of data segments, unit of the first one less one, 2 GiB, sums of the
  // upper and of the lower 16 bits of the byte counts}. Found on the way into the FIFOs, but for adding the two sums,
  // which is done behind them: so neither side has too long a way. Of a WQE of one block the units behind it make no
  // difference.
  function automatic logic [FormW-1:0] form_of(input logic [7:0] opcode, input logic [7:0] ds, input logic ud,
                                               input logic [223:0] heads);
    logic atomic, payload, inl, inl_ok, bad_size, bad_len;
    logic [1:0] start;
    logic [8:0] beyond;                            // ds > 0..8
    logic [5:0] units;                             // more than -1..4 units of data
    logic [127:0] head;
    logic [31:0] c0, c1, c2, c3;                   // byte counts, 0 beyond the last segment
    logic zero;                                    // a count of 0: 2 GiB
    logic [8:0] inl_up;
    logic [16:0] upper;
    logic [17:0] lower;
    logic [2:0] num;
    // Which bits tell among the opcodes that pass: 08..0b and 01, READ 10, atomics 11 and 12. Anything else is refused.
    payload = !opcode[4];
    atomic = opcode[4] && opcode[1:0] != 2'd0;
    start = ud ? 2'd3 : {atomic, opcode[4] ? !atomic : opcode[3] && !opcode[1]};
    beyond = {ds > 8'd8, ds > 8'd7, ds > 8'd6, ds > 8'd5, ds > 8'd4, ds > 8'd3, ds > 8'd2, ds > 8'd1, ds > 8'd0};
    units = start[1] ? (start[0] ? beyond[3+:6] : beyond[2+:6]) : (start[0] ? beyond[1+:6] : beyond[0+:6]);
    head = start[1] ? (start[0] ? heads[96+:128] : heads[64+:128]) : (start[0] ? heads[32+:128] : heads[0+:128]);
    c0 = be32(head[31:0]) & {32{units[1]}};
    c1 = be32(head[63:32]) & {32{units[2]}};
    c2 = be32(head[95:64]) & {32{units[3]}};
    c3 = be32(head[127:96]) & {32{units[4]}};
    inl = c0[31];
    inl_up = {1'b0, c0[7:0]} + 9'd19;              // with the count's own four bytes, rounded up
    inl_ok = payload && c0[30:8] == '0 && {3'b0, inl_up[8:4]} == ds - {6'b0, start} - 8'd1;
    bad_size = !units[0] || ds > 8'd16 ||
               (inl ? !inl_ok : (units[5] || c1[31] || c2[31] || c3[31] || (atomic && units[2:1] != 2'b01)));
    zero = (units[1] && head[31:0] == '0) || (units[2] && head[63:32] == '0) || (units[3] && head[95:64] == '0) ||
           (units[4] && head[127:96] == '0);
    upper = {2'b0, c0[30:16]} + {2'b0, c1[30:16]} + {2'b0, c2[30:16]} + {2'b0, c3[30:16]};
    lower = {2'b0, c0[15:0]} + {2'b0, c1[15:0]} + {2'b0, c2[15:0]} + {2'b0, c3[15:0]};
    bad_len = !inl && ((zero && (units[2] || atomic)) || (atomic && c0[30:0] != 31'd8));
    num = inl ? 3'd0 : {units[4], units[2] && !units[4], units[1] && (!units[2] || units[3]) && !units[4]};
    form_of = {bad_size, bad_len, inl, num, start, inl ? {28'b0, c0[7:0]} : {zero, upper, lower}};
  endfunction

  // Each 16 B unit's first four bytes in a block.
  function automatic logic [127:0] heads_of(input logic [511:0] bytes);
    heads_of = {bytes[384+:32], bytes[256+:32], bytes[128+:32], bytes[0+:32]};
  endfunction

  logic [7:0] first_opcode_q, first_ds_q;          // of the block of half 0 that came last
  logic [95:0] first_heads_q;
  logic [127:0] got_heads;
  logic [FormW-1:0] got_form, bf_form;
  logic [1023:0] bf_wqe;

  assign got_heads = heads_of(dm_rsp_i.data);
  assign bf_wqe = want_first_q ? bf_data_i : want_bf_q;

  always_comb begin
    got_form = '0;
    if (got_read) begin
      got_form = form_of(got_half ? first_opcode_q : dm_rsp_i.data[31:24], got_half ? first_ds_q : dm_rsp_i.data[63:56],
                         order_ud_q, {got_heads, got_half ? first_heads_q : got_heads[127:32]});
    end
  end

  always_comb begin
    bf_form = '0;
    if (want_hit) begin
      bf_form = form_of(bf_wqe[31:24], bf_wqe[63:56], want_qpc_q.transport == rnic_pkg::TransUd,
                        {heads_of(bf_wqe[1023:512]), bf_wqe[384+:32], bf_wqe[256+:32], bf_wqe[128+:32]});
    end
  end

  always_ff @(posedge clk_i) begin
    if (got_read && !got_half) begin
      first_opcode_q <= dm_rsp_i.data[31:24];
      first_ds_q <= dm_rsp_i.data[63:56];
      first_heads_q <= got_heads[127:32];
    end
  end

  // ---- Waiting for the WQE ----------------------------------------------------------------------------------------
  // Every read has its place in u_pending, and the FIFOs of blocks are as deep, so there is always room for answers.
  logic pending_valid, read0_valid, read1_valid, pushed_valid, emit;
  logic read0_room, read1_room, pushed_room;
  logic [$clog2(Depth):0] pending_fill, read0_fill, read1_fill, pushed_fill;
  logic [PendingW-1:0] pending_data;
  logic [511:0] read0_data, read1_data;
  logic [1023:0] pushed_data;
  logic [FormW-1:0] read0_form, read1_form, pushed_form;
  logic skip_q;                                    // a second block is still to come whose WQE did not need it
  logic p_new, p_pushed, p_host, p_two, p_noop, p_flush, p_read, p_decoded;
  logic [7:0] p_vendor;
  logic [15:0] p_rem, p_pi;
  logic [9:0] p_qpn;
  rnic_pkg::tx_state_t p_st;
  rnic_pkg::qpc_t p_qpc;

  assign p_new = pending_data[StW+QpcW+55];
  assign p_host = pending_data[StW+QpcW+54];
  assign p_pushed = pending_data[StW+QpcW+53];
  assign p_two = pending_data[StW+QpcW+52];
  assign p_noop = pending_data[StW+QpcW+51];
  assign p_flush = pending_data[StW+QpcW+50];
  assign p_vendor = pending_data[StW+QpcW+42+:8];
  assign p_rem = pending_data[StW+QpcW+26+:16];
  assign p_pi = pending_data[StW+QpcW+10+:16];
  assign p_qpn = pending_data[StW+QpcW+:10];
  assign p_st = pending_data[QpcW+:StW];
  assign p_qpc = pending_data[QpcW-1:0];
  assign p_read = p_new && !p_pushed && !p_host;
  assign p_decoded = p_new && !host_missed_q && !host_failed_q;

  fifo #(.Width(PendingW), .Depth(Depth)) u_pending (
    .clk_i, .rst_ni,
    .wr_valid_i(want_fire),
    .wr_ready_o(pending_ready),
    .wr_data_i({want_fetch_q, want_host, want_hit, want_two_q, want_noop_q, want_flush_q, want_vendor_q, want_rem_q, want_pi_q,
                want_qpn_q, want_st_q, want_qpc_q}),
    .rd_valid_o(pending_valid),
    .rd_ready_i(emit),
    .rd_data_o(pending_data),
    .fill_o(pending_fill)
  );

  fifo #(.Width(FormW + 1024), .Depth(Depth)) u_pushed (
    .clk_i, .rst_ni,
    .wr_valid_i(want_fire && want_hit),
    .wr_ready_o(pushed_room),
    .wr_data_i({bf_form, bf_wqe}),
    .rd_valid_o(pushed_valid),
    .rd_ready_i(emit && p_pushed),
    .rd_data_o({pushed_form, pushed_data}),
    .fill_o(pushed_fill)
  );

  fifo #(.Width(FormW + 512), .Depth(Depth)) u_read0 (
    .clk_i, .rst_ni,
    .wr_valid_i(got_read && !got_half),
    .wr_ready_o(read0_room),
    .wr_data_i({got_form, dm_rsp_i.data}),
    .rd_valid_o(read0_valid),
    .rd_ready_i(emit && p_read),
    .rd_data_o({read0_form, read0_data}),
    .fill_o(read0_fill)
  );

  fifo #(.Width(FormW + 512), .Depth(Depth)) u_read1 (
    .clk_i, .rst_ni,
    .wr_valid_i(got_read && got_half),
    .wr_ready_o(read1_room),
    .wr_data_i({got_form, dm_rsp_i.data}),
    .rd_valid_o(read1_valid),
    .rd_ready_i(skip_q || (emit && p_read && p_two)),
    .rd_data_o({read1_form, read1_data}),
    .fill_o(read1_fill)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) skip_q <= 1'b0;
    else if (skip_q) skip_q <= !read1_valid;
    else skip_q <= emit && p_read && p_two && !read1_valid;
  end

  // ---- WQE from host memory ---------------------------------------------------------------------------------------
  // The answer stays at its port until the job leaves. Its form is found once it is at the head, in two steps for the
  // depth of the logic, and not in a cycle with a request for device memory, so that each can be counted.
  logic host_seen_q, host_formed_q, host_ud_q;
  logic [FormW-1:0] host_form_q;
  logic host_missed_q, host_failed_q;              // with host_formed_q
  logic [7:0] late_vendor;                         // found before decoding
  assign host_form = host_seen_q && !host_formed_q && !dm_req_valid_o;
  assign late_vendor = host_failed_q && !p_flush ? rnic_pkg::VenDma + {5'b0, pf_rsp_status_i} : p_vendor;
  assign pf_rsp_ready_o = emit && p_host;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      host_seen_q <= 1'b0;
      host_formed_q <= 1'b0;
      host_missed_q <= 1'b0;
      host_failed_q <= 1'b0;
    end else begin
      host_seen_q <= pending_valid && p_host && pf_rsp_valid_i && !emit;
      if (emit || host_form) begin
        host_formed_q <= !emit;
        host_missed_q <= !emit && !pf_rsp_hit_i;
        host_failed_q <= !emit && pf_rsp_hit_i && pf_rsp_status_i != rnic_pkg::DmaOk;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (pf_rsp_valid_i) host_ud_q <= p_qpc.transport == rnic_pkg::TransUd;
    if (host_form) begin
      host_form_q <= form_of(pf_rsp_data_i[31:24], pf_rsp_data_i[63:56], host_ud_q,
                             {heads_of(pf_rsp_data_i[1023:512]), pf_rsp_data_i[384+:32], pf_rsp_data_i[256+:32],
                              pf_rsp_data_i[128+:32]});
    end
  end

  // ---- Third and fourth block -------------------------------------------------------------------------------------
  // Of the WQE at the head only: inline data as long as this is rare.
  logic [7:0] w_ds;
  logic late_need, late_start, late_done, late_open_q, late_slot_valid_q, late_req_q;
  logic [1:0] late_left_q;                         // blocks to come
  logic [15:0] late_mask, late_slot_q;
  logic [1023:0] late_data_q;

  assign late_need = p_read && !p_flush && w_ds > 8'd8 && w_ds <= 8'd16 && p_rem > (w_ds > 8'd12 ? 16'd3 : 16'd2);
  assign late_start = pending_valid && read0_valid && late_need && !late_open_q;
  assign late_done = late_open_q && late_left_q == 2'd0;
  assign late_mask = ring_mask(p_qpc.log_sq_size);
  assign late_ask = late_req_q && !stall_q;        // a request that is offered stays

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      late_open_q <= 1'b0;
      late_slot_valid_q <= 1'b0;
      late_req_q <= 1'b0;
      late_rest_q <= 1'b0;
    end else begin
      late_slot_valid_q <= late_start;
      if (late_slot_valid_q) late_req_q <= 1'b1;
      else if (late_go) late_req_q <= late_split_q && !late_rest_q;
      if (late_go) late_rest_q <= late_split_q && !late_rest_q;
      if (late_start) late_open_q <= 1'b1;
      else if (emit) late_open_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (late_start) begin
      late_slot_q <= (p_st.ci + 16'd2) & late_mask;
      late_base_q <= p_qpc.sq_base[27:6];
    end
    if (late_slot_valid_q) begin
      late_two_q <= w_ds > 8'd12;
      late_split_q <= w_ds > 8'd12 && late_slot_q == late_mask;
      late_block_q <= late_base_q + {6'b0, late_slot_q};
    end
    if (late_start) late_left_q <= w_ds > 8'd12 ? 2'd2 : 2'd1;
    else if (got_late) late_left_q <= late_left_q - 2'd1;
    if (got_late && !got_half) late_data_q[511:0] <= dm_rsp_i.data;
    if (got_late && got_half) late_data_q[1023:512] <= dm_rsp_i.data;
  end

  // ---- Decoding ---------------------------------------------------------------------------------------------------
  logic [1023:0] w, w_late;                        // first two blocks, and third and fourth
  logic [31:0] w_dw0, w_dw1;
  logic [7:0] w_opcode;
  logic [6:0] w_blocks;
  logic [FormW-1:0] w_form;
  logic w_bad_size, w_bad_len, w_too_long, w_inl;
  logic w_zero, w_over;                            // 2 GiB; carry out of w_len
  logic [16:0] w_upper, w_sum;
  logic [17:0] w_lower;
  logic [2:0] w_num;
  logic [1:0] w_start;
  logic [31:0] w_len;
  logic [31:0] w_mtu, w_above, w_below;            // bits above the path MTU's and below it
  logic w_rc, w_ud, w_allowed, w_bad_mtu, w_ud_long, w_unsized, w_short_av;
  logic [7:0] w_err, w_vendor;

  // Of the three at most one is let through; that the head is one from host memory is known a cycle before.
  assign w = ({1024{p_pushed}} & pushed_data) | ({1024{host_formed_q}} & pf_rsp_data_i[1023:0]) |
             ({1024{!p_pushed && !host_formed_q}} & {read1_data, read0_data});
  assign w_late = host_formed_q ? pf_rsp_data_i[2047:1024] : late_data_q;
  assign w_dw0 = be32(w[31:0]);
  assign w_dw1 = be32(w[63:32]);
  assign w_opcode = w_dw0[7:0];
  assign w_ds = w_dw1[7:0];
  assign w_blocks = {1'b0, w_ds[7:2]} + {6'b0, w_ds[1:0] != 2'b0};
  assign w_unsized = w_ds == '0 || {9'b0, w_blocks} > p_rem;
  assign w_form = p_pushed ? pushed_form : host_formed_q ? host_form_q :
                  read0_data[63:56] > 8'd4 ? read1_form : read0_form;
  assign {w_bad_size, w_bad_len, w_inl, w_num, w_start, w_zero, w_upper, w_lower} = w_form;
  assign w_sum = w_upper + {15'b0, w_lower[17:16]};
  assign w_over = w_sum[16];
  assign w_len = {w_sum[15] || w_zero, w_sum[14:0], w_lower[15:0]};
  assign w_too_long = w_bad_len || w_over || (w_len[31] && w_len[30:0] != '0);
  assign w_rc = p_qpc.transport == rnic_pkg::TransRc;
  assign w_ud = p_qpc.transport == rnic_pkg::TransUd;
  assign w_short_av = w_ud && !w[199];             // another layout than ours
  assign w_bad_mtu = p_qpc.mtu == 3'd0 || p_qpc.mtu > 3'd5;
  assign w_mtu = 32'd128 << p_qpc.mtu;
  assign w_above = 32'hFFFF_FF00 << p_qpc.mtu;
  assign w_below = ~(32'hFFFF_FF80 << p_qpc.mtu);
  assign w_ud_long = w_ud && ((w_len & w_above) != '0 || ((w_len & w_mtu) != '0 && (w_len & w_below) != '0));

  always_comb begin
    unique case (w_opcode)
      roce_pkg::WqeSend, roce_pkg::WqeSendImm: w_allowed = 1'b1;
      roce_pkg::WqeRdmaWrite, roce_pkg::WqeRdmaWriteImm: w_allowed = !w_ud;
      roce_pkg::WqeSendInval, roce_pkg::WqeRdmaRead, roce_pkg::WqeAtomicCs, roce_pkg::WqeAtomicFa: w_allowed = w_rc;
      default: w_allowed = 1'b0;
    endcase
  end

  always_comb begin
    w_err = rnic_pkg::SynLocalQpOp;
    w_vendor = rnic_pkg::VenNone;
    if (w_unsized) begin
      w_vendor = rnic_pkg::VenWqeSize;
    end else if (w_dw1[31:8] != {14'b0, p_qpn} || w_dw0[23:8] != p_st.wqe_idx) begin
      w_vendor = rnic_pkg::VenWqeQpn;
    end else if (!w_allowed) begin
      w_vendor = rnic_pkg::VenOpcode;
    end else if (w_bad_size || w_short_av) begin
      w_vendor = rnic_pkg::VenWqeSize;
    end else if (w_too_long) begin
      w_err = rnic_pkg::SynLocalLength;
      w_vendor = rnic_pkg::VenLength;
    end else if (w_bad_mtu) begin
      w_vendor = rnic_pkg::VenLength;
    end else if (w_ud_long) begin
      w_err = rnic_pkg::SynLocalLength;
      w_vendor = rnic_pkg::VenLength;
    end else begin
      w_err = 8'd0;
    end
  end

  // ---- Job --------------------------------------------------------------------------------------------------------
  logic job_valid_q, job_decoded_q, have_wqe;
  rnic_pkg::tx_job_t job_q;
  logic [511:0] segs;                              // data segments

  // With two blocks posted the second one comes anyway.
  assign have_wqe = p_pushed || (p_host ? host_formed_q : read0_valid && (w_ds <= 8'd4 || !p_two || read1_valid) &&
                                                          (!late_need || late_done));
  assign emit = pending_valid && (!p_new || have_wqe) && (!job_valid_q || job_ready_i);
  assign job_valid_o = job_valid_q;
  assign job_o = job_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) job_valid_q <= 1'b0;
    else if (emit) job_valid_q <= 1'b1;
    else if (job_ready_i) job_valid_q <= 1'b0;
  end

  always_comb begin
    unique case (w_start)
      2'd0: segs = w[128+:512];
      2'd1: segs = w[256+:512];
      2'd2: segs = w[384+:512];
      default: segs = w[512+:512];
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (emit) begin
      job_q.qpn <= p_qpn;
      job_q.noop <= p_noop || host_missed_q;
      job_q.pi <= host_missed_q ? p_st.ci : p_pi;
      job_q.flush <= p_flush && !host_missed_q;
      job_q.err <= late_vendor != rnic_pkg::VenNone ? rnic_pkg::SynLocalQpOp : 8'd0;
      job_q.st <= p_st;
      // The size of what can't be read is not known: one report stands for everything up to the producer index.
      if (host_failed_q) job_q.st.ci <= p_pi;
      job_q.rkey <= {24'b0, late_vendor};
      job_q.inl <= 1'b0;
      job_q.qpc <= p_qpc;
      job_decoded_q <= p_decoded && !p_flush && w_err == 8'd0;
      if (p_decoded) begin
        job_q.st.ci <= w_unsized ? p_pi : p_st.ci + {9'b0, w_blocks};
        job_q.st.wqebbs <= w_blocks[1:0] - 2'd1;
        job_q.st.opcode <= w_opcode;
        job_q.st.signaled <= w[91];                // byte 11: 0x08
        job_q.st.solicited <= w[89];               //          0x02
        job_q.st.imm <= be32(w[127:96]);
        job_q.st.msg_len <= w_len;
        job_q.st.num_sge <= w_num;
        // Only a segment that is alone can have 2 GiB, which stand as a count of 0.
        job_q.st.sge0.len <= w_num == 3'd0 ? 32'd0 : w_num == 3'd1 ? w_len : be32(segs[0+:32]);
        job_q.st.sge1.len <= w_num < 3'd2 ? 32'd0 : be32(segs[128+:32]);
        job_q.st.sge2.len <= w_num < 3'd3 ? 32'd0 : be32(segs[256+:32]);
        job_q.st.sge3.len <= w_num < 3'd4 ? 32'd0 : be32(segs[384+:32]);
        job_q.st.sge0.lkey <= be32(segs[32+:32]);
        job_q.st.sge1.lkey <= be32(segs[160+:32]);
        job_q.st.sge2.lkey <= be32(segs[288+:32]);
        job_q.st.sge3.lkey <= be32(segs[416+:32]);
        job_q.st.sge0.addr <= {be32(segs[64+:32]), be32(segs[96+:32])};
        job_q.st.sge1.addr <= {be32(segs[192+:32]), be32(segs[224+:32])};
        job_q.st.sge2.addr <= {be32(segs[320+:32]), be32(segs[352+:32])};
        job_q.st.sge3.addr <= {be32(segs[448+:32]), be32(segs[480+:32])};
        job_q.raddr <= {be32(w[159:128]), be32(w[191:160])};
        job_q.rkey <= be32(w[223:192]);
        job_q.swap_add <= {be32(w[287:256]), be32(w[319:288])};
        job_q.compare <= {be32(w[351:320]), be32(w[383:352])};
        job_q.inl <= w_inl && w_len != 32'd0;
        if (w_inl) begin
          unique case (w_start)
            2'd0: job_q.inl_data <= {w_late, w[160+:864]};
            2'd1: job_q.inl_data <= {128'b0, w_late, w[288+:736]};
            default: job_q.inl_data <= {384'b0, w_late, w[544+:480]};
          endcase
        end
        if (w_ud) begin
          if (!w[135]) job_q.qpc.qkey <= be32(w[159:128]);
          job_q.qpc.dest_qpn <= {w[207:200], w[215:208], w[223:216]};
          job_q.qpc.udp_sport <= {w[247:240], w[255:248]};
          job_q.qpc.dmac <= w[288+:48];
          job_q.qpc.tos <= w[343:336];
          job_q.qpc.ttl <= w[351:344];
          job_q.qpc.flow_label <= {w[363:360], w[375:368], w[383:376]};
          job_q.qpc.dgid <= w[511:384];
        end
        if (p_flush) begin
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

  assign idle_o = !strobed_q && !granted_valid && !evt_valid_q && !want_valid_q && !pending_valid && !job_valid_q &&
                  !skip_q;

`ifndef SYNTHESIS
  // job_o is loaded by emit alone. ($stable of a signal this wide does not get through Verilator 5.006.)
  assert property (@(posedge clk_i) disable iff (!rst_ni) job_valid_o && !job_ready_i |-> !emit);
  assert property (@(posedge clk_i) disable iff (!rst_ni) job_valid_o && !job_ready_i |=> job_valid_o);
  assert property (@(posedge clk_i) disable iff (!rst_ni)
                   dm_req_valid_o && !dm_req_ready_i |=> dm_req_valid_o && $stable(dm_req_o));
  assert property (@(posedge clk_i) disable iff (!rst_ni)
                   evt_valid_o && !evt_ready_i |=> evt_valid_o && $stable(evt_o));
  assert property (@(posedge clk_i) disable iff (!rst_ni) dm_rsp_valid_i |-> order_valid_q);
  assert property (@(posedge clk_i) disable iff (!rst_ni) ask_go |-> order_room);
  assert property (@(posedge clk_i) disable iff (!rst_ni) got_read |-> (got_half ? read1_room : read0_room));
  // What follows a block that nobody needed comes later than it.
  assert property (@(posedge clk_i) disable iff (!rst_ni) skip_q |-> !read0_valid || !pending_valid || !p_read);
  assert property (@(posedge clk_i) disable iff (!rst_ni) pending_valid && p_pushed |-> pushed_valid);
  assert property (@(posedge clk_i) disable iff (!rst_ni) pf_rsp_valid_i |-> pending_valid);
  assert property (@(posedge clk_i) disable iff (!rst_ni) host_formed_q |-> pf_rsp_valid_i && p_host);
  assert property (@(posedge clk_i) disable iff (!rst_ni) strobed_q |-> granted_room);
  assert property (@(posedge clk_i) disable iff (!rst_ni) want_fire && want_hit |-> pushed_room);
  assert property (@(posedge clk_i) disable iff (!rst_ni) qpc_rsp_valid_i |-> granted_valid || strobed_q);
`endif
endmodule
