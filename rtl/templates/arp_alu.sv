// SPDX-License-Identifier: Apache-2.0
// A arp_alu of your own, to start from: `scripts/new_override arp_alu DIR` copies it, with arp_alu_ref, our block under
// another name. Written by scripts/gen_templates.py from rtl/collective/arp_alu.sv and rtl/templates/contract.toml.
//
// What our block does: the head of rtl/collective/arp_alu.sv, and docs/blocks. What holds for every block:
// docs/howto/override.md.
//
// Latency: AluLatency edges, at full rate (ArpAluTest.TypesMixedBackToBack).
// It is part of the contract: change arp_pkg::AluLatency with it: the accumulators' interlock counts on it.
//
// Has to keep:
//   order  each beat's result is its own, whatever types and operations come before and behind
//   zeros  the upper half is zeros for types with 512 bits of accumulators; all is for an unknown type or operation
module arp_alu (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic valid_i,
  input  logic [7:0] dtype_i,          // arp_pkg::Type*
  input  logic [7:0] op_i,             // arp_pkg::Op*
  input  logic first_i,                // no accumulator yet: acc_i does not count
  input  logic [1023:0] acc_i,         // element i from bit i * its width on
  input  logic [511:0] in_i,
  output logic valid_o,
  output logic [1023:0] res_o
);
  // ---- Your logic stands here, instead of ours or around it --------------------------------------
  arp_alu_ref u_ref (
    .clk_i, .rst_ni, .valid_i, .dtype_i, .op_i, .first_i, .acc_i, .in_i, .valid_o, .res_o
  );
endmodule
