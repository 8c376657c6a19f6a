// SPDX-License-Identifier: Apache-2.0
// Context cache: direct-mapped, read-only copies of context entries of BAR1's memory. Lookups are answered in order;
// hits at one a cycle with two cycles of latency, a miss blocks the ones behind it until the entry has come.
// An entry invalidated while it is being fetched is not kept (the waiting lookup gets the data read).
module ctx_cache #(
  parameter int unsigned Entries = 256,        // power of two
  parameter int unsigned IdxW = 10,
  parameter int unsigned LineBytes = 128,      // 64 or 128
  parameter logic [27:0] Base = '0             // of the table in device memory
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic req_valid_i,
  output logic req_ready_o,
  input  logic [IdxW-1:0] req_idx_i,
  output logic rsp_valid_o,
  input  logic rsp_ready_i,
  output logic [LineBytes*8-1:0] rsp_o,
  input  logic inval_i,
  input  logic [IdxW-1:0] inval_idx_i,
  output logic dm_req_valid_o,
  input  logic dm_req_ready_i,
  output rnic_pkg::dm_req_t dm_req_o,
  input  logic dm_rsp_valid_i,
  input  rnic_pkg::dm_rsp_t dm_rsp_i,
  output logic stat_miss_o,
  output logic idle_o
);
endmodule
