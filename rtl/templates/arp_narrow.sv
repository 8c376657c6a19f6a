// SPDX-License-Identifier: Apache-2.0
// A arp_narrow of your own, to start from: `scripts/new_override arp_narrow DIR` copies it, with arp_narrow_ref, our
// block under another name. Written by scripts/gen_templates.py from rtl/collective/arp_narrow.sv and
// rtl/templates/contract.toml.
//
// What our block does: the head of rtl/collective/arp_narrow.sv, and docs/blocks. What holds for every block:
// docs/howto/override.md.
//
// Latency: NarrowLatency edges, at full rate (ArpNarrowTest.TypesMixedWithGaps).
// It is part of the contract: change arp_pkg::NarrowLatency with it.
//
// Has to keep:
//   rounding  once, to nearest, ties to even, subnormals kept
module arp_narrow (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic valid_i,
  input  logic [7:0] dtype_i,          // arp_pkg::TypeFp16Acc32, TypeBf16Acc32; zeros come out for others
  input  logic [1023:0] in_i,          // lane i in [32*i +: 32]
  output logic valid_o,
  output logic [511:0] out_o           // lane i in [16*i +: 16]
);
  // ---- Your logic stands here, instead of ours or around it --------------------------------------
  arp_narrow_ref u_ref (
    .clk_i, .rst_ni, .valid_i, .dtype_i, .in_i, .valid_o, .out_o
  );
endmodule
