// SPDX-License-Identifier: Apache-2.0
// Splits a read or write of up to 4 KiB into TLPs: cuts at every multiple of MRRS or MPS, which includes every 4 KiB
// boundary. So all pieces but the first start at such a multiple, and all but the last end at one.
//
// Latency: one cycle from an accepted request to its first piece; then a piece a cycle. A request is taken with the
// last piece of the one before.
module tlp_splitter (
  input  logic clk_i,
  input  logic rst_ni,
  // Requests
  input  logic req_valid_i,
  output logic req_ready_o,
  input  logic [2:0] req_size_i,       // of its pieces at most: 0: 128 B .. 5: 4096 B
  input  logic [63:0] req_addr_i,
  input  logic [12:0] req_len_i,       // 1..4096 bytes
  // Pieces
  output logic valid_o,
  input  logic ready_i,
  output logic [63:0] addr_o,
  output logic [12:0] len_o,
  output logic last_o,                 // of its request
  // len_o after this edge, if a request or the next piece moves in
  output logic [12:0] next_len_o
);
  logic valid_q, last_q;
  logic [63:0] addr_q;                 // of the piece
  logic [12:0] rem_q;                  // bytes of the request from the piece on
  logic [12:0] len_q;                  // bytes of the piece
  logic [4:0] mask_q;                  // address bits 11:7 that lie inside a piece of full size

  logic fresh;                         // what moves in next is a request, not a further piece
  logic load, advance;
  logic [4:0] req_mask, mask;
  logic [12:0] size, room, left;
  assign fresh = !valid_q || last_q;
  assign load = req_valid_i && req_ready_o;
  assign advance = valid_q && ready_i && !last_q;
  assign req_mask = ~(5'd31 << (req_size_i > 3'd5 ? 3'd5 : req_size_i));
  assign mask = fresh ? req_mask : mask_q;
  assign size = {{mask, 1'b1} & ~{1'b0, mask}, 7'b0};
  assign room = size - (fresh ? {1'b0, req_addr_i[11:0] & {req_mask, 7'h7F}} : 13'd0);
  assign left = fresh ? req_len_i : rem_q - len_q;
  assign next_len_o = left < room ? left : room;

  // The next multiple of the size. Counting the page number up by one is shorter than adding a length to 64 bits.
  logic [5:0] up;                      // carry, and address bits 11:7
  logic [51:0] page;
  assign up = {1'b0, addr_q[11:7] | mask_q} + 6'd1;
  assign page = addr_q[63:12] + 52'd1;

  assign req_ready_o = !valid_q || (ready_i && last_q);
  assign valid_o = valid_q;
  assign addr_o = addr_q;
  assign len_o = len_q;
  assign last_o = last_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= 1'b0;
    else if (req_ready_o) valid_q <= req_valid_i;
  end

  always_ff @(posedge clk_i) begin
    if (load) begin
      addr_q <= req_addr_i;
      mask_q <= req_mask;
    end else if (advance) begin
      addr_q <= {up[5] ? page : addr_q[63:12], up[4:0], 7'b0};
    end
    if (load || advance) begin
      rem_q <= left;
      len_q <= next_len_o;
      last_q <= left <= room;
    end
  end

`ifndef SYNTHESIS
  splitter_checker u_check (
    .clk_i, .rst_ni, .req_valid_i, .req_ready_i(req_ready_o), .req_size_i, .req_addr_i, .req_len_i, .valid_i(valid_o),
    .ready_i, .addr_i(addr_o), .len_i(len_o), .last_i(last_o), .next_len_i(next_len_o), .rem_i(rem_q),
    .mask_i(mask_q)
  );
`endif
endmodule
