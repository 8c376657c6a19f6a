// SPDX-License-Identifier: Apache-2.0
// A ctx_cache of your own, to start from: `scripts/new_override ctx_cache DIR` copies it, with ctx_cache_ref, our block
// under another name. Written by scripts/gen_templates.py from rtl/host/ctx_cache.sv and rtl/templates/contract.toml.
//
// What our block does: the head of rtl/host/ctx_cache.sv, and docs/blocks. What holds for every block:
// docs/howto/override.md.
//
// Latency: a hit 2 cycles when none waits before it (CtxCacheTest.HitTakesTwoCycles); it stands in WQE fetch, DMA read
// and CQE write.
// A version that takes N cycles more declares +latency+ctx_cache+N in its list.
//
// Streams that come in: req. A beat is taken at the edge before which valid and ready are both high; ready may depend
// on valid, valid never on ready; valid and payload stay until then.
//
// Has to drive, whatever is inside:
//   stat_miss_o  once for each line read; lookups that share it do not count
//   idle_o       low from a lookup until its answer has been taken
//
// Has to keep:
//   freshness  lookups taken at the edge of inval_i or later see the memory after it
//   answers    in the order of the lookups; lines of device memory are always taken, so room is reserved before asking
module ctx_cache #(
  parameter int unsigned Entries = 256,        // power of two
  parameter int unsigned IdxW = 10,
  parameter int unsigned LineBytes = 128,      // 64 or 128
  parameter int unsigned Misses = 16,          // lines being fetched or waiting to be handed on, a power of two
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
  input  logic inval_all_i,
  output logic dm_req_valid_o,
  input  logic dm_req_ready_i,
  output rnic_pkg::dm_req_t dm_req_o,
  input  logic dm_rsp_valid_i,
  input  rnic_pkg::dm_rsp_t dm_rsp_i,
  output logic stat_miss_o,
  output logic idle_o
);
  // ---- Places for registers: 1 puts one into the stream, which costs a cycle --------------------
  localparam bit RegReq = 1'b0;

  logic req_valid, req_ready;
  logic [IdxW-1:0] req_idx;
  if (RegReq) begin : gen_req_reg
    stream_register #(.Width($bits(req_idx_i))) u_req_reg (
      .clk_i, .rst_ni,
      .in_valid_i(req_valid_i), .in_ready_o(req_ready_o), .in_data_i(req_idx_i),
      .out_valid_o(req_valid), .out_ready_i(req_ready), .out_data_o(req_idx)
    );
  end else begin : gen_req_wire
    assign req_valid = req_valid_i;
    assign req_ready_o = req_ready;
    assign req_idx = req_idx_i;
  end

  // ---- Your logic stands here, instead of ours or around it --------------------------------------
  logic idle;
  ctx_cache_ref #(
    .Entries(Entries), .IdxW(IdxW), .LineBytes(LineBytes), .Misses(Misses), .Base(Base)
  ) u_ref (
    .clk_i, .rst_ni, .req_valid_i(req_valid), .req_ready_o(req_ready), .req_idx_i(req_idx),
    .rsp_valid_o, .rsp_ready_i, .rsp_o, .inval_i, .inval_idx_i, .inval_all_i, .dm_req_valid_o,
    .dm_req_ready_i, .dm_req_o, .dm_rsp_valid_i, .dm_rsp_i, .stat_miss_o, .idle_o(idle)
  );

  // What stands in a register is work: no edge may be left out while it does.
  assign idle_o = idle && !(RegReq && req_valid);
endmodule
