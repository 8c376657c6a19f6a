// SPDX-License-Identifier: Apache-2.0
// Adds a beat of a contribution to a beat of accumulators, or takes minimum or maximum of the two, in any of the
// element types of arp_pkg. See docs/blocks/arp_alu.md.
//
// Sums of FP16, BF16 and FP32: fp_add; minimum and maximum: fp_minmax. Integers are two's complement; sums wrap,
// minimum and maximum are signed. Type*Acc32: 32 accumulators of FP32 in 1024 bits, and 32 contributions of 16 bits,
// which are widened first. The other types have accumulators as the contribution, in the lower 512 bits, and zeros
// come out above. With first_i the result is the contribution, widened where it has to be, with the NaN in place of
// any NaN. An unknown type or operation gives zeros.
//
// arp_pkg::AluLatency registers from operands to result, one beat a cycle, types and operations mixed; never stalls.
// Without valid only valid bits change.
module arp_alu (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic valid_i,
  input  logic [7:0] dtype_i,          // arp_pkg::Type*
  input  logic [7:0] op_i,             // arp_pkg::Op*
  input  logic first_i,                // no accumulator yet: acc_i does not count
  input  logic [1023:0] acc_i,         // element i from bit i * its width on
  input  logic [511:0] in_i,
  output logic valid_o,
  output logic [1023:0] res_o
);
  // Units.
  localparam logic [2:0] None = 3'd0;
  localparam logic [2:0] Fp16 = 3'd1;
  localparam logic [2:0] Bf16 = 3'd2;
  localparam logic [2:0] Fp32 = 3'd3;
  localparam logic [2:0] Wide = 3'd4;  // 32 lanes of FP32
  localparam logic [2:0] Int = 3'd5;

  logic v0_q, v1_q, v2_q, v3_q, v4_q, v5_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      v0_q <= 1'b0;
      v1_q <= 1'b0;
      v2_q <= 1'b0;
      v3_q <= 1'b0;
      v4_q <= 1'b0;
      v5_q <= 1'b0;
    end else begin
      v0_q <= valid_i;
      v1_q <= v0_q;
      v2_q <= v1_q;
      v3_q <= v2_q;
      v4_q <= v3_q;
      v5_q <= v4_q;
    end
  end
  assign valid_o = v5_q;

  // ---- 0: operands, widened; which unit ----------------------------------------------------------------------------
  function automatic logic [2:0] unit_of(input logic [7:0] dtype, input logic [7:0] op);
    unique case (dtype)
      arp_pkg::TypeFp16: unit_of = Fp16;
      arp_pkg::TypeBf16: unit_of = Bf16;
      arp_pkg::TypeFp32: unit_of = Fp32;
      arp_pkg::TypeInt32, arp_pkg::TypeInt64: unit_of = Int;
      arp_pkg::TypeFp16Acc32, arp_pkg::TypeBf16Acc32: unit_of = Wide;
      default: unit_of = None;
    endcase
    if (op > arp_pkg::OpMax) unit_of = None;
  endfunction

  function automatic logic [31:0] widen(input logic [15:0] x);
    logic [15:0] m;
    logic [3:0] n;
    logic sub, inf;
    logic [7:0] e;
    sub = x[14:10] == 5'd0;
    inf = x[14:10] == 5'h1F;
    m = {x[9:0], 6'd0};                // a subnormal's leading bit goes to the top, and out
    for (int i = 3; i >= 0; i--) begin
      n[i] = (m >> (16 - (1 << i))) == 16'd0;
      m = m << (4'(n[i]) << i);
    end
    e = {3'd0, x[14:10]} + 8'd112;
    e = ((e | {8{inf}}) & {8{!sub}}) | ((8'd112 - {4'd0, n}) & {8{sub && x[9:0] != 10'd0}});
    widen = {x[15], e, (x[9:0] & {10{!sub}}) | ({m[14:6], 1'b0} & {10{sub}}), 13'd0};
  endfunction
  function automatic logic [1023:0] widen_fp16(input logic [511:0] x);
    for (int l = 0; l < 32; l++) widen_fp16[32*l +: 32] = widen(x[16*l +: 16]);
  endfunction
  function automatic logic [1023:0] widen_bf16(input logic [511:0] x);
    for (int l = 0; l < 32; l++) widen_bf16[32*l +: 32] = {x[16*l +: 16], 16'd0};
  endfunction

  logic [2:0] unit0_q;
  logic sum0_q, max0_q, first0_q, int64_0_q;
  logic [1023:0] acc0_q, in0_q;
  always_ff @(posedge clk_i) begin
    if (valid_i) begin
      unit0_q <= unit_of(dtype_i, op_i);
      sum0_q <= op_i == arp_pkg::OpSum && !first_i;
      max0_q <= op_i == arp_pkg::OpMax;
      first0_q <= first_i;
      int64_0_q <= dtype_i == arp_pkg::TypeInt64;
      acc0_q <= acc_i;
      if (dtype_i == arp_pkg::TypeFp16Acc32) in0_q <= widen_fp16(in_i);
      else if (dtype_i == arp_pkg::TypeBf16Acc32) in0_q <= widen_bf16(in_i);
      else in0_q <= {512'd0, in_i};
    end
  end

  // ---- 1 to 4: sums ------------------------------------------------------------------------------------------------
  logic sum_fp16_valid, sum_bf16_valid, sum_low_valid, sum_high_valid;
  logic [511:0] sum_fp16, sum_bf16, sum_low, sum_high;
  fp_add #(
    .ExpW(5), .ManW(10), .Lanes(32)
  ) u_add_fp16 (
    .clk_i, .rst_ni, .valid_i(v0_q && sum0_q && unit0_q == Fp16), .a_i(acc0_q[511:0]), .b_i(in0_q[511:0]),
    .valid_o(sum_fp16_valid), .sum_o(sum_fp16)
  );
  fp_add #(
    .ExpW(8), .ManW(7), .Lanes(32)
  ) u_add_bf16 (
    .clk_i, .rst_ni, .valid_i(v0_q && sum0_q && unit0_q == Bf16), .a_i(acc0_q[511:0]), .b_i(in0_q[511:0]),
    .valid_o(sum_bf16_valid), .sum_o(sum_bf16)
  );
  fp_add #(
    .ExpW(8), .ManW(23), .Lanes(16)
  ) u_add_low (
    .clk_i, .rst_ni, .valid_i(v0_q && sum0_q && (unit0_q == Fp32 || unit0_q == Wide)), .a_i(acc0_q[511:0]),
    .b_i(in0_q[511:0]), .valid_o(sum_low_valid), .sum_o(sum_low)
  );
  fp_add #(
    .ExpW(8), .ManW(23), .Lanes(16)
  ) u_add_high (
    .clk_i, .rst_ni, .valid_i(v0_q && sum0_q && unit0_q == Wide), .a_i(acc0_q[1023:512]), .b_i(in0_q[1023:512]),
    .valid_o(sum_high_valid), .sum_o(sum_high)
  );

  // ---- 1: minimum, maximum, first contributions, integers -----------------------------------------------------------
  logic mm_fp16_valid, mm_bf16_valid, mm_low_valid, mm_high_valid, int1_valid_q;
  logic [511:0] mm_fp16, mm_bf16, mm_low, mm_high, int1_q;
  fp_minmax #(
    .ExpW(5), .ManW(10), .Lanes(32)
  ) u_mm_fp16 (
    .clk_i, .rst_ni, .valid_i(v0_q && !sum0_q && unit0_q == Fp16), .max_i(max0_q), .pass_i(first0_q),
    .a_i(acc0_q[511:0]), .b_i(in0_q[511:0]), .valid_o(mm_fp16_valid), .res_o(mm_fp16)
  );
  fp_minmax #(
    .ExpW(8), .ManW(7), .Lanes(32)
  ) u_mm_bf16 (
    .clk_i, .rst_ni, .valid_i(v0_q && !sum0_q && unit0_q == Bf16), .max_i(max0_q), .pass_i(first0_q),
    .a_i(acc0_q[511:0]), .b_i(in0_q[511:0]), .valid_o(mm_bf16_valid), .res_o(mm_bf16)
  );
  fp_minmax #(
    .ExpW(8), .ManW(23), .Lanes(16)
  ) u_mm_low (
    .clk_i, .rst_ni, .valid_i(v0_q && !sum0_q && (unit0_q == Fp32 || unit0_q == Wide)), .max_i(max0_q),
    .pass_i(first0_q), .a_i(acc0_q[511:0]), .b_i(in0_q[511:0]), .valid_o(mm_low_valid), .res_o(mm_low)
  );
  fp_minmax #(
    .ExpW(8), .ManW(23), .Lanes(16)
  ) u_mm_high (
    .clk_i, .rst_ni, .valid_i(v0_q && !sum0_q && unit0_q == Wide), .max_i(max0_q), .pass_i(first0_q),
    .a_i(acc0_q[1023:512]), .b_i(in0_q[1023:512]), .valid_o(mm_high_valid), .res_o(mm_high)
  );

  function automatic logic [63:0] int_op(input logic both, input logic sum, input logic max, input logic first,
                                         input logic [63:0] a, input logic [63:0] b);
    logic [32:0] low;
    logic [31:0] high;
    logic below, lt_low, lt_high;      // lower halves without sign; with the sign of each element
    low = {1'b0, a[31:0]} + {1'b0, b[31:0]};
    high = a[63:32] + b[63:32] + {31'd0, both & low[32]};
    below = a[31:0] < b[31:0];
    lt_high = ((a[63:32] < b[63:32]) ^ a[63] ^ b[63]) | (both & a[63:32] == b[63:32] & below);
    lt_low = both ? lt_high : below ^ a[31] ^ b[31];
    int_op[31:0] = sum ? low[31:0] : (lt_low ^ max) & !first ? a[31:0] : b[31:0];
    int_op[63:32] = sum ? high : (lt_high ^ max) & !first ? a[63:32] : b[63:32];
  endfunction
  function automatic logic [511:0] int_ops(input logic both, input logic sum, input logic max, input logic first,
                                           input logic [511:0] a, input logic [511:0] b);
    for (int l = 0; l < 8; l++) int_ops[64*l +: 64] = int_op(both, sum, max, first, a[64*l +: 64], b[64*l +: 64]);
  endfunction
  always_ff @(posedge clk_i) begin
    if (v0_q && unit0_q == Int) begin
      int1_q <= int_ops(int64_0_q, sum0_q, max0_q, first0_q, acc0_q[511:0], in0_q[511:0]);
    end
  end

  // ---- 2 to 4: what needs one stage waits as long as sums take ------------------------------------------------------
  logic [1023:0] other2_q, other3_q, other4_q;
  always_ff @(posedge clk_i) begin
    if (v0_q) int1_valid_q <= unit0_q == Int;
    if (v1_q) begin
      if (mm_fp16_valid) other2_q <= {512'd0, mm_fp16};
      else if (mm_bf16_valid) other2_q <= {512'd0, mm_bf16};
      else if (mm_low_valid) other2_q <= {mm_high & {512{mm_high_valid}}, mm_low};
      else other2_q <= {512'd0, int1_q & {512{int1_valid_q}}};
    end
    if (v2_q) other3_q <= other2_q;
    if (v3_q) other4_q <= other3_q;
  end

  // ---- 5: result ----------------------------------------------------------------------------------------------------
  logic [1023:0] res_q;
  always_ff @(posedge clk_i) begin
    if (v4_q) begin
      if (sum_fp16_valid) res_q <= {512'd0, sum_fp16};
      else if (sum_bf16_valid) res_q <= {512'd0, sum_bf16};
      else if (sum_low_valid) res_q <= {sum_high & {512{sum_high_valid}}, sum_low};
      else res_q <= other4_q;
    end
  end
  assign res_o = res_q;
endmodule
