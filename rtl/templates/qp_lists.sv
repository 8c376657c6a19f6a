// SPDX-License-Identifier: Apache-2.0
// A qp_lists of your own, to start from: `scripts/new_override qp_lists DIR` copies it, with qp_lists_ref, our block
// under another name. Written by scripts/gen_templates.py from rtl/tx/qp_lists.sv and rtl/templates/contract.toml.
//
// What our block does: the head of rtl/tx/qp_lists.sv, and docs/blocks. What holds for every block:
// docs/howto/override.md.
//
// Latency: a QP put at edge n can be taken from edge n + 1 on (QpListsTest.FollowsQueues).
// A version that takes N cycles more declares +latency+qp_lists+N in its list.
//
// Has to keep:
//   order  first in, first out in each list
module qp_lists #(
  parameter int unsigned Lists = 36,
  parameter int unsigned QpnW = 10
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic put_i,
  input  logic [$clog2(Lists)-1:0] put_list_i,
  input  logic [QpnW-1:0] put_qpn_i,
  input  logic take_i,
  input  logic [$clog2(Lists)-1:0] take_list_i,
  output logic [QpnW-1:0] take_qpn_o,  // first of take_list_i
  output logic [Lists-1:0] filled_o    // lists that are not empty
);
  // ---- Your logic stands here, instead of ours or around it --------------------------------------
  qp_lists_ref #(
    .Lists(Lists), .QpnW(QpnW)
  ) u_ref (
    .clk_i, .rst_ni, .put_i, .put_list_i, .put_qpn_i, .take_i, .take_list_i, .take_qpn_o, .filled_o
  );
endmodule
