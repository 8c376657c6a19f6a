// SPDX-License-Identifier: Apache-2.0
// Functional points of every fp_minmax, at its first lane.
module fp_minmax_cover #(
  parameter int unsigned ExpW = 5,
  parameter int unsigned ManW = 10,
  parameter int unsigned Lanes = 1
) (
  input logic clk_i,
  input logic rst_ni,
  input logic valid_i,
  input logic max_i,
  input logic pass_i,
  input logic [(1+ExpW+ManW)*Lanes-1:0] a_i,
  input logic [(1+ExpW+ManW)*Lanes-1:0] b_i,
  input logic valid_o
);
  localparam int unsigned W = 1 + ExpW + ManW;
  localparam logic [W-2:0] Inf = {{ExpW{1'b1}}, {ManW{1'b0}}};
  logic nan_a, nan_b;
  assign nan_a = a_i[W-2:0] > Inf;
  assign nan_b = b_i[W-2:0] > Inf;

  // names(operation): minimum maximum pass
  for (genvar o = 0; o < 3; o++) begin : operation
    always_ff @(posedge clk_i) if (rst_ni && valid_i && (pass_i ? 2'd2 : {1'b0, max_i}) == 2'(o)) begin
      nan_first : cover (nan_a && !nan_b);
      nan_second : cover (!nan_a && nan_b);
      nan_both : cover (nan_a && nan_b);
      zeros_of_different_signs : cover (a_i[W-2:0] == '0 && b_i[W-2:0] == '0 && a_i[W-1] != b_i[W-1]);
      equal_operands : cover (!nan_a && a_i[W-1:0] == b_i[W-1:0]);
      both_negative : cover (a_i[W-1] && b_i[W-1]);
      different_signs : cover (a_i[W-1] != b_i[W-1]);
    end
  end

  always_ff @(posedge clk_i) if (rst_ni) begin
    beat_behind_beat : cover (valid_i && valid_o);
    gap_behind_beat : cover (!valid_i && valid_o);
  end
endmodule

bind fp_minmax fp_minmax_cover #(.ExpW(ExpW), .ManW(ManW), .Lanes(Lanes)) u_cover (.*);
