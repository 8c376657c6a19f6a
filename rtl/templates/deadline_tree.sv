// SPDX-License-Identifier: Apache-2.0
// A deadline_tree of your own, to start from: `scripts/new_override deadline_tree DIR` copies it, with
// deadline_tree_ref, our block under another name. Written by scripts/gen_templates.py from rtl/tx/deadline_tree.sv and
// rtl/templates/contract.toml.
//
// What our block does: the head of rtl/tx/deadline_tree.sv, and docs/blocks. What holds for every block:
// docs/howto/override.md.
//
// Latency: a change is in the root after LogN edges (DeadlineTreeTest.RootFollowsAfterLogNEdges).
// A version that takes N cycles more declares +latency+deadline_tree+N in its list.
//
// Has to keep:
//   order  the smallest key, of equal ones that of the lower index
module deadline_tree #(
  parameter int unsigned LogN = 10,
  parameter int unsigned KeyW = 48
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic set_i,
  input  logic [LogN-1:0] set_idx_i,
  input  logic set_valid_i,            // 0: no key any more
  input  logic [KeyW-1:0] set_key_i,
  output logic root_valid_o,
  output logic [LogN-1:0] root_idx_o,
  output logic [KeyW-1:0] root_key_o,
  output logic busy_o
);
  // ---- Your logic stands here, instead of ours or around it --------------------------------------
  deadline_tree_ref #(
    .LogN(LogN), .KeyW(KeyW)
  ) u_ref (
    .clk_i, .rst_ni, .set_i, .set_idx_i, .set_valid_i, .set_key_i, .root_valid_o, .root_idx_o,
    .root_key_o, .busy_o
  );
endmodule
