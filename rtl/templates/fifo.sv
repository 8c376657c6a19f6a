// SPDX-License-Identifier: Apache-2.0
// A fifo of your own, to start from: `scripts/new_override fifo DIR` copies it, with fifo_ref, our block under another
// name. Written by scripts/gen_templates.py from rtl/common/fifo.sv and rtl/templates/contract.toml.
//
// What our block does: the head of rtl/common/fifo.sv, and docs/blocks. What holds for every block:
// docs/howto/override.md.
//
// Latency: data written at edge n can be read after edge n.
// It is part of the contract: its test follows the fill level edge by edge; it stands in several stages.
//
// Streams that come in: wr. A beat is taken at the edge before which valid and ready are both high; ready may depend on
// valid, valid never on ready; valid and payload stay until then.
module fifo #(
  parameter int unsigned Width = 32,
  parameter int unsigned Depth = 16
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic wr_valid_i,
  output logic wr_ready_o,             // room for one more
  input  logic [Width-1:0] wr_data_i,
  output logic rd_valid_o,
  input  logic rd_ready_i,
  output logic [Width-1:0] rd_data_o,
  output logic [$clog2(Depth):0] fill_o
);
  // ---- Places for registers: 1 puts one into the stream, which costs a cycle --------------------
  localparam bit RegWr = 1'b0;

  logic wr_valid, wr_ready;
  logic [Width-1:0] wr_data;
  if (RegWr) begin : gen_wr_reg
    stream_register #(.Width($bits(wr_data_i))) u_wr_reg (
      .clk_i, .rst_ni,
      .in_valid_i(wr_valid_i), .in_ready_o(wr_ready_o), .in_data_i(wr_data_i),
      .out_valid_o(wr_valid), .out_ready_i(wr_ready), .out_data_o(wr_data)
    );
  end else begin : gen_wr_wire
    assign wr_valid = wr_valid_i;
    assign wr_ready_o = wr_ready;
    assign wr_data = wr_data_i;
  end

  // ---- Your logic stands here, instead of ours or around it --------------------------------------
  fifo_ref #(
    .Width(Width), .Depth(Depth)
  ) u_ref (
    .clk_i, .rst_ni, .wr_valid_i(wr_valid), .wr_ready_o(wr_ready), .wr_data_i(wr_data), .rd_valid_o,
    .rd_ready_i, .rd_data_o, .fill_o
  );
endmodule
