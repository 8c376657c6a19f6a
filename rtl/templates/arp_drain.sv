// SPDX-License-Identifier: Apache-2.0
// A arp_drain of your own, to start from: `scripts/new_override arp_drain DIR` copies it, with arp_drain_ref, our block
// under another name. Written by scripts/gen_templates.py from rtl/collective/arp_drain.sv and
// rtl/templates/contract.toml.
//
// What our block does: the head of rtl/collective/arp_drain.sv, and docs/blocks. What holds for every block:
// docs/howto/override.md.
//
// Latency: a slot that is ready at edge n asks for its first line after edge n + 4; n lines to wr_valid_o n + 9 cycles.
// A version that takes N cycles more declares +latency+arp_drain+N in its list.
//
// Has to drive, whatever is inside:
//   idle_o  low from a slot's last contribution to its end
//
// Has to keep:
//   order   slots end in the order in which they became full
//   parity  nothing of a lost slot is written
module arp_drain #(
  parameter int unsigned Wait = 64
) (
  input  logic clk_i,
  input  logic rst_ni,
  // Slots that become full
  input  logic full_i,
  input  logic [9:0] full_slot_i,
  input  logic ready_i,                          // the oldest one not yet ready: its last beat is in memory
  // arp_slots
  output logic res_en_o,
  output logic [9:0] res_slot_o,
  input  arp_pkg::areth_t res_hdr_i,
  input  logic [31:0] res_pos_i,
  input  logic [11:0] res_row_i,
  output logic [9:0] ask_slot_o,
  input  logic ask_lost_i,
  output logic end_o,
  output logic [9:0] end_slot_o,
  output logic end_lost_o,
  // arp_groups
  output logic ctx_en_o,
  output logic [5:0] ctx_group_o,
  input  arp_pkg::arp_group_t ctx_i,
  // Accumulators
  output logic [1:0] rd_o,                       // wants these banks
  output logic [11:0] rd_row_o,
  output logic rd_urgent_o,
  input  logic rd_ready_i,
  input  logic [1023:0] rd_data_i,               // after the edge
  input  logic [1:0] rd_bad_i,                   // an edge later
  // DMA
  output logic wr_valid_o,
  input  logic wr_ready_i,
  output rnic_pkg::wr_req_t wr_o,
  output logic wdata_valid_o,
  input  logic wdata_ready_i,
  output logic [511:0] wdata_o,
  input  logic wr_done_i,
  input  rnic_pkg::op_t wr_done_op_i,
  // Observation
  output logic stall_o,                          // a result waits for the DMA
  output logic idle_o                            // no slot is full or being written
);
  // ---- Your logic stands here, instead of ours or around it --------------------------------------
  arp_drain_ref #(
    .Wait(Wait)
  ) u_ref (
    .clk_i, .rst_ni, .full_i, .full_slot_i, .ready_i, .res_en_o, .res_slot_o, .res_hdr_i,
    .res_pos_i, .res_row_i, .ask_slot_o, .ask_lost_i, .end_o, .end_slot_o, .end_lost_o, .ctx_en_o,
    .ctx_group_o, .ctx_i, .rd_o, .rd_row_o, .rd_urgent_o, .rd_ready_i, .rd_data_i, .rd_bad_i,
    .wr_valid_o, .wr_ready_i, .wr_o, .wdata_valid_o, .wdata_ready_i, .wdata_o, .wr_done_i,
    .wr_done_op_i, .stall_o, .idle_o
  );
endmodule
