// SPDX-License-Identifier: Apache-2.0
// A arp_groups of your own, to start from: `scripts/new_override arp_groups DIR` copies it, with arp_groups_ref, our
// block under another name. Written by scripts/gen_templates.py from rtl/collective/arp_groups.sv and
// rtl/templates/contract.toml.
//
// What our block does: the head of rtl/collective/arp_groups.sv, and docs/blocks. What holds for every block:
// docs/howto/override.md.
//
// Latency: a reader's context after the edge.
// It is part of the contract: arp_check and arp_drain take the context in the next cycle.
//
// Streams that come in: cfg. A beat is taken at the edge before which valid and ready are both high; ready may depend
// on valid, valid never on ready; valid and payload stay until then.
//
// Has to keep:
//   order  cfg_ready_o when nothing is in flight and all slots of the old and the new context are cleared
module arp_groups (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic cfg_valid_i,
  output logic cfg_ready_o,
  input  logic [15:0] cfg_group_i,
  input  arp_pkg::arp_group_t cfg_i,
  output logic hold_o,                           // a context waits: no new fragments and acknowledges
  input  logic quiet_i,                          // none of them is in flight, nor a result
  output logic clear_o,                          // forget this slot
  output logic [9:0] clear_slot_o,
  output logic refused_o,                        // with cfg_ready_o
  // Readers: fragments, acknowledges, results
  input  logic frag_en_i,
  input  logic [15:0] frag_group_i,
  output logic frag_known_o,
  output arp_pkg::arp_group_t frag_ctx_o,
  input  logic ack_en_i,
  input  logic [15:0] ack_group_i,
  output logic ack_known_o,
  output arp_pkg::arp_group_t ack_ctx_o,
  input  logic res_en_i,
  input  logic [5:0] res_group_i,
  output arp_pkg::arp_group_t res_ctx_o,
  output logic [2:0] cfg_state_o                 // for waveforms
);
  // ---- Places for registers: 1 puts one into the stream, which costs a cycle --------------------
  localparam bit RegCfg = 1'b0;

  logic cfg_valid, cfg_ready;
  logic [15:0] cfg_group;
  arp_pkg::arp_group_t cfg;
  if (RegCfg) begin : gen_cfg_reg
    stream_register #(.Width($bits({cfg_group_i, cfg_i}))) u_cfg_reg (
      .clk_i, .rst_ni,
      .in_valid_i(cfg_valid_i), .in_ready_o(cfg_ready_o), .in_data_i({cfg_group_i, cfg_i}),
      .out_valid_o(cfg_valid), .out_ready_i(cfg_ready), .out_data_o({cfg_group, cfg})
    );
  end else begin : gen_cfg_wire
    assign cfg_valid = cfg_valid_i;
    assign cfg_ready_o = cfg_ready;
    assign cfg_group = cfg_group_i;
    assign cfg = cfg_i;
  end

  // ---- Your logic stands here, instead of ours or around it --------------------------------------
  arp_groups_ref u_ref (
    .clk_i, .rst_ni, .cfg_valid_i(cfg_valid), .cfg_ready_o(cfg_ready), .cfg_group_i(cfg_group),
    .cfg_i(cfg), .hold_o, .quiet_i, .clear_o, .clear_slot_o, .refused_o, .frag_en_i, .frag_group_i,
    .frag_known_o, .frag_ctx_o, .ack_en_i, .ack_group_i, .ack_known_o, .ack_ctx_o, .res_en_i,
    .res_group_i, .res_ctx_o, .cfg_state_o
  );
endmodule
