// SPDX-License-Identifier: Apache-2.0
// Joins the requesters of device memory: round robin, answers routed back in request order. Requests pass through
// combinationally; up to Depth reads in flight. Requesters always take their answers.
module dm_arbiter #(
  parameter int unsigned N = 5,
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
endmodule
