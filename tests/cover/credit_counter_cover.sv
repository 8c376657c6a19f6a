// SPDX-License-Identifier: Apache-2.0
module credit_counter_cover #(
  parameter int unsigned Width = 8
) (
  input logic clk_i,
  input logic rst_ni,
  input logic inf_i,
  input logic [Width-1:0] limit_i,
  input logic [Width-1:0] need_i,
  input logic ok_o,
  input logic take_i
);
  logic [Width-1:0] used_q, left;
  logic blocked_q;
  assign left = limit_i - used_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      used_q <= '0;
      blocked_q <= 1'b0;
    end else begin
      if (take_i) used_q <= used_q + need_i;
      blocked_q <= !ok_o;
    end
  end

  always_ff @(posedge clk_i) if (rst_ni) begin
    if (!inf_i) begin
      none_left : cover (!ok_o && left == '0);
      some_left_but_too_few : cover (!ok_o && left != '0);
      limit_comes : cover (ok_o && blocked_q);
    end
    if (take_i) begin
      infinite : cover (inf_i);
      last_ones_taken : cover (!inf_i && left == need_i);
      more_left : cover (!inf_i && left != need_i);
      used_wraps : cover (used_q + need_i < used_q);
      limit_has_wrapped : cover (!inf_i && limit_i < used_q);
      largest_limit : cover (!inf_i && left == {1'b1, {(Width-1){1'b0}}});
    end
  end
endmodule

bind credit_counter credit_counter_cover #(.Width(Width)) u_cover (.*);
