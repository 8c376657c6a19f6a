// SPDX-License-Identifier: Apache-2.0
// A arp_locate of your own, to start from: `scripts/new_override arp_locate DIR` copies it, with arp_locate_ref, our
// block under another name. Written by scripts/gen_templates.py from rtl/collective/arp_locate.sv and
// rtl/templates/contract.toml.
//
// What our block does: the head of rtl/collective/arp_locate.sv, and docs/blocks. What holds for every block:
// docs/howto/override.md.
//
// Latency: inputs at edge n, outputs after edge n + 3, while en_i is 1.
// It is part of the contract: arp_check shifts what belongs to it beside it.
//
// Has to keep:
//   place  bad_o for whatever is no fragment's begin
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
  // ---- Your logic stands here, instead of ours or around it --------------------------------------
  arp_locate_ref u_ref (
    .clk_i, .en_i, .ctx_i, .chunk_i, .offset_i, .bad_o, .pos_o, .len_o, .slot_o, .lap_o, .row_o,
    .wide_o
  );
endmodule
