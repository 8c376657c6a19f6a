// SPDX-License-Identifier: Apache-2.0
// The valid/ready protocol, stated once: valid stays until ready, the payload is stable meanwhile, and there is no
// valid in reset. For simulation only; instantiate under `ifndef SYNTHESIS, or bind. It has no outputs and delays
// nothing. The payload is copied only while the stream is stalled, so that a flowing or quiet stream costs next to
// nothing.
module stream_checker #(
  parameter int unsigned Width = 1     // of the payload
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

  ValidStays : assert property (@(posedge clk_i) disable iff (!rst_ni) stalled_q |-> valid_i);
  PayloadStable : assert property (@(posedge clk_i) disable iff (!rst_ni) stalled_q |-> data_i == held_q);
  NoValidInReset : assert property (@(posedge clk_i) !rst_ni && in_reset_q |-> !valid_i);
`endif
endmodule
