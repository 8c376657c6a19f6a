// SPDX-License-Identifier: Apache-2.0
// A arp_intake of your own, to start from: `scripts/new_override arp_intake DIR` copies it, with arp_intake_ref, our
// block under another name. Written by scripts/gen_templates.py from rtl/collective/arp_intake.sv and
// rtl/templates/contract.toml.
//
// What our block does: the head of rtl/collective/arp_intake.sv, and docs/blocks. What holds for every block:
// docs/howto/override.md.
//
// Latency: a fragment's last beat at edge n, its head after edge n.
// A version that takes N cycles more declares +latency+arp_intake+N in its list.
//
// Streams that come in: frag. A beat is taken at the edge before which valid and ready are both high; ready may depend
// on valid, valid never on ready; valid and payload stay until then.
//
// Has to keep:
//   frames  one head for each, in order; lines of good ones only, in the order of their heads
//   rate    a beat a cycle, fragments of any length mixed
module arp_intake #(
  parameter int unsigned Lines = 128             // of 64 B; power of two, at least 128 for full rate
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic hold_i,                           // take nothing
  input  logic frag_valid_i,
  output logic frag_ready_o,
  input  arp_pkg::arp_beat_t frag_i,
  // Heads
  output logic head_valid_o,
  input  logic head_ready_i,
  output logic head_good_o,
  output logic [3:0] head_kind_o,                // not good: why
  output arp_pkg::areth_t head_o,
  output logic [6:0] head_lines_o,               // good: 1..64
  // Data of good fragments, in the order of their heads
  input  logic line_take_i,                      // next line: line_o after the edge
  output logic [511:0] line_o,
  input  logic skip_i,                           // instead: leave lines out
  input  logic [6:0] skip_lines_i
);
  // ---- Places for registers: 1 puts one into the stream, which costs a cycle --------------------
  localparam bit RegFrag = 1'b0;

  logic frag_valid, frag_ready;
  arp_pkg::arp_beat_t frag;
  if (RegFrag) begin : gen_frag_reg
    stream_register #(.Width($bits(frag_i))) u_frag_reg (
      .clk_i, .rst_ni,
      .in_valid_i(frag_valid_i), .in_ready_o(frag_ready_o), .in_data_i(frag_i),
      .out_valid_o(frag_valid), .out_ready_i(frag_ready), .out_data_o(frag)
    );
  end else begin : gen_frag_wire
    assign frag_valid = frag_valid_i;
    assign frag_ready_o = frag_ready;
    assign frag = frag_i;
  end

  // ---- Your logic stands here, instead of ours or around it --------------------------------------
  arp_intake_ref #(
    .Lines(Lines)
  ) u_ref (
    .clk_i, .rst_ni, .hold_i, .frag_valid_i(frag_valid), .frag_ready_o(frag_ready), .frag_i(frag),
    .head_valid_o, .head_ready_i, .head_good_o, .head_kind_o, .head_o, .head_lines_o, .line_take_i,
    .line_o, .skip_i, .skip_lines_i
  );
endmodule
