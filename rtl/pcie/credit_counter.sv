// SPDX-License-Identifier: Apache-2.0
// Flow-control credits of one type, as in the PCIe rules: absolute counts modulo 2^Width since reset. A request may go
// when the limit, less what was used and what it needs, lies in the lower half of the number range.
//
// The limit is never more than 2^(Width-1) ahead of what was used, and need_i is below 2^(Width-1). No latency.
module credit_counter #(
  parameter int unsigned Width = 8
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic inf_i,                  // no limit; does not change after reset
  input  logic [Width-1:0] limit_i,
  input  logic [Width-1:0] need_i,     // of the request that waits
  output logic ok_o,                   // it may go
  input  logic take_i                  // it goes; only with ok_o
);
  logic [Width-1:0] used_q, left;

  assign left = limit_i - used_q - need_i;
  assign ok_o = inf_i || !left[Width-1] || left[Width-2:0] == '0;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) used_q <= '0;
    else if (take_i) used_q <= used_q + need_i;
  end

`ifndef SYNTHESIS
  credit_checker #(
    .Width(Width)
  ) u_check (
    .clk_i, .rst_ni, .inf_i, .limit_i, .need_i, .ok_i(ok_o), .take_i, .used_i(used_q)
  );
`endif
endmodule
