// SPDX-License-Identifier: Apache-2.0
// Rounds 32 FP32 accumulators to FP16 or BF16: once, to nearest, ties to even. Subnormals are numbers as others; what
// is too large becomes an infinity; a NaN becomes the type's positive quiet NaN with only the top fraction bit set.
// See docs/blocks/arp_narrow.md.
//
// Two registers (arp_pkg::NarrowLatency) from operands to result, one beat a cycle, never stalls. Without valid only
// valid bits change.
module arp_narrow (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic valid_i,
  input  logic [7:0] dtype_i,          // arp_pkg::TypeFp16Acc32, TypeBf16Acc32; zeros come out for others
  input  logic [1023:0] in_i,          // lane i in [32*i +: 32]
  output logic valid_o,
  output logic [511:0] out_o           // lane i in [16*i +: 16]
);
  logic v1_q, v2_q, fp16_1_q, bf16_1_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      v1_q <= 1'b0;
      v2_q <= 1'b0;
    end else begin
      v1_q <= valid_i;
      v2_q <= v1_q;
    end
  end
  always_ff @(posedge clk_i) begin
    if (valid_i) begin
      fp16_1_q <= dtype_i == arp_pkg::TypeFp16Acc32;
      bf16_1_q <= dtype_i == arp_pkg::TypeBf16Acc32;
    end
  end
  assign valid_o = v2_q;

  // ---- 1: {NaN, too large, sign, exponent and fraction, first bit that goes, any bit behind it} ---------------------
  function automatic logic [19:0] cut_fp16(input logic [31:0] x);
    logic [7:0] e, below;
    logic [38:0] aligned;
    logic subnormal;
    e = x[30:23];
    subnormal = e < 8'd113;            // below 2^-14
    below = (8'd113 - e) & {8{subnormal}};
    aligned = {e != 8'd0, x[22:0], 15'd0} >> (below[3:0] | {4{below[7:4] != 4'd0}});
    cut_fp16 = {e == 8'hFF && x[22:0] != 23'd0, e >= 8'd143, x[31], (e[4:0] - 5'd16) & {5{!subnormal}},
                aligned[37:28], aligned[27], aligned[26:0] != 27'd0};
  endfunction
  function automatic logic [19:0] cut_bf16(input logic [31:0] x);
    cut_bf16 = {x[30:23] == 8'hFF && x[22:0] != 23'd0, 1'b0, x[31:15], x[14:0] != 15'd0};
  endfunction

  // ---- 2: rounded ---------------------------------------------------------------------------------------------------
  function automatic logic [15:0] round(input logic bf16, input logic [19:0] s);
    logic nan, huge, sign, half, rest;
    logic [14:0] kept, r, inf, quiet;
    {nan, huge, sign, kept, half, rest} = s;
    r = kept + {14'd0, half & (rest | kept[0])};           // a carry goes into the exponent, and makes an infinity
    inf = bf16 ? 15'h7F80 : 15'h7C00;
    quiet = bf16 ? 15'h0040 : 15'h0200;
    round = {sign & !nan, (r & {15{!(huge | nan)}}) | (inf & {15{huge | nan}}) | (quiet & {15{nan}})};
  endfunction

  for (genvar l = 0; l < 32; l++) begin : g_lane
    logic [19:0] s1_q;
    logic [15:0] s2_q;
    always_ff @(posedge clk_i) begin
      if (valid_i) begin
        if (dtype_i == arp_pkg::TypeFp16Acc32) s1_q <= cut_fp16(in_i[32*l +: 32]);
        else if (dtype_i == arp_pkg::TypeBf16Acc32) s1_q <= cut_bf16(in_i[32*l +: 32]);
      end
      if (v1_q) s2_q <= round(bf16_1_q, s1_q) & {16{fp16_1_q | bf16_1_q}};
    end
    assign out_o[16*l +: 16] = s2_q;
  end
endmodule
