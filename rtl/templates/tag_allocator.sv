// SPDX-License-Identifier: Apache-2.0
// A tag_allocator of your own, to start from: `scripts/new_override tag_allocator DIR` copies it, with
// tag_allocator_ref, our block under another name. Written by scripts/gen_templates.py from rtl/pcie/tag_allocator.sv
// and rtl/templates/contract.toml.
//
// What our block does: the head of rtl/pcie/tag_allocator.sv, and docs/blocks. What holds for every block:
// docs/howto/override.md.
//
// Latency: want_i to tag_valid_o 1 cycle.
// It is part of the contract: its test follows it edge by edge.
//
// Has to keep:
//   tags  none is given out twice before free_i, none is lost
module tag_allocator #(
  parameter int unsigned NumTags = 512,          // 1..768
  parameter int unsigned NumTags8 = 256,         // 1..256; those below both are handed out without tag10_i
  parameter int unsigned NumTags5 = 32           // 1..32; those below all three are handed out without ext_tag_i, too
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic ext_tag_i,              // 8-bit tags allowed; changes only while no tag is in use
  input  logic tag10_i,                // 10-bit tags allowed, whatever ext_tag_i says; likewise
  // The tag for the next request
  input  logic want_i,
  output logic tag_valid_o,
  output logic [9:0] tag_o,
  input  logic take_i,                 // the request leaves with it; only with tag_valid_o
  input  logic drop_i,                 // give back what is reserved; without want_i and take_i
  // Back again
  input  logic free_i,                 // only a tag in use
  input  logic [9:0] free_tag_i,
  // Is this tag in use? In the same cycle; any value may be asked for.
  input  logic [9:0] look_tag_i,
  output logic look_used_o,
  input  logic [9:0] scan_tag_i,       // likewise
  output logic scan_used_o
);
  // ---- Your logic stands here, instead of ours or around it --------------------------------------
  tag_allocator_ref #(
    .NumTags(NumTags), .NumTags8(NumTags8), .NumTags5(NumTags5)
  ) u_ref (
    .clk_i, .rst_ni, .ext_tag_i, .tag10_i, .want_i, .tag_valid_o, .tag_o, .take_i, .drop_i, .free_i,
    .free_tag_i, .look_tag_i, .look_used_o, .scan_tag_i, .scan_used_o
  );
endmodule
