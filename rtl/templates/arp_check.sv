// SPDX-License-Identifier: Apache-2.0
// A arp_check of your own, to start from: `scripts/new_override arp_check DIR` copies it, with arp_check_ref, our block
// under another name. Written by scripts/gen_templates.py from rtl/collective/arp_check.sv and
// rtl/templates/contract.toml.
//
// What our block does: the head of rtl/collective/arp_check.sv, and docs/blocks. What holds for every block:
// docs/howto/override.md.
//
// Latency: a head at edge n, checked after edge n + 4; acknowledges likewise.
// A version that takes N cycles more declares +latency+arp_check+N in its list.
//
// Streams that come in: head, ack. A beat is taken at the edge before which valid and ready are both high; ready may
// depend on valid, valid never on ready; valid and payload stay until then.
//
// Has to drive, whatever is inside:
//   idle_o  low while a head or an acknowledge is inside
//
// Has to keep:
//   order  fragments and acknowledges in the order in which they came; at most 5 fragments inside when frag_room_i
//          falls
module arp_check (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic head_valid_i,
  output logic head_ready_o,
  input  logic head_good_i,
  input  logic [3:0] head_kind_i,
  input  arp_pkg::areth_t head_i,
  input  logic [6:0] head_lines_i,
  input  logic frag_room_i,
  // Reader of arp_groups, whose answer comes after the edge
  output logic frag_en_o,
  output logic [15:0] frag_group_o,
  input  logic frag_known_i,
  input  arp_pkg::arp_group_t frag_ctx_i,
  // Fragments, checked
  output logic chk_valid_o,
  output logic chk_good_o,
  output logic [3:0] chk_kind_o,                 // not good: why
  output arp_pkg::areth_t chk_hdr_o,
  output logic [6:0] chk_lines_o,                // in the buffer
  output logic [9:0] chk_slot_o,
  output logic [25:0] chk_lap_o,
  output logic [31:0] chk_pos_o,
  output logic [11:0] chk_row_o,
  output logic chk_wide_o,
  output logic [63:0] chk_members_o,
  // Acknowledges
  input  logic ack_hold_i,                       // take none
  input  logic ack_valid_i,
  output logic ack_ready_o,
  input  arp_pkg::arp_ack_t ack_i,
  output logic ack_en_o,
  output logic [15:0] ack_group_o,
  input  logic ack_known_i,
  input  arp_pkg::arp_group_t ack_ctx_i,
  input  logic ack_stop_i,
  output logic ackc_valid_o,
  output logic ackc_bad_o,                       // nothing that could be acknowledged
  output arp_pkg::arp_ack_t ackc_o,
  output logic [9:0] ackc_slot_o,
  output logic [25:0] ackc_lap_o,
  output logic idle_o
);
  // ---- Places for registers: 1 puts one into the stream, which costs a cycle --------------------
  localparam bit RegHead = 1'b0;
  localparam bit RegAck = 1'b0;

  logic head_valid, head_ready;
  logic head_good;
  logic [3:0] head_kind;
  arp_pkg::areth_t head;
  logic [6:0] head_lines;
  if (RegHead) begin : gen_head_reg
    stream_register #(.Width($bits({head_good_i, head_kind_i, head_i, head_lines_i}))) u_head_reg (
      .clk_i, .rst_ni,
      .in_valid_i(head_valid_i), .in_ready_o(head_ready_o), .in_data_i({head_good_i, head_kind_i, head_i, head_lines_i}),
      .out_valid_o(head_valid), .out_ready_i(head_ready), .out_data_o({head_good, head_kind, head, head_lines})
    );
  end else begin : gen_head_wire
    assign head_valid = head_valid_i;
    assign head_ready_o = head_ready;
    assign head_good = head_good_i;
    assign head_kind = head_kind_i;
    assign head = head_i;
    assign head_lines = head_lines_i;
  end

  logic ack_valid, ack_ready;
  logic ack_hold;
  arp_pkg::arp_ack_t ack;
  logic ack_known;
  arp_pkg::arp_group_t ack_ctx;
  logic ack_stop;
  if (RegAck) begin : gen_ack_reg
    stream_register #(.Width($bits({ack_hold_i, ack_i, ack_known_i, ack_ctx_i, ack_stop_i}))) u_ack_reg (
      .clk_i, .rst_ni,
      .in_valid_i(ack_valid_i), .in_ready_o(ack_ready_o), .in_data_i({ack_hold_i, ack_i, ack_known_i, ack_ctx_i, ack_stop_i}),
      .out_valid_o(ack_valid), .out_ready_i(ack_ready), .out_data_o({ack_hold, ack, ack_known, ack_ctx, ack_stop})
    );
  end else begin : gen_ack_wire
    assign ack_valid = ack_valid_i;
    assign ack_ready_o = ack_ready;
    assign ack_hold = ack_hold_i;
    assign ack = ack_i;
    assign ack_known = ack_known_i;
    assign ack_ctx = ack_ctx_i;
    assign ack_stop = ack_stop_i;
  end

  // ---- Your logic stands here, instead of ours or around it --------------------------------------
  logic idle;
  arp_check_ref u_ref (
    .clk_i, .rst_ni, .head_valid_i(head_valid), .head_ready_o(head_ready), .head_good_i(head_good),
    .head_kind_i(head_kind), .head_i(head), .head_lines_i(head_lines), .frag_room_i, .frag_en_o,
    .frag_group_o, .frag_known_i, .frag_ctx_i, .chk_valid_o, .chk_good_o, .chk_kind_o, .chk_hdr_o,
    .chk_lines_o, .chk_slot_o, .chk_lap_o, .chk_pos_o, .chk_row_o, .chk_wide_o, .chk_members_o,
    .ack_hold_i(ack_hold), .ack_valid_i(ack_valid), .ack_ready_o(ack_ready), .ack_i(ack), .ack_en_o,
    .ack_group_o, .ack_known_i(ack_known), .ack_ctx_i(ack_ctx), .ack_stop_i(ack_stop),
    .ackc_valid_o, .ackc_bad_o, .ackc_o, .ackc_slot_o, .ackc_lap_o, .idle_o(idle)
  );

  // What stands in a register is work: no edge may be left out while it does.
  assign idle_o = idle && !(RegHead && head_valid) && !(RegAck && ack_valid);
endmodule
