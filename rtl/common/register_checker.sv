// SPDX-License-Identifier: Apache-2.0
// Properties of a register stage: one place, nothing lost, doubled or changed. Follows one word at a time: which, a
// proof leaves open; simulation takes every eighth, which keeps it cheap.
module register_checker #(
  parameter int unsigned Width = 32
) (
  input logic clk_i,
  input logic rst_ni,
  input logic in_valid_i,
  input logic in_ready_i,
  input logic [Width-1:0] in_data_i,
  input logic out_valid_i,
  input logic out_ready_i,
  input logic [Width-1:0] out_data_i
);
  logic take, give, start;
  logic held_q, follow_q;              // a word is inside; it is the followed one
  logic [Width-1:0] data_q;
  assign take = in_valid_i && in_ready_i;
  assign give = out_valid_i && out_ready_i;
`ifdef FORMAL
  (* anyseq *) logic choose;
  assign start = take && choose;
`else
  logic [2:0] turn_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) turn_q <= '0;
    else if (take) turn_q <= turn_q + 1'b1;
  end
  assign start = take && turn_q == '0;
`endif

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      held_q <= 1'b0;
      follow_q <= 1'b0;
    end else if (take || give) begin
      held_q <= take;
      follow_q <= start;
    end
  end

  always_ff @(posedge clk_i) begin
    if (start) data_q <= in_data_i;
    if (rst_ni && (in_valid_i || out_valid_i || held_q)) begin
      NothingLost : assert (out_valid_i == held_q);
      OnePlace : assert (in_ready_i == (!held_q || out_ready_i));
      Unchanged : assert (!follow_q || out_data_i == data_q);
    end
`ifdef FORMAL
    if (rst_ni) FollowedInside : assert (!follow_q || held_q);      // for the induction
    Waits : cover (rst_ni && follow_q && !out_ready_i);
    FullRate : cover (rst_ni && follow_q && take && give);
`endif
  end
endmodule
