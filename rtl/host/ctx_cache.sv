// SPDX-License-Identifier: Apache-2.0
// Context cache: direct-mapped, read-only copies of context entries of BAR1's memory. Lookups are answered in order;
// hits at one a cycle with two cycles of latency, a miss blocks the ones behind it until the entry has come. An entry
// invalidated while it is being fetched is not kept (the waiting lookup gets the data read). Invalidation empties the
// slot of its index, whichever entry is in it; lookups taken at that edge or later read anew.
//
// Latency of a hit: taken at edge n, rsp_valid_o after edge n+1. A miss asks for the line after edge n+1 too (later
// if an earlier answer has not been taken), and answers after the edge at which the last beat comes.
module ctx_cache #(
  parameter int unsigned Entries = 256,        // power of two
  parameter int unsigned IdxW = 10,
  parameter int unsigned LineBytes = 128,      // 64 or 128
  parameter logic [27:0] Base = '0             // of the table in device memory
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic req_valid_i,
  output logic req_ready_o,
  input  logic [IdxW-1:0] req_idx_i,
  output logic rsp_valid_o,
  input  logic rsp_ready_i,
  output logic [LineBytes*8-1:0] rsp_o,
  input  logic inval_i,
  input  logic [IdxW-1:0] inval_idx_i,
  output logic dm_req_valid_o,
  input  logic dm_req_ready_i,
  output rnic_pkg::dm_req_t dm_req_o,
  input  logic dm_rsp_valid_i,
  input  rnic_pkg::dm_rsp_t dm_rsp_i,
  output logic stat_miss_o,
  output logic idle_o
);
  localparam int unsigned SlotW = $clog2(Entries);
  localparam int unsigned LineW = LineBytes * 8;
  localparam int unsigned OffW = $clog2(LineBytes);
  localparam int unsigned TagW = (IdxW > SlotW) ? IdxW - SlotW : 1;

  typedef enum logic [1:0] {
    Lookup,
    Ask,
    Fill
  } state_e;

  logic [LineW-1:0] data_mem [Entries];
  logic [TagW-1:0] tag_mem [Entries];
  logic [Entries-1:0] valid_q;

  // Stage 1: a lookup with the memories' registered outputs. It stays here through a miss.
  state_e state_q;
  logic s1_valid_q;
  logic [IdxW-1:0] s1_idx_q;
  logic [LineW-1:0] s1_data_q;
  logic [TagW-1:0] s1_tag_q;
  logic [SlotW-1:0] req_slot, s1_slot, inval_slot;
  logic [TagW-1:0] s1_want;

  // Answer
  logic rsp_valid_q;
  logic [LineW-1:0] rsp_q;

  logic take, s1_hit, s1_miss, s1_answer, fill_last, inval_s1;
  logic killed_q;                                // invalidated since it missed
  logic [LineW-1:0] line;

  assign req_slot = req_idx_i[SlotW-1:0];
  assign s1_slot = s1_idx_q[SlotW-1:0];
  assign inval_slot = inval_idx_i[SlotW-1:0];
  if (IdxW > SlotW) begin : g_tag
    assign s1_want = s1_idx_q[IdxW-1:SlotW];
  end else begin : g_no_tag
    assign s1_want = '0;
  end

  // The valid bit is looked at in stage 1, so it knows of every invalidation up to now.
  assign s1_hit = valid_q[s1_slot] && s1_tag_q == s1_want;
  assign s1_miss = state_q == Lookup && s1_valid_q && !s1_hit;
  assign s1_answer = state_q == Lookup && s1_valid_q && s1_hit && (!rsp_valid_q || rsp_ready_i);
  assign req_ready_o = state_q == Lookup && (!s1_valid_q || s1_answer);
  assign take = req_valid_i && req_ready_o;
  assign fill_last = state_q == Fill && dm_rsp_valid_i && dm_rsp_i.last;
  assign inval_s1 = inval_i && inval_slot == s1_slot;

  assign rsp_valid_o = rsp_valid_q;
  assign rsp_o = rsp_q;
  assign stat_miss_o = s1_miss;
  assign idle_o = !s1_valid_q && !rsp_valid_q;

  // Asks only when the answer register is free: nothing but this miss can fill it, so the data always has its place.
  assign dm_req_valid_o = state_q == Ask && !rsp_valid_q;
  always_comb begin
    dm_req_o = '0;
    dm_req_o.two = LineBytes == 128;
    dm_req_o.addr = Base + {{(28 - IdxW - OffW){1'b0}}, s1_idx_q, {OffW{1'b0}}};
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Lookup;
    end else begin
      unique case (state_q)
        Lookup: if (s1_miss) state_q <= Ask;
        Ask: if (dm_req_valid_o && dm_req_ready_i) state_q <= Fill;
        Fill: if (fill_last) state_q <= Lookup;
        default: state_q <= Lookup;
      endcase
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) s1_valid_q <= 1'b0;
    else if (take || s1_answer || fill_last) s1_valid_q <= take;
  end

  always_ff @(posedge clk_i) begin
    if (take) begin
      s1_idx_q <= req_idx_i;
      s1_data_q <= data_mem[req_slot];
      s1_tag_q <= tag_mem[req_slot];
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) rsp_valid_q <= 1'b0;
    else if (s1_answer || fill_last) rsp_valid_q <= 1'b1;
    else if (rsp_ready_i) rsp_valid_q <= 1'b0;
  end

  always_ff @(posedge clk_i) begin
    if (fill_last) rsp_q <= line;
    else if (s1_answer) rsp_q <= s1_data_q;
  end

  // Fill
  if (LineBytes == 128) begin : g_two
    logic [511:0] low_q;
    always_ff @(posedge clk_i) begin
      if (state_q == Fill && dm_rsp_valid_i && !dm_rsp_i.last) low_q <= dm_rsp_i.data;
    end
    assign line = {dm_rsp_i.data, low_q};
  end else begin : g_one
    assign line = dm_rsp_i.data;
  end

  always_ff @(posedge clk_i) begin
    if (fill_last) begin
      data_mem[s1_slot] <= line;
      tag_mem[s1_slot] <= s1_want;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) killed_q <= 1'b0;
    else if (s1_miss) killed_q <= 1'b0;        // an invalidation at this edge comes before the read
    else if (state_q != Lookup && inval_s1) killed_q <= 1'b1;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q <= '0;
    end else if (inval_i || fill_last) begin
      if (fill_last) valid_q[s1_slot] <= !killed_q;
      if (inval_i) valid_q[inval_slot] <= 1'b0;
    end
  end

`ifndef SYNTHESIS
  stream_checker #(.Width(IdxW)) u_check_req (
    .clk_i, .rst_ni, .valid_i(req_valid_i), .ready_i(req_ready_o), .data_i(req_idx_i)
  );
  stream_checker #(.Width(LineW)) u_check_rsp (
    .clk_i, .rst_ni, .valid_i(rsp_valid_o), .ready_i(rsp_ready_i), .data_i(rsp_o)
  );
  stream_checker #(.Width(606)) u_check_dm (
    .clk_i, .rst_ni, .valid_i(dm_req_valid_o), .ready_i(dm_req_ready_i), .data_i(dm_req_o)
  );
  DataOnlyWhenAsked : assert property (@(posedge clk_i) disable iff (!rst_ni) dm_rsp_valid_i |-> state_q == Fill);
`endif
endmodule
