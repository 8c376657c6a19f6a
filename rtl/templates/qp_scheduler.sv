// SPDX-License-Identifier: Apache-2.0
// A qp_scheduler of your own, to start from: `scripts/new_override qp_scheduler DIR` copies it, with qp_scheduler_ref,
// our block under another name. Written by scripts/gen_templates.py from rtl/tx/qp_scheduler.sv and
// rtl/templates/contract.toml.
//
// What our block does: the head of rtl/tx/qp_scheduler.sv, and docs/blocks. What holds for every block:
// docs/howto/override.md.
//
// Latency: a ring at edge n is granted after edge n when nothing else waits, and so is a release with more work when no
// other QP has work; otherwise after edge n + 2 when no QP waits and its round and its priority's share allow it, else
// after edge n + 4.
// It is part of the contract: its test follows it edge by edge.
//
// Has to drive, whatever is inside:
//   stat_coalesced_o  with the ring of a QP that is going to be granted anyway
//   idle_o            low from a ring to the last release that belongs to it, but high while only throttled QPs wait
//                     and none of them is due at now_i
//
// Has to keep:
//   turns       a QP is handed out once at a time; a ring in between gives another turn
//   fairness    QPs of a priority share by weight, in bytes; with equal weights none is more than two MTU packets from
//               its share
//   priorities  strict ones first, higher before lower; the others share by weight; none is chosen while its bit of
//               prio_ready_i is 0
//   rate        a QP with a rate is not granted before the time that GCRA gives; timer_deadline_o is the earliest such
//               time
module qp_scheduler (
  input  logic clk_i,
  input  logic rst_ni,
  input  rnic_pkg::sched_cfg_t cfg_i,
  input  logic [63:0] now_i,           // ns
  // From doorbell_intake; always taken
  input  logic ring_i,
  input  logic [9:0] ring_qpn_i,
  // To wqe_fetch_engine
  output logic grant_valid_o,
  input  logic grant_ready_i,
  output logic [9:0] grant_qpn_o,
  // From tx_segmenter: the QP's turn is over; always taken
  input  logic release_i,
  input  rnic_pkg::turn_end_t turn_end_i,
  output logic others_o,               // other QPs wait for the one whose turn it is
  // What waits for the link
  input  logic hungry_i,               // little: turns may be longer than a packet
  input  logic starving_i,             // next to nothing: rounds may end early
  input  logic [7:0] prio_ready_i,     // a QP of this priority may be granted
  // CmdQpModify: what is remembered of the QP is forgotten
  input  logic clear_i,
  input  logic [9:0] clear_qpn_i,
  // Congestion control: tokens
  input  logic rate_valid_i,
  input  rnic_pkg::rate_token_t rate_i,
  // Observation
  output logic stat_coalesced_o,
  output logic timer_valid_o,          // earliest time at which a throttled QP may go on
  output logic [63:0] timer_deadline_o,
  output logic idle_o                  // nothing changes until the timer's end: no QP waits or is handed out but throttled ones
);
  // ---- Your logic stands here, instead of ours or around it --------------------------------------
  qp_scheduler_ref u_ref (
    .clk_i, .rst_ni, .cfg_i, .now_i, .ring_i, .ring_qpn_i, .grant_valid_o, .grant_ready_i,
    .grant_qpn_o, .release_i, .turn_end_i, .others_o, .hungry_i, .starving_i, .prio_ready_i,
    .clear_i, .clear_qpn_i, .rate_valid_i, .rate_i, .stat_coalesced_o, .timer_valid_o,
    .timer_deadline_o, .idle_o
  );
endmodule
