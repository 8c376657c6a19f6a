// SPDX-License-Identifier: Apache-2.0
// A doorbell_intake of your own, to start from: `scripts/new_override doorbell_intake DIR` copies it, with
// doorbell_intake_ref, our block under another name. Written by scripts/gen_templates.py from rtl/tx/doorbell_intake.sv
// and rtl/templates/contract.toml.
//
// What our block does: the head of rtl/tx/doorbell_intake.sv, and docs/blocks. What holds for every block:
// docs/howto/override.md.
//
// Latency: a doorbell taken at edge n rings after edge n; indices and BlueFlame answers come after the strobe's edge.
// It is part of the contract: wqe_fetch_engine reads the answers in the cycle after its strobe.
//
// Streams that come in: db. A beat is taken at the edge before which valid and ready are both high; ready may depend on
// valid, valid never on ready; valid and payload stay until then.
//
// Has to drive, whatever is inside:
//   stat_db_rx_o  one cycle for each doorbell, coalesced or not, and each complete push, when it is taken
//   probe_db_o    together with stat_db_rx_o; `probe_qpn_o` and `probe_pi_o` hold QP and new producer index in that
//                 cycle
//   probe_qpn_o   with probe_db_o
//   probe_pi_o    with probe_db_o
//   idle_o        low while a ring is still to come
//
// Has to keep:
//   doorbells  never refused for long, never lost; the index of the latest one counts
//   clear      a doorbell at the edge of clear_i counts as after it
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
  output logic pi_valid_o,             // 0: no doorbell since reset or since the QP was cleared; pi_o means nothing
  // The same for ctx_query
  input  logic q_re_i,
  input  logic [9:0] q_qpn_i,
  output logic [15:0] q_pi_o,
  output logic q_pi_valid_o,
  // BlueFlame buffer: lookup strobe at edge n, answer after edge n. A hit consumes the entry.
  input  logic bf_re_i,
  input  logic [9:0] bf_qpn_i,
  input  logic [15:0] bf_wqe_i,
  output logic bf_hit_o,
  output logic bf_miss_pushed_o,       // the entry belongs to this QP, but not to this WQE or not complete: fallback
  output logic [1023:0] bf_data_o,
  // CmdQpModify: forget the QP's producer index (the fetch engine takes the context's sq_ci) and BlueFlame entry
  input  logic clear_i,
  input  logic [9:0] clear_qpn_i,
  // Observation
  output logic stat_db_rx_o,
  output logic probe_db_o,
  output logic [9:0] probe_qpn_o,
  output logic [15:0] probe_pi_o,
  output logic idle_o
);
  // ---- Places for registers: 1 puts one into the stream, which costs a cycle --------------------
  localparam bit RegDb = 1'b0;

  logic db_valid, db_ready;
  rnic_pkg::doorbell_t db;
  if (RegDb) begin : gen_db_reg
    stream_register #(.Width($bits(db_i))) u_db_reg (
      .clk_i, .rst_ni,
      .in_valid_i(db_valid_i), .in_ready_o(db_ready_o), .in_data_i(db_i),
      .out_valid_o(db_valid), .out_ready_i(db_ready), .out_data_o(db)
    );
  end else begin : gen_db_wire
    assign db_valid = db_valid_i;
    assign db_ready_o = db_ready;
    assign db = db_i;
  end

  // ---- Your logic stands here, instead of ours or around it --------------------------------------
  logic idle;
  doorbell_intake_ref #(
    .BfEntries(BfEntries)
  ) u_ref (
    .clk_i, .rst_ni, .db_valid_i(db_valid), .db_ready_o(db_ready), .db_i(db), .ring_o, .ring_qpn_o,
    .pi_re_i, .pi_qpn_i, .pi_o, .pi_valid_o, .q_re_i, .q_qpn_i, .q_pi_o, .q_pi_valid_o, .bf_re_i,
    .bf_qpn_i, .bf_wqe_i, .bf_hit_o, .bf_miss_pushed_o, .bf_data_o, .clear_i, .clear_qpn_i,
    .stat_db_rx_o, .probe_db_o, .probe_qpn_o, .probe_pi_o, .idle_o(idle)
  );

  // What stands in a register is work: no edge may be left out while it does.
  assign idle_o = idle && !(RegDb && db_valid);
endmodule
