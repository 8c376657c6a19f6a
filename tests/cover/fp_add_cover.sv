// SPDX-License-Identifier: Apache-2.0
// Functional points of every fp_add, at its first lane.
module fp_add_cover #(
  parameter int unsigned ExpW = 5,
  parameter int unsigned ManW = 10,
  parameter int unsigned Lanes = 1
) (
  input logic clk_i,
  input logic rst_ni,
  input logic valid_i,
  input logic [(1+ExpW+ManW)*Lanes-1:0] a_i,
  input logic [(1+ExpW+ManW)*Lanes-1:0] b_i,
  input logic valid_o,
  input logic [(1+ExpW+ManW)*Lanes-1:0] sum_o
);
  localparam int unsigned W = 1 + ExpW + ManW;
  localparam logic [W-2:0] Inf = {{ExpW{1'b1}}, {ManW{1'b0}}};

  // 0 zero, 1 subnormal, 2 normal, 3 infinity, 4 NaN
  logic [W-2:0] a, b, sum;
  logic [2:0] kind_a, kind_b, kind_sum;
  assign a = a_i[W-2:0];
  assign b = b_i[W-2:0];
  assign sum = sum_o[W-2:0];
  assign kind_a = a == '0 ? 3'd0 : a[W-2:ManW] == '0 ? 3'd1 : a < Inf ? 3'd2 : a == Inf ? 3'd3 : 3'd4;
  assign kind_b = b == '0 ? 3'd0 : b[W-2:ManW] == '0 ? 3'd1 : b < Inf ? 3'd2 : b == Inf ? 3'd3 : 3'd4;
  assign kind_sum = sum == '0 ? 3'd0 : sum[W-2:ManW] == '0 ? 3'd1 : sum < Inf ? 3'd2 : sum == Inf ? 3'd3 : 3'd4;
  logic valid_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= 1'b0;
    else valid_q <= valid_i;
  end

  // names(first): zero subnormal normal infinity NaN
  for (genvar i = 0; i < 5; i++) begin : first
    // names(second): zero subnormal normal infinity NaN
    for (genvar j = 0; j < 5; j++) begin : second
      always_ff @(posedge clk_i) if (rst_ni && valid_i && kind_a == 3'(i) && kind_b == 3'(j)) begin
        equal_signs : cover (a_i[W-1] == b_i[W-1]);
        different_signs : cover (a_i[W-1] != b_i[W-1]);
      end
    end
  end

  // names(result): zero subnormal normal infinity NaN
  for (genvar i = 0; i < 5; i++) begin : result
    always_ff @(posedge clk_i) if (rst_ni && valid_o) begin
      sum_of_kind : cover (kind_sum == 3'(i));
    end
  end

  always_ff @(posedge clk_i) if (rst_ni) begin
    beats_back_to_back : cover (valid_i && valid_q);
    gap_behind_beat : cover (!valid_i && valid_q);
    sum_while_operands_come : cover (valid_o && valid_i);
  end
endmodule

bind fp_add fp_add_cover #(.ExpW(ExpW), .ManW(ManW), .Lanes(Lanes)) u_cover (.*);
