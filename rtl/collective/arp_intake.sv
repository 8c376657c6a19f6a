// SPDX-License-Identifier: Apache-2.0
// Takes fragments of the AllReduce stream and lets only whole ones pass: store and forward. Each frame that came gives
// one head, in order: of a good fragment with its number of lines, which stand in the buffer; of any other with the
// reason, and without lines.
//
// Damaged (ArpDamaged): marked bad, cut off by the next begin, a beat that is not full before the end, no byte or more
// than 64 in the last one. Beats without begin are one frame, up to an end or the next begin; its head is empty.
// Otherwise ArpBadLength: more than 4096 B, or not as many bytes as the header says.
//
// One beat a cycle, over fragments of any length: the buffer holds a longest fragment that comes in and one that goes
// out. Last beat in at edge n, head after edge n. A begin inside of a fragment waits one cycle. Bytes behind the end
// of the last beat are kept as zeros.
module arp_intake #(
  parameter int unsigned Lines = 128             // of 64 B; power of two, at least 128 for full rate
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic hold_i,                           // take nothing
  input  logic frag_valid_i,
  output logic frag_ready_o,
  input  arp_pkg::arp_beat_t frag_i,
  // Heads
  output logic head_valid_o,
  input  logic head_ready_i,
  output logic head_good_o,
  output logic [3:0] head_kind_o,                // not good: why
  output arp_pkg::areth_t head_o,
  output logic [6:0] head_lines_o,               // good: 1..64
  // Data of good fragments, in the order of their heads
  input  logic line_take_i,                      // next line: line_o after the edge
  output logic [511:0] line_o,
  input  logic skip_i,                           // instead: leave lines out
  input  logic [6:0] skip_lines_i
);
  localparam int unsigned LineW = $clog2(Lines);
  localparam int unsigned HeadW = 1 + 4 + 7 + 120;         // good, kind, lines, areth_t
  localparam int unsigned Heads = Lines;                   // fragments of one beat fill the buffer, too

  if (Lines < 64 || Lines != 1 << LineW) $error("Lines must be a power of two, at least 64");

  logic [511:0] mem [Lines];
  logic [LineW:0] wptr_q, rptr_q;                // next line of a whole fragment; next line out
  logic mid_q;                                   // inside of a fragment
  logic stray_q;                                 // among beats without begin
  logic ragged_q;                                // a beat that was not full
  logic [6:0] count_q;                           // lines of the fragment that comes in, 0..64
  arp_pkg::areth_t hdr_q;

  logic room, head_room, cut, take, stray, over, ragged, good, ends, store, push;
  logic [6:0] count;
  logic [12:0] total;
  logic [LineW:0] put_ptr;
  logic [HeadW-1:0] head_in;
  arp_pkg::areth_t hdr;
  logic [$clog2(Heads):0] head_fill;

  assign put_ptr = wptr_q + {{LineW-6{1'b0}}, count_q};
  assign room = put_ptr - rptr_q != {1'b1, {LineW{1'b0}}};
  assign cut = frag_valid_i && frag_i.sop && mid_q;
  assign frag_ready_o = !hold_i && head_room && (room || count_q[6]) && !cut;
  assign take = frag_valid_i && frag_ready_o;

  assign stray = !frag_i.sop && !mid_q;
  assign count = frag_i.sop ? 7'd0 : count_q;
  assign over = count[6];
  assign total = {count, 6'b0} + {6'b0, frag_i.bytes};
  assign ragged = (ragged_q && !frag_i.sop) ||
                  (frag_i.eop ? frag_i.bytes == 7'd0 || frag_i.bytes > 7'd64 : frag_i.bytes != 7'd64);
  assign hdr = frag_i.sop ? frag_i.hdr : hdr_q;
  assign good = !frag_i.bad && !ragged && !over && {3'b0, total} == hdr.len;
  assign ends = take && frag_i.eop && !stray;
  assign store = take && !stray && !over;

  // One head for each frame: at its end, or at the first of beats without begin, or when the next one cuts it off.
  assign push = ends || (take && stray && !stray_q) || (cut && !hold_i);
  always_comb begin
    if (cut) head_in = {1'b0, arp_pkg::ArpDamaged, 7'd0, hdr_q};
    else if (stray) head_in = {1'b0, arp_pkg::ArpDamaged, 7'd0, 120'd0};
    else head_in = {good, frag_i.bad || ragged ? arp_pkg::ArpDamaged : arp_pkg::ArpBadLength, good ? count + 7'd1 : 7'd0, hdr};
  end

  fifo #(
    .Width(HeadW), .Depth(Heads)
  ) u_heads (
    .clk_i, .rst_ni,
    .wr_valid_i(push), .wr_ready_o(head_room), .wr_data_i(head_in),
    .rd_valid_o(head_valid_o), .rd_ready_i(head_ready_i),
    .rd_data_o({head_good_o, head_kind_o, head_lines_o, head_o}),
    .fill_o(head_fill)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      wptr_q <= '0;
      rptr_q <= '0;
      mid_q <= 1'b0;
      stray_q <= 1'b0;
      count_q <= 7'd0;
    end else begin
      if (cut) begin
        if (head_room && !hold_i) begin
          mid_q <= 1'b0;
          count_q <= 7'd0;
        end
      end else if (take) begin
        mid_q <= !stray && !frag_i.eop;
        stray_q <= stray && !frag_i.eop;
        count_q <= stray || frag_i.eop ? 7'd0 : over ? count : count + 7'd1;
        if (ends && good) wptr_q <= wptr_q + {{LineW-6{1'b0}}, count} + 1'b1;
      end
      if (line_take_i) rptr_q <= rptr_q + 1'b1;
      else if (skip_i) rptr_q <= rptr_q + {{LineW-6{1'b0}}, skip_lines_i};
    end
  end

  always_ff @(posedge clk_i) begin
    if (take) begin
      ragged_q <= ragged;
      if (frag_i.sop) hdr_q <= frag_i.hdr;
    end
    if (store) begin
      mem[put_ptr[LineW-1:0]] <= frag_i.eop && !frag_i.bytes[6] ? frag_i.data & ~({512{1'b1}} << {frag_i.bytes, 3'b0})
                                                               : frag_i.data;
    end
    if (line_take_i) line_o <= mem[rptr_q[LineW-1:0]];
  end

`ifndef SYNTHESIS
  stream_checker #(.Width(642), .Input(1)) u_frag_check (
    .clk_i, .rst_ni, .valid_i(frag_valid_i), .ready_i(frag_ready_o), .data_i(frag_i)
  );
`endif
endmodule
