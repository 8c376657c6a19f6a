// SPDX-License-Identifier: Apache-2.0
// Context cache: direct-mapped, read-only copies of context entries of BAR1's memory. Lookups are answered in order;
// hits at one a cycle with two cycles of latency. Up to Misses lines are fetched at a time; lookups behind a miss go
// on, and wait for their turn to answer. A lookup of an entry that is being fetched waits for the same line.
//
// A line takes its slot when that is free, and when no other one is being fetched. Else, when more is in use than fits,
// only one in sixteen does: the others would drive each other out before any of them is looked up again.
//
// An entry invalidated while it is being fetched is not kept (the lookups that wait for it get the data read).
// Invalidation empties the slot of its index, whichever entry is in it, or all slots; lookups taken at that edge or
// later read anew.
//
// Latency of a hit: taken at edge n, rsp_valid_o after edge n+1, when no answer waits before it. A miss asks for the
// line after edge n+1 too (later while an earlier request waits), and answers after the edge at which the last beat
// comes, when it is the oldest one.
module ctx_cache #(
  parameter int unsigned Entries = 256,        // power of two
  parameter int unsigned IdxW = 10,
  parameter int unsigned LineBytes = 128,      // 64 or 128
  parameter int unsigned Misses = 16,          // lines being fetched or waiting to be handed on, a power of two
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
  input  logic inval_all_i,
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

  localparam int unsigned LineNumW = $clog2(Misses);
  localparam int unsigned Waiting = 2 * Misses;  // lookups that wait for their turn to answer
  localparam int unsigned UsersW = $clog2(Waiting) + 1;

  logic [LineW-1:0] data_mem [Entries];
  logic [TagW-1:0] tag_mem [Entries];
  logic [Entries-1:0] valid_q;

  // Stage 1: a lookup with the memories' registered outputs.
  logic s1_valid_q;
  logic [IdxW-1:0] s1_idx_q;
  logic [LineW-1:0] s1_data_q;
  logic [TagW-1:0] s1_tag_q;
  logic [SlotW-1:0] req_slot, s1_slot, inval_slot, fill_slot;
  logic [TagW-1:0] s1_want, fill_tag;
  logic take, s1_hit, s1_pass, s1_wait, s1_share, s1_miss, s1_go;

  // Lines on their way
  logic [Misses-1:0] used, same, come_q, killed_q;    // killed: invalidated since it was missed
  logic [LineW-1:0] line_mem [Misses];
  logic [LineNumW-1:0] free_num, same_num, fill_num;
  logic [Misses-1:0] free_sel;
  logic [IdxW-1:0] fill_idx;
  logic [LineW-1:0] line;
  logic any_free, fill_valid, fill_last, fill_keep;
  logic [15:0] chance_q;

  // Lookups behind a miss
  logic order_room, order_valid, order_push, order_hit, hits_room, hits_valid, pop;
  logic [LineNumW-1:0] order_num;
  logic [$clog2(Waiting):0] order_fill;
  logic [LineW-1:0] hits_data;
  logic [LineNumW:0] hits_fill;

  // Requests and answer
  logic ask_room, ask_valid, asked_room;
  logic [LineNumW:0] ask_fill, asked_fill;
  logic [IdxW-1:0] ask_idx;
  logic rsp_valid_q, rsp_free;
  logic [LineW-1:0] rsp_q;

  assign req_slot = req_idx_i[SlotW-1:0];
  assign s1_slot = s1_idx_q[SlotW-1:0];
  assign inval_slot = inval_idx_i[SlotW-1:0];
  assign fill_slot = fill_idx[SlotW-1:0];
  if (IdxW > SlotW) begin : g_tag
    assign s1_want = s1_idx_q[IdxW-1:SlotW];
    assign fill_tag = fill_idx[IdxW-1:SlotW];
  end else begin : g_no_tag
    assign s1_want = '0;
    assign fill_tag = '0;
  end

  // ---- Lookup -----------------------------------------------------------------------------------------------------
  // The valid bit is looked at in stage 1, so it knows of every invalidation up to now.
  assign s1_hit = valid_q[s1_slot] && s1_tag_q == s1_want;
  assign s1_pass = s1_valid_q && s1_hit && !order_valid && rsp_free;
  assign s1_wait = s1_valid_q && s1_hit && !s1_pass && order_room && hits_room;
  assign s1_share = s1_valid_q && !s1_hit && same != '0 && order_room;
  assign s1_miss = s1_valid_q && !s1_hit && same == '0 && order_room && any_free;
  assign s1_go = s1_pass || s1_wait || s1_share || s1_miss;
  assign req_ready_o = !s1_valid_q || s1_go;
  assign take = req_valid_i && req_ready_o;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) s1_valid_q <= 1'b0;
    else if (take || s1_go) s1_valid_q <= take;
  end

  // A line that comes into the slot meanwhile is what was read: the valid bit is that line's.
  always_ff @(posedge clk_i) begin
    if (take) s1_idx_q <= req_idx_i;
    if (fill_keep && fill_slot == (take ? req_slot : s1_slot)) begin
      s1_data_q <= line;
      s1_tag_q <= fill_tag;
    end else if (take) begin
      s1_data_q <= data_mem[req_slot];
      s1_tag_q <= tag_mem[req_slot];
    end
  end

  // ---- Request ----------------------------------------------------------------------------------------------------
  // There is room for as many as there are lines, so a lookup never waits for device memory to take a request.
  fifo #(.Width(IdxW), .Depth(Misses)) u_ask (
    .clk_i, .rst_ni,
    .wr_valid_i(s1_miss),
    .wr_ready_o(ask_room),
    .wr_data_i(s1_idx_q),
    .rd_valid_o(ask_valid),
    .rd_ready_i(dm_req_ready_i),
    .rd_data_o(ask_idx),
    .fill_o(ask_fill)
  );

  assign dm_req_valid_o = ask_valid;
  always_comb begin
    dm_req_o = '0;
    dm_req_o.two = LineBytes == 128;
    dm_req_o.addr = Base + (28'(ask_idx) << OffW);
  end

  // Answers of device memory come in the order of the requests.
  fifo #(.Width(LineNumW + IdxW), .Depth(Misses)) u_asked (
    .clk_i, .rst_ni,
    .wr_valid_i(s1_miss),
    .wr_ready_o(asked_room),
    .wr_data_i({free_num, s1_idx_q}),
    .rd_valid_o(fill_valid),
    .rd_ready_i(fill_last),
    .rd_data_o({fill_num, fill_idx}),
    .fill_o(asked_fill)
  );

  // ---- Lines on their way -----------------------------------------------------------------------------------------
  // Every miss has its place here before it asks; it is free again when the last lookup that waits for the line has
  // been answered.
  assign free_sel = ~used & (used + 1'b1);         // the lowest
  assign any_free = used != '1;
  always_comb begin
    free_num = '0;
    same_num = '0;
    for (int unsigned i = 0; i < Misses; i++) begin
      if (free_sel[i]) free_num = free_num | i[LineNumW-1:0];
      if (same[i]) same_num = same_num | i[LineNumW-1:0];
    end
  end

  for (genvar i = 0; i < Misses; i++) begin : g_line
    logic [IdxW-1:0] idx_q;
    logic [UsersW-1:0] users_q;
    logic more, less;
    assign used[i] = users_q != '0;
    assign same[i] = used[i] && !killed_q[i] && idx_q == s1_idx_q;
    assign more = (s1_miss && free_sel[i]) || (s1_share && same[i]);
    assign less = pop && !order_hit && order_num == i;

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) users_q <= '0;
      else if (more != less) users_q <= more ? users_q + 1'b1 : users_q - 1'b1;
    end

    always_ff @(posedge clk_i) begin
      if (s1_miss && free_sel[i]) begin
        idx_q <= s1_idx_q;
        come_q[i] <= 1'b0;
        killed_q[i] <= 1'b0;                       // an invalidation at this edge comes before the read
      end else begin
        if (fill_last && fill_num == i) come_q[i] <= 1'b1;
        if (inval_all_i || (inval_i && inval_slot == idx_q[SlotW-1:0])) killed_q[i] <= 1'b1;
      end
    end
  end

  // ---- Fill -------------------------------------------------------------------------------------------------------
  assign fill_last = dm_rsp_valid_i && dm_rsp_i.last;
  assign fill_keep = fill_last && !killed_q[fill_num] &&
                     (!valid_q[fill_slot] || asked_fill == {{LineNumW{1'b0}}, 1'b1} || chance_q[3:0] == '0);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) chance_q <= 16'd1;
    else if (fill_last) chance_q <= {chance_q[14:0], chance_q[15] ^ chance_q[13] ^ chance_q[12] ^ chance_q[10]};
  end

  if (LineBytes == 128) begin : g_two
    logic [511:0] low_q;
    always_ff @(posedge clk_i) begin
      if (dm_rsp_valid_i && !dm_rsp_i.last) low_q <= dm_rsp_i.data;
    end
    assign line = {dm_rsp_i.data, low_q};
  end else begin : g_one
    assign line = dm_rsp_i.data;
  end

  always_ff @(posedge clk_i) begin
    if (fill_keep) begin
      data_mem[fill_slot] <= line;
      tag_mem[fill_slot] <= fill_tag;
    end
  end

  always_ff @(posedge clk_i) begin
    if (fill_last) line_mem[fill_num] <= line;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q <= '0;
    end else if (inval_all_i) begin
      valid_q <= '0;
    end else if (inval_i || fill_keep) begin
      if (fill_keep) valid_q[fill_slot] <= 1'b1;
      if (inval_i) valid_q[inval_slot] <= 1'b0;
    end
  end

  // ---- Answers in order -------------------------------------------------------------------------------------------
  assign order_push = s1_wait || s1_share || s1_miss;
  fifo #(.Width(LineNumW + 1), .Depth(Waiting)) u_order (
    .clk_i, .rst_ni,
    .wr_valid_i(order_push),
    .wr_ready_o(order_room),
    .wr_data_i({s1_hit, s1_share ? same_num : free_num}),
    .rd_valid_o(order_valid),
    .rd_ready_i(pop),
    .rd_data_o({order_hit, order_num}),
    .fill_o(order_fill)
  );

  fifo #(.Width(LineW), .Depth(Misses)) u_hits (
    .clk_i, .rst_ni,
    .wr_valid_i(s1_wait),
    .wr_ready_o(hits_room),
    .wr_data_i(s1_data_q),
    .rd_valid_o(hits_valid),
    .rd_ready_i(pop && order_hit),
    .rd_data_o(hits_data),
    .fill_o(hits_fill)
  );

  assign rsp_free = !rsp_valid_q || rsp_ready_i;
  // A line that comes while the oldest lookup waits for one is that one's.
  assign pop = order_valid && rsp_free && (order_hit || come_q[order_num] || fill_last);
  assign rsp_valid_o = rsp_valid_q;
  assign rsp_o = rsp_q;
  assign stat_miss_o = s1_miss;
  assign idle_o = !s1_valid_q && !order_valid && !rsp_valid_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) rsp_valid_q <= 1'b0;
    else if (rsp_free) rsp_valid_q <= pop || s1_pass;
  end

  always_ff @(posedge clk_i) begin
    if (pop) rsp_q <= order_hit ? hits_data : come_q[order_num] ? line_mem[order_num] : line;
    else if (s1_pass) rsp_q <= s1_data_q;
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
  DataOnlyWhenAsked : assert property (@(posedge clk_i) disable iff (!rst_ni) dm_rsp_valid_i |-> fill_valid);
  assert property (@(posedge clk_i) disable iff (!rst_ni) s1_miss |-> ask_room && asked_room);
  assert property (@(posedge clk_i) disable iff (!rst_ni) order_valid && order_hit |-> hits_valid);
  assert property (@(posedge clk_i) disable iff (!rst_ni)
                   fill_last && !order_hit && !come_q[order_num] |-> order_num == fill_num);
  assert property (@(posedge clk_i) disable iff (!rst_ni) (same & (same - 1'b1)) == '0);
`endif
endmodule
