// SPDX-License-Identifier: Apache-2.0
// A credit_counter of your own, to start from: `scripts/new_override credit_counter DIR` copies it, with
// credit_counter_ref, our block under another name. Written by scripts/gen_templates.py from rtl/pcie/credit_counter.sv
// and rtl/templates/contract.toml.
//
// What our block does: the head of rtl/pcie/credit_counter.sv, and docs/blocks. What holds for every block:
// docs/howto/override.md.
//
// Latency: none: ok_o in the cycle of need_i.
// It is part of the contract: pcie_tlp_gen sends in the cycle in which ok_o is high; its test follows it edge by edge.
//
// Has to keep:
//   limits  ok_o never lets more go than limit_i allows, modulo 2^Width
module credit_counter #(
  parameter int unsigned Width = 8
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic inf_i,                  // no limit; does not change after reset
  input  logic [Width-1:0] limit_i,
  input  logic [Width-1:0] need_i,     // of the request that waits
  output logic ok_o,                   // it may go
  input  logic take_i                  // it goes; only with ok_o
);
  // ---- Your logic stands here, instead of ours or around it --------------------------------------
  credit_counter_ref #(
    .Width(Width)
  ) u_ref (
    .clk_i, .rst_ni, .inf_i, .limit_i, .need_i, .ok_o, .take_i
  );
endmodule
