// SPDX-License-Identifier: Apache-2.0
// A tx_egress of your own, to start from: `scripts/new_override tx_egress DIR` copies it, with tx_egress_ref, our block
// under another name. Written by scripts/gen_templates.py from rtl/tx/tx_egress.sv and rtl/templates/contract.toml.
//
// What our block does: the head of rtl/tx/tx_egress.sv, and docs/blocks. What holds for every block:
// docs/howto/override.md.
//
// Latency: a beat that comes into an empty egress is at the pins after its edge (TxEgressTest.BeatsPassAfterOneEdge).
// A version that takes N cycles more declares +latency+tx_egress+N in its list.
//
// Has to drive, whatever is inside:
//   idle_o  low while a frame is inside
//
// Has to keep:
//   pause   a frame begins only while its priority is not paused, and once begun it ends
//   frames  those of a priority in the order in which they came; no gap inside a frame
//   room    what was described when room_o was 1 fits; a turn granted when prio_ready_o was 1 finds room for a packet
module tx_egress #(
  parameter int unsigned Depth = 1024  // beats of each priority; a power of two
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic [7:0] strict_i,
  input  logic [7:0] pause_i,
  // From tx_packetizer; always taken
  input  logic in_valid_i,
  input  rnic_pkg::mac_beat_t in_i,
  input  logic [2:0] in_port_i,
  output logic out_valid_o,
  input  logic out_ready_i,
  output rnic_pkg::mac_beat_t out_o,
  output logic [2:0] out_port_o,
  // Reservation
  input  logic open_i,
  input  logic [3:0] open_prio_i,      // 8: unknown, reserves nothing
  input  logic close_i,
  input  logic [3:0] close_prio_i,
  input  logic desc_i,                 // a packet without error has been described
  input  logic [2:0] desc_prio_i,
  input  logic [6:0] desc_beats_i,     // its frame's, 1..66
  input  logic drop_i,                 // no frame will come of it
  input  logic [2:0] drop_prio_i,
  input  logic [6:0] drop_beats_i,
  output logic [7:0] prio_ready_o,
  output logic [7:0] room_o,
  output logic idle_o
);
  // ---- Your logic stands here, instead of ours or around it --------------------------------------
  tx_egress_ref #(
    .Depth(Depth)
  ) u_ref (
    .clk_i, .rst_ni, .strict_i, .pause_i, .in_valid_i, .in_i, .in_port_i, .out_valid_o,
    .out_ready_i, .out_o, .out_port_o, .open_i, .open_prio_i, .close_i, .close_prio_i, .desc_i,
    .desc_prio_i, .desc_beats_i, .drop_i, .drop_prio_i, .drop_beats_i, .prio_ready_o, .room_o,
    .idle_o
  );
endmodule
