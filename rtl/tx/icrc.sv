// SPDX-License-Identifier: Apache-2.0
// ICRC over the 512-bit beats of an IPv4 or IPv6 frame, with or without an 802.1Q tag. See docs/blocks/icrc.md.
//
// Input: beats of the frame as it is, with zeros after the end of the covered bytes. The block sees tag and IP version
// in the first beat. It sets the variant fields (IPv4: TOS, TTL, header checksum; IPv6: traffic class, flow label, hop
// limit; UDP checksum; BTH byte 4) to ones and Ethernet header and tag to zeros, which leave an empty register as it
// is. Covered bytes end at 2 modulo 4, which all header lengths and the pad guarantee. The register after the eight
// bytes of ones that stand for the LRH enters with the first beat as a constant. The zeros after the end are taken back
// by multiplying with negative powers of x.
//
// Output: the four bytes as they stand in the frame, valid for one cycle five edges after the one that took the last
// beat (that edge counted: Latency), and held until the next answer. One beat a cycle, gaps allowed, never stalls.
module icrc (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic valid_i,
  input  logic sop_i,
  input  logic eop_i,
  input  logic [3:0] zero_dws_i,       // with eop: zero fill after the covered bytes is 2 + 4 * zero_dws_i bytes
  input  logic [511:0] data_i,
  output logic valid_o,
  output logic [31:0] icrc_o,          // [7:0] is first on the wire
  output logic idle_o                  // no beat under way (an open frame between two beats is idle, too)
);
  // Word k of a beat has 32 * (16 - k) bits after its own start, which is the power it is multiplied by.
  localparam logic [511:0] Fold = {
    crc_pkg::xpow(32), crc_pkg::xpow(64), crc_pkg::xpow(96), crc_pkg::xpow(128),
    crc_pkg::xpow(160), crc_pkg::xpow(192), crc_pkg::xpow(224), crc_pkg::xpow(256),
    crc_pkg::xpow(288), crc_pkg::xpow(320), crc_pkg::xpow(352), crc_pkg::xpow(384),
    crc_pkg::xpow(416), crc_pkg::xpow(448), crc_pkg::xpow(480), crc_pkg::xpow(512)};
  // A product of two words has bit m at x^(62-m): bits 30..0 need reducing, by x^31 * x^(31-m).
  localparam logic [1023:0] Reduce = crc_pkg::mulcols(crc_pkg::xpow(31));
  localparam logic [1023:0] Beat = crc_pkg::mulcols(crc_pkg::xpow(512));
  localparam logic [31:0] SeedAdv = crc_pkg::advance(roce_pkg::IcrcSeed, 8 * (64 - roce_pkg::EthBytes));
  localparam logic [31:0] SeedAdvTag =
      crc_pkg::advance(roce_pkg::IcrcSeed, 8 * (64 - roce_pkg::EthBytes - roce_pkg::VlanBytes));
  // Take back 2 bytes and 0..3 words; then 0, 4, 8 or 12 words.
  localparam logic [4095:0] Back0 = {
    crc_pkg::mulcols(crc_pkg::xinv(112)), crc_pkg::mulcols(crc_pkg::xinv(80)),
    crc_pkg::mulcols(crc_pkg::xinv(48)), crc_pkg::mulcols(crc_pkg::xinv(16))};
  localparam logic [4095:0] Back1 = {
    crc_pkg::mulcols(crc_pkg::xinv(384)), crc_pkg::mulcols(crc_pkg::xinv(256)),
    crc_pkg::mulcols(crc_pkg::xinv(128)), crc_pkg::mulcols(crc_pkg::xinv(0))};

  // ---- 1: masks; carry-less products of the sixteen words with constants, four sums of four -----------------------
  logic v1_q, sop1_q, eop1_q, tag1_q;
  logic second_q;                      // the next beat is its frame's second
  logic tag_q, v6_q;                   // of the frame that is open
  logic tag, v6;
  assign tag = sop_i ? data_i[111:96] == 16'h0081 : tag_q;
  assign v6 = sop_i ? (tag ? data_i[149] : data_i[117]) : v6_q;    // version 4 or 6

  // Variant fields of an untagged frame, in its first 72 bytes; a tag moves them by 4 bytes.
  function automatic logic [575:0] variant4(input logic moved);
    logic [575:0] v;
    v = (576'hFF << 8 * 15) | (576'hFF << 8 * 22) | (576'hFFFF << 8 * 24) |      // TOS, TTL, checksum
        (576'hFFFF << 8 * 40) | (576'hFF << 8 * 46);                             // UDP checksum, BTH byte 4
    variant4 = moved ? v << 32 : v;
  endfunction
  function automatic logic [575:0] variant6(input logic moved);
    logic [575:0] v;
    v = (576'hFFFFFF0F << 8 * 14) | (576'hFF << 8 * 21) |    // traffic class and flow label, hop limit
        (576'hFFFF << 8 * 60) | (576'hFF << 8 * 66);         // UDP checksum, BTH byte 4
    variant6 = moved ? v << 32 : v;
  endfunction
  function automatic logic [511:0] masked(input logic [511:0] d, input logic first, input logic second,
                                          input logic with_tag, input logic [575:0] variant);
    masked = first ? {d[511:144], with_tag ? 32'd0 : d[143:112], 112'd0} | variant[511:0] :
             second ? {d[511:64], d[63:0] | variant[575:512]} : d;
  endfunction
  logic [3:0] z1_q;
  logic [62:0] p0_q, p1_q, p2_q, p3_q;

  function automatic logic [62:0] fold0(input logic [127:0] d);
    fold0 = '0;
    for (int k = 0; k < 4; k++) begin
      for (int j = 0; j < 32; j++) if (Fold[32 * k + j]) fold0 = fold0 ^ ({31'd0, d[32 * k +: 32]} << j);
    end
  endfunction
  function automatic logic [62:0] fold1(input logic [127:0] d);
    fold1 = '0;
    for (int k = 0; k < 4; k++) begin
      for (int j = 0; j < 32; j++) if (Fold[128 + 32 * k + j]) fold1 = fold1 ^ ({31'd0, d[32 * k +: 32]} << j);
    end
  endfunction
  function automatic logic [62:0] fold2(input logic [127:0] d);
    fold2 = '0;
    for (int k = 0; k < 4; k++) begin
      for (int j = 0; j < 32; j++) if (Fold[256 + 32 * k + j]) fold2 = fold2 ^ ({31'd0, d[32 * k +: 32]} << j);
    end
  endfunction
  function automatic logic [62:0] fold3(input logic [127:0] d);
    fold3 = '0;
    for (int k = 0; k < 4; k++) begin
      for (int j = 0; j < 32; j++) if (Fold[384 + 32 * k + j]) fold3 = fold3 ^ ({31'd0, d[32 * k +: 32]} << j);
    end
  endfunction

  function automatic logic [251:0] products(input logic [511:0] d);
    products = {fold3(d[511:384]), fold2(d[383:256]), fold1(d[255:128]), fold0(d[127:0])};
  endfunction

  always_ff @(posedge clk_i) begin
    if (valid_i) begin
      sop1_q <= sop_i;
      eop1_q <= eop_i;
      z1_q <= zero_dws_i;
      tag1_q <= tag;
      second_q <= sop_i;
      tag_q <= tag;
      v6_q <= v6;
      {p3_q, p2_q, p1_q, p0_q} <= products(masked(data_i, sop_i, second_q, tag, v6 ? variant6(tag) : variant4(tag)));
    end
  end

  // ---- 2: sum, reduced to 32 bits ---------------------------------------------------------------------------------
  logic v2_q, sop2_q, eop2_q, tag2_q;
  logic [3:0] z2_q;
  logic [31:0] d2_q;

  function automatic logic [31:0] reduce(input logic [62:0] p);
    reduce = p[62:31];
    for (int m = 0; m < 31; m++) reduce = reduce ^ ({32{p[m]}} & Reduce[32 * m +: 32]);
  endfunction

  always_ff @(posedge clk_i) begin
    if (v1_q) begin
      sop2_q <= sop1_q;
      eop2_q <= eop1_q;
      z2_q <= z1_q;
      tag2_q <= tag1_q;
      d2_q <= reduce(p0_q ^ p1_q ^ p2_q ^ p3_q);
    end
  end

  // ---- 3: the register --------------------------------------------------------------------------------------------
  logic v3_q;
  logic [3:0] z3_q;
  logic [31:0] crc_q;

  function automatic logic [31:0] step(input logic [31:0] c);
    step = '0;
    for (int m = 0; m < 32; m++) step = step ^ ({32{c[m]}} & Beat[32 * m +: 32]);
  endfunction

  always_ff @(posedge clk_i) begin
    if (v2_q) begin
      crc_q <= d2_q ^ (sop2_q ? (tag2_q ? SeedAdvTag : SeedAdv) : step(crc_q));
      z3_q <= z2_q;
    end
  end

  // ---- 4, 5: the zero fill taken back -----------------------------------------------------------------------------
  logic v4_q, v5_q;
  logic [1:0] z4_q;
  logic [31:0] back_q, icrc_q;

  function automatic logic [31:0] back0(input logic [1:0] sel, input logic [31:0] c);
    back0 = '0;
    for (int m = 0; m < 32; m++) back0 = back0 ^ ({32{c[m]}} & Back0[{sel, 5'(m), 5'd0} +: 32]);
  endfunction
  function automatic logic [31:0] back1(input logic [1:0] sel, input logic [31:0] c);
    back1 = '0;
    for (int m = 0; m < 32; m++) back1 = back1 ^ ({32{c[m]}} & Back1[{sel, 5'(m), 5'd0} +: 32]);
  endfunction

  always_ff @(posedge clk_i) begin
    if (v3_q) begin
      back_q <= back0(z3_q[1:0], crc_q);
      z4_q <= z3_q[3:2];
    end
    if (v4_q) icrc_q <= ~back1(z4_q, back_q);
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      v1_q <= 1'b0;
      v2_q <= 1'b0;
      v3_q <= 1'b0;
      v4_q <= 1'b0;
      v5_q <= 1'b0;
    end else begin
      v1_q <= valid_i;
      v2_q <= v1_q;
      v3_q <= v2_q && eop2_q;
      v4_q <= v3_q;
      v5_q <= v4_q;
    end
  end

  assign valid_o = v5_q;
  assign icrc_o = icrc_q;
  assign idle_o = !(v1_q || v2_q || v3_q || v4_q || v5_q);
endmodule
