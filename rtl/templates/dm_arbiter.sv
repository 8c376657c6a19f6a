// SPDX-License-Identifier: Apache-2.0
// A dm_arbiter of your own, to start from: `scripts/new_override dm_arbiter DIR` copies it, with dm_arbiter_ref, our
// block under another name. Written by scripts/gen_templates.py from rtl/common/dm_arbiter.sv and
// rtl/templates/contract.toml.
//
// What our block does: the head of rtl/common/dm_arbiter.sv, and docs/blocks. What holds for every block:
// docs/howto/override.md.
//
// Latency: none in either direction.
// It is part of the contract: requests pass in the cycle in which they are offered; its test follows that edge by edge.
//
// Has to drive, whatever is inside:
//   idle_o  low while a read is in flight or an offered request waits
//
// Has to keep:
//   answers  to the requester that asked, in its order
module dm_arbiter #(
  parameter int unsigned N = 7,
  parameter int unsigned Depth = 64
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic [N-1:0] req_valid_i,
  output logic [N-1:0] req_ready_o,
  input  logic [N*606-1:0] req_i,      // rnic_pkg::dm_req_t each, requester 0 in the low bits
  output logic [N-1:0] rsp_valid_o,
  output rnic_pkg::dm_rsp_t rsp_o,     // to all; rsp_valid_o names the one
  output logic dm_req_valid_o,
  input  logic dm_req_ready_i,
  output rnic_pkg::dm_req_t dm_req_o,
  input  logic dm_rsp_valid_i,
  input  rnic_pkg::dm_rsp_t dm_rsp_i,
  output logic idle_o
);
  // ---- Your logic stands here, instead of ours or around it --------------------------------------
  dm_arbiter_ref #(
    .N(N), .Depth(Depth)
  ) u_ref (
    .clk_i, .rst_ni, .req_valid_i, .req_ready_o, .req_i, .rsp_valid_o, .rsp_o, .dm_req_valid_o,
    .dm_req_ready_i, .dm_req_o, .dm_rsp_valid_i, .dm_rsp_i, .idle_o
  );
endmodule
