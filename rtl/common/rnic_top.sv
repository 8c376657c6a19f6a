// SPDX-License-Identifier: Apache-2.0
// The NIC. Joins the blocks of the TX path; knows cycles, neither nanoseconds nor randomness.
//
//   doorbell -> doorbell_intake -> qp_scheduler -> wqe_fetch_engine -> tx_segmenter -+-> dma_translate -> dma_master -> pcie_tlp_gen -> PCIe
//                                                                                    +-> tx_packetizer -> MAC ports
//                              dma_master -> sq_prefetch -> wqe_fetch_engine
//                                                 dma_master -> tx_gather -> tx_packetizer -> cqe_writer -> dma_master
//
// The clock may be stopped while idle_o is high: no edge would change anything then. Time comes in by ports (now_i in ns
// for time stamps; cycle_i for the waveform only), and the next timer deadline goes out.
//
// Ports for what the receive path needs are laid out and tied off: mac_rx, place_ooo_i. They cost nothing and are
// described in docs/blocks/rnic_top.md.
module rnic_top #(
  parameter int unsigned NumPorts = 1,
  parameter int unsigned QpcEntries = 256,
  parameter int unsigned CqcEntries = 64,
  parameter int unsigned MptEntries = 64,
  parameter int unsigned MttEntries = 64,    // blocks of eight pages
  parameter int unsigned NumTags = 512,
  parameter int unsigned DescDepth = 512
) (
  input  logic clk_i,
  input  logic rst_ni,

  // Time
  input  logic [63:0] cycle_i,               // number of the coming edge; for the waveform
  input  logic [63:0] now_i,                 // ns
  output logic timer_valid_o,                // a timer is running and ends at
  output logic [63:0] timer_deadline_o,      // ns
  output logic idle_o,

  // PCIe
  input  logic flr_i,                        // function-level reset, any number of cycles
  input  rnic_pkg::pcie_cfg_t pcie_cfg_i,
  input  rnic_pkg::pcie_fc_t pcie_fc_i,
  output logic tlp_tx_valid_o,
  input  logic tlp_tx_ready_i,
  output rnic_pkg::tlp_beat_t tlp_tx_o,
  input  logic tlp_rx_valid_i,
  output logic tlp_rx_ready_o,
  input  rnic_pkg::tlp_beat_t tlp_rx_i,

  // MMIO, decoded
  input  logic db_valid_i,
  output logic db_ready_o,
  input  rnic_pkg::doorbell_t db_i,
  input  logic cmd_valid_i,
  output logic cmd_ready_o,
  input  rnic_pkg::cmd_t cmd_i,

  // MSI-X: table (msix_reg_i: 0 address low, 1 address high, 2 data, 3 vector control), function enable and mask
  input  logic msix_we_i,
  input  logic [5:0] msix_idx_i,
  input  logic [1:0] msix_reg_i,
  input  logic [31:0] msix_wdata_i,
  input  logic msix_en_i,
  input  logic msix_mask_i,
  output logic [63:0] msix_pending_o,

  // GPUDirect windows: one at a time, whole
  input  logic win_we_i,
  input  logic [5:0] win_idx_i,
  input  rnic_pkg::window_t win_i,
  output logic win_busy_o,                   // reads are under way from before the last change of a window or region

  // Device memory
  output logic dm_req_valid_o,
  input  logic dm_req_ready_i,
  output rnic_pkg::dm_req_t dm_req_o,
  input  logic dm_rsp_valid_i,
  input  rnic_pkg::dm_rsp_t dm_rsp_i,

  // MAC ports (rnic_pkg::mac_beat_t each, MacBeatW = 575 bits), port 0 in the low bits
  output logic [NumPorts-1:0] mac_tx_valid_o,
  input  logic [NumPorts-1:0] mac_tx_ready_i,
  output logic [NumPorts*575-1:0] mac_tx_o,
  input  logic [NumPorts-1:0] mac_rx_valid_i,
  output logic [NumPorts-1:0] mac_rx_ready_o,
  input  logic [NumPorts*575-1:0] mac_rx_i,
  input  logic [NumPorts*8-1:0] mac_pause_i,  // one bit a priority

  // Scheduling between priorities; changes only while idle
  input  rnic_pkg::sched_cfg_t sched_cfg_i,

  // Congestion control: tokens for one QP
  input  logic rate_valid_i,
  input  rnic_pkg::rate_token_t rate_i,

  // Out-of-order placement: allowed for the next received packet of a QP
  input  logic place_ooo_i,

  // Observation
  output rnic_pkg::probe_t probe_o,
  output rnic_pkg::stat_t stat_o,
  output logic evt_valid_o,
  input  logic evt_ready_i,
  output rnic_pkg::event_t evt_o,
  input  rnic_pkg::ext_probe_t ext_probe_i
);

  localparam int unsigned DmW = 606;

  rnic_pkg::probe_t probe;
  rnic_pkg::stat_t stat;

  // ---- Function-level reset: all but the link's credits and the tags, which reads under way still have ---------------
  // It lasts until device memory has answered what was asked in the life that ends.
  logic flr_q, fn_rst_n;
  logic [15:0] dm_open_q;              // reads of device memory under way
  assign fn_rst_n = rst_ni && !flr_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      flr_q <= 1'b0;
      dm_open_q <= '0;
    end else begin
      flr_q <= flr_i || (flr_q && dm_open_q != '0);
      dm_open_q <= dm_open_q + {15'b0, dm_req_valid_o && dm_req_ready_i && !dm_req_o.write} -
                   {15'b0, dm_rsp_valid_i && dm_rsp_i.last};
    end
  end

  // ---- Commands: one-cycle strobes; those of a CQ wait while cq_arm is busy, queries for the one before --------------
  logic qp_clear, cq_clear, cq_clear_valid, cq_clear_ready, mkey_clear, qp_2err;
  logic query_valid, query_ready;
  assign cmd_ready_o = (!cq_clear_valid || cq_clear_ready) && (!query_valid || query_ready);
  assign cq_clear = cq_clear_valid && cq_clear_ready;
  assign qp_clear = cmd_valid_i && (cmd_i.op == rnic_pkg::CmdQpModify || cmd_i.op == rnic_pkg::CmdQpCreate) &&
                    cmd_i.index < 24'd1024;
  assign cq_clear_valid = cmd_valid_i && cmd_i.op == rnic_pkg::CmdCqModify && cmd_i.index < 24'd1024;
  assign mkey_clear = cmd_valid_i && cmd_i.op == rnic_pkg::CmdMkeyModify && cmd_i.index < 24'd65536;
  assign qp_2err = cmd_valid_i && cmd_i.op == rnic_pkg::CmdQp2Err && cmd_i.index < 24'd1024;
  assign query_valid = cmd_valid_i && (cmd_i.op == rnic_pkg::CmdQpQuery || cmd_i.op == rnic_pkg::CmdCqQuery) &&
                       cmd_i.index < 24'd1024;

  // What a query looks at
  logic q_re, q_pi_valid, q_st_valid, q_st_err, q_cq_pi_valid, q_cq_ci_valid, q_cq_overrun, q_cq_armed, q_cq_only;
  logic [9:0] q_idx;
  logic [15:0] q_pi;
  logic [23:0] q_cq_pi, q_cq_ci;
  rnic_pkg::tx_state_t q_st;

  // ---- Doorbells by kind ----------------------------------------------------------------------------------------------
  logic db_sq_valid, db_sq_ready, db_cq_valid, db_arm_valid, db_arm_ready;
  assign db_sq_valid = db_valid_i && (db_i.kind == rnic_pkg::DbSq || db_i.kind == rnic_pkg::DbBf);
  assign db_cq_valid = db_valid_i && db_i.kind == rnic_pkg::DbCqCi;
  assign db_arm_valid = db_valid_i && db_i.kind == rnic_pkg::DbCqArm;
  // RQ doorbells belong to the receive path; they are taken and have no effect.
  assign db_ready_o = db_sq_valid ? db_sq_ready : !db_arm_valid || db_arm_ready;

  logic db_ring;
  logic [9:0] db_ring_qpn;
  logic pi_re, pi_valid, bf_re, bf_hit, bf_miss_pushed;
  logic [9:0] pi_qpn, bf_qpn;
  logic [15:0] pi, bf_wqe;
  logic [1023:0] bf_data;
  logic idle_intake;

  doorbell_intake u_doorbell_intake (
    .clk_i, .rst_ni(fn_rst_n),
    .db_valid_i(db_sq_valid), .db_ready_o(db_sq_ready), .db_i,
    .ring_o(db_ring), .ring_qpn_o(db_ring_qpn),
    .pi_re_i(pi_re), .pi_qpn_i(pi_qpn), .pi_o(pi), .pi_valid_o(pi_valid),
    .q_re_i(q_re), .q_qpn_i(q_idx), .q_pi_o(q_pi), .q_pi_valid_o(q_pi_valid),
    .bf_re_i(bf_re), .bf_qpn_i(bf_qpn), .bf_wqe_i(bf_wqe),
    .bf_hit_o(bf_hit), .bf_miss_pushed_o(bf_miss_pushed), .bf_data_o(bf_data),
    .clear_i(qp_clear), .clear_qpn_i(cmd_i.index[9:0]),
    .stat_db_rx_o(stat.db_rx),
    .probe_db_o(probe.db), .probe_qpn_o(probe.db_qpn), .probe_pi_o(probe.db_pi),
    .idle_o(idle_intake)
  );

  // ---- Scheduler --------------------------------------------------------------------------------------------------------
  // A doorbell's ring goes before one of the prefetch buffer, which waits.
  logic ring, pf_ring_valid, coalesced;
  logic [9:0] ring_qpn, pf_ring_qpn;
  assign ring = db_ring || pf_ring_valid;
  assign ring_qpn = db_ring ? db_ring_qpn : pf_ring_qpn;
  assign stat.db_coalesced = coalesced && db_ring;

  logic grant_valid, grant_ready, rel;
  logic [9:0] grant_qpn;
  rnic_pkg::turn_end_t turn_end;
  logic others, hungry, starving, idle_sched, sched_timer;
  logic [63:0] sched_deadline;

  // PFC: a priority that is paused on any port gets no turns; what it has under way waits in the MAC.
  logic [7:0] paused;
  always_comb begin
    paused = 8'd0;
    for (int unsigned p = 0; p < NumPorts; p++) paused = paused | mac_pause_i[8*p +: 8];
  end

  qp_scheduler u_qp_scheduler (
    .clk_i, .rst_ni(fn_rst_n), .cfg_i(sched_cfg_i), .now_i,
    .ring_i(ring), .ring_qpn_i(ring_qpn),
    .grant_valid_o(grant_valid), .grant_ready_i(grant_ready), .grant_qpn_o(grant_qpn),
    .release_i(rel), .turn_end_i(turn_end), .others_o(others),
    .hungry_i(hungry), .starving_i(starving), .prio_ready_i(~paused),
    .clear_i(qp_clear), .clear_qpn_i(cmd_i.index[9:0]),
    .rate_valid_i, .rate_i,
    .stat_coalesced_o(coalesced),
    .timer_valid_o(sched_timer), .timer_deadline_o(sched_deadline),
    .idle_o(idle_sched)
  );

  // ---- Transmit state ---------------------------------------------------------------------------------------------------
  logic st_re, st_valid, st_err, st_we, err_seg, err_pkt;
  logic [9:0] st_rd_qpn, st_wr_qpn, err_seg_qpn, err_pkt_qpn;
  rnic_pkg::tx_state_t st_rd, st_wr;

  tx_qp_state u_tx_qp_state (
    .clk_i, .rst_ni(fn_rst_n),
    .re_i(st_re), .rd_qpn_i(st_rd_qpn), .rd_valid_o(st_valid), .rd_err_o(st_err), .rd_state_o(st_rd),
    .q_re_i(q_re), .q_qpn_i(q_idx), .q_valid_o(q_st_valid), .q_err_o(q_st_err), .q_state_o(q_st),
    .we_i(st_we), .wr_qpn_i(st_wr_qpn), .wr_state_i(st_wr),
    .err_seg_i(err_seg), .err_seg_qpn_i(err_seg_qpn),
    .err_pkt_i(err_pkt), .err_pkt_qpn_i(err_pkt_qpn),
    .err_cmd_i(qp_2err), .err_cmd_qpn_i(cmd_i.index[9:0]),
    .clear_i(qp_clear), .clear_qpn_i(cmd_i.index[9:0])
  );

  // ---- Context caches and device memory -----------------------------------------------------------------------------------
  logic [6:0] dmq_valid, dmq_ready, dms_valid;
  logic [7*DmW-1:0] dmq;
  rnic_pkg::dm_req_t dmq_qpc, dmq_cqc, dmq_mpt, dmq_fetch, dmq_seg, dmq_mtt, dmq_query;
  rnic_pkg::dm_rsp_t dms;
  assign dmq = {dmq_query, dmq_mtt, dmq_seg, dmq_fetch, dmq_mpt, dmq_cqc, dmq_qpc};

  logic qpc_req_valid, qpc_req_ready, qpc_rsp_valid, qpc_rsp_ready;
  logic [9:0] qpc_req_idx;
  logic [1023:0] qpc_rsp;
  logic idle_qpc;
  ctx_cache #(
    .Entries(QpcEntries), .IdxW(10), .LineBytes(128), .Base(rnic_pkg::QpcBase)
  ) u_qpc_cache (
    .clk_i, .rst_ni(fn_rst_n),
    .req_valid_i(qpc_req_valid), .req_ready_o(qpc_req_ready), .req_idx_i(qpc_req_idx),
    .rsp_valid_o(qpc_rsp_valid), .rsp_ready_i(qpc_rsp_ready), .rsp_o(qpc_rsp),
    .inval_i(qp_clear), .inval_idx_i(cmd_i.index[9:0]), .inval_all_i(1'b0),
    .dm_req_valid_o(dmq_valid[0]), .dm_req_ready_i(dmq_ready[0]), .dm_req_o(dmq_qpc),
    .dm_rsp_valid_i(dms_valid[0]), .dm_rsp_i(dms),
    .stat_miss_o(stat.qpc_miss),
    .idle_o(idle_qpc)
  );

  logic cqc_req_valid, cqc_req_ready, cqc_rsp_valid, cqc_rsp_ready;
  logic [9:0] cqc_req_idx;
  logic [511:0] cqc_rsp;
  logic idle_cqc;
  ctx_cache #(
    .Entries(CqcEntries), .IdxW(10), .LineBytes(64), .Base(rnic_pkg::CqcBase)
  ) u_cqc_cache (
    .clk_i, .rst_ni(fn_rst_n),
    .req_valid_i(cqc_req_valid), .req_ready_o(cqc_req_ready), .req_idx_i(cqc_req_idx),
    .rsp_valid_o(cqc_rsp_valid), .rsp_ready_i(cqc_rsp_ready), .rsp_o(cqc_rsp),
    .inval_i(cq_clear), .inval_idx_i(cmd_i.index[9:0]), .inval_all_i(1'b0),
    .dm_req_valid_o(dmq_valid[1]), .dm_req_ready_i(dmq_ready[1]), .dm_req_o(dmq_cqc),
    .dm_rsp_valid_i(dms_valid[1]), .dm_rsp_i(dms),
    .stat_miss_o(stat.cqc_miss),
    .idle_o(idle_cqc)
  );

  logic mpt_req_valid, mpt_req_ready, mpt_rsp_valid, mpt_rsp_ready;
  logic [15:0] mpt_req_idx;
  logic [511:0] mpt_rsp;
  logic idle_mpt;
  ctx_cache #(
    .Entries(MptEntries), .IdxW(16), .LineBytes(64), .Base(rnic_pkg::MptBase)
  ) u_mpt_cache (
    .clk_i, .rst_ni(fn_rst_n),
    .req_valid_i(mpt_req_valid), .req_ready_o(mpt_req_ready), .req_idx_i(mpt_req_idx),
    .rsp_valid_o(mpt_rsp_valid), .rsp_ready_i(mpt_rsp_ready), .rsp_o(mpt_rsp),
    .inval_i(mkey_clear), .inval_idx_i(cmd_i.index[15:0]), .inval_all_i(1'b0),
    .dm_req_valid_o(dmq_valid[2]), .dm_req_ready_i(dmq_ready[2]), .dm_req_o(dmq_mpt),
    .dm_rsp_valid_i(dms_valid[2]), .dm_rsp_i(dms),
    .stat_miss_o(stat.mpt_miss),
    .idle_o(idle_mpt)
  );

  logic idle_dm;
  dm_arbiter #(
    .N(7), .Depth(64)
  ) u_dm_arbiter (
    .clk_i, .rst_ni(fn_rst_n),
    .req_valid_i(dmq_valid), .req_ready_o(dmq_ready), .req_i(dmq),
    .rsp_valid_o(dms_valid), .rsp_o(dms),
    .dm_req_valid_o, .dm_req_ready_i, .dm_req_o, .dm_rsp_valid_i, .dm_rsp_i,
    .idle_o(idle_dm)
  );

  // ---- Prefetch of send queues in host memory ----------------------------------------------------------------------
  logic pf_req_valid, pf_req_ready, pf_rsp_valid, pf_rsp_ready, pf_rsp_hit;
  logic [9:0] pf_req_qpn;
  logic [15:0] pf_req_idx, pf_req_pi;
  logic [63:0] pf_req_base;
  logic [3:0] pf_req_log_size;
  logic [2:0] pf_rsp_status;
  logic [2047:0] pf_rsp_data;
  logic rd2_valid, rd2_ready, pay2_valid, pay2_ready;
  rnic_pkg::rd_req_t rd2;
  rnic_pkg::payload_t pay2;
  logic idle_prefetch;

  sq_prefetch u_sq_prefetch (
    .clk_i, .rst_ni(fn_rst_n),
    .pf_req_valid_i(pf_req_valid), .pf_req_ready_o(pf_req_ready), .pf_req_qpn_i(pf_req_qpn), .pf_req_idx_i(pf_req_idx),
    .pf_req_pi_i(pf_req_pi), .pf_req_base_i(pf_req_base), .pf_req_log_size_i(pf_req_log_size),
    .pf_rsp_valid_o(pf_rsp_valid), .pf_rsp_ready_i(pf_rsp_ready), .pf_rsp_hit_o(pf_rsp_hit),
    .pf_rsp_status_o(pf_rsp_status), .pf_rsp_data_o(pf_rsp_data),
    .ring_valid_o(pf_ring_valid), .ring_ready_i(!db_ring), .ring_qpn_o(pf_ring_qpn),
    .rd_valid_o(rd2_valid), .rd_ready_i(rd2_ready), .rd_o(rd2),
    .pay_valid_i(pay2_valid), .pay_ready_o(pay2_ready), .pay_i(pay2),
    .clear_i(qp_clear), .clear_qpn_i(cmd_i.index[9:0]),
    .idle_o(idle_prefetch)
  );

  // ---- WQE fetch ------------------------------------------------------------------------------------------------------------
  logic job_valid, job_ready;
  rnic_pkg::tx_job_t job;
  logic evt_fetch_valid, evt_fetch_ready;
  rnic_pkg::event_t evt_fetch;
  logic idle_fetch;

  wqe_fetch_engine u_wqe_fetch_engine (
    .clk_i, .rst_ni(fn_rst_n),
    .grant_valid_i(grant_valid), .grant_ready_o(grant_ready), .grant_qpn_i(grant_qpn),
    .pi_re_o(pi_re), .pi_qpn_o(pi_qpn), .pi_i(pi), .pi_valid_i(pi_valid),
    .bf_re_o(bf_re), .bf_qpn_o(bf_qpn), .bf_wqe_o(bf_wqe),
    .bf_hit_i(bf_hit), .bf_miss_pushed_i(bf_miss_pushed), .bf_data_i(bf_data),
    .st_re_o(st_re), .st_qpn_o(st_rd_qpn), .st_valid_i(st_valid), .st_err_i(st_err), .st_i(st_rd),
    .qpc_req_valid_o(qpc_req_valid), .qpc_req_ready_i(qpc_req_ready), .qpc_req_idx_o(qpc_req_idx),
    .qpc_rsp_valid_i(qpc_rsp_valid), .qpc_rsp_ready_o(qpc_rsp_ready), .qpc_rsp_i(qpc_rsp),
    .dm_req_valid_o(dmq_valid[3]), .dm_req_ready_i(dmq_ready[3]), .dm_req_o(dmq_fetch),
    .dm_rsp_valid_i(dms_valid[3]), .dm_rsp_i(dms),
    .pf_req_valid_o(pf_req_valid), .pf_req_ready_i(pf_req_ready), .pf_req_qpn_o(pf_req_qpn), .pf_req_idx_o(pf_req_idx),
    .pf_req_pi_o(pf_req_pi), .pf_req_base_o(pf_req_base), .pf_req_log_size_o(pf_req_log_size),
    .pf_rsp_valid_i(pf_rsp_valid), .pf_rsp_ready_o(pf_rsp_ready), .pf_rsp_hit_i(pf_rsp_hit),
    .pf_rsp_status_i(pf_rsp_status), .pf_rsp_data_i(pf_rsp_data),
    .job_valid_o(job_valid), .job_ready_i(job_ready), .job_o(job),
    .evt_valid_o(evt_fetch_valid), .evt_ready_i(evt_fetch_ready), .evt_o(evt_fetch),
    .stat_db_invalid_o(stat.db_invalid), .stat_bf_hit_o(stat.bf_hit), .stat_bf_fallback_o(stat.bf_fallback),
    .stat_wqe_fetch_o(stat.wqe_fetch),
    .probe_wqe_o(probe.wqe), .probe_wqe_op_o(probe.wqe_op),
    .idle_o(idle_fetch)
  );

  // ---- Segmenter --------------------------------------------------------------------------------------------------------------
  logic desc_valid, desc_ready, xl_valid, xl_ready, inl_valid, inl_ready;
  rnic_pkg::pkt_desc_t desc;
  rnic_pkg::xl_req_t xl;
  rnic_pkg::payload_t inl;
  logic idle_seg, seg_stale;

  tx_segmenter u_tx_segmenter (
    .clk_i, .rst_ni(fn_rst_n),
    .job_valid_i(job_valid), .job_ready_o(job_ready), .job_i(job), .other_waiting_i(others),
    .recheck_i(mkey_clear), .stale_o(seg_stale),
    .mpt_req_valid_o(mpt_req_valid), .mpt_req_ready_i(mpt_req_ready), .mpt_req_idx_o(mpt_req_idx),
    .mpt_rsp_valid_i(mpt_rsp_valid), .mpt_rsp_ready_o(mpt_rsp_ready), .mpt_rsp_i(mpt_rsp),
    .desc_valid_o(desc_valid), .desc_ready_i(desc_ready), .desc_o(desc),
    .rd_valid_o(xl_valid), .rd_ready_i(xl_ready), .rd_o(xl),
    .inl_valid_o(inl_valid), .inl_ready_i(inl_ready), .inl_o(inl),
    .st_we_o(st_we), .st_qpn_o(st_wr_qpn), .st_o(st_wr),
    .err_o(err_seg), .err_qpn_o(err_seg_qpn),
    .release_o(rel), .turn_end_o(turn_end),
    .dm_req_valid_o(dmq_valid[4]), .dm_req_ready_i(dmq_ready[4]), .dm_req_o(dmq_seg),
    .idle_o(idle_seg)
  );

  // ---- Addresses on the bus ---------------------------------------------------------------------------------------
  logic rd_valid, rd_ready, pay_valid, pay_ready;
  rnic_pkg::rd_req_t rd;
  rnic_pkg::payload_t pay;
  logic idle_xl;

  dma_translate #(
    .MttEntries(MttEntries)
  ) u_dma_translate (
    .clk_i, .rst_ni(fn_rst_n),
    .xl_valid_i(xl_valid), .xl_ready_o(xl_ready), .xl_i(xl),
    .rd_valid_o(rd_valid), .rd_ready_i(rd_ready), .rd_o(rd),
    .rd_done_i(pay_valid && pay_ready && pay.last),
    .win_we_i, .win_idx_i, .win_i, .win_busy_o,
    .inval_i(mkey_clear), .stale_i(seg_stale),
    .dm_req_valid_o(dmq_valid[5]), .dm_req_ready_i(dmq_ready[5]), .dm_req_o(dmq_mtt),
    .dm_rsp_valid_i(dms_valid[5]), .dm_rsp_i(dms),
    .stat_mtt_miss_o(stat.mtt_miss), .stat_mtt_absent_o(stat.mtt_absent), .stat_win_denied_o(stat.win_denied),
    .idle_o(idle_xl)
  );

  // Packets whose payload is on its way wait here.
  logic descq_valid, descq_ready;
  rnic_pkg::pkt_desc_t descq;
  logic [$clog2(DescDepth):0] descq_fill;
  fifo #(
    .Width(925), .Depth(DescDepth)
  ) u_desc_fifo (
    .clk_i, .rst_ni(fn_rst_n),
    .wr_valid_i(desc_valid), .wr_ready_o(desc_ready), .wr_data_i(desc),
    .rd_valid_o(descq_valid), .rd_ready_i(descq_ready), .rd_data_o(descq),
    .fill_o(descq_fill)
  );

  // What keeps the link busy while a payload is read and a turn comes round: packets described and not begun, and their
  // payload in units of 64 B, each rounded up and one more.
  logic [$clog2(DescDepth)+6:0] backlog_q;
  always_ff @(posedge clk_i or negedge fn_rst_n) begin
    if (!fn_rst_n) begin
      backlog_q <= '0;
    end else if ((desc_valid && desc_ready) || (descq_valid && descq_ready)) begin
      backlog_q <= backlog_q + {{$clog2(DescDepth){1'b0}}, desc_valid && desc_ready ? desc.payload_len[12:6] + 7'd1 : 7'd0} -
                   {{$clog2(DescDepth){1'b0}}, descq_valid && descq_ready ? descq.payload_len[12:6] + 7'd1 : 7'd0};
    end
  end
  assign hungry = descq_fill[$clog2(DescDepth):4] == '0 && backlog_q[$clog2(DescDepth)+6:8] == '0;    // 16, 16 KiB
  assign starving = descq_fill[$clog2(DescDepth):2] == '0 && backlog_q[$clog2(DescDepth)+6:7] == '0;  // 4, 8 KiB

  // Inline payload waits for its packet's turn. The packets it belongs to are already in the queue above, so it never
  // holds up the ones before it.
  logic inlq_valid, inlq_ready;
  rnic_pkg::payload_t inlq;
  logic [$clog2(DescDepth):0] inlq_fill;
  fifo #(
    .Width(524), .Depth(DescDepth)
  ) u_inl_fifo (
    .clk_i, .rst_ni(fn_rst_n),
    .wr_valid_i(inl_valid), .wr_ready_o(inl_ready), .wr_data_i(inl),
    .rd_valid_o(inlq_valid), .rd_ready_i(inlq_ready), .rd_data_o(inlq),
    .fill_o(inlq_fill)
  );

  // ---- DMA and PCIe -------------------------------------------------------------------------------------------------------------
  logic wr_valid, wr_ready, wdata_valid, wdata_ready, wr_done;
  rnic_pkg::wr_req_t wr;
  logic [511:0] wdata;
  rnic_pkg::op_t wr_done_op;
  logic treq_rd_valid, treq_rd_ready, treq_wr_valid, treq_wr_ready, twd_valid, twd_ready, twr_sent, cpl_valid;
  rnic_pkg::tlp_req_t treq_rd, treq_wr;
  rnic_pkg::tlp_wdata_t twd;
  rnic_pkg::cpl_t cpl;
  logic cpl_mid;
  logic [7:0] back_h;
  logic [9:0] back_d;
  logic unexpected_dma, unexpected_gen, malformed_dma, malformed_gen;
  logic idle_dma, idle_gen;

  localparam int unsigned WqeTags = 64;          // of NumTags
  dma_master #(
    .NumTags(NumTags - WqeTags),
    .WqeTags(WqeTags)
  ) u_dma_master (
    .clk_i, .rst_ni(fn_rst_n), .link_rst_ni(rst_ni), .now_i, .cfg_i(pcie_cfg_i),
    .rd_valid_i(rd_valid), .rd_ready_o(rd_ready), .rd_i(rd),
    .pay_valid_o(pay_valid), .pay_ready_i(pay_ready), .pay_o(pay),
    .rd2_valid_i(rd2_valid), .rd2_ready_o(rd2_ready), .rd2_i(rd2),
    .pay2_valid_o(pay2_valid), .pay2_ready_i(pay2_ready), .pay2_o(pay2),
    .wr_valid_i(wr_valid), .wr_ready_o(wr_ready), .wr_i(wr),
    .wdata_valid_i(wdata_valid), .wdata_ready_o(wdata_ready), .wdata_i(wdata),
    .wr_done_o(wr_done), .wr_done_op_o(wr_done_op),
    .treq_rd_valid_o(treq_rd_valid), .treq_rd_ready_i(treq_rd_ready), .treq_rd_o(treq_rd),
    .treq_wr_valid_o(treq_wr_valid), .treq_wr_ready_i(treq_wr_ready), .treq_wr_o(treq_wr),
    .twd_valid_o(twd_valid), .twd_ready_i(twd_ready), .twd_o(twd),
    .twr_sent_i(twr_sent),
    .cpl_valid_i(cpl_valid), .cpl_i(cpl), .cpl_mid_i(cpl_mid), .back_h_o(back_h), .back_d_o(back_d),
    .stat_unexpected_o(unexpected_dma), .stat_ur_o(stat.cpl_ur), .stat_ca_o(stat.cpl_ca), .stat_poisoned_o(stat.cpl_poisoned),
    .stat_timeout_o(stat.cpl_timeout), .stat_malformed_o(malformed_dma),
    .probe_rd_o(probe.rd), .probe_rd_op_o(probe.rd_op),
    .probe_done_o(probe.rd_done), .probe_done_op_o(probe.rd_done_op),
    .idle_o(idle_dma)
  );

  pcie_tlp_gen u_pcie_tlp_gen (
    .clk_i, .rst_ni(fn_rst_n), .link_rst_ni(rst_ni), .cfg_i(pcie_cfg_i), .fc_i(pcie_fc_i),
    .treq_rd_valid_i(treq_rd_valid), .treq_rd_ready_o(treq_rd_ready), .treq_rd_i(treq_rd),
    .treq_wr_valid_i(treq_wr_valid), .treq_wr_ready_o(treq_wr_ready), .treq_wr_i(treq_wr),
    .twd_valid_i(twd_valid), .twd_ready_o(twd_ready), .twd_i(twd),
    .twr_sent_o(twr_sent),
    .tlp_tx_valid_o, .tlp_tx_ready_i, .tlp_tx_o,
    .tlp_rx_valid_i, .tlp_rx_ready_o, .tlp_rx_i,
    .cpl_valid_o(cpl_valid), .cpl_o(cpl), .cpl_mid_o(cpl_mid), .back_h_i(back_h), .back_d_i(back_d),
    .stat_unexpected_o(unexpected_gen), .stat_malformed_o(malformed_gen),
    .idle_o(idle_gen)
  );
  assign stat.cpl_unexpected = unexpected_dma || unexpected_gen;
  assign stat.cpl_malformed = malformed_dma || malformed_gen;

  // ---- Payloads of several reads ---------------------------------------------------------------------------------------------
  logic gather_valid, gather_ready;
  rnic_pkg::payload_t gather;
  logic idle_gather;

  tx_gather u_tx_gather (
    .clk_i, .rst_ni(fn_rst_n),
    .pay_valid_i(pay_valid), .pay_ready_o(pay_ready), .pay_i(pay),
    .gather_valid_o(gather_valid), .gather_ready_i(gather_ready), .gather_o(gather),
    .idle_o(idle_gather)
  );

  // ---- Packetizer and MAC ports -----------------------------------------------------------------------------------------------------
  logic mac_valid, mac_ready, cqe_valid, cqe_ready;
  rnic_pkg::mac_beat_t mac;
  logic [2:0] mac_port;
  rnic_pkg::cqe_req_t cqe;
  logic idle_pkt;

  tx_packetizer u_tx_packetizer (
    .clk_i, .rst_ni(fn_rst_n),
    .desc_valid_i(descq_valid), .desc_ready_o(descq_ready), .desc_i(descq),
    .pay_valid_i(gather_valid), .pay_ready_o(gather_ready), .pay_i(gather),
    .inl_valid_i(inlq_valid), .inl_ready_o(inlq_ready), .inl_i(inlq),
    .mac_valid_o(mac_valid), .mac_ready_i(mac_ready), .mac_o(mac), .mac_port_o(mac_port),
    .cqe_valid_o(cqe_valid), .cqe_ready_i(cqe_ready), .cqe_o(cqe),
    .err_o(err_pkt), .err_qpn_o(err_pkt_qpn),
    .clear_i(qp_clear), .clear_qpn_i(cmd_i.index[9:0]),
    .probe_mac_o(probe.mac), .probe_mac_op_o(probe.mac_op),
    .idle_o(idle_pkt)
  );

  // A port number beyond the ports there are goes to port 0.
  logic [NumPorts-1:0] port_sel;
  for (genvar p = 0; p < NumPorts; p++) begin : gen_port
    if (p == 0) begin : gen_first
      assign port_sel[p] = mac_port == 3'd0 || {29'd0, mac_port} >= NumPorts;
    end else begin : gen_other
      assign port_sel[p] = {29'd0, mac_port} == p;
    end
    assign mac_tx_valid_o[p] = mac_valid && port_sel[p];
    assign mac_tx_o[p*575 +: 575] = mac;
    assign mac_rx_ready_o[p] = 1'b1;
  end
  assign mac_ready = |(mac_tx_ready_i & port_sel);

  // ---- Completion ---------------------------------------------------------------------------------------------------------------------
  logic evt_cqe_valid, evt_cqe_ready;
  rnic_pkg::event_t evt_cqe;
  logic idle_cqe;

  logic cqe_wr_valid, cqe_wr_ready, cqe_wdata_valid, cqe_wdata_ready, cqe_written, note_valid;
  rnic_pkg::wr_req_t cqe_wr;
  logic [511:0] cqe_wdata;
  rnic_pkg::cq_note_t note;

  cqe_writer u_cqe_writer (
    .clk_i, .rst_ni(fn_rst_n), .now_i,
    .req_valid_i(cqe_valid), .req_ready_o(cqe_ready), .req_i(cqe),
    .db_valid_i(db_cq_valid), .db_i,
    .clear_i(cq_clear), .clear_cqn_i(cmd_i.index[9:0]),
    .q_re_i(q_re), .q_cqn_i(q_idx), .q_pi_valid_o(q_cq_pi_valid), .q_pi_o(q_cq_pi),
    .q_ci_valid_o(q_cq_ci_valid), .q_ci_o(q_cq_ci), .q_overrun_o(q_cq_overrun),
    .cqc_req_valid_o(cqc_req_valid), .cqc_req_ready_i(cqc_req_ready), .cqc_req_idx_o(cqc_req_idx),
    .cqc_rsp_valid_i(cqc_rsp_valid), .cqc_rsp_ready_o(cqc_rsp_ready), .cqc_rsp_i(cqc_rsp),
    .wr_valid_o(cqe_wr_valid), .wr_ready_i(cqe_wr_ready), .wr_o(cqe_wr),
    .wdata_valid_o(cqe_wdata_valid), .wdata_ready_i(cqe_wdata_ready), .wdata_o(cqe_wdata),
    .note_valid_o(note_valid), .note_o(note),
    .evt_valid_o(evt_cqe_valid), .evt_ready_i(evt_cqe_ready), .evt_o(evt_cqe),
    .stat_cqe_ok_o(stat.cqe_ok), .stat_cqe_err_o(stat.cqe_err), .stat_overrun_o(stat.cq_overrun),
    .idle_o(idle_cqe)
  );

  // ---- Queries ------------------------------------------------------------------------------------------------------
  logic idle_query;

  ctx_query u_ctx_query (
    .clk_i, .rst_ni(fn_rst_n), .now_i,
    .cmd_valid_i(query_valid), .cmd_ready_o(query_ready), .cmd_i,
    .read_o(q_re), .idx_o(q_idx),
    .sq_pi_valid_i(q_pi_valid), .sq_pi_i(q_pi),
    .st_valid_i(q_st_valid), .st_err_i(q_st_err), .st_i(q_st),
    .cq_pi_valid_i(q_cq_pi_valid), .cq_pi_i(q_cq_pi), .cq_ci_valid_i(q_cq_ci_valid), .cq_ci_i(q_cq_ci),
    .cq_overrun_i(q_cq_overrun), .cq_armed_i(q_cq_armed), .cq_only_i(q_cq_only),
    .dm_req_valid_o(dmq_valid[6]), .dm_req_ready_i(dmq_ready[6]), .dm_req_o(dmq_query),
    .idle_o(idle_query)
  );

  // ---- Interrupts ---------------------------------------------------------------------------------------------------
  logic irq_valid, arm_timer, idle_arm, idle_msix;
  logic [5:0] irq_vector;
  logic [63:0] arm_deadline;

  cq_arm u_cq_arm (
    .clk_i, .rst_ni(fn_rst_n), .now_i,
    .note_valid_i(note_valid), .note_i(note),
    .arm_valid_i(db_arm_valid), .arm_ready_o(db_arm_ready), .arm_i(db_i),
    .clear_valid_i(cq_clear_valid), .clear_ready_o(cq_clear_ready), .clear_cqn_i(cmd_i.index[9:0]),
    .q_re_i(q_re), .q_cqn_i(q_idx), .q_armed_o(q_cq_armed), .q_only_o(q_cq_only),
    .irq_valid_o(irq_valid), .irq_vector_o(irq_vector),
    .timer_valid_o(arm_timer), .timer_deadline_o(arm_deadline),
    .idle_o(idle_arm)
  );

  // Without bus mastering a message waits; it would be swallowed.
  msix u_msix (
    .clk_i, .rst_ni(fn_rst_n),
    .msix_we_i, .msix_idx_i, .msix_reg_i, .msix_wdata_i,
    .msix_en_i(msix_en_i && pcie_cfg_i.bus_master), .msix_mask_i, .msix_pending_o,
    .irq_valid_i(irq_valid), .irq_vector_i(irq_vector),
    .cqe_wr_valid_i(cqe_wr_valid), .cqe_wr_ready_o(cqe_wr_ready), .cqe_wr_i(cqe_wr),
    .cqe_wdata_valid_i(cqe_wdata_valid), .cqe_wdata_ready_o(cqe_wdata_ready), .cqe_wdata_i(cqe_wdata),
    .cqe_done_o(cqe_written),
    .wr_valid_o(wr_valid), .wr_ready_i(wr_ready), .wr_o(wr),
    .wdata_valid_o(wdata_valid), .wdata_ready_i(wdata_ready), .wdata_o(wdata),
    .wr_done_i(wr_done),
    .stat_sent_o(stat.irq_sent),
    .idle_o(idle_msix)
  );

  assign timer_valid_o = sched_timer || arm_timer;
  assign timer_deadline_o = !arm_timer || (sched_timer && sched_deadline < arm_deadline) ? sched_deadline : arm_deadline;

  // ---- Error log: completions first -----------------------------------------------------------------------------------
  event_mux u_event_mux (
    .clk_i, .rst_ni(fn_rst_n),
    .a_valid_i(evt_cqe_valid), .a_ready_o(evt_cqe_ready), .a_i(evt_cqe),
    .b_valid_i(evt_fetch_valid), .b_ready_o(evt_fetch_ready), .b_i(evt_fetch),
    .evt_valid_o, .evt_ready_i, .evt_o
  );

  // ---- Observation --------------------------------------------------------------------------------------------------------------------------
  assign probe.cqe = cqe_written;
  assign probe.cqe_op = wr_done_op;
  assign probe_o = probe;
  assign stat_o = stat;

  assign idle_o = idle_intake && idle_sched && idle_fetch && idle_prefetch && idle_seg && idle_xl && idle_query && idle_qpc && idle_cqc &&
                  idle_mpt && idle_dm && idle_dma && idle_gen && idle_gather && idle_pkt && idle_cqe && idle_arm && idle_msix && !descq_valid && !inlq_valid &&
                  !evt_valid_o && !flr_i && !flr_q;

endmodule
