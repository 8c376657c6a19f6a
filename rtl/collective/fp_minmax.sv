// SPDX-License-Identifier: Apache-2.0
// Minimum or maximum of floating point numbers of one format, lane by lane, as IEEE 754-2019 defines minimum and
// maximum: a NaN operand gives the NaN (the positive quiet one with only the top fraction bit set), and -0 is less
// than +0. Or hands on the second operand, with that NaN in place of any. See docs/blocks/fp_minmax.md.
//
// One register from operands to result, one beat a cycle, never stalls. Without valid only the valid bit changes.
module fp_minmax #(
  parameter int unsigned ExpW = 5,     // exponent bits
  parameter int unsigned ManW = 10,    // fraction bits
  parameter int unsigned Lanes = 1
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic valid_i,
  input  logic max_i,                  // maximum instead of minimum
  input  logic pass_i,                 // b_i alone counts
  input  logic [(1+ExpW+ManW)*Lanes-1:0] a_i,
  input  logic [(1+ExpW+ManW)*Lanes-1:0] b_i,
  output logic valid_o,                // valid_i, an edge later
  output logic [(1+ExpW+ManW)*Lanes-1:0] res_o
);
  localparam int unsigned W = 1 + ExpW + ManW;
  localparam logic [W-2:0] Inf = {{ExpW{1'b1}}, {ManW{1'b0}}};

  logic valid_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= 1'b0;
    else valid_q <= valid_i;
  end
  assign valid_o = valid_q;

  function automatic logic [W-1:0] choose(input logic max, input logic pass,
                                          input logic [W-1:0] a, input logic [W-1:0] b);
    logic [W-1:0] ka, kb, x;
    logic nan, first;
    nan = (a[W-2:0] > Inf && !pass) || b[W-2:0] > Inf;
    // Keys in the order of the numbers.
    ka = a ^ {1'b1, {W-1{a[W-1]}}};
    kb = b ^ {1'b1, {W-1{b[W-1]}}};
    first = ((ka < kb) ^ max) && !pass;
    x = b ^ ((a ^ b) & {W{first}});
    choose = (x & {W{!nan}}) | {1'b0, {{ExpW+1{1'b1}}, {ManW-1{1'b0}}} & {W-1{nan}}};
  endfunction

  for (genvar l = 0; l < Lanes; l++) begin : g_lane
    logic [W-1:0] res_q;
    always_ff @(posedge clk_i) begin
      if (valid_i) res_q <= choose(max_i, pass_i, a_i[W*l +: W], b_i[W*l +: W]);
    end
    assign res_o[W*l +: W] = res_q;
  end
endmodule
