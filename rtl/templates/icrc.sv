// SPDX-License-Identifier: Apache-2.0
// A icrc of your own, to start from: `scripts/new_override icrc DIR` copies it, with icrc_ref, our block under another
// name. Written by scripts/gen_templates.py from rtl/tx/icrc.sv and rtl/templates/contract.toml.
//
// What our block does: the head of rtl/tx/icrc.sv, and docs/blocks. What holds for every block: docs/howto/override.md.
//
// Latency: 5 edges, the one that takes the last beat counted (IcrcTest.AnswerComesWithTheFifthEdge).
// It is part of the contract: tx_packetizer lets the frame wait for exactly that long; replace both together.
//
// Has to drive, whatever is inside:
//   idle_o  low while a beat is inside; an open frame between two beats is idle
module icrc (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic valid_i,
  input  logic sop_i,
  input  logic eop_i,
  input  logic [3:0] zero_dws_i,       // with eop: zero fill after the covered bytes is 2 + 4 * zero_dws_i bytes
  input  logic [511:0] data_i,
  output logic valid_o,
  output logic [31:0] icrc_o,          // [7:0] is first on the wire
  output logic idle_o                  // no beat under way (an open frame between two beats is idle, too)
);
  // ---- Your logic stands here, instead of ours or around it --------------------------------------
  icrc_ref u_ref (
    .clk_i, .rst_ni, .valid_i, .sop_i, .eop_i, .zero_dws_i, .data_i, .valid_o, .icrc_o, .idle_o
  );
endmodule
