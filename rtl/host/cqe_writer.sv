// SPDX-License-Identifier: Apache-2.0
// CQE writer: builds the 64 B completion queue entry (mlx5 layout, big-endian) and writes it to the CQ's ring through
// dma_master, in order. Keeps each CQ's producer index on chip and its consumer index as last told by the driver; a
// full ring drops the CQE, counts it, logs it, and marks the CQ overrun until it is set up again.
//
// A request asks the CQ context cache in the cycle in which it is taken; up to LookupDepth wait for their answer. From
// the request to wr_valid_o: the cache's latency and two edges. One CQE every two cycles. Write and data leave
// independently of each other; the next CQE follows when both have been taken, and note_valid_o is high in the cycle of the
// later one.
module cqe_writer (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic [63:0] now_i,           // ns, for the CQE's time stamp
  input  logic req_valid_i,
  output logic req_ready_o,
  input  rnic_pkg::cqe_req_t req_i,
  // Consumer index doorbells (DbCqCi); always taken, other kinds without effect
  input  logic db_valid_i,
  input  rnic_pkg::doorbell_t db_i,
  // CmdCqModify: indices restart from the context
  input  logic clear_i,
  input  logic [9:0] clear_cqn_i,
  // For ctx_query: strobe at edge n, indices as they were before it after edge n; each with a valid bit
  input  logic q_re_i,
  input  logic [9:0] q_cqn_i,
  output logic q_pi_valid_o,
  output logic [23:0] q_pi_o,
  output logic q_ci_valid_o,
  output logic [23:0] q_ci_o,
  output logic q_overrun_o,
  // CQ context cache
  output logic cqc_req_valid_o,
  input  logic cqc_req_ready_i,
  output logic [9:0] cqc_req_idx_o,
  input  logic cqc_rsp_valid_i,
  output logic cqc_rsp_ready_o,
  input  rnic_pkg::cqc_t cqc_rsp_i,
  // To dma_master
  output logic wr_valid_o,
  input  logic wr_ready_i,
  output rnic_pkg::wr_req_t wr_o,
  output logic wdata_valid_o,
  input  logic wdata_ready_i,
  output logic [511:0] wdata_o,
  // To cq_arm: the entry's write and data have been taken
  output logic note_valid_o,
  output rnic_pkg::cq_note_t note_o,
  // Error log
  output logic evt_valid_o,
  input  logic evt_ready_i,
  output rnic_pkg::event_t evt_o,
  output logic stat_cqe_ok_o,
  output logic stat_cqe_err_o,
  output logic stat_overrun_o,
  output logic idle_o
);
  localparam int unsigned LookupDepth = 8;
  localparam int unsigned ReqW = 131;            // width of cqe_req_t
  // mlx5 CQE opcodes
  localparam logic [3:0] CqeReq = 4'h0;
  localparam logic [3:0] CqeReqErr = 4'hD;

  // ==== Lookup =====================================================================================================
  // The index is the CQN's low bits; a larger CQN is refused later, so that its report keeps its place.
  logic look_ready, look_valid, look_pop;
  logic [ReqW-1:0] look_word;
  logic [$clog2(LookupDepth):0] look_fill;
  rnic_pkg::cqe_req_t look_req;

  assign cqc_req_valid_o = req_valid_i && look_ready;
  assign cqc_req_idx_o = req_i.cqn[9:0];
  assign req_ready_o = cqc_req_ready_i && look_ready;

  fifo #(
    .Width(ReqW),
    .Depth(LookupDepth)
  ) u_look (
    .clk_i,
    .rst_ni,
    .wr_valid_i(req_valid_i && cqc_req_ready_i),
    .wr_ready_o(look_ready),
    .wr_data_i(req_i),
    .rd_valid_o(look_valid),
    .rd_ready_i(look_pop),
    .rd_data_o(look_word),
    .fill_o(look_fill)
  );
  assign look_req = look_word;

  // ==== Indices ====================================================================================================
  // A CQ's entry without valid bit stands for the context's first consumer index.
  logic [23:0] pi_mem [1024];
  logic [23:0] ci_mem [1024];
  logic [1023:0] pi_valid_q, ci_valid_q, overrun_q;

  logic [23:0] q_pi_q, q_ci_q;
  logic q_pi_valid_q, q_ci_valid_q, q_overrun_q;
  assign q_pi_o = q_pi_q;
  assign q_ci_o = q_ci_q;
  assign q_pi_valid_o = q_pi_valid_q;
  assign q_ci_valid_o = q_ci_valid_q;
  assign q_overrun_o = q_overrun_q;

  always_ff @(posedge clk_i) begin
    if (q_re_i) begin
      q_pi_q <= pi_mem[q_cqn_i];
      q_ci_q <= ci_mem[q_cqn_i];
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      q_pi_valid_q <= 1'b0;
      q_ci_valid_q <= 1'b0;
      q_overrun_q <= 1'b0;
    end else if (q_re_i) begin
      q_pi_valid_q <= pi_valid_q[q_cqn_i];
      q_ci_valid_q <= ci_valid_q[q_cqn_i];
      q_overrun_q <= overrun_q[q_cqn_i];
    end
  end

  logic ci_we;
  assign ci_we = db_valid_i && db_i.kind == rnic_pkg::DbCqCi;

  // ==== 1: context and indices together ============================================================================
  logic s1_valid_q, s1_done;
  rnic_pkg::cqe_req_t s1_req_q;
  rnic_pkg::cqc_t s1_cqc_q;
  logic [23:0] s1_pi_q, s1_ci_q;
  logic s1_overrun_q;
  logic [9:0] look_cqn, s1_cqn;
  logic s1_take;

  assign look_cqn = look_req.cqn[9:0];
  assign s1_cqn = s1_req_q.cqn[9:0];
  // Never while another one is being finished: its producer index is written then.
  assign cqc_rsp_ready_o = look_valid && !s1_valid_q;
  assign s1_take = cqc_rsp_valid_i && cqc_rsp_ready_o;
  assign look_pop = s1_take;

  always_ff @(posedge clk_i) begin
    if (s1_take) begin
      s1_req_q <= look_req;
      s1_cqc_q <= cqc_rsp_i;
      s1_pi_q <= pi_valid_q[look_cqn] ? pi_mem[look_cqn] : cqc_rsp_i.ci;
      s1_ci_q <= ci_valid_q[look_cqn] ? ci_mem[look_cqn] : cqc_rsp_i.ci;
      s1_overrun_q <= overrun_q[look_cqn];
      if (ci_we && db_i.qpn == look_cqn) s1_ci_q <= db_i.value[23:0];
    end else if (s1_valid_q && ci_we && db_i.qpn == s1_cqn) begin
      s1_ci_q <= db_i.value[23:0];
    end
  end

  // ==== 2: check, entry, address ===================================================================================
  logic wr_valid_q, wdata_valid_q, evt_valid_q;
  logic out_free, evt_free;
  logic bad_cq, full, error, write, report;
  logic [23:0] used;
  logic [24:0] size;

  assign out_free = (!wr_valid_q || wr_ready_i) && (!wdata_valid_q || wdata_ready_i);
  assign evt_free = !evt_valid_q || evt_ready_i;
  assign bad_cq = !s1_cqc_q.valid || s1_req_q.cqn[23:10] != 14'd0;
  assign size = s1_cqc_q.log_size < 5'd25 ? 25'd1 << s1_cqc_q.log_size : 25'd0;   // 0: larger than any index
  assign used = s1_pi_q - s1_ci_q;
  assign full = size != 25'd0 && {1'b0, used} >= size;
  assign error = s1_req_q.syndrome != 8'd0;
  assign write = !bad_cq && !s1_overrun_q && !full;
  // Later CQEs of an overrun CQ are dropped and counted, but logged no more.
  assign report = write ? error : bad_cq || !s1_overrun_q;
  assign s1_done = s1_valid_q && (!write || out_free) && (!report || evt_free);

  assign stat_cqe_ok_o = s1_done && write && !error;
  assign stat_cqe_err_o = s1_done && write && error;
  assign stat_overrun_o = s1_done && !bad_cq && !write;

  // pi modulo the ring's size, in bytes of 64
  logic [23:0] slot;
  logic owner;
  assign slot = s1_pi_q & (size[23:0] - 24'd1);
  assign owner = |(s1_pi_q & size[23:0]);

  rnic_pkg::wr_req_t wr_q;
  logic [511:0] wdata_q;
  rnic_pkg::event_t evt_q;
  rnic_pkg::cq_note_t note_q;

  always_ff @(posedge clk_i) begin
    if (s1_done && write) begin
      wr_q.addr <= s1_cqc_q.base + {34'd0, slot, 6'd0};
      wr_q.len <= 13'd64;
      wr_q.attr <= 3'b000;
      wr_q.op <= s1_req_q.op;
      note_q.cqn <= s1_cqn;
      note_q.index <= s1_pi_q;
      note_q.solicited <= error;
      note_q.irq_en <= s1_cqc_q.irq_en;
      note_q.irq_vector <= s1_cqc_q.irq_vector;
      note_q.period <= s1_cqc_q.irq_period;
      note_q.count <= s1_cqc_q.irq_count;
      wdata_q[351:0] <= '0;
      wdata_q[383:352] <= {s1_req_q.byte_cnt[7:0], s1_req_q.byte_cnt[15:8], s1_req_q.byte_cnt[23:16],
                           s1_req_q.byte_cnt[31:24]};                              // 44
      if (error) wdata_q[447:384] <= {s1_req_q.syndrome, s1_req_q.vendor, 48'd0};  // 54, 55
      else wdata_q[447:384] <= {now_i[7:0], now_i[15:8], now_i[23:16], now_i[31:24],
                                now_i[39:32], now_i[47:40], now_i[55:48], now_i[63:56]};
      wdata_q[455:448] <= s1_req_q.wqe_opcode;                                     // 56
      wdata_q[479:456] <= {s1_req_q.op.qpn[7:0], 6'd0, s1_req_q.op.qpn[9:8], 8'd0};
      wdata_q[495:480] <= {s1_req_q.op.wqe[7:0], s1_req_q.op.wqe[15:8]};           // 60
      wdata_q[503:496] <= 8'd0;
      wdata_q[511:504] <= {error ? CqeReqErr : CqeReq, 3'd0, owner};               // 63
    end
    if (s1_done && report) begin
      if (write) begin
        evt_q.kind <= rnic_pkg::EvtWqeError;
        evt_q.index <= {14'd0, s1_req_q.op.qpn};
      end else begin
        evt_q.kind <= bad_cq ? rnic_pkg::EvtCqInvalid : rnic_pkg::EvtCqOverrun;
        evt_q.index <= s1_req_q.cqn;
      end
      evt_q.wqe <= s1_req_q.op.wqe;
      evt_q.syndrome <= s1_req_q.syndrome;
      evt_q.vendor <= s1_req_q.vendor;
    end
  end

  always_ff @(posedge clk_i) begin
    if (s1_done && write) pi_mem[s1_cqn] <= s1_pi_q + 24'd1;
    if (ci_we) ci_mem[db_i.qpn] <= db_i.value[23:0];
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      s1_valid_q <= 1'b0;
      wr_valid_q <= 1'b0;
      wdata_valid_q <= 1'b0;
      evt_valid_q <= 1'b0;
      pi_valid_q <= '0;
      ci_valid_q <= '0;
      overrun_q <= '0;
    end else begin
      if (s1_take) s1_valid_q <= 1'b1;
      else if (s1_done) s1_valid_q <= 1'b0;
      if (s1_done && write) begin
        wr_valid_q <= 1'b1;
        wdata_valid_q <= 1'b1;
      end else begin
        if (wr_ready_i) wr_valid_q <= 1'b0;
        if (wdata_ready_i) wdata_valid_q <= 1'b0;
      end
      if (s1_done && report) evt_valid_q <= 1'b1;
      else if (evt_ready_i) evt_valid_q <= 1'b0;
      if (s1_done && write) pi_valid_q[s1_cqn] <= 1'b1;
      if (ci_we) ci_valid_q[db_i.qpn] <= 1'b1;
      if (stat_overrun_o) overrun_q[s1_cqn] <= 1'b1;
      if (clear_i) begin
        pi_valid_q[clear_cqn_i] <= 1'b0;
        ci_valid_q[clear_cqn_i] <= 1'b0;
        overrun_q[clear_cqn_i] <= 1'b0;
      end
    end
  end

  assign wr_valid_o = wr_valid_q;
  assign wr_o = wr_q;
  assign wdata_valid_o = wdata_valid_q;
  assign wdata_o = wdata_q;
  assign note_valid_o = (wr_valid_q || wdata_valid_q) && out_free;
  assign note_o = note_q;
  assign evt_valid_o = evt_valid_q;
  assign evt_o = evt_q;
  assign idle_o = !(look_valid || s1_valid_q || wr_valid_q || wdata_valid_q || evt_valid_q);

`ifndef SYNTHESIS
  assert property (@(posedge clk_i) disable iff (!rst_ni) cqc_rsp_valid_i |-> look_valid);
  assert property (@(posedge clk_i) disable iff (!rst_ni) wr_valid_o && !wr_ready_i |=> wr_valid_o);
  assert property (@(posedge clk_i) disable iff (!rst_ni) wdata_valid_o && !wdata_ready_i |=> wdata_valid_o);
  assert property (@(posedge clk_i) disable iff (!rst_ni) evt_valid_o && !evt_ready_i |=> evt_valid_o);
`endif
endmodule
