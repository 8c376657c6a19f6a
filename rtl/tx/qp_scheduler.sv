// SPDX-License-Identifier: Apache-2.0
// QP scheduler: round robin over the QPs that have work. A QP is handed out once at a time: from its grant to its
// release it is busy, and a doorbell in that time is remembered, so that no WQE is lost however the two meet.
//
// Per QP: busy (waiting or handed out) and again (rung since its last grant). New rings and returning QPs have a FIFO
// each, as deep as there are QPs, so neither can overflow; grants alternate between the two when both have entries.
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
endmodule
