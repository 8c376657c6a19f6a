// SPDX-License-Identifier: Apache-2.0
// Adds floating point numbers of one format, lane by lane: IEEE 754 sum, rounded to nearest, ties to even. Subnormals
// are numbers as others, as operands and as results. See docs/blocks/fp_add.md.
//
// FP16: ExpW 5, ManW 10. BF16: 8, 7. FP32: 8, 23. A result that is no number (a NaN operand, inf - inf) is always the
// positive quiet NaN with only the top fraction bit set. x + -x is +0, -0 + -0 is -0.
//
// Four registers from operands to sum, one beat a cycle, never stalls. Without valid only valid bits change.
module fp_add #(
  parameter int unsigned ExpW = 5,     // exponent bits
  parameter int unsigned ManW = 10,    // fraction bits
  parameter int unsigned Lanes = 1
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic valid_i,
  input  logic [(1+ExpW+ManW)*Lanes-1:0] a_i,
  input  logic [(1+ExpW+ManW)*Lanes-1:0] b_i,
  output logic valid_o,                // valid_i, four edges later
  output logic [(1+ExpW+ManW)*Lanes-1:0] sum_o
);
  localparam int unsigned W = 1 + ExpW + ManW;
  localparam int unsigned SigW = ManW + 1;              // significand, with its leading bit
  localparam int unsigned ShW = $clog2(ManW + 5);       // a shift by more than ManW + 3 leaves only the sticky bit
  localparam int unsigned MaxSh = (1 << ShW) - 1;
  localparam int unsigned SumW = SigW + 4;              // carry, significand, guard, round, sticky
  localparam int unsigned NormW = 1 << ShW;             // the sum, left-aligned
  localparam logic [ExpW-1:0] ExpMax = '1;

  logic v1_q, v2_q, v3_q, v4_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      v1_q <= 1'b0;
      v2_q <= 1'b0;
      v3_q <= 1'b0;
      v4_q <= 1'b0;
    end else begin
      v1_q <= valid_i;
      v2_q <= v1_q;
      v3_q <= v2_q;
      v4_q <= v3_q;
    end
  end
  assign valid_o = v4_q;

  // One vector a stage and lane, and masks instead of conditional expressions in what is computed for each lane: both
  // for the simulator's sake (docs/blocks/fp_add.md).

  // ---- 1: the operand of the greater magnitude, and how far the other one is shifted --------------------------------
  localparam int unsigned S1W = 3 + ExpW + ShW + 2 * SigW;

  function automatic logic [S1W-1:0] arrange(input logic [W-1:0] a, input logic [W-1:0] b);
    logic [ExpW-1:0] ea, eb, ab, ba, diff;
    logic [ManW-1:0] ma, mb;
    logic [W-1:0] x, greater, lesser;
    logic na, nb, swap, sub, nan;
    logic [ShW-1:0] shift;
    {ea, ma} = a[W-2:0];
    {eb, mb} = b[W-2:0];
    na = ea != '0;                     // normal: has a leading bit
    nb = eb != '0;
    sub = a[W-1] ^ b[W-1];
    nan = (ea == ExpMax && ma != '0) || (eb == ExpMax && mb != '0) || (ea == ExpMax && eb == ExpMax && sub);
    swap = b[W-2:0] > a[W-2:0];
    x = (a ^ b) & {W{swap}};
    greater = a ^ x;
    lesser = b ^ x;
    // A subnormal has the lowest normal exponent, 1.
    ab = ea - eb - {{ExpW-1{1'b0}}, na && !nb};
    ba = eb - ea - {{ExpW-1{1'b0}}, nb && !na};
    diff = ab ^ ((ab ^ ba) & {ExpW{swap}});
    shift = diff[ShW-1:0] | {ShW{diff > ExpW'(MaxSh)}};
    arrange = {nan, sub, greater[W-1:ManW], shift, greater[W-2:ManW] != '0, greater[ManW-1:0],
               lesser[W-2:ManW] != '0, lesser[ManW-1:0]};
  endfunction

  // ---- 2: aligned, added or subtracted ------------------------------------------------------------------------------
  localparam int unsigned S2W = 3 + ExpW + SumW;

  function automatic logic [S2W-1:0] add(input logic [S1W-1:0] s1);
    logic nan, sub, sign;
    logic [ExpW-1:0] exp;
    logic [ShW-1:0] shift;
    logic [SigW-1:0] greater, lesser;
    logic [SigW+1+MaxSh:0] aligned;
    logic [SumW-1:0] x;
    {nan, sub, sign, exp, shift, greater, lesser} = s1;
    aligned = {lesser, {MaxSh+2{1'b0}}} >> shift;
    x = {1'b0, aligned[SigW+1+MaxSh:MaxSh], aligned[MaxSh-1:0] != '0};
    add = {nan, sub, sign, exp, {1'b0, greater, 3'b000} + (x ^ {SumW{sub}}) + {{SumW-1{1'b0}}, sub}};
  endfunction

  // ---- 3: the leading bit moves to the top, but no further than the lowest exponent allows --------------------------
  localparam int unsigned S3W = 2 + ExpW + ShW + NormW;

  function automatic logic [S3W-1:0] normalize(input logic [S2W-1:0] s2);
    logic nan, sub, sign;
    logic [ExpW-1:0] exp;
    logic [SumW-1:0] sum;
    logic [NormW-1:0] s, m;
    logic [ShW-1:0] n;
    {nan, sub, sign, exp, sum} = s2;
    s = {sum, {NormW-SumW{1'b0}}};
    // The place of the lowest exponent counts as a leading bit, too.
    m = s | ({1'b1, {NormW-1{1'b0}}} >> (exp | ExpW'(exp == '0)));
    for (int i = ShW - 1; i >= 0; i--) begin
      n[i] = (m >> (NormW - (1 << i))) == '0;
      m = m << (ShW'(n[i]) << i);
    end
    // Nothing left of x + -x: plus.
    normalize = {nan, sign && !(sub && sum == '0), exp, n, s << n};
  endfunction

  // ---- 4: exponent, rounding, infinities and NaN --------------------------------------------------------------------
  localparam int unsigned Low = NormW - SigW;           // lowest bit that stays

  function automatic logic [W-1:0] round(input logic [S3W-1:0] s3);
    logic nan, sign, up, inf;
    logic [ExpW-1:0] exp, e;
    logic [ShW-1:0] n;
    logic [NormW-1:0] s;
    logic [W-2:0] r;
    {nan, sign, exp, n, s} = s3;
    // Without a leading bit it is a subnormal or 0.
    e = (exp + ExpW'(exp == '0) + 1'b1 - ExpW'(n)) & {ExpW{s[NormW-1]}};
    up = s[Low-1] & (s[Low-2:0] != '0 | s[Low]);
    r = {e, s[NormW-2:Low]} + {{W-2{1'b0}}, up};        // a carry goes into the exponent
    inf = exp == ExpMax | r[W-2:ManW] == ExpMax | nan;
    round = {sign & !nan, r[W-2:ManW] | {ExpW{inf}}, (r[ManW-1] & !inf) | nan, r[ManW-2:0] & {ManW-1{!inf}}};
  endfunction

  for (genvar l = 0; l < Lanes; l++) begin : g_lane
    logic [S1W-1:0] s1_q;
    logic [S2W-1:0] s2_q;
    logic [S3W-1:0] s3_q;
    logic [W-1:0] s4_q;
    always_ff @(posedge clk_i) begin
      if (valid_i) s1_q <= arrange(a_i[W*l +: W], b_i[W*l +: W]);
      if (v1_q) s2_q <= add(s1_q);
      if (v2_q) s3_q <= normalize(s2_q);
      if (v3_q) s4_q <= round(s3_q);
    end
    assign sum_o[W*l +: W] = s4_q;
  end
endmodule
