// SPDX-License-Identifier: Apache-2.0
module qp_lists_cover #(
  parameter int unsigned Lists = 36,
  parameter int unsigned QpnW = 10
) (
  input logic clk_i,
  input logic rst_ni,
  input logic put_i,
  input logic [$clog2(Lists)-1:0] put_list_i,
  input logic take_i,
  input logic [$clog2(Lists)-1:0] take_list_i,
  input logic [Lists-1:0] filled_o
);
  always_ff @(posedge clk_i) if (rst_ni) begin
    put_to_empty : cover (put_i && !filled_o[put_list_i]);
    put_to_filled : cover (put_i && filled_o[put_list_i]);
    put_and_take_of_one : cover (put_i && take_i && put_list_i == take_list_i);
    put_and_take_of_two : cover (put_i && take_i && put_list_i != take_list_i);
    several_filled : cover ((filled_o & (filled_o - 1'b1)) != '0);
  end
endmodule

bind qp_lists qp_lists_cover #(.Lists(Lists), .QpnW(QpnW)) u_cover (.*);
