// SPDX-License-Identifier: Apache-2.0
// TX egress: a FIFO of beats for each priority between the packetizer and the MAC ports, so that a paused priority (PFC)
// holds up no other. A frame is started only while its priority's pause bit is 0; once begun it ends.
//
// Of the priorities that are not paused the strict ones go first, higher before lower; among the others the frame that
// came first. Frames are sent while they still come in: the packetizer gives one beat a cycle without gaps inside a
// frame and is never refused, and one beat a cycle at most is taken, so none is ever missing.
//
// Room is reserved before: in_* has no ready. 66 beats (the longest frame) for each turn from its grant to its end when
// its priority was known at the grant (open_*, close_*), and the frame's own beats from its description (desc_*) until it
// has left, or until the packetizer gives it up (drop_*). prio_ready_o: the scheduler may open one more turn. room_o: the
// segmenter may describe one more packet; if not it ends the turn with nothing sent.
//
// Latency: one edge when nothing of a higher rank waits. One beat a cycle; frames of one beat take two cycles each.
module tx_egress #(
  parameter int unsigned Depth = 1024  // beats of each priority; a power of two
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic [7:0] strict_i,
  input  logic [7:0] pause_i,
  // From tx_packetizer; always taken
  input  logic in_valid_i,
  input  rnic_pkg::mac_beat_t in_i,
  input  logic [2:0] in_port_i,
  output logic out_valid_o,
  input  logic out_ready_i,
  output rnic_pkg::mac_beat_t out_o,
  output logic [2:0] out_port_o,
  // Reservation
  input  logic open_i,
  input  logic [3:0] open_prio_i,      // 8: unknown, reserves nothing
  input  logic close_i,
  input  logic [3:0] close_prio_i,
  input  logic desc_i,                 // a packet without error has been described
  input  logic [2:0] desc_prio_i,
  input  logic [6:0] desc_beats_i,     // its frame's, 1..66
  input  logic drop_i,                 // no frame will come of it
  input  logic [2:0] drop_prio_i,
  input  logic [6:0] drop_beats_i,
  output logic [7:0] prio_ready_o,
  output logic [7:0] room_o,
  output logic idle_o
);
  localparam int unsigned PtrW = $clog2(Depth);
  localparam int unsigned BeatW = 3 + rnic_pkg::MacBeatW;
  localparam int unsigned SumW = PtrW + 6;           // more than Depth and a turn of all 1024 QPs
  localparam logic [SumW-1:0] Longest = SumW'(66);
  localparam logic [SumW-1:0] Full = SumW'(Depth);
  localparam int unsigned SeqW = 32;                 // numbers of frames; a paused one may see many go by

  // ==== Output register, and what goes into it =======================================================================
  logic out_valid_q;
  logic [BeatW-1:0] out_q;
  logic busy_q;                        // in a frame
  logic [2:0] prio_q;                  // its priority
  logic load, start, from_fifo, passes, pass_start, moves;
  logic [2:0] take_prio;
  logic [BeatW-1:0] in_word, take_word;
  logic [7:0] beats, waits;            // priorities with beats, and with whole or begun frames not yet started
  logic pick_valid_q;
  logic [2:0] pick_q;

  assign in_word = {in_port_i, in_i};
  assign out_valid_o = out_valid_q;
  assign {out_port_o, out_o} = out_q;
  assign load = !out_valid_q || out_ready_i;

  // A frame from its FIFO; or one that just comes in, when none waits that might go.
  assign start = load && !busy_q && pick_valid_q && !pause_i[pick_q];
  assign pass_start = load && !busy_q && (waits & ~pause_i) == 8'd0 && in_valid_i && in_i.sop && !pause_i[in_i.prio] &&
                      !waits[in_i.prio];
  assign take_prio = busy_q ? prio_q : pick_q;
  assign from_fifo = start || (load && busy_q && beats[prio_q]);
  assign passes = pass_start || (load && busy_q && !beats[prio_q] && in_valid_i && in_i.prio == prio_q);
  assign moves = from_fifo || passes;

  logic last;
  assign last = passes ? in_i.eop : take_word[rnic_pkg::MacBeatW-2];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      out_valid_q <= 1'b0;
      busy_q <= 1'b0;
    end else begin
      if (load) out_valid_q <= moves;
      if (moves) busy_q <= !last;
    end
  end

  always_ff @(posedge clk_i) begin
    if (moves) out_q <= passes ? in_word : take_word;
    if (start) prio_q <= pick_q;
    else if (pass_start) prio_q <= in_i.prio;
  end

  // ==== Beats ========================================================================================================
  logic [BeatW-1:0] mem [8 * Depth];
  logic [PtrW-1:0] wptr_q [8];
  logic [PtrW-1:0] rptr_q [8];
  logic [PtrW-1:0] wptr, rptr;
  logic put;

  assign put = in_valid_i && !passes;
  assign wptr = wptr_q[in_i.prio];
  assign rptr = rptr_q[take_prio];
  assign take_word = mem[{take_prio, rptr}];

  always_ff @(posedge clk_i) begin
    if (put) mem[{in_i.prio, wptr}] <= in_word;
  end

  // ==== Frames: numbers in the order in which they came; that of each priority's first one in a register ============
  logic [SeqW-1:0] seq_q;
  logic [SeqW-1:0] seq_mem [8 * Depth];
  logic [PtrW-1:0] frame_wptr_q [8];
  logic [PtrW-1:0] frame_rptr_q [8];
  logic [SeqW-1:0] head_q [8];
  logic put_frame;
  logic [PtrW-1:0] frame_wptr, frame_rptr;

  assign put_frame = put && in_i.sop;
  assign frame_wptr = frame_wptr_q[in_i.prio];
  assign frame_rptr = frame_rptr_q[pick_q] + 1'b1;   // of the frame behind the first one

  always_ff @(posedge clk_i) begin
    if (put_frame) seq_mem[{in_i.prio, frame_wptr}] <= seq_q;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) seq_q <= '0;
    else if (put_frame) seq_q <= seq_q + 1'b1;
  end

  for (genvar p = 0; p < 8; p++) begin : gen_prio
    logic puts, takes, puts_frame, starts, more;
    logic [PtrW:0] fill_q, frames_q;                 // beats; frames not yet started
    logic [SumW-1:0] held_q, turns_q;                // beats of frames described; and those with the turns under way

    assign puts = put && in_i.prio == 3'(p);
    assign takes = from_fifo && take_prio == 3'(p);
    assign puts_frame = put_frame && in_i.prio == 3'(p);
    assign starts = start && pick_q == 3'(p);
    assign beats[p] = fill_q != '0;
    assign waits[p] = frames_q != '0;
    assign more = frames_q > (PtrW+1)'(1);

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        wptr_q[p] <= '0;
        rptr_q[p] <= '0;
        frame_wptr_q[p] <= '0;
        frame_rptr_q[p] <= '0;
        fill_q <= '0;
        frames_q <= '0;
      end else if (puts || takes) begin
        if (puts) wptr_q[p] <= wptr + 1'b1;
        if (takes) rptr_q[p] <= rptr + 1'b1;
        if (puts != takes) fill_q <= puts ? fill_q + 1'b1 : fill_q - 1'b1;
        if (puts_frame) frame_wptr_q[p] <= frame_wptr + 1'b1;
        if (starts) frame_rptr_q[p] <= frame_rptr;
        if (puts_frame != starts) frames_q <= puts_frame ? frames_q + 1'b1 : frames_q - 1'b1;
      end
    end

    always_ff @(posedge clk_i) begin
      if (starts && more) head_q[p] <= seq_mem[{3'(p), frame_rptr}];
      else if (puts_frame && (frames_q == '0 || starts)) head_q[p] <= seq_q;
    end

    // ---- Reservation ------------------------------------------------------------------------------------------------
    logic opens, closes, described, dropped, leaves;
    assign opens = open_i && open_prio_i == 4'(p);
    assign closes = close_i && close_prio_i == 4'(p);
    assign described = desc_i && desc_prio_i == 3'(p);
    assign dropped = drop_i && drop_prio_i == 3'(p);
    assign leaves = moves && (passes ? in_i.prio : take_prio) == 3'(p);

    logic [SumW-1:0] frames, change;
    assign frames = {{(SumW-7){1'b0}}, described ? desc_beats_i : 7'd0} - {{(SumW-7){1'b0}}, dropped ? drop_beats_i : 7'd0};
    assign change = frames - {{(SumW-1){1'b0}}, leaves};
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        held_q <= '0;
        turns_q <= '0;
      end else if (opens || closes || described || dropped || leaves) begin
        held_q <= held_q + change;
        turns_q <= turns_q + change + (opens ? Longest : '0) - (closes ? Longest : '0);
      end
    end
    assign prio_ready_o[p] = turns_q + Longest <= Full;
    // Three more may be described before this one shows.
    assign room_o[p] = held_q + {Longest[SumW-3:0], 2'b00} <= Full;

`ifndef SYNTHESIS
    always_ff @(posedge clk_i) begin
      if (rst_ni && puts) begin
        RoomForBeat : assert (fill_q < (PtrW+1)'(Depth));
      end
      if (rst_ni && leaves) begin
        LeavesWhatIsReserved : assert (held_q != '0);
      end
    end
`endif
  end

  // ==== Choice of the next frame =====================================================================================
  logic [7:0] able, first;
  logic [7:0] older [8];               // [p][r]: p's first frame came after r's
  assign able = waits & ~pause_i;
  for (genvar p = 0; p < 8; p++) begin : gen_older
    for (genvar r = 0; r < 8; r++) begin : gen_other
      logic [SeqW-1:0] apart;
      assign apart = head_q[p] - head_q[r];
      assign older[p][r] = p != r && !apart[SeqW-1];
    end
    assign first[p] = able[p] && (strict_i[p] ? (able & strict_i & (8'hfe << p)) == 8'd0 :
                                  (able & strict_i) == 8'd0 && (able & older[p]) == 8'd0);
  end

  logic [2:0] pick;
  always_comb begin
    pick = 3'd0;
    for (int unsigned p = 0; p < 8; p++) begin
      if (first[p]) pick = 3'(p);
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) pick_valid_q <= 1'b0;
    else pick_valid_q <= able != 8'd0 && !start;
  end
  always_ff @(posedge clk_i) begin
    pick_q <= pick;
  end

  assign idle_o = !out_valid_q && !busy_q && waits == 8'd0 && !pick_valid_q;

`ifndef SYNTHESIS
  logic [BeatW-1:0] check_out;
  assign check_out = out_q;
  stream_checker #(.Width(BeatW)) u_check_out (
    .clk_i, .rst_ni, .valid_i(out_valid_o), .ready_i(out_ready_i), .data_i(check_out)
  );
  logic in_busy_q;                     // a frame comes in
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) in_busy_q <= 1'b0;
    else if (in_valid_i) in_busy_q <= !in_i.eop;
  end
  always_ff @(posedge clk_i) begin
    if (rst_ni && in_busy_q) begin
      NoGapInFrame : assert (in_valid_i && !in_i.sop);
    end
  end
`endif
endmodule
