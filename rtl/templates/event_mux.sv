// SPDX-License-Identifier: Apache-2.0
// A event_mux of your own, to start from: `scripts/new_override event_mux DIR` copies it, with event_mux_ref, our block
// under another name. Written by scripts/gen_templates.py from rtl/common/event_mux.sv and rtl/templates/contract.toml.
//
// What our block does: the head of rtl/common/event_mux.sv, and docs/blocks. What holds for every block:
// docs/howto/override.md.
//
// Latency: none.
// A version that takes N cycles more declares +latency+event_mux+N in its list.
//
// Streams that come in: a, b. A beat is taken at the edge before which valid and ready are both high; ready may depend
// on valid, valid never on ready; valid and payload stay until then.
//
// Has to keep:
//   events  every entry once, in its stream's order; an offered one stays
module event_mux (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic a_valid_i,
  output logic a_ready_o,
  input  rnic_pkg::event_t a_i,
  input  logic b_valid_i,
  output logic b_ready_o,
  input  rnic_pkg::event_t b_i,
  output logic evt_valid_o,
  input  logic evt_ready_i,
  output rnic_pkg::event_t evt_o
);
  // ---- Places for registers: 1 puts one into the stream, which costs a cycle --------------------
  localparam bit RegA = 1'b0;
  localparam bit RegB = 1'b0;

  logic a_valid, a_ready;
  rnic_pkg::event_t a;
  if (RegA) begin : gen_a_reg
    stream_register #(.Width($bits(a_i))) u_a_reg (
      .clk_i, .rst_ni,
      .in_valid_i(a_valid_i), .in_ready_o(a_ready_o), .in_data_i(a_i),
      .out_valid_o(a_valid), .out_ready_i(a_ready), .out_data_o(a)
    );
  end else begin : gen_a_wire
    assign a_valid = a_valid_i;
    assign a_ready_o = a_ready;
    assign a = a_i;
  end

  logic b_valid, b_ready;
  rnic_pkg::event_t b;
  if (RegB) begin : gen_b_reg
    stream_register #(.Width($bits(b_i))) u_b_reg (
      .clk_i, .rst_ni,
      .in_valid_i(b_valid_i), .in_ready_o(b_ready_o), .in_data_i(b_i),
      .out_valid_o(b_valid), .out_ready_i(b_ready), .out_data_o(b)
    );
  end else begin : gen_b_wire
    assign b_valid = b_valid_i;
    assign b_ready_o = b_ready;
    assign b = b_i;
  end

  // ---- Your logic stands here, instead of ours or around it --------------------------------------
  event_mux_ref u_ref (
    .clk_i, .rst_ni, .a_valid_i(a_valid), .a_ready_o(a_ready), .a_i(a), .b_valid_i(b_valid),
    .b_ready_o(b_ready), .b_i(b), .evt_valid_o, .evt_ready_i, .evt_o
  );
endmodule
