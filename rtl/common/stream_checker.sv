// SPDX-License-Identifier: Apache-2.0
// The valid/ready protocol, stated once: valid stays until ready, the payload is stable meanwhile, and there is no
// valid in reset. For simulation and proof; instantiate under `ifndef SYNTHESIS, or bind. It has no outputs and delays
// nothing. The payload is copied only while the stream is stalled, so that a flowing or quiet stream costs next to
// nothing.
//
// On a block's input (Input = 1) the rules bind the neighbour: simulation checks them, the block's proof assumes them.
module stream_checker #(
  parameter int unsigned Width = 1,    // of the payload
  parameter int unsigned Input = 0
) (
  input logic clk_i,
  input logic rst_ni,
  input logic valid_i,
  input logic ready_i,
  input logic [Width-1:0] data_i
);
`ifndef SYNTHESIS
  logic stalled_q;                     // valid without ready at the previous edge
  logic [Width-1:0] held_q;            // payload then
  logic in_reset_q = 1'b0;             // an edge in reset has passed: registers have their reset values

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) stalled_q <= 1'b0;
    else if (stalled_q || valid_i) stalled_q <= valid_i && !ready_i;
  end

  always_ff @(posedge clk_i) begin
    if (valid_i && !ready_i && !stalled_q) held_q <= data_i;
    in_reset_q <= !rst_ni;
  end

  if (Input == 0) begin : g_output
    always_ff @(posedge clk_i) begin
      if (rst_ni && stalled_q) begin
        ValidStays : assert (valid_i);
        PayloadStable : assert (data_i == held_q);
      end
      if (!rst_ni && in_reset_q) begin
        NoValidInReset : assert (!valid_i);
      end
    end
  end else begin : g_input
    always_ff @(posedge clk_i) begin
      if (rst_ni && stalled_q) begin
        ValidStays : assume (valid_i);
        PayloadStable : assume (data_i == held_q);
      end
      if (!rst_ni && in_reset_q) begin
        NoValidInReset : assume (!valid_i);
      end
    end
  end
`endif
endmodule
