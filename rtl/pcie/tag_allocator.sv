// SPDX-License-Identifier: Apache-2.0
// Tags of non-posted requests: chooses the lowest free one a cycle before it is needed, and takes it back when its
// request has been answered.
//
// A tag is reserved from the choice on (tag_valid_o), in use from take_i on, and free again after free_i. Tags count from
// 0, NumTags of them at most; without tag10_i NumTags8, and without ext_tag_i besides NumTags5. Choosing needs want_i: a
// request will wait after this edge.
//
// Latency: want_i to tag_valid_o 1 cycle; a freed tag can be chosen in the next cycle. One tag a cycle.
module tag_allocator #(
  parameter int unsigned NumTags = 512,          // 1..768
  parameter int unsigned NumTags8 = 256,         // 1..256; those below both are handed out without tag10_i
  parameter int unsigned NumTags5 = 32           // 1..32; those below all three are handed out without ext_tag_i, too
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic ext_tag_i,              // 8-bit tags allowed; changes only while no tag is in use
  input  logic tag10_i,                // 10-bit tags allowed, whatever ext_tag_i says; likewise
  // The tag for the next request
  input  logic want_i,
  output logic tag_valid_o,
  output logic [9:0] tag_o,
  input  logic take_i,                 // the request leaves with it; only with tag_valid_o
  input  logic drop_i,                 // give back what is reserved; without want_i and take_i
  // Back again
  input  logic free_i,                 // only a tag in use
  input  logic [9:0] free_tag_i,
  // Is this tag in use? In the same cycle; any value may be asked for.
  input  logic [9:0] look_tag_i,
  output logic look_used_o,
  input  logic [9:0] scan_tag_i,       // likewise
  output logic scan_used_o
);
  localparam int unsigned IdxW = NumTags > 32 ? $clog2(NumTags) : 5;
  localparam int unsigned Width = 1 << IdxW;
  localparam int unsigned Groups = Width / 32;
  // Tags that may be handed out.
  localparam logic [Width-1:0] AllTags = {Width{1'b1}} >> (Width - NumTags);
  localparam logic [Width-1:0] EightBitTags = NumTags8 < NumTags ? {Width{1'b1}} >> (Width - NumTags8) : AllTags;
  localparam logic [Width-1:0] FiveBitTags = EightBitTags & ({Width{1'b1}} >> (Width - NumTags5));

  if (NumTags < 1 || NumTags > 768) $error("NumTags must be 1..768");
  if (NumTags8 < 1 || NumTags8 > 256) $error("NumTags8 must be 1..256");
  if (NumTags5 < 1 || NumTags5 > 32) $error("NumTags5 must be 1..32");

  // Number of the one bit that is set.
  function automatic logic [4:0] number(input logic [31:0] one);
    number = {|(one & 32'hFFFF0000), |(one & 32'hFF00FF00), |(one & 32'hF0F0F0F0), |(one & 32'hCCCCCCCC),
              |(one & 32'hAAAAAAAA)};
  endfunction

  // The lowest bit that is set. A tree: the carry chain of x & -x comes out twice as deep.
  function automatic logic [31:0] lowest(input logic [31:0] x);
    logic [31:0] below;        // set from the lowest on
    begin
      below = x | {x[30:0], 1'b0};
      below = below | {below[29:0], 2'b0};
      below = below | {below[27:0], 4'b0};
      below = below | {below[23:0], 8'b0};
      below = below | {below[15:0], 16'b0};
      lowest = x & ~{below[30:0], 1'b0};
    end
  endfunction

  logic [Width-1:0] busy_q;            // reserved or in use
  logic valid_q;
  logic [9:0] tag_q;
  logic pick;

  assign pick = want_i && (!valid_q || take_i);
  assign tag_valid_o = valid_q;
  assign tag_o = tag_q;
  assign scan_used_o = {22'b0, scan_tag_i} < Width && busy_q[scan_tag_i[IdxW-1:0]] && !(valid_q && tag_q == scan_tag_i);
  assign look_used_o = {22'b0, look_tag_i} < Width && busy_q[look_tag_i[IdxW-1:0]] && !(valid_q && tag_q == look_tag_i);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q <= 1'b0;
      busy_q <= '0;
    end else begin
      if (pick) begin : choose
        logic [Width-1:0] avail, chosen;
        logic [31:0] group, first;     // groups with a free tag; the first of them
        logic [31:0] in_group;
        avail = ~busy_q & (tag10_i ? AllTags : ext_tag_i ? EightBitTags : FiveBitTags);
        group = '0;
        for (int i = 0; i < Groups; i++) group[i] = |avail[32*i +: 32];
        first = lowest(group);
        in_group = '0;
        for (int i = 0; i < Groups; i++) begin
          // of each group its lowest, beside the choice of the group: half the depth
          chosen[32*i +: 32] = first[i] ? lowest(avail[32*i +: 32]) : 32'd0;
          in_group = in_group | chosen[32*i +: 32];
        end
        valid_q <= |group;
        busy_q <= busy_q | chosen;
        tag_q <= {number(first), number(in_group)};
      end else if (take_i || drop_i) begin
        valid_q <= 1'b0;
        if (drop_i && valid_q) busy_q[tag_q[IdxW-1:0]] <= 1'b0;
      end
      if (free_i) busy_q[free_tag_i[IdxW-1:0]] <= 1'b0;
    end
  end

`ifndef SYNTHESIS
  tag_checker #(
    .NumTags(NumTags),
    .NumTags8(NumTags8),
    .NumTags5(NumTags5),
    .IdxW(IdxW)
  ) u_check (
    .clk_i, .rst_ni, .ext_tag_i, .tag10_i, .want_i, .tag_valid_i(tag_valid_o), .tag_i(tag_o), .take_i, .drop_i, .free_i,
    .free_tag_i, .look_tag_i, .look_used_i(look_used_o), .scan_tag_i, .scan_used_i(scan_used_o), .busy_i(busy_q)
  );
`endif
endmodule
