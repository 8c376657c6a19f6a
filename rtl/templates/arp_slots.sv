// SPDX-License-Identifier: Apache-2.0
// A arp_slots of your own, to start from: `scripts/new_override arp_slots DIR` copies it, with arp_slots_ref, our block
// under another name. Written by scripts/gen_templates.py from rtl/collective/arp_slots.sv and
// rtl/templates/contract.toml.
//
// What our block does: the head of rtl/collective/arp_slots.sv, and docs/blocks. What holds for every block:
// docs/howto/override.md.
//
// Latency: a checked fragment at edge n, its verdict after edge n + 1; acknowledges likewise.
// A version that takes N cycles more declares +latency+arp_slots+N in its list.
//
// Has to drive, whatever is inside:
//   idle_o  low while a fragment or an acknowledge has no verdict yet, or it was not taken
//
// Has to keep:
//   order  in one cycle a fragment is judged before an acknowledge, and that before a result's end
module arp_slots (
  input  logic clk_i,
  input  logic rst_ni,
  // Fragments, as arp_check has found them
  input  logic chk_valid_i,
  input  logic chk_good_i,
  input  logic [3:0] chk_kind_i,
  input  arp_pkg::areth_t chk_hdr_i,
  input  logic [6:0] chk_lines_i,
  input  logic [9:0] chk_slot_i,
  input  logic [25:0] chk_lap_i,
  input  logic [31:0] chk_pos_i,
  input  logic [11:0] chk_row_i,
  input  logic chk_wide_i,
  input  logic [63:0] chk_members_i,
  // Verdicts
  output logic verdict_o,
  output logic verdict_good_o,                   // it counts
  output logic [3:0] verdict_kind_o,             // it does not: why
  output arp_pkg::areth_t verdict_hdr_o,
  output logic [6:0] verdict_lines_o,            // that stand in the buffer
  output logic verdict_first_o,
  output logic verdict_full_o,                   // last contribution
  output logic [9:0] verdict_slot_o,
  output logic [11:0] verdict_row_o,
  output logic verdict_wide_o,
  // Acknowledges
  input  logic ackc_valid_i,
  input  logic ackc_bad_i,
  input  arp_pkg::arp_ack_t ackc_i,
  input  logic [9:0] ackc_slot_i,
  input  logic [25:0] ackc_lap_i,
  input  logic ack_stop_i,
  output logic ack_done_o,                       // verdict; stays while ack_stop_i is 1
  output logic ack_new_o,                        // its first cycle
  output logic ack_good_o,
  output arp_pkg::arp_ack_t ack_hdr_o,
  // Results: what belongs to a slot, after the edge
  input  logic res_en_i,
  input  logic [9:0] res_slot_i,
  output arp_pkg::areth_t res_hdr_o,             // group, step, chunk, offset, len
  output logic [31:0] res_pos_o,
  output logic [11:0] res_row_o,
  input  logic drain_i,                          // its turn has come
  input  logic [9:0] drain_slot_i,
  input  logic end_i,                            // written, or lost: the slot is done
  input  logic [9:0] end_slot_i,
  output arp_pkg::areth_t end_hdr_o,             // after the edge
  // A slot's accumulators are damaged
  input  logic lose_i,
  input  logic [9:0] lose_slot_i,
  input  logic [9:0] ask_slot_i,
  output logic ask_lost_o,
  // A group has a new context: its slots are forgotten
  input  logic clear_i,
  input  logic [9:0] clear_slot_i,
  // Observation
  output logic [2:0] slot_state_o,               // arp_pkg::Slot*, of the fragment that is judged
  output logic [10:0] slots_used_o,
  output logic [10:0] slots_done_o,
  output logic idle_o
);
  // ---- Your logic stands here, instead of ours or around it --------------------------------------
  arp_slots_ref u_ref (
    .clk_i, .rst_ni, .chk_valid_i, .chk_good_i, .chk_kind_i, .chk_hdr_i, .chk_lines_i, .chk_slot_i,
    .chk_lap_i, .chk_pos_i, .chk_row_i, .chk_wide_i, .chk_members_i, .verdict_o, .verdict_good_o,
    .verdict_kind_o, .verdict_hdr_o, .verdict_lines_o, .verdict_first_o, .verdict_full_o,
    .verdict_slot_o, .verdict_row_o, .verdict_wide_o, .ackc_valid_i, .ackc_bad_i, .ackc_i,
    .ackc_slot_i, .ackc_lap_i, .ack_stop_i, .ack_done_o, .ack_new_o, .ack_good_o, .ack_hdr_o,
    .res_en_i, .res_slot_i, .res_hdr_o, .res_pos_o, .res_row_o, .drain_i, .drain_slot_i, .end_i,
    .end_slot_i, .end_hdr_o, .lose_i, .lose_slot_i, .ask_slot_i, .ask_lost_o, .clear_i,
    .clear_slot_i, .slot_state_o, .slots_used_o, .slots_done_o, .idle_o
  );
endmodule
