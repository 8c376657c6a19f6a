// SPDX-License-Identifier: Apache-2.0
// A fp_minmax of your own, to start from: `scripts/new_override fp_minmax DIR` copies it, with fp_minmax_ref, our block
// under another name. Written by scripts/gen_templates.py from rtl/collective/fp_minmax.sv and
// rtl/templates/contract.toml.
//
// What our block does: the head of rtl/collective/fp_minmax.sv, and docs/blocks. What holds for every block:
// docs/howto/override.md.
//
// Latency: one edge, at full rate (FpMinmaxTest.GapsChangeNothing).
// It is part of the contract: arp_alu takes the result together with those of other types.
//
// Has to keep:
//   order  IEEE 754-2019 minimum and maximum: a NaN wins, -0 is below +0
module fp_minmax #(
  parameter int unsigned ExpW = 5,     // exponent bits
  parameter int unsigned ManW = 10,    // fraction bits
  parameter int unsigned Lanes = 1
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic valid_i,
  input  logic max_i,                  // maximum instead of minimum
  input  logic pass_i,                 // b_i alone counts
  input  logic [(1+ExpW+ManW)*Lanes-1:0] a_i,
  input  logic [(1+ExpW+ManW)*Lanes-1:0] b_i,
  output logic valid_o,                // valid_i, an edge later
  output logic [(1+ExpW+ManW)*Lanes-1:0] res_o
);
  // ---- Your logic stands here, instead of ours or around it --------------------------------------
  fp_minmax_ref #(
    .ExpW(ExpW), .ManW(ManW), .Lanes(Lanes)
  ) u_ref (
    .clk_i, .rst_ni, .valid_i, .max_i, .pass_i, .a_i, .b_i, .valid_o, .res_o
  );
endmodule
