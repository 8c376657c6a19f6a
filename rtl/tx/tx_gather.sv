// SPDX-License-Identifier: Apache-2.0
// Puts together payloads that were read in several pieces. Between dma_master's payload and tx_packetizer; keeps the
// order.
//
// A packet of one read passes straight through, without a register, while nothing is kept here. A packet of several
// (more on all beats of all pieces but the last one's) is put together byte for byte and offered when it is complete,
// so that no gap is seen inside of it; a packet of one read behind such a one takes the same way, and is offered from
// its first line on, since its beats come without gaps. If a piece fails, the whole packet becomes one beat with last
// and the first failed piece's status, when its last piece has come.
//
// Beats in and lines kept: bytes of up to one line wait for the beat that follows, or for the cycle behind the packet's
// last beat. So a packet of any pieces takes as many cycles as it has beats, whatever comes behind it: one beat a cycle
// in, one out. Last beat in at edge n, packet offered after edge n+1.
//
// Buffer: at least 64 lines, one packet of 4096 B, so that a packet can always be completed once those before it have
// left (what waits here needs nothing that dma_read could hold back); 128 keep one coming in while one goes out.
module tx_gather #(
  parameter int unsigned Lines = 128       // of 64 B; power of two, at least 64
) (
  input  logic clk_i,
  input  logic rst_ni,
  // From dma_master; beats of a read without gaps
  input  logic pay_valid_i,
  output logic pay_ready_o,
  input  rnic_pkg::payload_t pay_i,
  // To tx_packetizer; beats of a packet without gaps, more is 0
  output logic gather_valid_o,
  input  logic gather_ready_i,
  output rnic_pkg::payload_t gather_o,
  output logic idle_o
);
  localparam int unsigned LineW = $clog2(Lines);
  localparam int unsigned WordW = 1 + 7 + 3 + 512;  // last, bytes, status, data

  if (Lines < 64 || Lines != 1 << LineW) $error("Lines must be a power of two, at least 64");

  // ---- Lines kept ---------------------------------------------------------------------------------------------------
  logic [WordW-1:0] mem [Lines];
  logic [LineW:0] wptr_q, rptr_q, head_q;    // next line in, next line out, first line of the packet that comes in
  logic [LineW:0] shown_q;                   // lines before this one may leave
  logic empty, room;
  assign empty = wptr_q == rptr_q;
  assign room = wptr_q[LineW-1:0] != rptr_q[LineW-1:0] || empty;

  // ---- In -----------------------------------------------------------------------------------------------------------
  logic straight;                            // this packet is not kept
  logic mid_q;                               // inside of a packet that is kept
  logic rest_q;                              // a packet's last bytes wait for their line
  logic single_q;                            // of a packet of one read
  logic [6:0] fill_q;                        // bytes waiting, 0..64
  logic [511:0] part_q;                      // they; what lies above is not used
  logic [2:0] status_q;                      // of the packet
  logic [7:0] total;
  logic [6:0] fill;
  logic take, ends, spills, lost, put;
  logic [LineW:0] put_ptr, put_next;

  assign straight = !pay_i.more && !mid_q && !rest_q && empty;
  assign pay_ready_o = straight ? gather_ready_i : room;
  assign take = pay_valid_i && pay_ready_o && !straight;
  assign ends = take && pay_i.last && !pay_i.more;
  assign fill = mid_q ? fill_q : 7'd0;
  assign total = {1'b0, fill} + {1'b0, pay_i.bytes};
  assign spills = total > 8'd64;
  assign lost = !single_q && status_q != rnic_pkg::DmaOk;
  // A line is written: the last one of the packet before, or a full one of this. A lost packet's only line stands where
  // its first one would.
  assign put = room && (rest_q || (take && spills && !lost));
  assign put_ptr = rest_q && lost ? head_q : wptr_q;
  assign put_next = put_ptr + 1'b1;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      wptr_q <= '0;
      rptr_q <= '0;
      head_q <= '0;
      shown_q <= '0;
      mid_q <= 1'b0;
      rest_q <= 1'b0;
    end else begin
      if (take) mid_q <= !ends;
      if (ends) rest_q <= 1'b1;
      else if (room) rest_q <= 1'b0;
      if (put) begin
        wptr_q <= put_next;
        if (rest_q) head_q <= put_next;
        if (rest_q || single_q) shown_q <= put_next;
      end
      if (shown_q != rptr_q && gather_ready_i) rptr_q <= rptr_q + 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    logic [511:0] line;
    line = '0;
    if (take) begin
      logic [1023:0] two;
      two = {512'b0, pay_i.data} << {fill, 3'b0};
      line = (part_q & ~({512{1'b1}} << {fill, 3'b0})) | two[511:0];
      part_q <= spills ? two[1023:512] : line;
      fill_q <= spills ? total[6:0] - 7'd64 : total[6:0];
      if (!mid_q) single_q <= !pay_i.more;
      if (!mid_q || status_q == rnic_pkg::DmaOk) status_q <= pay_i.last ? pay_i.status : rnic_pkg::DmaOk;
    end
    if (put) begin
      mem[put_ptr[LineW-1:0]] <= {rest_q, rest_q && !lost ? fill_q : rest_q ? 7'd1 : 7'd64,
                                  rest_q ? status_q : rnic_pkg::DmaOk, rest_q ? part_q : line};
    end
  end

  // ---- Out ----------------------------------------------------------------------------------------------------------
  logic [WordW-1:0] word;
  assign word = mem[rptr_q[LineW-1:0]];
  assign gather_valid_o = shown_q != rptr_q || (straight && pay_valid_i);
  always_comb begin
    if (straight) begin
      gather_o = pay_i;
    end else begin
      gather_o.more = 1'b0;
      {gather_o.last, gather_o.bytes, gather_o.status, gather_o.data} = word;
    end
  end

  assign idle_o = empty && !mid_q && !rest_q;
endmodule
