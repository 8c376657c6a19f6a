// SPDX-License-Identifier: Apache-2.0
// A tlp_splitter of your own, to start from: `scripts/new_override tlp_splitter DIR` copies it, with tlp_splitter_ref,
// our block under another name. Written by scripts/gen_templates.py from rtl/pcie/tlp_splitter.sv and
// rtl/templates/contract.toml.
//
// What our block does: the head of rtl/pcie/tlp_splitter.sv, and docs/blocks. What holds for every block:
// docs/howto/override.md.
//
// Latency: one cycle from an accepted request to its first piece.
// It is part of the contract: its test follows it edge by edge.
//
// Streams that come in: req. A beat is taken at the edge before which valid and ready are both high; ready may depend
// on valid, valid never on ready; valid and payload stay until then.
//
// Has to keep:
//   pieces  cover the request once, in order, and cross no multiple of the largest size
module tlp_splitter (
  input  logic clk_i,
  input  logic rst_ni,
  // Requests
  input  logic req_valid_i,
  output logic req_ready_o,
  input  logic [2:0] req_size_i,       // of its pieces at most: 0: 128 B .. 5: 4096 B
  input  logic [63:0] req_addr_i,
  input  logic [12:0] req_len_i,       // 1..4096 bytes
  // Pieces
  output logic valid_o,
  input  logic ready_i,
  output logic [63:0] addr_o,
  output logic [12:0] len_o,
  output logic last_o,                 // of its request
  // len_o after this edge, if a request or the next piece moves in
  output logic [12:0] next_len_o
);
  // ---- Places for registers: 1 puts one into the stream, which costs a cycle --------------------
  localparam bit RegReq = 1'b0;

  logic req_valid, req_ready;
  logic [2:0] req_size;
  logic [63:0] req_addr;
  logic [12:0] req_len;
  if (RegReq) begin : gen_req_reg
    stream_register #(.Width($bits({req_size_i, req_addr_i, req_len_i}))) u_req_reg (
      .clk_i, .rst_ni,
      .in_valid_i(req_valid_i), .in_ready_o(req_ready_o), .in_data_i({req_size_i, req_addr_i, req_len_i}),
      .out_valid_o(req_valid), .out_ready_i(req_ready), .out_data_o({req_size, req_addr, req_len})
    );
  end else begin : gen_req_wire
    assign req_valid = req_valid_i;
    assign req_ready_o = req_ready;
    assign req_size = req_size_i;
    assign req_addr = req_addr_i;
    assign req_len = req_len_i;
  end

  // ---- Your logic stands here, instead of ours or around it --------------------------------------
  tlp_splitter_ref u_ref (
    .clk_i, .rst_ni, .req_valid_i(req_valid), .req_ready_o(req_ready), .req_size_i(req_size),
    .req_addr_i(req_addr), .req_len_i(req_len), .valid_o, .ready_i, .addr_o, .len_o, .last_o,
    .next_len_o
  );
endmodule
