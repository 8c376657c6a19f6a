// SPDX-License-Identifier: Apache-2.0
// A fp_add of your own, to start from: `scripts/new_override fp_add DIR` copies it, with fp_add_ref, our block under
// another name. Written by scripts/gen_templates.py from rtl/collective/fp_add.sv and rtl/templates/contract.toml.
//
// What our block does: the head of rtl/collective/fp_add.sv, and docs/blocks. What holds for every block:
// docs/howto/override.md.
//
// Latency: 4 edges, at full rate (FpAddTest.GapsChangeNothing).
// It is part of the contract: arp_alu takes the sum together with what waited beside it.
//
// Has to keep:
//   sums  IEEE 754, to nearest, ties to even, subnormals kept; the NaN is positive, quiet, without payload
//   idle  without valid_i nothing changes but the valids: the sum stays
module fp_add #(
  parameter int unsigned ExpW = 5,     // exponent bits
  parameter int unsigned ManW = 10,    // fraction bits
  parameter int unsigned Lanes = 1
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic valid_i,
  input  logic [(1+ExpW+ManW)*Lanes-1:0] a_i,
  input  logic [(1+ExpW+ManW)*Lanes-1:0] b_i,
  output logic valid_o,                // valid_i, four edges later
  output logic [(1+ExpW+ManW)*Lanes-1:0] sum_o
);
  // ---- Your logic stands here, instead of ours or around it --------------------------------------
  fp_add_ref #(
    .ExpW(ExpW), .ManW(ManW), .Lanes(Lanes)
  ) u_ref (
    .clk_i, .rst_ni, .valid_i, .a_i, .b_i, .valid_o, .sum_o
  );
endmodule
