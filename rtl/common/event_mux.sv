// SPDX-License-Identifier: Apache-2.0
// Two streams of error log entries into one. a_* goes before b_*, but an offered entry stays until it is taken, and none is
// ever dropped.
//
// Latency: none.
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
  logic from_b, held_q;                // b's entry is offered; it was, and waits

  assign from_b = b_valid_i && (held_q || !a_valid_i);
  assign evt_valid_o = a_valid_i || b_valid_i;
  assign evt_o = from_b ? b_i : a_i;
  assign a_ready_o = evt_ready_i && !from_b;
  assign b_ready_o = evt_ready_i && from_b;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) held_q <= 1'b0;
    else held_q <= from_b && !evt_ready_i;
  end

`ifndef SYNTHESIS
  stream_checker #(.Width(60)) u_check_evt (
    .clk_i, .rst_ni, .valid_i(evt_valid_o), .ready_i(evt_ready_i), .data_i(evt_o)
  );
`endif
endmodule
