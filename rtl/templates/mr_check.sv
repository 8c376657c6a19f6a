// SPDX-License-Identifier: Apache-2.0
// A mr_check of your own, to start from: `scripts/new_override mr_check DIR` copies it, with mr_check_ref, our block
// under another name. Written by scripts/gen_templates.py from rtl/host/mr_check.sv and rtl/templates/contract.toml.
//
// What our block does: the head of rtl/host/mr_check.sv, and docs/blocks. What holds for every block:
// docs/howto/override.md.
//
// Latency: ven_o after the edge of en_i (MrCheckTest.AgreesWithTheReference).
// It is part of the contract: tx_segmenter reads the answer in the cycle after en_i.
//
// Has to keep:
//   rules  those of docs/blocks/mr_check.md; the first fault in the order key, protection domain, rights, bounds
module mr_check (
  input  logic clk_i,
  input  logic en_i,
  input  rnic_pkg::mpt_t region_i,     // entry key_i[23:8] of the table
  input  logic [31:0] key_i,           // index above the variant; beyond the table's 65536 entries: no such key
  input  logic [23:0] pd_i,
  input  logic [63:0] addr_i,          // virtual
  input  logic [31:0] len_i,           // not 0: an access to nothing asks nobody
  input  logic [3:0] need_i,           // rights: {remote_atomic, remote_write, remote_read, local_write}
  output logic [7:0] ven_o             // VenNone: allowed
);
  // ---- Your logic stands here, instead of ours or around it --------------------------------------
  mr_check_ref u_ref (
    .clk_i, .en_i, .region_i, .key_i, .pd_i, .addr_i, .len_i, .need_i, .ven_o
  );
endmodule
