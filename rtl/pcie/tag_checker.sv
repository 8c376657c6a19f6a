// SPDX-License-Identifier: Apache-2.0
// Properties of tag_allocator, for one tag: which, a proof leaves open; simulation follows one from its use to its
// release, then the next that is used.
module tag_checker #(
  parameter int unsigned NumTags = 512,
  parameter int unsigned NumTags8 = 256,
  parameter int unsigned NumTags5 = 32,
  parameter int unsigned IdxW = 9
) (
  input logic clk_i,
  input logic rst_ni,
  input logic ext_tag_i,
  input logic tag10_i,
  input logic want_i,
  input logic tag_valid_i,
  input logic [9:0] tag_i,
  input logic take_i,
  input logic drop_i,
  input logic free_i,
  input logic [9:0] free_tag_i,
  input logic [9:0] look_tag_i,
  input logic look_used_i,
  input logic [9:0] scan_tag_i,
  input logic scan_used_i,
  input logic [(1<<IdxW)-1:0] busy_i
);
  logic used_q;                        // the followed tag is in use
  logic [9:0] who;
  logic start;
`ifdef FORMAL
  (* anyconst *) logic [9:0] any_tag;
  assign who = any_tag;
  assign start = take_i && tag_i == who;
`else
  logic [9:0] who_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) who_q <= '0;
    else if (start) who_q <= tag_i;
  end
  assign who = who_q;
  assign start = take_i && !used_q;
`endif

  // What the choice at the edge before had to find.
  logic who_busy, allowed, choice, found_q, five_q, eight_q;
  logic [9:0] found_tag_q;
  assign who_busy = {22'b0, who} < 32'(1 << IdxW) && busy_i[who[IdxW-1:0]];
  assign allowed = who < 10'(NumTags) && (tag10_i || {22'b0, who} < NumTags8) &&
                   (tag10_i || ext_tag_i || {22'b0, who} < NumTags5);
  assign choice = want_i && (!tag_valid_i || take_i);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      used_q <= 1'b0;
      found_q <= 1'b0;
      five_q <= 1'b0;
      eight_q <= 1'b0;
    end else begin
      if (start) used_q <= 1'b1;
      else if (free_i && free_tag_i == who) used_q <= 1'b0;
      if (choice || found_q) found_q <= choice && allowed && !who_busy;
      if (choice) five_q <= !ext_tag_i && !tag10_i;
      if (choice) eight_q <= !tag10_i;
    end
  end

  always_ff @(posedge clk_i) begin
    if (choice) found_tag_q <= who;
    if (rst_ni && (tag_valid_i || take_i || free_i || found_q)) begin
      TakenWhenOffered : assume (!take_i || tag_valid_i);
      DroppedAlone : assume (!drop_i || (!take_i && !want_i));
      FreedInRange : assume (!free_i || free_tag_i < 10'(NumTags));
      FreedOnce : assume (!(free_i && free_tag_i == who) || used_q);
      NotTwice : assert (!(used_q && tag_valid_i && tag_i == who));
      WithinLimit : assert (!tag_valid_i || (tag_i < 10'(NumTags) && (!eight_q || {22'b0, tag_i} < NumTags8) &&
                                             (!five_q || {22'b0, tag_i} < NumTags5)));
      NoneLost : assert (who_busy == (used_q || (tag_valid_i && tag_i == who)));
      LowestFree : assert (!found_q || (tag_valid_i && tag_i <= found_tag_q));
      LookUp : assert (look_tag_i != who || look_used_i == used_q);
      Scan : assert (scan_tag_i != who || scan_used_i == used_q);
    end
`ifdef FORMAL
    if (rst_ni) begin
      // What holds besides, for the induction
      Busy : assert (who_busy == (used_q || (tag_valid_i && tag_i == who)));
      Limit : assert (!who_busy || who < 10'(NumTags));
      AllUsed : cover (busy_i == {(1<<IdxW){1'b1}} >> ((1 << IdxW) - NumTags) && !tag_valid_i && used_q);
      UsedAgain : cover (start && reused_q);
      FiveBits : cover (found_q && five_q && tag_valid_i);
      EightBits : cover (found_q && eight_q && !five_q && tag_valid_i);
    end
    reused_q <= rst_ni && (reused_q || (free_i && free_tag_i == who && used_q));
`endif
  end
`ifdef FORMAL
  logic reused_q = 1'b0;
`endif

  stream_checker #(
    .Width(10)
  ) u_reserved (
    .clk_i, .rst_ni, .valid_i(tag_valid_i), .ready_i(take_i || drop_i), .data_i(tag_i)
  );
endmodule
