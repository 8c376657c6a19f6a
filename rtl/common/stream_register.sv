// SPDX-License-Identifier: Apache-2.0
// Register stage of a valid/ready stream: payload and valid come from flip-flops, so that a memory's read path ends
// here. One cycle of latency, full rate; ready passes through combinationally.
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
  logic valid_q;
  logic [Width-1:0] data_q;

  assign in_ready_o = !valid_q || out_ready_i;
  assign out_valid_o = valid_q;
  assign out_data_o = data_q;

  always_ff @(posedge clk_i) begin
    if (in_valid_i && in_ready_o) data_q <= in_data_i;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= 1'b0;
    else if (in_ready_o) valid_q <= in_valid_i;
  end

`ifndef SYNTHESIS
  stream_checker #(
    .Width(Width)
  ) u_check (
    .clk_i, .rst_ni, .valid_i(out_valid_o), .ready_i(out_ready_i), .data_i(out_data_o)
  );
  register_checker #(
    .Width(Width)
  ) u_passes (
    .clk_i, .rst_ni, .in_valid_i, .in_ready_i(in_ready_o), .in_data_i, .out_valid_i(out_valid_o), .out_ready_i,
    .out_data_i(out_data_o)
  );
`endif
endmodule
