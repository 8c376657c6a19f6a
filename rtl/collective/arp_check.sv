// SPDX-License-Identifier: Apache-2.0
// Checks the heads of fragments against their group's context, and finds the slots of fragments and acknowledges.
//
// The order of the checks decides the reason: whole (arp_intake), group, type, rank, offset, length. Fragments never
// wait inside: a head is taken while frag_room_i says that there is room for all that may be inside (8). Head at edge n,
// answer after edge n + 4; one a cycle. Acknowledges likewise, but they stop while ack_stop_i is 1.
module arp_check (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic head_valid_i,
  output logic head_ready_o,
  input  logic head_good_i,
  input  logic [3:0] head_kind_i,
  input  arp_pkg::areth_t head_i,
  input  logic [6:0] head_lines_i,
  input  logic frag_room_i,
  // Reader of arp_groups, whose answer comes after the edge
  output logic frag_en_o,
  output logic [15:0] frag_group_o,
  input  logic frag_known_i,
  input  arp_pkg::arp_group_t frag_ctx_i,
  // Fragments, checked
  output logic chk_valid_o,
  output logic chk_good_o,
  output logic [3:0] chk_kind_o,                 // not good: why
  output arp_pkg::areth_t chk_hdr_o,
  output logic [6:0] chk_lines_o,                // in the buffer
  output logic [9:0] chk_slot_o,
  output logic [25:0] chk_lap_o,
  output logic [31:0] chk_pos_o,
  output logic [11:0] chk_row_o,
  output logic chk_wide_o,
  output logic [63:0] chk_members_o,
  // Acknowledges
  input  logic ack_hold_i,                       // take none
  input  logic ack_valid_i,
  output logic ack_ready_o,
  input  arp_pkg::arp_ack_t ack_i,
  output logic ack_en_o,
  output logic [15:0] ack_group_o,
  input  logic ack_known_i,
  input  arp_pkg::arp_group_t ack_ctx_i,
  input  logic ack_stop_i,
  output logic ackc_valid_o,
  output logic ackc_bad_o,                       // nothing that could be acknowledged
  output arp_pkg::arp_ack_t ackc_o,
  output logic [9:0] ackc_slot_o,
  output logic [25:0] ackc_lap_o,
  output logic idle_o
);
  // ---- Fragments: stage 1 has the context -----------------------------------------------------------------------------------
  logic v1_q, v2_q, v3_q, v4_q, v5_q;
  logic good1_q, good2_q, good3_q, good4_q, good5_q;
  logic [3:0] kind1_q, kind2_q, kind3_q, kind4_q, kind5_q;
  arp_pkg::areth_t hdr1_q, hdr2_q, hdr3_q, hdr4_q, hdr5_q;
  logic [6:0] lines1_q, lines2_q, lines3_q, lines4_q, lines5_q;
  logic [63:0] members2_q, members3_q, members4_q, members5_q;
  logic [3:0] kind2;
  logic good2, frag_any;

  assign head_ready_o = frag_room_i;
  assign frag_en_o = head_valid_i && frag_room_i;
  assign frag_group_o = head_i.group;
  assign frag_any = v1_q || v2_q || v3_q || v4_q || v5_q;

  always_comb begin
    good2 = 1'b0;
    kind2 = kind1_q;
    if (good1_q) begin
      if (!frag_known_i) kind2 = arp_pkg::ArpBadGroup;
      else if (hdr1_q.dtype != frag_ctx_i.dtype || hdr1_q.op != frag_ctx_i.op) kind2 = arp_pkg::ArpBadType;
      else if (hdr1_q.rank[7:6] != 2'd0 || !frag_ctx_i.members[hdr1_q.rank[5:0]]) kind2 = arp_pkg::ArpBadRank;
      else good2 = 1'b1;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) {v1_q, v2_q, v3_q, v4_q, v5_q} <= 5'd0;
    else if (frag_en_o || frag_any) {v1_q, v2_q, v3_q, v4_q, v5_q} <= {frag_en_o, v1_q, v2_q, v3_q, v4_q};
  end

  always_ff @(posedge clk_i) begin
    if (frag_en_o) {good1_q, kind1_q, hdr1_q, lines1_q} <= {head_good_i, head_kind_i, head_i, head_lines_i};
    if (frag_any) begin
      {good2_q, kind2_q, hdr2_q, lines2_q, members2_q} <= {good2, kind2, hdr1_q, lines1_q, frag_ctx_i.members};
      {good3_q, kind3_q, hdr3_q, lines3_q, members3_q} <= {good2_q, kind2_q, hdr2_q, lines2_q, members2_q};
      {good4_q, kind4_q, hdr4_q, lines4_q, members4_q} <= {good3_q, kind3_q, hdr3_q, lines3_q, members3_q};
      {good5_q, kind5_q, hdr5_q, lines5_q, members5_q} <= {good4_q, kind4_q, hdr4_q, lines4_q, members4_q};
    end
  end

  logic frag_bad;
  logic [12:0] frag_len;
  arp_locate u_frag (
    .clk_i, .en_i(frag_any), .ctx_i(frag_ctx_i), .chunk_i(hdr1_q.chunk), .offset_i(hdr1_q.offset),
    .bad_o(frag_bad), .pos_o(chk_pos_o), .len_o(frag_len), .slot_o(chk_slot_o), .lap_o(chk_lap_o), .row_o(chk_row_o),
    .wide_o(chk_wide_o)
  );

  assign chk_valid_o = v5_q;
  assign chk_good_o = good5_q && !frag_bad && hdr5_q.len == {3'b0, frag_len};
  assign chk_kind_o = !good5_q ? kind5_q : frag_bad ? arp_pkg::ArpBadOffset : arp_pkg::ArpBadLength;
  assign chk_hdr_o = hdr5_q;
  assign chk_lines_o = lines5_q;
  assign chk_members_o = members5_q;

  // ---- Acknowledges ------------------------------------------------------------------------------------------------------------
  logic w1_q, w2_q, w3_q, w4_q, w5_q;
  logic known2_q, known3_q, known4_q, known5_q;
  arp_pkg::arp_ack_t ack1_q, ack2_q, ack3_q, ack4_q, ack5_q;
  logic ack_any, ack_move;
  assign ack_any = w1_q || w2_q || w3_q || w4_q || w5_q;
  assign ack_move = ack_any && !ack_stop_i;
  assign ack_ready_o = !ack_hold_i && !ack_stop_i;
  assign ack_en_o = ack_valid_i && ack_ready_o;
  assign ack_group_o = ack_i.group;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) {w1_q, w2_q, w3_q, w4_q, w5_q} <= 5'd0;
    else if (ack_en_o || ack_move) {w1_q, w2_q, w3_q, w4_q, w5_q} <= {ack_en_o, w1_q, w2_q, w3_q, w4_q};
  end

  always_ff @(posedge clk_i) begin
    if (ack_en_o) ack1_q <= ack_i;
    if (ack_move) begin
      {known2_q, ack2_q} <= {ack_known_i, ack1_q};
      {known3_q, ack3_q} <= {known2_q, ack2_q};
      {known4_q, ack4_q} <= {known3_q, ack3_q};
      {known5_q, ack5_q} <= {known4_q, ack4_q};
    end
  end

  logic ack_bad, ack_wide;
  logic [31:0] ack_pos;
  logic [12:0] ack_len;
  logic [11:0] ack_row;
  arp_locate u_ack (
    .clk_i, .en_i(ack_move), .ctx_i(ack_ctx_i), .chunk_i(ack1_q.chunk), .offset_i(ack1_q.offset),
    .bad_o(ack_bad), .pos_o(ack_pos), .len_o(ack_len), .slot_o(ackc_slot_o), .lap_o(ackc_lap_o), .row_o(ack_row),
    .wide_o(ack_wide)
  );
  assign ackc_valid_o = w5_q;
  assign ackc_bad_o = !known5_q || ack_bad;
  assign ackc_o = ack5_q;

  assign idle_o = !frag_any && !ack_any;
endmodule
