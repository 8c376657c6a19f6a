// SPDX-License-Identifier: Apache-2.0
// A stream_register of your own, to start from: `scripts/new_override stream_register DIR` copies it, with
// stream_register_ref, our block under another name. Written by scripts/gen_templates.py from
// rtl/common/stream_register.sv and rtl/templates/contract.toml.
//
// What our block does: the head of rtl/common/stream_register.sv, and docs/blocks. What holds for every block:
// docs/howto/override.md.
//
// Latency: one cycle, at full rate.
// It is part of the contract: its test follows it edge by edge.
//
// Streams that come in: in. A beat is taken at the edge before which valid and ready are both high; ready may depend on
// valid, valid never on ready; valid and payload stay until then.
module stream_register #(
  parameter int unsigned Width = 32
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic in_valid_i,
  output logic in_ready_o,
  input  logic [Width-1:0] in_data_i,
  output logic out_valid_o,
  input  logic out_ready_i,
  output logic [Width-1:0] out_data_o
);
  // ---- Places for registers: 1 puts one into the stream, which costs a cycle --------------------
  localparam bit RegIn = 1'b0;

  logic in_valid, in_ready;
  logic [Width-1:0] in_data;
  if (RegIn) begin : gen_in_reg
    stream_register_ref #(.Width($bits(in_data_i))) u_in_reg (
      .clk_i, .rst_ni,
      .in_valid_i(in_valid_i), .in_ready_o(in_ready_o), .in_data_i(in_data_i),
      .out_valid_o(in_valid), .out_ready_i(in_ready), .out_data_o(in_data)
    );
  end else begin : gen_in_wire
    assign in_valid = in_valid_i;
    assign in_ready_o = in_ready;
    assign in_data = in_data_i;
  end

  // ---- Your logic stands here, instead of ours or around it --------------------------------------
  stream_register_ref #(
    .Width(Width)
  ) u_ref (
    .clk_i, .rst_ni, .in_valid_i(in_valid), .in_ready_o(in_ready), .in_data_i(in_data),
    .out_valid_o, .out_ready_i, .out_data_o
  );
endmodule
