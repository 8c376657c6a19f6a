// SPDX-License-Identifier: Apache-2.0
// A qp_scheduler of your own, to start from: `scripts/new_override qp_scheduler DIR` copies it, with qp_scheduler_ref,
// our block under another name. Written by scripts/gen_templates.py from rtl/tx/qp_scheduler.sv and
// rtl/templates/contract.toml.
//
// What our block does: the head of rtl/tx/qp_scheduler.sv, and docs/blocks. What holds for every block:
// docs/howto/override.md.
//
// Latency: a ring or release at edge n is granted after edge n, when nothing else waits.
// It is part of the contract: its test follows it edge by edge.
//
// Has to drive, whatever is inside:
//   stat_coalesced_o  with the ring of a QP that is going to be granted anyway
//   idle_o            low from a ring to the last release that belongs to it
//
// Has to keep:
//   turns     a QP is handed out once at a time; a ring in between gives another turn
//   fairness  no QP waits for more than NumQp - 1 grants
module qp_scheduler (
  input  logic clk_i,
  input  logic rst_ni,
  // From doorbell_intake; always taken
  input  logic ring_i,
  input  logic [9:0] ring_qpn_i,
  // To wqe_fetch_engine
  output logic grant_valid_o,
  input  logic grant_ready_i,
  output logic [9:0] grant_qpn_o,
  // From tx_segmenter: the QP's turn is over; always taken. more: it knows of further work.
  input  logic release_i,
  input  logic [9:0] release_qpn_i,
  input  logic release_more_i,
  // Observation
  output logic stat_coalesced_o,
  output logic idle_o                  // no QP waiting or handed out
);
  // ---- Your logic stands here, instead of ours or around it --------------------------------------
  qp_scheduler_ref u_ref (
    .clk_i, .rst_ni, .ring_i, .ring_qpn_i, .grant_valid_o, .grant_ready_i, .grant_qpn_o, .release_i,
    .release_qpn_i, .release_more_i, .stat_coalesced_o, .idle_o
  );
endmodule
