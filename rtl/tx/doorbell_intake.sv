// SPDX-License-Identifier: Apache-2.0
// Doorbell intake: takes send-queue doorbells and BlueFlame pushes, keeps each QP's producer index, and rings the
// scheduler. Never refuses and never loses one: doorbells of one QP coalesce into its producer index.
//
// A BlueFlame piece goes into a small direct-mapped buffer (BfEntries, by the QPN's low bits). When the WQE is complete
// (its DS field tells whether it is one or two pieces) the push counts as a doorbell. A pushed WQE that was overwritten
// or is incomplete is simply not found later, and the fetch engine reads the ring copy instead.
//
// Latency: a doorbell accepted at edge n rings at edge n+1. Throughput: one a cycle.
module doorbell_intake #(
  parameter int unsigned BfEntries = 64
) (
  input  logic clk_i,
  input  logic rst_ni,
  // Doorbells of kind DbSq and DbBf only
  input  logic db_valid_i,
  output logic db_ready_o,
  input  rnic_pkg::doorbell_t db_i,
  // To the scheduler; always taken
  output logic ring_o,
  output logic [9:0] ring_qpn_o,
  // Producer index: read strobe at edge n, data after edge n (read by the fetch engine in the next cycle)
  input  logic pi_re_i,
  input  logic [9:0] pi_qpn_i,
  output logic [15:0] pi_o,
  // BlueFlame buffer: lookup strobe at edge n, answer after edge n. A hit consumes the entry.
  input  logic bf_re_i,
  input  logic [9:0] bf_qpn_i,
  input  logic [15:0] bf_wqe_i,
  output logic bf_hit_o,
  output logic bf_miss_pushed_o,       // the entry belongs to this QP, but not to this WQE or not complete: fallback
  output logic [1023:0] bf_data_o,
  // CmdQpModify: forget the QP's producer index (set to the new context's sq_ci by the fetch engine) and BlueFlame entry
  input  logic clear_i,
  input  logic [9:0] clear_qpn_i,
  // Observation
  output logic stat_db_rx_o,
  output logic probe_db_o,
  output logic [9:0] probe_qpn_o,
  output logic [15:0] probe_pi_o,
  output logic idle_o
);
endmodule
