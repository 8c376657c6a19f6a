// SPDX-License-Identifier: Apache-2.0
// Address translation of payload reads: from a place in a region's list of pages, and through a GPUDirect window, to
// the address on the bus. A read that spans two pages leaves in two pieces, the first with `more` set.
//
//   xl_i -+-> cut at the page's end -> page's number -> MTT cache -> page -+-> window -> rd_o
//         +----------------------------------------------------------------+
//
// Page lists: page n of a list is the 64-bit entry at mtt*64 + 8n of device memory. Copies of their blocks of eight are
// kept (ctx_cache), up to 16 misses at a time. A page from `pages` on, beyond device memory or not present is denied.
// Windows: all bytes must lie in a valid window that grants reads, and their images below 2^64.
// Denied reads leave in their place with `denied` set; so the packet fails in order, and nothing is read.
//
// Latency: a read without a list goes the short way past the pages when none is before it, taken at edge n, valid after
// edge n+1. Through the pages it takes 5 cycles more when its pages are in the cache. One piece a cycle. Order is kept.
//
// A window that changes counts from the edge of win_we_i on, for all reads that have not reached the output register.
// win_busy_o is high while reads that had reached it at that edge are unanswered. After inval_i it is high, too, until
// all reads that were asked for with a region looked up earlier have been answered: those here, and those that come
// while stale_i is high.
module dma_translate #(
  parameter int unsigned MttEntries = 64       // blocks of eight pages in the cache, a power of two
) (
  input  logic clk_i,
  input  logic rst_ni,
  // Reads of a region in (their places do not wrap), reads of the bus out
  input  logic xl_valid_i,
  output logic xl_ready_o,
  input  rnic_pkg::xl_req_t xl_i,
  output logic rd_valid_o,
  input  logic rd_ready_i,
  output rnic_pkg::rd_req_t rd_o,
  input  logic rd_done_i,              // the oldest read that left has been answered, or refused by dma_master
  // GPUDirect windows
  input  logic win_we_i,
  input  logic [5:0] win_idx_i,
  input  rnic_pkg::window_t win_i,
  output logic win_busy_o,             // reads let through before the last change of a window or region are under way
  // Regions have changed: all copies of page lists are forgotten
  input  logic inval_i,
  input  logic stale_i,                // tx_segmenter still has reads of before
  output logic dm_req_valid_o,
  input  logic dm_req_ready_i,
  output rnic_pkg::dm_req_t dm_req_o,
  input  logic dm_rsp_valid_i,
  input  rnic_pkg::dm_rsp_t dm_rsp_i,
  output logic stat_mtt_miss_o,
  output logic stat_mtt_absent_o,
  output logic stat_win_denied_o,
  output logic idle_o
);
  localparam int unsigned PieceW = 227;
  localparam int unsigned WinW = 196;            // of a window: rights, gpu - base, base + size, base
  localparam int unsigned OpenW = 11;
  localparam int unsigned InW = 7;               // cut, s1, s2, 64 that wait, x

  logic x_free, pages_idle;

  // ---- Cut: at the end of a page; at most once, a page is not shorter than a read ---------------------------------------
  logic cut_valid_q, cut_load, cut_go, cut_free, cut_spans_q, xl_spans, s1_free;
  rnic_pkg::xl_req_t cut_q;
  logic [4:0] xl_log_page;
  logic [12:0] xl_less;                          // bytes behind the first one
  logic [12:0] xl_reach;                         // last byte, from the 4096 B that the first one is in
  logic [17:0] xl_inside, cut_inside_q, s1_inside_q, s2_inside_q;  // which address bits, from 12 on, lie within the page
  logic [12:0] cut_room;                         // bytes to the next multiple of 4096
  logic [63:0] cut_n;

  assign cut_load = xl_valid_i && xl_ready_o && (xl_i.paged || !pages_idle);
  assign cut_room = 13'd4096 - {1'b0, cut_q.addr[11:0]};
  assign xl_log_page = xl_i.log_page < 5'd12 || xl_i.log_page > 5'd30 ? 5'd12 : xl_i.log_page;
  always_comb begin
    for (int unsigned i = 0; i < 18; i++) xl_inside[i] = xl_log_page > 5'd12 + i[4:0];
  end
  assign xl_less = xl_i.len - 13'd1;
  assign xl_reach = {1'b0, xl_i.addr[11:0]} + xl_less;
  assign xl_spans = xl_i.paged && xl_reach[12] && (xl_i.addr[29:12] | ~xl_inside) == {18{1'b1}};
  assign cut_n = cut_q.addr >> cut_q.log_page;
  assign cut_go = cut_valid_q && s1_free;
  assign cut_free = !cut_valid_q || (cut_go && !cut_spans_q);
  assign xl_ready_o = pages_idle && !xl_i.paged ? x_free : cut_free;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) cut_valid_q <= 1'b0;
    else if (cut_free) cut_valid_q <= cut_load;
  end

  always_ff @(posedge clk_i) begin
    if (cut_load) begin
      cut_q <= xl_i;
      cut_q.log_page <= xl_log_page;
      cut_inside_q <= xl_inside;
      cut_spans_q <= xl_spans;
    end else if (cut_go) begin
      cut_spans_q <= 1'b0;
      cut_q.addr <= {cut_q.addr[63:12] + 52'd1, 12'd0};
      cut_q.len <= cut_q.len - cut_room;
    end
  end

  // ---- Page's entry: its number, its block in device memory; looked up unless the number tells that there is none ------
  logic s1_valid_q, s1_end_q, s1_beyond, s2_valid_q, s2_end_q, s2_look_q, s2_go, s2_free;
  rnic_pkg::xl_req_t s1_q, s2_q;
  logic [51:0] s1_n_q;
  logic [63:0] s2_last_q;                        // place of the last byte
  logic [12:0] s1_less;                          // bytes behind the first one
  logic [29:0] s1_block;                         // in units of 64 B
  logic [21:0] s2_block_q;
  logic [2:0] s2_entry_q;
  logic look_ready, page_valid, page_ready, wait_room, wait_valid, wait_pop;
  logic [511:0] page_block;
  logic [6:0] wait_fill;
  logic [PieceW-1:0] wait_data;
  logic mtt_idle;

  assign s1_less = s1_q.len - 13'd1;
  assign s1_block = {8'b0, s1_q.mtt} + {1'b0, s1_n_q[31:3]};
  assign s1_beyond = s1_n_q >= {20'b0, s1_q.pages} || s1_block[29:22] != 8'd0;
  assign s1_free = !s1_valid_q || s2_free;
  assign s2_go = s2_valid_q && wait_room && (!s2_look_q || look_ready);
  assign s2_free = !s2_valid_q || s2_go;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      s1_valid_q <= 1'b0;
      s2_valid_q <= 1'b0;
    end else begin
      if (s1_free) s1_valid_q <= cut_valid_q;
      if (s2_free) s2_valid_q <= s1_valid_q;
    end
  end

  always_ff @(posedge clk_i) begin
    if (cut_go) begin
      s1_q <= cut_q;
      s1_n_q <= cut_n[51:0];
      s1_inside_q <= cut_inside_q;
      s1_end_q <= !cut_spans_q;
      if (cut_spans_q) begin
        s1_q.len <= cut_room;
        s1_q.more <= 1'b1;
      end
    end
    if (s1_valid_q && s2_free) begin
      s2_q <= s1_q;
      s2_inside_q <= s1_inside_q;
      s2_end_q <= s1_end_q;
      s2_last_q <= s1_q.addr + {51'b0, s1_less};
      s2_look_q <= s1_q.paged && !s1_beyond;
      s2_block_q <= s1_block[21:0];
      s2_entry_q <= s1_n_q[2:0];
    end
  end

  ctx_cache #(
    .Entries(MttEntries), .IdxW(22), .LineBytes(64)
  ) u_cache (
    .clk_i, .rst_ni,
    .req_valid_i(s2_valid_q && wait_room && s2_look_q),
    .req_ready_o(look_ready),
    .req_idx_i(s2_block_q),
    .rsp_valid_o(page_valid),
    .rsp_ready_i(page_ready),
    .rsp_o(page_block),
    .inval_i(1'b0),
    .inval_idx_i(22'd0),
    .inval_all_i(inval_i),
    .dm_req_valid_o, .dm_req_ready_i, .dm_req_o, .dm_rsp_valid_i, .dm_rsp_i,
    .stat_miss_o(stat_mtt_miss_o),
    .idle_o(mtt_idle)
  );

  // Room for more than the cache lets wait.
  fifo #(.Width(PieceW), .Depth(64)) u_wait (
    .clk_i, .rst_ni,
    .wr_valid_i(s2_go),
    .wr_ready_o(wait_room),
    .wr_data_i({s2_q.paged, s2_look_q, s2_entry_q, s2_inside_q, s2_q.window_en, s2_q.window, s2_q.addr, s2_last_q,
                s2_q.len, s2_end_q, s2_q.more, s2_q.attr, s2_q.op}),
    .rd_valid_o(wait_valid),
    .rd_ready_i(wait_pop),
    .rd_data_o(wait_data),
    .fill_o(wait_fill)
  );

  logic p_paged, p_look, p_window_en, p_end, p_more, p_absent;
  logic [2:0] p_entry, p_attr;
  logic [5:0] p_window;
  logic [63:0] p_addr, p_last, p_bus, p_bus_last;
  logic [12:0] p_len;
  logic [50:0] p_op;
  logic [17:0] p_inside;
  rnic_pkg::mtt_t p_page;
  assign {p_paged, p_look, p_entry, p_inside, p_window_en, p_window, p_addr, p_last, p_len, p_end, p_more, p_attr, p_op} =
      wait_data;
  assign p_page = page_block[{p_entry, 6'b0}+:64];
  assign p_absent = p_paged && !(p_look && p_page.present);
  assign p_bus = {p_page.page[51:18], (p_page.page[17:0] & ~p_inside) | (p_addr[29:12] & p_inside), p_addr[11:0]};
  assign p_bus_last = {p_bus[63:30], (p_page.page[17:0] & ~p_inside) | (p_last[29:12] & p_inside), p_last[11:0]};
  assign wait_pop = wait_valid && x_free && (!p_look || page_valid);
  assign page_ready = wait_valid && x_free && p_look;
  assign pages_idle = !cut_valid_q && !s1_valid_q && !s2_valid_q && !wait_valid;

  // ---- Window ---------------------------------------------------------------------------------------------------------
  logic x_valid_q, x_load, x_go, x_absent_q, x_window_en_q, x_end_q, x_more_q;
  logic [5:0] x_window_q, x_in_window, w_idx;
  logic [63:0] x_addr_q, x_last_q;               // of the first and the last byte
  logic [12:0] x_len_q;
  logic [2:0] x_attr_q;
  rnic_pkg::op_t x_op_q;
  logic [WinW-1:0] win_mem [64];
  logic [63:0] win_valid_q;
  logic w_we, w_valid_q;
  logic [WinW-1:0] win_d, w_q;                   // w_q: the window of the read in x, always the latest
  logic w_write, w_read, w_ok;
  logic [63:0] w_base, w_image;
  logic [64:0] w_shift, w_end;
  logic [65:0] w_image_last;                     // of the last byte

  assign x_load = wait_pop || (xl_valid_i && xl_ready_o && !xl_i.paged && pages_idle);
  assign x_in_window = wait_valid ? p_window : xl_i.window;
  assign x_free = !x_valid_q || x_go;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) x_valid_q <= 1'b0;
    else if (x_free) x_valid_q <= x_load;
  end

  always_ff @(posedge clk_i) begin
    if (x_load) begin
      x_window_q <= x_in_window;
      if (wait_valid) begin
        x_absent_q <= p_absent;
        x_window_en_q <= p_window_en;
        x_addr_q <= p_paged ? p_bus : p_addr;
        x_last_q <= p_paged ? p_bus_last : p_last;
        {x_len_q, x_end_q, x_more_q, x_attr_q, x_op_q} <= {p_len, p_end, p_more, p_attr, p_op};
      end else begin
        x_absent_q <= 1'b0;
        x_window_en_q <= xl_i.window_en;
        x_addr_q <= xl_i.addr;
        x_last_q <= xl_i.addr + {51'b0, xl_less};
        {x_len_q, x_end_q, x_more_q, x_attr_q, x_op_q} <= {xl_i.len, 1'b1, xl_i.more, xl_i.attr, xl_i.op};
      end
    end
  end

  assign win_d = {win_i.write, win_i.read, {1'b0, win_i.gpu} - {1'b0, win_i.base},
                  {1'b0, win_i.base} + {1'b0, win_i.size}, win_i.base};
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) win_valid_q <= '0;
    else if (win_we_i) win_valid_q[win_idx_i] <= win_i.valid;
  end

  always_ff @(posedge clk_i) begin
    if (win_we_i) win_mem[win_idx_i] <= win_d;
  end

  assign w_idx = x_load ? x_in_window : x_window_q;
  assign w_we = win_we_i && win_idx_i == w_idx;
  always_ff @(posedge clk_i) begin
    if (w_we) {w_valid_q, w_q} <= {win_i.valid, win_d};
    else if (x_load) {w_valid_q, w_q} <= {win_valid_q[w_idx], win_mem[w_idx]};
  end

  assign {w_write, w_read, w_shift, w_end, w_base} = w_q;
  assign w_image = x_addr_q + w_shift[63:0];
  assign w_image_last = {2'b0, x_last_q} + {w_shift[64], w_shift};
  assign w_ok = w_valid_q && w_read && x_addr_q >= w_base && {1'b0, x_last_q} < w_end && !w_image_last[64];

  // ---- Out ------------------------------------------------------------------------------------------------------------
  logic rd_valid_q, rd_free, x_denied;
  rnic_pkg::rd_req_t rd_q;
  assign rd_free = !rd_valid_q || rd_ready_i;
  assign x_go = x_valid_q && rd_free;
  assign x_denied = x_absent_q || (x_window_en_q && !w_ok);
  assign rd_valid_o = rd_valid_q;
  assign rd_o = rd_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) rd_valid_q <= 1'b0;
    else if (rd_free) rd_valid_q <= x_valid_q;
  end

  always_ff @(posedge clk_i) begin
    if (x_go) begin
      rd_q.denied <= x_denied;
      rd_q.addr <= x_window_en_q ? w_image : x_addr_q;
      rd_q.len <= x_len_q;
      rd_q.more <= x_more_q;
      rd_q.attr <= x_attr_q;
      rd_q.op <= x_op_q;
    end
  end

  // ---- Reads under way, and those of them from before the last change -------------------------------------------------
  logic [OpenW-1:0] open_q, open_d, old_q;
  logic [InW-1:0] inside_q, inside_d, older_q;   // reads from xl_i to the window; those of them from before inval_i
  logic in_q, marks, marked_q;                   // counted a cycle late: whether one came in is known late in its cycle
  logic pass, settling_q;                        // reads of before inval_i are here, or still to come
  assign pass = x_go && x_end_q;
  assign open_d = open_q + {{(OpenW - 1){1'b0}}, x_go} - {{(OpenW - 1){1'b0}}, rd_done_i};
  assign inside_d = inside_q + {{(InW - 1){1'b0}}, in_q} - {{(InW - 1){1'b0}}, pass};
  assign marks = inval_i || (settling_q && stale_i);
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      open_q <= '0;
      old_q <= '0;
      inside_q <= '0;
      older_q <= '0;
      in_q <= 1'b0;
      marked_q <= 1'b0;
      settling_q <= 1'b0;
    end else begin
      open_q <= open_d;
      if (win_we_i || inval_i || settling_q) old_q <= open_d;
      else if (rd_done_i && old_q != '0) old_q <= old_q - 1'b1;
      inside_q <= inside_d;
      in_q <= xl_valid_i && xl_ready_o;
      marked_q <= marks;
      if (marks) older_q <= inside_d;
      else if (marked_q && in_q) older_q <= pass ? older_q : older_q + 1'b1;
      else if (pass && older_q != '0) older_q <= older_q - 1'b1;
      if (inval_i) settling_q <= 1'b1;
      else if (!marked_q && older_q == '0) settling_q <= 1'b0;  // marked while stale_i is high
    end
  end
  assign win_busy_o = settling_q || old_q != '0;

  assign stat_mtt_absent_o = x_go && x_absent_q;
  assign stat_win_denied_o = x_go && x_window_en_q && !x_absent_q && !w_ok;
  assign idle_o = pages_idle && mtt_idle && !x_valid_q && !rd_valid_q && !settling_q && !in_q && !marked_q;

`ifndef SYNTHESIS
  stream_checker #(.Width(199)) u_check_xl (
    .clk_i, .rst_ni, .valid_i(xl_valid_i), .ready_i(xl_ready_o), .data_i(xl_i)
  );
  stream_checker #(.Width(133)) u_check_rd (
    .clk_i, .rst_ni, .valid_i(rd_valid_o), .ready_i(rd_ready_i), .data_i(rd_o)
  );
  assert property (@(posedge clk_i) disable iff (!rst_ni) rd_done_i |-> open_q != '0);
  assert property (@(posedge clk_i) disable iff (!rst_ni) open_q != '1);
  assert property (@(posedge clk_i) disable iff (!rst_ni) page_valid |-> wait_valid);
`endif
endmodule
