// SPDX-License-Identifier: Apache-2.0
// Tags of non-posted requests: chooses the lowest free one a cycle before it is needed, and takes it back when its
// request has been answered.
//
// A tag is reserved from the choice on (tag_valid_o), in use from take_i on, and free again after free_i. 5-bit tags
// unless ext_tag_i; NumTags of them at most, of 5-bit ones NumTags5. Choosing needs want_i: a request will wait after this edge.
//
// Latency: want_i to tag_valid_o 1 cycle; a freed tag can be chosen in the next cycle. One tag a cycle.
module tag_allocator #(
  parameter int unsigned NumTags = 256,          // 1..256
  parameter int unsigned NumTags5 = 32           // 1..32; those below both are handed out without ext_tag_i
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic ext_tag_i,              // 8-bit tags allowed; changes only while no tag is in use
  // The tag for the next request
  input  logic want_i,
  output logic tag_valid_o,
  output logic [7:0] tag_o,
  input  logic take_i,                 // the request leaves with it; only with tag_valid_o
  // Back again
  input  logic free_i,                 // only a tag in use
  input  logic [7:0] free_tag_i,
  // Is this tag in use? In the same cycle.
  input  logic [7:0] look_tag_i,
  output logic look_used_o
);
  // Tags that may be handed out.
  localparam logic [255:0] AllTags = {256{1'b1}} >> (256 - NumTags);
  localparam logic [255:0] FiveBitTags = AllTags & ({256{1'b1}} >> (256 - NumTags5));

  if (NumTags < 1 || NumTags > 256) $error("NumTags must be 1..256");
  if (NumTags5 < 1 || NumTags5 > 32) $error("NumTags5 must be 1..32");

  // Index of a set bit in 16, lowest first; meaningless without one.
  function automatic logic [3:0] first16(input logic [15:0] x);
    logic [7:0] a;
    logic [3:0] b;
    begin
      first16[3] = x[7:0] == 8'd0;
      a = first16[3] ? x[15:8] : x[7:0];
      first16[2] = a[3:0] == 4'd0;
      b = first16[2] ? a[7:4] : a[3:0];
      first16[1] = b[1:0] == 2'd0;
      first16[0] = first16[1] ? !b[2] : !b[0];
    end
  endfunction

  logic [255:0] busy_q;                // reserved or in use
  logic valid_q;
  logic [7:0] tag_q;
  logic pick;

  assign pick = want_i && (!valid_q || take_i);
  assign tag_valid_o = valid_q;
  assign tag_o = tag_q;
  assign look_used_o = busy_q[look_tag_i] && !(valid_q && tag_q == look_tag_i);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q <= 1'b0;
      busy_q <= '0;
    end else begin
      if (pick) begin : choose
        logic [255:0] avail;
        logic [15:0] group;
        logic [63:0] low;              // of each group its lowest, beside the choice of the group: half the depth
        logic [7:0] tag;
        avail = ~busy_q & (ext_tag_i ? AllTags : FiveBitTags);
        for (int i = 0; i < 16; i++) begin
          group[i] = |avail[16*i +: 16];
          low[4*i +: 4] = first16(avail[16*i +: 16]);
        end
        tag[7:4] = first16(group);
        tag[3:0] = low[{tag[7:4], 2'b0} +: 4];
        valid_q <= |group;
        if (|group) busy_q[tag] <= 1'b1;
        tag_q <= tag;
      end else if (take_i) begin
        valid_q <= 1'b0;
      end
      if (free_i) busy_q[free_tag_i] <= 1'b0;
    end
  end

`ifndef SYNTHESIS
  tag_checker #(
    .NumTags(NumTags),
    .NumTags5(NumTags5)
  ) u_check (
    .clk_i, .rst_ni, .ext_tag_i, .want_i, .tag_valid_i(tag_valid_o), .tag_i(tag_o), .take_i, .free_i, .free_tag_i,
    .look_tag_i, .look_used_i(look_used_o), .busy_i(busy_q)
  );
`endif
endmodule
