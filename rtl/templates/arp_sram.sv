// SPDX-License-Identifier: Apache-2.0
// A arp_sram of your own, to start from: `scripts/new_override arp_sram DIR` copies it, with arp_sram_ref, our block
// under another name. Written by scripts/gen_templates.py from rtl/collective/arp_sram.sv and
// rtl/templates/contract.toml.
//
// What our block does: the head of rtl/collective/arp_sram.sv, and docs/blocks. What holds for every block:
// docs/howto/override.md.
//
// Latency: read at edge n, data after edge n, its parity after edge n + 1.
// It is part of the contract: the interlock of arp_fsm counts on it.
//
// Has to keep:
//   bypass  a read gives what is written at the same edge
//   data    stays until the bank's next read
module arp_sram #(
  parameter int unsigned Rows = arp_pkg::NumRows
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic [1:0] rd_i,                       // by bank
  input  logic [$clog2(Rows)-1:0] rd_row0_i,
  input  logic [$clog2(Rows)-1:0] rd_row1_i,
  output logic [1023:0] rd_data_o,               // bank 0 in the lower half; stays until the bank's next read
  output logic [1:0] rd_bad_o,
  input  logic [1:0] wr_i,
  input  logic [$clog2(Rows)-1:0] wr_row_i,
  input  logic [1023:0] wr_data_i,
  input  logic inject_valid_i,
  input  logic [$clog2(Rows)-1:0] inject_row_i,
  input  logic [9:0] inject_bit_i,               // 512 and above: bank 1
  output logic busy_o
);
  // ---- Your logic stands here, instead of ours or around it --------------------------------------
  arp_sram_ref #(
    .Rows(Rows)
  ) u_ref (
    .clk_i, .rst_ni, .rd_i, .rd_row0_i, .rd_row1_i, .rd_data_o, .rd_bad_o, .wr_i, .wr_row_i,
    .wr_data_i, .inject_valid_i, .inject_row_i, .inject_bit_i, .busy_o
  );
endmodule
