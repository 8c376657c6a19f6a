// SPDX-License-Identifier: Apache-2.0
// DMA master: reads and writes of up to 4 KiB. Splits them into TLP requests (MRRS or MPS, and 4 KiB boundaries),
// hands out tags, puts completions of any order back together, and returns read data in request order, first byte in
// lane 0.
//
// Reads: up to NumTags TLPs in flight, and BufBytes of reassembly buffer, reserved before a read is sent, so that
// completions never have to wait. A request is finished when the bytes that it asked for have arrived, whatever the
// completer's byte count says; only then is its tag free. A failed read returns one beat with last and its status,
// after all its tags have been answered.
// WQEs are read beside payload, by a second reader with a buffer and tags of its own: the highest WqeTags of the 10-bit
// ones, WqeTags8 of the 8-bit ones, and 8 of the 5-bit ones. Payload has the lowest: from 256 on where 10-bit tags are
// enabled, since those below are for completers without them, else from 0 on. A WQE's request goes before the payload's,
// but an offered one stays. Which tags are whose changes with the tag bits, and so only while no tag is reserved or in use:
// until then the old bits hold, and new requests wait. A function-level reset takes the bits away while reads are open.
// Writes: data in lane 0 on; posted. wr_done_o pulses when the last TLP of the write has been accepted at the pins.
//
// Inside are two dma_read and a dma_write; they share nothing. Without bus mastering a read returns DmaNoMaster and a
// write is swallowed.
module dma_master #(
  parameter int unsigned NumTags = 448,        // payload reads: 1..768-WqeTags
  parameter int unsigned WqeTags = 64,         // WQE reads: power of two, 8..256
  parameter int unsigned WqeTags8 = 32,        // of them with 8-bit tags: power of two, 8..WqeTags, at most 128
  parameter int unsigned BufBytes = 65536,
  parameter int unsigned MaxReads = 512,       // rd_req in flight
  parameter int unsigned WqeBufBytes = 16384,
  parameter int unsigned MaxWqeReads = 32
) (
  input  logic clk_i,
  input  logic rst_ni,                 // of the function: tags in use become orphans
  input  logic link_rst_ni,            // of the link: of the tags, too; only with rst_ni
  input  logic [63:0] now_i,           // ns
  input  rnic_pkg::pcie_cfg_t cfg_i,
  // Payload reads
  input  logic rd_valid_i,
  output logic rd_ready_o,
  input  rnic_pkg::rd_req_t rd_i,
  output logic pay_valid_o,
  input  logic pay_ready_i,
  output rnic_pkg::payload_t pay_o,
  // WQE reads, likewise
  input  logic rd2_valid_i,
  output logic rd2_ready_o,
  input  rnic_pkg::rd_req_t rd2_i,
  output logic pay2_valid_o,
  input  logic pay2_ready_i,
  output rnic_pkg::payload_t pay2_o,
  // Writes: request, then ceil(len/64) beats of data
  input  logic wr_valid_i,
  output logic wr_ready_o,
  input  rnic_pkg::wr_req_t wr_i,
  input  logic wdata_valid_i,
  output logic wdata_ready_o,
  input  logic [511:0] wdata_i,
  output logic wr_done_o,
  output rnic_pkg::op_t wr_done_op_o,
  // pcie_tlp_gen: reads and writes have a channel each, so that a blocked read never holds up a write
  output logic treq_rd_valid_o,
  input  logic treq_rd_ready_i,
  output rnic_pkg::tlp_req_t treq_rd_o,
  output logic treq_wr_valid_o,
  input  logic treq_wr_ready_i,
  output rnic_pkg::tlp_req_t treq_wr_o,
  output logic twd_valid_o,
  input  logic twd_ready_i,
  output rnic_pkg::tlp_wdata_t twd_o,
  input  logic twr_sent_i,             // the oldest write TLP not yet reported has left: its last beat was accepted
  // Completions; always taken
  input  logic cpl_valid_i,
  input  rnic_pkg::cpl_t cpl_i,
  input  logic cpl_mid_i,              // the completion of which a beat came last goes on
  // To pcie_tlp_gen: room for completions that reads had, given back in this cycle
  output logic [7:0] back_h_o,
  output logic [9:0] back_d_o,         // in 16 B
  // Observation
  output logic stat_unexpected_o,      // completion for a tag that is not in use
  output logic stat_ur_o,              // completion with this status, or read given up
  output logic stat_ca_o,
  output logic stat_poisoned_o,
  output logic stat_timeout_o,
  output logic stat_malformed_o,       // more data than asked for, or inconsistent
  output logic probe_rd_o,             // payload read accepted
  output rnic_pkg::op_t probe_rd_op_o,
  output logic probe_done_o,           // last payload byte of a read in the buffer
  output rnic_pkg::op_t probe_done_op_o,
  output logic idle_o
);
  localparam int unsigned WqeTags5 = 8;
  // Of a WQE's tag the bits that say that it is one's; the others count.
  localparam logic [9:0] WqeTop = -10'(WqeTags);
  localparam logic [9:0] WqeTop8 = {2'b0, -8'(WqeTags8)};
  localparam logic [9:0] WqeTop5 = {5'b0, -5'(WqeTags5)};

  if (WqeTags < 8 || WqeTags > 256 || (WqeTags & (WqeTags - 1)) != 0) $error("WqeTags must be a power of two, 8..256");
  if (WqeTags8 < 8 || WqeTags8 > 128 || WqeTags8 > WqeTags || (WqeTags8 & (WqeTags8 - 1)) != 0) begin : gen_bad
    $error("WqeTags8 must be a power of two, 8..WqeTags, at most 128");
  end
  if (NumTags < 1 || NumTags > 768 - WqeTags) $error("NumTags must be 1..768-WqeTags");

  logic rd_idle, rd2_idle, wr_idle;
  assign idle_o = rd_idle && rd2_idle && wr_idle;

  // ---- Tag bits ------------------------------------------------------------------------------------------------------
  logic tag10_q, ext_tag_q, want_ext_tag, tag_go, pay_held, wqe_held;
  rnic_pkg::pcie_cfg_t cfg;
  assign want_ext_tag = cfg_i.ext_tag && !cfg_i.tag10;
  assign tag_go = tag10_q == cfg_i.tag10 && ext_tag_q == want_ext_tag;
  always_comb begin
    cfg = cfg_i;
    cfg.tag10 = tag10_q;
    cfg.ext_tag = ext_tag_q;
  end

  always_ff @(posedge clk_i or negedge link_rst_ni) begin
    if (!link_rst_ni) begin
      tag10_q <= 1'b0;
      ext_tag_q <= 1'b0;
    end else if (!pay_held && !wqe_held) begin
      tag10_q <= cfg_i.tag10;
      ext_tag_q <= want_ext_tag;
    end
  end

  // ---- Requests: WQEs first -----------------------------------------------------------------------------------------
  logic treq_pay_valid, treq_wqe_valid, treq_wqe_go, held_q;
  logic [9:0] wqe_top, wqe_count;
  rnic_pkg::tlp_req_t treq_pay, treq_wqe;
  assign wqe_top = cfg.tag10 ? WqeTop : cfg.ext_tag ? WqeTop8 : WqeTop5;
  assign wqe_count = cfg.tag10 ? 10'(WqeTags - 1) : cfg.ext_tag ? 10'(WqeTags8 - 1) : 10'(WqeTags5 - 1);
  assign treq_wqe_go = treq_wqe_valid && !held_q;
  assign treq_rd_valid_o = treq_pay_valid || treq_wqe_valid;

  always_comb begin
    treq_rd_o = treq_pay;
    if (cfg.tag10) treq_rd_o.tag[9:8] = treq_pay.tag[9:8] + 2'd1;
    if (treq_wqe_go) begin
      treq_rd_o = treq_wqe;
      treq_rd_o.tag = wqe_top | treq_wqe.tag;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) held_q <= 1'b0;
    else held_q <= treq_pay_valid && !treq_wqe_go && !treq_rd_ready_i;
  end

  // ---- Completions go by their tag, all beats of one together -------------------------------------------------------
  logic cpl_wqe, cpl_wqe_q;
  rnic_pkg::cpl_t cpl_pay, cpl_local;
  assign cpl_wqe = cpl_i.sop ? (cpl_i.tag & ~wqe_count) == wqe_top : cpl_wqe_q;
  always_comb begin
    cpl_pay = cpl_i;
    if (cfg.tag10) cpl_pay.tag[9:8] = cpl_i.tag[9:8] - 2'd1;     // 0..255: beyond those that there are
    cpl_local = cpl_i;
    cpl_local.tag = cpl_i.tag & wqe_count;
  end

  always_ff @(posedge clk_i or negedge link_rst_ni) begin
    if (!link_rst_ni) cpl_wqe_q <= 1'b0;
    else if (cpl_valid_i) cpl_wqe_q <= cpl_wqe;
  end

  logic pay_unexpected, pay_malformed, wqe_unexpected, wqe_malformed;
  logic pay_ur, pay_ca, pay_poisoned, pay_timeout, wqe_ur, wqe_ca, wqe_poisoned, wqe_timeout;
  assign stat_unexpected_o = pay_unexpected || wqe_unexpected;     // never both: one completion beat a cycle
  assign stat_ur_o = pay_ur || wqe_ur;
  assign stat_ca_o = pay_ca || wqe_ca;
  assign stat_poisoned_o = pay_poisoned || wqe_poisoned;
  assign stat_timeout_o = pay_timeout || wqe_timeout;
  assign stat_malformed_o = pay_malformed || wqe_malformed;

  logic [6:0] pay_back_h, wqe_back_h;
  logic [8:0] pay_back_d, wqe_back_d;
  assign back_h_o = {1'b0, pay_back_h} + {1'b0, wqe_back_h};
  assign back_d_o = {1'b0, pay_back_d} + {1'b0, wqe_back_d};

  dma_read #(
    .NumTags(NumTags),
    .NumTags8(256 - WqeTags8),
    .NumTags5(32 - WqeTags5),
    .BufBytes(BufBytes),
    .MaxReads(MaxReads)
  ) u_read (
    .clk_i,
    .rst_ni,
    .link_rst_ni,
    .now_i,
    .cfg_i(cfg),
    .tag_go_i(tag_go),
    .tag_held_o(pay_held),
    .rd_valid_i,
    .rd_ready_o,
    .rd_i,
    .pay_valid_o,
    .pay_ready_i,
    .pay_o,
    .treq_rd_valid_o(treq_pay_valid),
    .treq_rd_ready_i(treq_rd_ready_i && !treq_wqe_go),
    .treq_rd_o(treq_pay),
    .cpl_valid_i(cpl_valid_i && !cpl_wqe),
    .cpl_i(cpl_pay),
    .cpl_mid_i,
    .back_h_o(pay_back_h),
    .back_d_o(pay_back_d),
    .stat_unexpected_o(pay_unexpected),
    .stat_ur_o(pay_ur),
    .stat_ca_o(pay_ca),
    .stat_poisoned_o(pay_poisoned),
    .stat_timeout_o(pay_timeout),
    .stat_malformed_o(pay_malformed),
    .probe_rd_o,
    .probe_rd_op_o,
    .probe_done_o,
    .probe_done_op_o,
    .idle_o(rd_idle)
  );

  logic wqe_probe_rd, wqe_probe_done;
  rnic_pkg::op_t wqe_probe_rd_op, wqe_probe_done_op;
  dma_read #(
    .NumTags(WqeTags),
    .NumTags8(WqeTags8),
    .NumTags5(WqeTags5),
    .BufBytes(WqeBufBytes),
    .MaxReads(MaxWqeReads)
  ) u_read_wqe (
    .clk_i,
    .rst_ni,
    .link_rst_ni,
    .now_i,
    .cfg_i(cfg),
    .tag_go_i(tag_go),
    .tag_held_o(wqe_held),
    .rd_valid_i(rd2_valid_i),
    .rd_ready_o(rd2_ready_o),
    .rd_i(rd2_i),
    .pay_valid_o(pay2_valid_o),
    .pay_ready_i(pay2_ready_i),
    .pay_o(pay2_o),
    .treq_rd_valid_o(treq_wqe_valid),
    .treq_rd_ready_i(treq_rd_ready_i && treq_wqe_go),
    .treq_rd_o(treq_wqe),
    .cpl_valid_i(cpl_valid_i && cpl_wqe),
    .cpl_i(cpl_local),
    .cpl_mid_i,
    .back_h_o(wqe_back_h),
    .back_d_o(wqe_back_d),
    .stat_unexpected_o(wqe_unexpected),
    .stat_ur_o(wqe_ur),
    .stat_ca_o(wqe_ca),
    .stat_poisoned_o(wqe_poisoned),
    .stat_timeout_o(wqe_timeout),
    .stat_malformed_o(wqe_malformed),
    .probe_rd_o(wqe_probe_rd),
    .probe_rd_op_o(wqe_probe_rd_op),
    .probe_done_o(wqe_probe_done),
    .probe_done_op_o(wqe_probe_done_op),
    .idle_o(rd2_idle)
  );

  dma_write u_write (
    .clk_i,
    .rst_ni,
    .cfg_i,
    .wr_valid_i,
    .wr_ready_o,
    .wr_i,
    .wdata_valid_i,
    .wdata_ready_o,
    .wdata_i,
    .wr_done_o,
    .wr_done_op_o,
    .treq_wr_valid_o,
    .treq_wr_ready_i,
    .treq_wr_o,
    .twd_valid_o,
    .twd_ready_i,
    .twd_o,
    .twr_sent_i,
    .idle_o(wr_idle)
  );
endmodule
