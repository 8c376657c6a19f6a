// SPDX-License-Identifier: Apache-2.0
// Where a fragment belongs: from its chunk and offset to its place in the vector, its slot, the slot's accumulators, and
// its length. Four stages, which move together while en_i is 1: inputs at edge n give outputs after edge n + 3.
module arp_locate (
  input  logic clk_i,
  input  logic en_i,
  input  arp_pkg::arp_group_t ctx_i,             // valid contexts only
  input  logic [15:0] chunk_i,
  input  logic [31:0] offset_i,
  output logic bad_o,                            // no fragment begins there; the rest means nothing then
  output logic [31:0] pos_o,                     // byte in the vector
  output logic [12:0] len_o,                     // bytes of the fragment
  output logic [9:0] slot_o,
  output logic [25:0] lap_o,                     // fragments before it in this slot
  output logic [11:0] row_o,                     // of the slot's first beat
  output logic wide_o                            // accumulators of a row a beat
);
  // ---- 1: begin of the chunk, and whether the offset is one of a fragment in it ------------------------------------------
  arp_pkg::arp_group_t ctx1_q;
  logic [31:0] base1_q, offset1_q;
  logic bad1_q;
  logic [47:0] base;
  logic [11:0] below;                            // bits of the offset inside of a fragment
  assign base = {32'b0, chunk_i} << ctx_i.log_chunk;
  assign below = ~(12'hFFF << ctx_i.log_frag);

  // ---- 2: place in the vector --------------------------------------------------------------------------------------------
  arp_pkg::arp_group_t ctx2_q;
  logic [31:0] pos2_q, left2_q;
  logic bad2_q;
  logic [31:0] pos;
  logic [32:0] left;
  assign pos = base1_q | offset1_q;              // the offset lies below the chunk's size
  assign left = {1'b0, ctx1_q.length} - {1'b0, pos};

  // ---- 3: number of the fragment -------------------------------------------------------------------------------------------
  arp_pkg::arp_group_t ctx3_q;
  logic [31:0] pos3_q;
  logic [25:0] lap3_q;
  logic [9:0] idx3_q;
  logic [12:0] len3_q, frag;
  logic bad3_q;
  logic [31:0] number;
  assign number = pos2_q >> ctx2_q.log_frag;
  assign frag = 13'd1 << ctx2_q.log_frag;

  // ---- 4: slot and row -------------------------------------------------------------------------------------------------------
  logic wide;
  logic [2:0] log_rows;                          // rows of a slot
  logic [3:0] log_lines;
  assign wide = ctx3_q.dtype == arp_pkg::TypeFp16Acc32 || ctx3_q.dtype == arp_pkg::TypeBf16Acc32;
  assign log_lines = ctx3_q.log_frag - 4'd6;
  assign log_rows = wide || log_lines == 4'd0 ? log_lines[2:0] : log_lines[2:0] - 3'd1;

  always_ff @(posedge clk_i) begin
    if (en_i) begin
      ctx1_q <= ctx_i;
      base1_q <= base[31:0];
      offset1_q <= offset_i;
      bad1_q <= base[47:32] != 16'd0 || (offset_i[11:0] & below) != 12'd0 || offset_i >> ctx_i.log_chunk != 32'd0;

      ctx2_q <= ctx1_q;
      pos2_q <= pos;
      left2_q <= left[31:0];
      bad2_q <= bad1_q || left[32] || left[31:0] == 32'd0;

      ctx3_q <= ctx2_q;
      pos3_q <= pos2_q;
      idx3_q <= number[9:0] & ~(10'h3FF << ctx2_q.log_slots);
      lap3_q <= number[25:0] >> ctx2_q.log_slots;
      len3_q <= left2_q < {19'b0, frag} ? left2_q[12:0] : frag;
      bad3_q <= bad2_q;

      bad_o <= bad3_q;
      pos_o <= pos3_q;
      len_o <= len3_q;
      slot_o <= ctx3_q.slot_base + idx3_q;
      lap_o <= lap3_q;
      row_o <= ctx3_q.row_base + ({2'b0, idx3_q} << log_rows);
      wide_o <= wide;
    end
  end
endmodule
