// SPDX-License-Identifier: Apache-2.0
// Read half of dma_master: splits a read into memory read requests, gives each a tag, writes completion data of any
// order into a reassembly buffer, and streams the data of finished reads in request order.
//
// Buffer: a ring of 64 B lines in 64 banks of one byte. A read takes ceil(len / 64) lines in order when it is accepted;
// its first byte stands at lane 0 of the first. A read is accepted only when 64 lines are free, so that acceptance does
// not depend on its length. Each bank has its own row address, so a completion beat is written in one cycle wherever
// its bytes go.
// Cuts: at every multiple of MRRS, which includes every 4 KiB boundary; so all pieces but the first start DW-aligned.
//
// A read of length 0 is a flush: a zero-length request, answered by one beat without bytes.
//
// Latency: rd_valid_i to treq_rd_valid_o 1 cycle; completion beat at cpl_valid_i to probe_done_o 1 cycle, to
// pay_valid_o 4 cycles (3 after probe_done_o), whatever the address. One TLP a cycle; one payload beat a cycle.
module dma_read #(
  parameter int unsigned NumTags = 512,        // 1..768, from 0 on
  parameter int unsigned NumTags8 = 256,       // of them without 10-bit tags: 1..256
  parameter int unsigned NumTags5 = 32,        // of them without extended tags: 1..32
  parameter int unsigned BufBytes = 65536,     // power of two, at least 8192
  parameter int unsigned MaxReads = 128        // power of two, at least 2
) (
  input  logic clk_i,
  input  logic rst_ni,                 // of the function: a tag in use becomes an orphan
  input  logic link_rst_ni,            // of the link: of the tags, too; only with rst_ni
  input  logic [63:0] now_i,           // ns
  input  rnic_pkg::pcie_cfg_t cfg_i,
  input  logic tag_go_i,               // tags may be chosen; tag10 and ext_tag may change while none is held
  output logic tag_held_o,             // one is reserved or in use
  // Reads in, payload out
  input  logic rd_valid_i,
  output logic rd_ready_o,
  input  rnic_pkg::rd_req_t rd_i,
  output logic pay_valid_o,
  input  logic pay_ready_i,
  output rnic_pkg::payload_t pay_o,
  // Requests to pcie_tlp_gen
  output logic treq_rd_valid_o,
  input  logic treq_rd_ready_i,
  output rnic_pkg::tlp_req_t treq_rd_o,
  // Completions; always taken
  input  logic cpl_valid_i,
  input  rnic_pkg::cpl_t cpl_i,
  input  logic cpl_mid_i,              // a completion is under way, also where none of its beats comes
  // Room for completions that a read had, given back in this cycle; 0: none
  output logic [6:0] back_h_o,
  output logic [8:0] back_d_o,         // in 16 B
  // Observation
  output logic stat_unexpected_o,
  output logic stat_ur_o,
  output logic stat_ca_o,
  output logic stat_poisoned_o,
  output logic stat_timeout_o,
  output logic stat_malformed_o,
  output logic probe_rd_o,
  output rnic_pkg::op_t probe_rd_op_o,
  output logic probe_done_o,
  output rnic_pkg::op_t probe_done_op_o,
  output logic idle_o
);
  localparam int unsigned Lines = BufBytes / 64;
  localparam int unsigned LineW = $clog2(Lines);
  localparam int unsigned TagW = NumTags > 1 ? $clog2(NumTags) : 1;
  localparam int unsigned PosW = LineW + 6;    // position of a byte in the ring
  localparam int unsigned SlotW = $clog2(MaxReads);
  localparam int unsigned OpW = 51;            // width of op_t
  localparam int unsigned InfoW = 1 + 13 + 7;
  localparam int unsigned StaticW = SlotW + 5 + 2 + 2 + 7 + 9;
  localparam int unsigned DynW = 1 + PosW + 11;

  if (BufBytes < 8192 || BufBytes != 64 << LineW) $error("BufBytes must be a power of two, at least 8192");
  if (MaxReads < 2 || MaxReads != 1 << SlotW) $error("MaxReads must be a power of two, at least 2");

  // ---- Reservation: a slot, lines, and the shape of the read ------------------------------------------------------
  logic [SlotW:0] wptr_q, rptr_q;
  logic [LineW-1:0] line_q;            // next free line
  logic [LineW:0] free_q;              // free lines
  logic accept, full, go_bus;
  logic [SlotW-1:0] wslot;
  // A flush is the read of one byte at a DW, of which nothing is handed out and no byte is asked for.
  logic in_flush;
  logic [63:0] in_addr;
  logic [12:0] in_len;
  assign in_flush = rd_i.len == 13'd0;
  assign in_addr = {rd_i.addr[63:2], in_flush ? 2'b0 : rd_i.addr[1:0]};
  assign in_len = in_flush ? 13'd1 : rd_i.len;
  assign full = wptr_q[SlotW-1:0] == rptr_q[SlotW-1:0] && wptr_q[SlotW] != rptr_q[SlotW];
  assign wslot = wptr_q[SlotW-1:0];

  logic [12:0] chunk;                  // MRRS in bytes
  logic [11:0] in_off;                 // of the address within its chunk
  logic [12:0] in_end;
  logic [5:0] in_cuts;
  logic [6:0] in_beats, in_lines;
  assign chunk = 13'd128 << (cfg_i.mrrs > 3'd5 ? 3'd5 : cfg_i.mrrs);
  assign in_off = in_addr[11:0] & (chunk[11:0] - 12'd1);
  assign in_end = {1'b0, in_off} + in_len - 13'd1;
  always_comb begin
    unique case (cfg_i.mrrs)
      3'd0: in_cuts = in_end[12:7];
      3'd1: in_cuts = {1'b0, in_end[12:8]};
      3'd2: in_cuts = {2'b0, in_end[12:9]};
      3'd3: in_cuts = {3'b0, in_end[12:10]};
      3'd4: in_cuts = {4'b0, in_end[12:11]};
      default: in_cuts = {5'b0, in_end[12]};
    endcase
  end
  assign in_beats = in_len[12:6] + {6'b0, in_len[5:0] != 6'd0};
  assign in_lines = go_bus ? in_beats : 7'd0;

  // ---- Splitter and tags: current read, and one more behind it ----------------------------------------------------
  // What belongs to a read besides its pieces; {MRRS, addr, len, flush, attr, slot, line, op} waits in nx_q.
  // sp_pos_q: where lane 0 of the piece's first DW would stand, which for the first piece may be before its line.
  logic nx_valid_q;
  logic [2:0] nx_size_q, sp_in_size;
  logic [63:0] nx_addr_q, sp_in_addr, sp_addr;
  logic [12:0] nx_len_q, sp_in_len, sp_len;
  logic [SlotW-1:0] nx_slot_q, sp_slot_q;
  logic [LineW-1:0] nx_line_q, sp_in_line;
  logic [PosW-1:0] sp_pos_q;
  rnic_pkg::op_t nx_op_q, sp_op_q;
  logic nx_flush_q, sp_flush_q;
  logic [2:0] nx_attr_q, sp_attr_q;
  logic sp_valid, sp_last, sp_open, sp_in_valid, fire;
  logic tag_valid, a_used;
  logic [9:0] tag, a_tag;
  logic [12:0] sp_lanes, sp_next_len;
  logic [10:0] sp_dws;
  assign go_bus = cfg_i.bus_master && !rd_i.denied;
  assign rd_ready_o = !nx_valid_q && !full && free_q >= (LineW + 1)'(64);
  assign accept = rd_valid_i && rd_ready_o;
  assign fire = treq_rd_valid_o && treq_rd_ready_i;
  assign sp_in_valid = nx_valid_q || (accept && go_bus);
  assign sp_in_size = nx_valid_q ? nx_size_q : cfg_i.mrrs;
  assign sp_in_addr = nx_valid_q ? nx_addr_q : in_addr;
  assign sp_in_len = nx_valid_q ? nx_len_q : in_len;
  assign sp_in_line = nx_valid_q ? nx_line_q : line_q;
  assign sp_lanes = {11'b0, sp_addr[1:0]} + sp_len + 13'd3;
  assign sp_dws = sp_lanes[12:2];

  assign treq_rd_valid_o = sp_valid && tag_valid;
  assign treq_rd_o.write = 1'b0;
  assign treq_rd_o.addr = sp_addr;
  assign treq_rd_o.len = sp_flush_q ? 13'd0 : sp_len;
  assign treq_rd_o.tag = tag;
  assign treq_rd_o.attr = sp_attr_q;
  assign treq_rd_o.op = sp_op_q;
  assign probe_rd_o = accept;
  assign probe_rd_op_o = rd_i.op;

  tlp_splitter u_split (
    .clk_i,
    .rst_ni,
    .req_valid_i(sp_in_valid),
    .req_ready_o(sp_open),
    .req_size_i(sp_in_size),
    .req_addr_i(sp_in_addr),
    .req_len_i(sp_in_len),
    .valid_o(sp_valid),
    .ready_i(fire),
    .addr_o(sp_addr),
    .len_o(sp_len),
    .last_o(sp_last),
    .next_len_o(sp_next_len)
  );

  logic b_free;
  logic [9:0] b_tag_q, scan_q;
  logic scan_used;
  tag_allocator #(
    .NumTags(NumTags),
    .NumTags8(NumTags8),
    .NumTags5(NumTags5)
  ) u_tags (
    .clk_i,
    .rst_ni(link_rst_ni),
    .ext_tag_i(cfg_i.ext_tag),
    .tag10_i(cfg_i.tag10),
    .want_i(rst_ni && tag_go_i && (!sp_open || sp_in_valid)),  // a piece waits after this edge
    .tag_valid_o(tag_valid),
    .tag_o(tag),
    .take_i(fire),
    .drop_i(!rst_ni),
    .free_i(b_free),
    .free_tag_i(b_tag_q),
    .look_tag_i(a_tag),
    .look_used_o(a_used),
    .scan_tag_i(scan_q),
    .scan_used_o(scan_used)
  );

  // ---- Orphans, and the completion timer ------------------------------------------------------------------------------
  // An orphan is a tag in use of which no read waits any more: its read failed by it, or was of an earlier life. What
  // comes for it is dropped; the tag is free when that was all, or after the timeout: of the request, or counted from
  // the moment at which its read gave it up.
  // One tag a cycle is looked at (scan_q), its age found (s1), and what is too old (s2) goes in as a completion when
  // no other one comes.
  logic [(1<<TagW)-1:0] orphan_q, given_up_q;
  logic [31:0] sent_mem [1 << TagW];   // ns
  logic [31:0] given_up_mem [1 << TagW];
  logic [9:0] open_q;                  // tags in use
  logic s1_valid_q, s2_valid_q, s1_old, s1_stays, inject, no_timer, b_gone;
  logic [9:0] s1_tag_q, s2_tag_q;
  logic [31:0] s1_since_q, s1_age;
  assign no_timer = cfg_i.cpl_timeout == 32'd0;
  assign tag_held_o = tag_valid || open_q != 10'd0;
  assign s1_age = now_i[31:0] - s1_since_q;
  assign s1_old = s1_valid_q && s1_age >= cfg_i.cpl_timeout && !no_timer;
  assign s1_stays = s1_old && s2_valid_q;
  assign inject = s2_valid_q && !cpl_valid_i && !cpl_mid_i;

  always_ff @(posedge clk_i or negedge link_rst_ni) begin
    if (!link_rst_ni) begin
      scan_q <= '0;
      s1_valid_q <= 1'b0;
      s2_valid_q <= 1'b0;
      open_q <= '0;
      orphan_q <= '0;
      given_up_q <= '0;
    end else begin
      if (open_q != 10'd0 && !no_timer && !s1_stays) scan_q <= {22'b0, scan_q} == NumTags - 1 ? 10'd0 : scan_q + 10'd1;
      // Not what is given up or taken anew meanwhile
      if (s1_stays) s1_valid_q <= !(b_gone && b_tag_q == s1_tag_q) && !(fire && tag == s1_tag_q);
      else s1_valid_q <= scan_used && !no_timer && !(b_gone && b_tag_q == scan_q);
      if (s2_valid_q) begin
        s2_valid_q <= !inject && !(b_gone && b_tag_q == s2_tag_q) && !(fire && tag == s2_tag_q);
      end else begin
        s2_valid_q <= s1_old && !(b_gone && b_tag_q == s1_tag_q) && !(fire && tag == s1_tag_q);
      end
      open_q <= open_q + {9'b0, fire} - {9'b0, b_free};
      if (!rst_ni) orphan_q <= '1;
      else begin
        if (b_gone) orphan_q[b_tag_q[TagW-1:0]] <= 1'b1;
        if (fire) orphan_q[tag[TagW-1:0]] <= 1'b0;
      end
      if (b_gone) given_up_q[b_tag_q[TagW-1:0]] <= 1'b1;
      if (fire) given_up_q[tag[TagW-1:0]] <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!s1_stays) begin
      s1_tag_q <= scan_q;
      s1_since_q <= given_up_q[scan_q[TagW-1:0]] ? given_up_mem[scan_q[TagW-1:0]] : sent_mem[scan_q[TagW-1:0]];
    end
    if (!s2_valid_q) s2_tag_q <= s1_tag_q;
    if (fire) sent_mem[tag[TagW-1:0]] <= now_i[31:0];
    if (b_gone) given_up_mem[b_tag_q[TagW-1:0]] <= now_i[31:0];
  end

  // ---- Completions: registered with the tag's state (stage B), then written ---------------------------------------
  logic b_valid_q, b_sop_q, b_eop_q, b_act_q, b_orphan_q, b_timer_q, b_live, b_bad, b_answered, b_fin;
  logic [2:0] b_status_q;
  logic [12:0] b_bc_q;
  logic [6:0] b_la_q;
  logic [10:0] b_left_q;               // DWs of this TLP, from this beat on
  logic [511:0] b_data_q;
  logic b_started_q;                   // state of the tag
  logic [PosW-1:0] b_pos_q;
  logic [10:0] b_rem_q;
  logic [SlotW-1:0] b_slot_q;
  logic [4:0] b_a_q;                   // DW address less position, mod 32
  logic [1:0] b_off_q, b_pad_q;        // bytes of the first and of the last DW that are not the piece's
  logic [6:0] b_room_h_q;
  logic [8:0] b_room_d_q;

  logic [StaticW-1:0] static_mem [1 << TagW];
  logic [DynW-1:0] dyn_mem [1 << TagW];

  logic b_over, b_astray, b_astray_q, b_write, b_end, b_err, b_piece_end;
  logic [6:0] b_from, b_to;            // the beat's bytes that are written
  logic [4:0] b_n, b_nw;
  logic [PosW-1:0] b_pos_next;
  logic [10:0] b_rem_next;
  assign b_over = b_left_q > b_rem_q;
  assign b_n = b_left_q > 11'd16 ? 5'd16 : b_left_q[4:0];
  assign b_nw = {6'b0, b_n} > b_rem_q ? b_rem_q[4:0] : b_n;
  assign b_live = b_act_q && !b_orphan_q;
  assign b_write = b_valid_q && b_live && b_status_q == rnic_pkg::DmaOk;
  assign b_piece_end = {6'b0, b_n} >= b_rem_q && b_rem_q != 11'd0;
  assign b_from = b_sop_q && !b_started_q ? {5'b0, b_off_q} : 7'd0;
  assign b_to = {b_nw, 2'b0} - (b_piece_end ? {5'b0, b_pad_q} : 7'd0);
  assign b_pos_next = b_pos_q + PosW'({b_nw, 2'b0});
  assign b_rem_next = b_rem_q - {6'b0, b_nw};
  assign b_end = b_valid_q && b_act_q && b_eop_q;
  assign b_err = b_status_q != rnic_pkg::DmaOk || b_over || b_astray;
  // Data that are not those asked for: how much is still to come can't be told from them.
  assign b_bad = b_status_q == rnic_pkg::DmaMalformed ||
                 ((b_over || b_astray) && (b_status_q == rnic_pkg::DmaOk || b_status_q == rnic_pkg::DmaPoisoned));
  always_comb begin
    unique case (b_status_q)
      rnic_pkg::DmaOk, rnic_pkg::DmaPoisoned: b_answered = b_over || b_astray ? no_timer : b_rem_next == 11'd0;
      rnic_pkg::DmaMalformed: b_answered = no_timer;
      rnic_pkg::DmaTimeout: b_answered = b_orphan_q;
      default: b_answered = 1'b1;                // UR, CA: nothing more comes
    endcase
  end
  assign b_free = b_end && b_answered;                                 // the tag
  assign b_gone = b_end && !b_orphan_q && !b_answered && (b_bad || b_status_q == rnic_pkg::DmaTimeout);
  assign b_fin = b_end && !b_orphan_q && (b_answered || b_gone);       // the piece, for its read
  assign back_h_o = b_free ? b_room_h_q : 7'd0;
  assign back_d_o = b_free ? b_room_d_q : 9'd0;

  // What the completer should have said. Data of another DW than the one that is due are of no use to the read.
  logic b_data;
  assign b_data = b_status_q == rnic_pkg::DmaOk || b_status_q == rnic_pkg::DmaPoisoned;
  logic [12:0] b_bc_want;
  logic [6:0] b_la_want;
  assign b_bc_want = {b_rem_q, 2'b0} - (b_started_q ? 13'd0 : {11'b0, b_off_q}) - {11'b0, b_pad_q};
  assign b_la_want = {b_pos_q[6:2] + b_a_q, b_started_q ? 2'b0 : b_off_q};
  assign b_astray = b_live && (b_sop_q ? b_data && b_la_q[6:2] != b_la_want[6:2] : b_astray_q);
  assign stat_malformed_o = b_valid_q && b_live && b_data && b_sop_q && (b_over || b_bc_q != b_bc_want || b_la_q != b_la_want);
  assign stat_unexpected_o = b_valid_q && b_sop_q && !b_live && !b_timer_q;
  assign stat_ur_o = b_end && b_live && b_status_q == rnic_pkg::DmaUr;
  assign stat_ca_o = b_end && b_live && b_status_q == rnic_pkg::DmaCa;
  assign stat_poisoned_o = b_end && b_live && b_status_q == rnic_pkg::DmaPoisoned;
  assign stat_timeout_o = b_end && b_live && b_status_q == rnic_pkg::DmaTimeout;

  // Lookup of the tag at the first beat, with what stage B is just writing.
  logic a_sop, a_same, a_hit;
  assign a_tag = cpl_valid_i ? cpl_i.tag : s2_tag_q;
  assign a_sop = cpl_valid_i ? cpl_i.sop : inject;
  assign a_same = b_end && b_tag_q == a_tag;
  assign a_hit = a_used && !(a_same && b_free);

  always_ff @(posedge clk_i or negedge link_rst_ni) begin
    if (!link_rst_ni) begin
      b_valid_q <= 1'b0;
      b_act_q <= 1'b0;
      b_orphan_q <= 1'b0;
    end else begin
      b_valid_q <= cpl_valid_i || inject;
      if (a_sop) b_act_q <= a_hit;
      if (!rst_ni) b_orphan_q <= 1'b1;
      else if (a_sop) b_orphan_q <= orphan_q[a_tag[TagW-1:0]] || (a_same && b_gone);
    end
  end

  always_ff @(posedge clk_i) begin
    if (b_valid_q) b_astray_q <= b_astray;
    if (cpl_valid_i) begin
      b_sop_q <= cpl_i.sop;
      b_eop_q <= cpl_i.eop;
      b_status_q <= cpl_i.status;
      b_data_q <= cpl_i.data;
      b_timer_q <= 1'b0;
    end else if (inject) begin
      b_sop_q <= 1'b1;
      b_eop_q <= 1'b1;
      b_status_q <= rnic_pkg::DmaTimeout;
      b_timer_q <= 1'b1;
    end
    if (a_sop) begin
      b_tag_q <= a_tag;
      b_bc_q <= cpl_i.byte_count;
      b_la_q <= cpl_i.lower_addr;
      b_left_q <= cpl_valid_i ? cpl_i.len_dw : 11'd0;
      {b_slot_q, b_a_q, b_off_q, b_pad_q, b_room_h_q, b_room_d_q} <= static_mem[a_tag[TagW-1:0]];
      {b_started_q, b_pos_q, b_rem_q} <= a_same && !b_bad ? {1'b1, b_pos_next, b_rem_next} : dyn_mem[a_tag[TagW-1:0]];
    end else if (b_valid_q) begin
      b_left_q <= b_left_q - {6'b0, b_n};
      b_pos_q <= b_pos_next;
      b_rem_q <= b_rem_next;
    end
    if (fire) begin
      static_mem[tag[TagW-1:0]] <= {sp_slot_q, sp_addr[6:2] - sp_pos_q[6:2], sp_addr[1:0],
                                    2'd0 - sp_addr[1:0] - sp_len[1:0],
                                    pcie_pkg::cpl_room(sp_addr[6:0], sp_len, cfg_i.rcb)};
      dyn_mem[tag[TagW-1:0]] <= {1'b0, sp_pos_q, sp_dws};
    end
    if (b_end && !b_free && !b_bad) dyn_mem[b_tag_q[TagW-1:0]] <= {1'b1, b_pos_next, b_rem_next};
  end

  // ---- Per read: pieces still out, first error, finished ----------------------------------------------------------
  logic [5:0] out_mem [MaxReads];      // pieces not yet answered
  logic [2:0] st_mem [MaxReads];
  logic [InfoW-1:0] info_mem [MaxReads];
  logic [OpW-1:0] op_mem [MaxReads];
  logic [MaxReads-1:0] done_q;
  logic [5:0] b_out;
  logic [2:0] b_st;
  logic b_all;
  assign b_out = out_mem[b_slot_q];
  assign b_st = st_mem[b_slot_q];
  assign b_all = b_fin && b_out == 6'd1;
  assign probe_done_o = rst_ni && b_all && !b_err && b_st == rnic_pkg::DmaOk;
  assign probe_done_op_o = op_mem[b_slot_q];

  always_ff @(posedge clk_i) begin
    if (accept) begin
      out_mem[wslot] <= in_cuts + 6'd1;
      st_mem[wslot] <= go_bus ? rnic_pkg::DmaOk : rd_i.denied ? rnic_pkg::DmaDenied : rnic_pkg::DmaNoMaster;
      info_mem[wslot] <= {rd_i.more, rd_i.len, in_lines};
      op_mem[wslot] <= rd_i.op;
    end
    if (b_fin) out_mem[b_slot_q] <= b_out - 6'd1;
    if (b_end && b_live && b_err && b_st == rnic_pkg::DmaOk) begin
      st_mem[b_slot_q] <= b_status_q != rnic_pkg::DmaOk ? b_status_q : rnic_pkg::DmaMalformed;
    end
  end

  // ---- Output -----------------------------------------------------------------------------------------------------
  // Stage R reads a line (r_*); then the output register.
  logic pay_valid_q, r_valid_q, mid_q;
  rnic_pkg::payload_t pay_q;
  logic r_more_q;
  logic [2:0] r_status_q;
  logic [12:0] r_bytes_q;              // bytes still to output, from this line on
  logic [511:0] r_line;
  logic [6:0] lines_q;
  logic [LineW-1:0] oline_q;           // next line to read

  logic h_more;
  logic [12:0] h_len;
  logic [6:0] h_lines, lines;
  logic [2:0] h_status;
  logic advance, start, step, step_last, fail, r_last;
  assign {h_more, h_len, h_lines} = info_mem[rptr_q[SlotW-1:0]];
  assign h_status = st_mem[rptr_q[SlotW-1:0]];
  assign advance = !pay_valid_q || pay_ready_i;
  assign start = advance && !mid_q && wptr_q != rptr_q && done_q[rptr_q[SlotW-1:0]];
  assign step = start || (advance && mid_q);
  assign fail = start && h_status != rnic_pkg::DmaOk;
  assign lines = mid_q ? lines_q : h_lines;
  assign step_last = fail || lines == 7'd1;
  assign r_last = r_status_q != rnic_pkg::DmaOk || r_bytes_q <= 13'd64;

  assign pay_valid_o = pay_valid_q;
  assign pay_o = pay_q;

  logic [LineW-1:0] row0, row1;        // a beat's bytes lie in two rows at most
  assign row0 = b_pos_q[PosW-1:6];
  assign row1 = row0 + 1'b1;
  for (genvar b = 0; b < 64; b++) begin : gen_bank
    localparam logic [6:0] B = b;
    logic [7:0] mem [Lines];
    logic [7:0] rdata_q;
    logic next_row;
    logic [5:0] k;                     // which byte of the beat falls into this bank
    assign {next_row, k} = B - {1'b0, b_pos_q[5:0]};
    assign r_line[8*b +: 8] = rdata_q;
    always_ff @(posedge clk_i) begin
      if (b_write && {1'b0, k} >= b_from && {1'b0, k} < b_to) mem[next_row ? row1 : row0] <= b_data_q[{k, 3'b0} +: 8];
      if (step) rdata_q <= mem[oline_q];
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      wptr_q <= '0;
      rptr_q <= '0;
      line_q <= '0;
      free_q <= (LineW + 1)'(Lines);
      done_q <= '0;
      nx_valid_q <= 1'b0;
      mid_q <= 1'b0;
      r_valid_q <= 1'b0;
      pay_valid_q <= 1'b0;
      oline_q <= '0;
    end else begin
      if (accept) begin
        wptr_q <= wptr_q + 1'b1;
        line_q <= line_q + LineW'(in_lines);
        done_q[wslot] <= !go_bus;
      end
      if (b_all) done_q[b_slot_q] <= 1'b1;
      if (accept || (step && step_last)) begin : lines_free
        logic [LineW:0] left;
        left = free_q - (accept ? (LineW + 1)'(in_lines) : '0);
        free_q <= step && step_last ? left + (LineW + 1)'(h_lines) : left;
      end
      if (nx_valid_q) nx_valid_q <= !sp_open;
      else nx_valid_q <= accept && go_bus && !sp_open;
      // Output
      if (advance) begin
        r_valid_q <= step;
        pay_valid_q <= r_valid_q;
      end
      if (step) begin
        mid_q <= !step_last;
        if (fail) oline_q <= oline_q + LineW'(h_lines);
        else oline_q <= oline_q + 1'b1;
        if (step_last) rptr_q <= rptr_q + 1'b1;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (accept && go_bus && !sp_open) begin
      nx_size_q <= cfg_i.mrrs;
      nx_addr_q <= in_addr;
      nx_len_q <= in_len;
      nx_flush_q <= in_flush;
      nx_attr_q <= rd_i.attr;
      nx_slot_q <= wslot;
      nx_line_q <= line_q;
      nx_op_q <= rd_i.op;
    end
    if (sp_open && sp_in_valid) begin
      sp_slot_q <= nx_valid_q ? nx_slot_q : wslot;
      sp_pos_q <= {sp_in_line, 6'b0} - PosW'(sp_in_addr[1:0]);
      sp_op_q <= nx_valid_q ? nx_op_q : rd_i.op;
      sp_flush_q <= nx_valid_q ? nx_flush_q : in_flush;
      sp_attr_q <= nx_valid_q ? nx_attr_q : rd_i.attr;
    end else if (fire && !sp_last) begin
      sp_pos_q <= sp_pos_q + PosW'({sp_dws, 2'b0});
    end

    if (step) begin
      lines_q <= lines - 7'd1;
      if (start) begin
        r_status_q <= h_status;
        r_more_q <= h_more;
      end
      r_bytes_q <= start ? h_len : r_bytes_q - 13'd64;
    end
    if (advance && r_valid_q) begin
      pay_q.last <= r_last;
      pay_q.more <= r_more_q;
      pay_q.status <= r_status_q;
      if (r_status_q != rnic_pkg::DmaOk) begin
        pay_q.bytes <= 7'd1;
        pay_q.data <= '0;
      end else if (r_last) begin
        pay_q.bytes <= r_bytes_q[6:0];
        pay_q.data <= r_line & ({512{1'b1}} >> {7'd64 - r_bytes_q[6:0], 3'b0});
      end else begin
        pay_q.bytes <= 7'd64;
        pay_q.data <= r_line;
      end
    end
  end

  assign idle_o = wptr_q == rptr_q && !sp_valid && !nx_valid_q && !b_valid_q && !r_valid_q && !pay_valid_q &&
                  (open_q == 10'd0 || no_timer);

`ifndef SYNTHESIS
  assert property (@(posedge clk_i) disable iff (!rst_ni) rd_valid_i |-> rd_i.len <= 13'd4096);
  assert property (@(posedge clk_i) disable iff (!rst_ni) treq_rd_valid_o && !treq_rd_ready_i |=>
                   treq_rd_valid_o && $stable(treq_rd_o));
  assert property (@(posedge clk_i) disable iff (!rst_ni) pay_valid_o && !pay_ready_i |=>
                   pay_valid_o && $stable(pay_q.last) && $stable(pay_q.more) && $stable(pay_q.bytes) &&
                   $stable(pay_q.status));
`endif
endmodule
