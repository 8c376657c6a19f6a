// SPDX-License-Identifier: Apache-2.0
// Functional points of arp_narrow, at its first lane.
module arp_narrow_cover (
  input logic clk_i,
  input logic rst_ni,
  input logic valid_i,
  input logic [7:0] dtype_i,
  input logic [1023:0] in_i,
  input logic valid_o
);
  logic [31:0] x;
  logic valid_q;
  logic [7:0] dtype_q;                 // of the beat before
  assign x = in_i[31:0];
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= 1'b0;
    else valid_q <= valid_i;
  end
  always_ff @(posedge clk_i) if (valid_i) dtype_q <= dtype_i;

  // names(dtype): FP16 BF16
  for (genvar t = 0; t < 2; t++) begin : dtype
    logic fp16;
    assign fp16 = t == 0;
    always_ff @(posedge clk_i) if (rst_ni && valid_i && dtype_i == arp_pkg::TypeFp16Acc32 + 8'(t)) begin
      zero : cover (x[30:0] == '0);
      nan : cover (x[30:0] > 31'h7F800000);
      nan_payload_cut_off : cover (x[30:23] == 8'hFF && x[22:16] == '0 && (!fp16 || x[15:13] == '0) && x[12:0] != '0);
      infinity : cover (x[30:0] == 31'h7F800000);
      too_large : cover (x[30:0] >= (fp16 ? 31'h477FF000 : 31'h7F7F8000) && x[30:0] < 31'h7F800000);
      subnormal_result : cover (x[30:0] >= (fp16 ? 31'h33800000 : 31'h00010000) && x[30:23] < (fp16 ? 8'd113 : 8'd1));
      too_small : cover (x[30:0] != '0 && x[30:0] < (fp16 ? 31'h33000000 : 31'h00008000));
      tie_to_even_down : cover (fp16 ? x[13:0] == 14'h1000 && x[30:23] > 8'd113 : x[16:0] == 17'h08000);
      tie_to_even_up : cover (fp16 ? x[13:0] == 14'h3000 && x[30:23] > 8'd113 : x[16:0] == 17'h18000);
      type_changes : cover (valid_q && dtype_q != dtype_i);
    end
  end

  always_ff @(posedge clk_i) if (rst_ni) begin
    other_type : cover (valid_i && dtype_i != arp_pkg::TypeFp16Acc32 && dtype_i != arp_pkg::TypeBf16Acc32);
    beats_back_to_back : cover (valid_i && valid_q);
    gap_behind_beat : cover (!valid_i && valid_q);
    result_while_operands_come : cover (valid_o && valid_i);
  end
endmodule

bind arp_narrow arp_narrow_cover u_cover (.*);
