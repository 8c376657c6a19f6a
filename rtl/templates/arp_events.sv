// SPDX-License-Identifier: Apache-2.0
// A arp_events of your own, to start from: `scripts/new_override arp_events DIR` copies it, with arp_events_ref, our
// block under another name. Written by scripts/gen_templates.py from rtl/collective/arp_events.sv and
// rtl/templates/contract.toml.
//
// What our block does: the head of rtl/collective/arp_events.sv, and docs/blocks. What holds for every block:
// docs/howto/override.md.
//
// Latency: an event written at edge n is offered after edge n.
// A version that takes N cycles more declares +latency+arp_events+N in its list.
//
// Has to drive, whatever is inside:
//   idle_o  low while an event waits, or a lost one is not told
//
// Has to keep:
//   inputs  never wait
module arp_events #(
  parameter int unsigned Depth = 16              // power of two
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic a_valid_i,                        // fragments
  input  arp_pkg::arp_evt_t a_i,
  input  logic b_valid_i,                        // everything else
  input  arp_pkg::arp_evt_t b_i,
  output logic evt_valid_o,
  input  logic evt_ready_i,
  output arp_pkg::arp_evt_t evt_o,
  output logic lost_o,
  output logic idle_o
);
  // ---- Your logic stands here, instead of ours or around it --------------------------------------
  arp_events_ref #(
    .Depth(Depth)
  ) u_ref (
    .clk_i, .rst_ni, .a_valid_i, .a_i, .b_valid_i, .b_i, .evt_valid_o, .evt_ready_i, .evt_o,
    .lost_o, .idle_o
  );
endmodule
