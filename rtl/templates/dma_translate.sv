// SPDX-License-Identifier: Apache-2.0
// A dma_translate of your own, to start from: `scripts/new_override dma_translate DIR` copies it, with
// dma_translate_ref, our block under another name. Written by scripts/gen_templates.py from rtl/host/dma_translate.sv
// and rtl/templates/contract.toml.
//
// What our block does: the head of rtl/host/dma_translate.sv, and docs/blocks. What holds for every block:
// docs/howto/override.md.
//
// Latency: 2 cycles for a read without a list of pages that finds none before it, 7 through pages whose copies are
// there (DmaTranslateTest.CyclesOfEachWay).
// A version that takes N cycles more declares +latency+dma_translate+N in its list.
//
// Streams that come in: xl. A beat is taken at the edge before which valid and ready are both high; ready may depend on
// valid, valid never on ready; valid and payload stay until then.
//
// Has to drive, whatever is inside:
//   stat_mtt_miss_o    once for each block of a list that is read
//   stat_mtt_absent_o  once for each piece denied since its page is missing or beyond its list
//   stat_win_denied_o  once for each piece that its window denies
//   idle_o             low while anything is here
//
// Has to keep:
//   order    pieces leave in the order of their reads, denied ones in their place; `more` is set on the first of two
//   windows  a change counts from the edge of win_we_i on for every read that has not reached rd_o; win_busy_o is high
//            while one that had is unanswered
//   regions  reads taken at the edge of inval_i or later see the lists after it; win_busy_o is high until those taken
//            before, or while stale_i has been high since, are answered
module dma_translate #(
  parameter int unsigned MttEntries = 64       // blocks of eight pages in the cache, a power of two
) (
  input  logic clk_i,
  input  logic rst_ni,
  // Reads of a region in (their places do not wrap), reads of the bus out
  input  logic xl_valid_i,
  output logic xl_ready_o,
  input  rnic_pkg::xl_req_t xl_i,
  output logic rd_valid_o,
  input  logic rd_ready_i,
  output rnic_pkg::rd_req_t rd_o,
  input  logic rd_done_i,              // the oldest read that left has been answered, or refused by dma_master
  // GPUDirect windows
  input  logic win_we_i,
  input  logic [5:0] win_idx_i,
  input  rnic_pkg::window_t win_i,
  output logic win_busy_o,             // reads let through before the last change of a window or region are under way
  // Regions have changed: all copies of page lists are forgotten
  input  logic inval_i,
  input  logic stale_i,                // tx_segmenter still has reads of before
  output logic dm_req_valid_o,
  input  logic dm_req_ready_i,
  output rnic_pkg::dm_req_t dm_req_o,
  input  logic dm_rsp_valid_i,
  input  rnic_pkg::dm_rsp_t dm_rsp_i,
  output logic stat_mtt_miss_o,
  output logic stat_mtt_absent_o,
  output logic stat_win_denied_o,
  output logic idle_o
);
  // ---- Places for registers: 1 puts one into the stream, which costs a cycle --------------------
  localparam bit RegXl = 1'b0;

  logic xl_valid, xl_ready;
  rnic_pkg::xl_req_t xl;
  if (RegXl) begin : gen_xl_reg
    stream_register #(.Width($bits(xl_i))) u_xl_reg (
      .clk_i, .rst_ni,
      .in_valid_i(xl_valid_i), .in_ready_o(xl_ready_o), .in_data_i(xl_i),
      .out_valid_o(xl_valid), .out_ready_i(xl_ready), .out_data_o(xl)
    );
  end else begin : gen_xl_wire
    assign xl_valid = xl_valid_i;
    assign xl_ready_o = xl_ready;
    assign xl = xl_i;
  end

  // ---- Your logic stands here, instead of ours or around it --------------------------------------
  logic idle;
  dma_translate_ref #(
    .MttEntries(MttEntries)
  ) u_ref (
    .clk_i, .rst_ni, .xl_valid_i(xl_valid), .xl_ready_o(xl_ready), .xl_i(xl), .rd_valid_o,
    .rd_ready_i, .rd_o, .rd_done_i, .win_we_i, .win_idx_i, .win_i, .win_busy_o, .inval_i, .stale_i,
    .dm_req_valid_o, .dm_req_ready_i, .dm_req_o, .dm_rsp_valid_i, .dm_rsp_i, .stat_mtt_miss_o,
    .stat_mtt_absent_o, .stat_win_denied_o, .idle_o(idle)
  );

  // What stands in a register is work: no edge may be left out while it does.
  assign idle_o = idle && !(RegXl && xl_valid);
endmodule
