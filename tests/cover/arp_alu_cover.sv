// SPDX-License-Identifier: Apache-2.0
module arp_alu_cover (
  input logic clk_i,
  input logic rst_ni,
  input logic valid_i,
  input logic [7:0] dtype_i,
  input logic [7:0] op_i,
  input logic first_i,
  input logic valid_o
);
  logic valid_q;
  logic [7:0] dtype_q, op_q;           // of the beat before
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= 1'b0;
    else valid_q <= valid_i;
  end
  always_ff @(posedge clk_i) begin
    if (valid_i) begin
      dtype_q <= dtype_i;
      op_q <= op_i;
    end
  end

  // names(dtype): FP16 BF16 FP32 INT32 INT64 FP16_ACC32 BF16_ACC32
  for (genvar t = 0; t < 7; t++) begin : dtype
    // names(op): sum minimum maximum
    for (genvar o = 0; o < 3; o++) begin : op
      always_ff @(posedge clk_i) if (rst_ni && valid_i && dtype_i == 8'(t) && op_i == 8'(o)) begin
        first_contribution : cover (first_i);
        accumulated : cover (!first_i);
      end
    end
    // names(behind): FP16 BF16 FP32 INT32 INT64 FP16_ACC32 BF16_ACC32
    for (genvar b = 0; b < 7; b++) begin : behind
      always_ff @(posedge clk_i) if (rst_ni && valid_i && valid_q && dtype_i == 8'(t)) begin
        type_behind_type : cover (dtype_q == 8'(b));
      end
    end
  end

  always_ff @(posedge clk_i) if (rst_ni) begin
    if (valid_i) begin
      unknown_type : cover (dtype_i > arp_pkg::TypeBf16Acc32);
      unknown_operation : cover (op_i > arp_pkg::OpMax);
      sum_behind_other : cover (valid_q && op_i == arp_pkg::OpSum && op_q != arp_pkg::OpSum);
      other_behind_sum : cover (valid_q && op_i != arp_pkg::OpSum && op_q == arp_pkg::OpSum);
      result_while_operands_come : cover (valid_o);
    end
    gap_behind_beat : cover (!valid_i && valid_q);
  end
endmodule

bind arp_alu arp_alu_cover u_cover (.*);
