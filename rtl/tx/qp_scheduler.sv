// SPDX-License-Identifier: Apache-2.0
// QP scheduler: shares the link among the QPs that have work, by bytes. A QP is handed out once at a time: from its
// grant to its release it is busy, and a doorbell in that time is remembered, so that no WQE is lost however the two
// meet.
//
// Per priority deficit round robin in turns of one packet, with rounds of a quarter of a packet: a QP's quantum is
// Quantum x weight a round. One that has bytes left after its turn goes to the end of its round's list, else it gets the
// quanta of as many rounds as it takes (four at most) and goes to the last one's list. So a turn may overdraw by one
// packet, weights are spread evenly, and no QP is more than two packets from its share. Of the lists of a priority the
// oldest round's goes first. A round ends when none of its QPs waits or is handed out; until then those of the next
// three rounds are granted, too, but none beyond, unless the link is about to starve (starving_i). A QP that comes
// back from idle goes where its latest turn put it, if that round is still to come, else into this round.
//
// Between priorities: strict ones first, higher before lower; the others share by weight, deficit round robin again.
// QPs whose priority is not known yet (no turn since reset or clear) stand in a list of their own, before all others;
// each is in it once. A QP with a rate passes through rate_limiter after each turn.
//
// Latency: a ring at edge n is granted from after edge n when nothing else waits, and so is a release with more work
// when no other QP has work. Otherwise three edges when no QP waits and its round and its priority's share allow it, and
// five else. One grant a cycle, one every two from lists of one QP.
module qp_scheduler (
  input  logic clk_i,
  input  logic rst_ni,
  input  rnic_pkg::sched_cfg_t cfg_i,
  input  logic [63:0] now_i,           // ns
  // From doorbell_intake; always taken
  input  logic ring_i,
  input  logic [9:0] ring_qpn_i,
  // To wqe_fetch_engine
  output logic grant_valid_o,
  input  logic grant_ready_i,
  output logic [9:0] grant_qpn_o,
  // From tx_segmenter: the QP's turn is over; always taken
  input  logic release_i,
  input  rnic_pkg::turn_end_t turn_end_i,
  output logic others_o,               // other QPs wait for the one whose turn it is
  // What waits for the link
  input  logic hungry_i,               // little: turns may be longer than a packet
  input  logic starving_i,             // next to nothing: rounds may end early
  input  logic [7:0] prio_ready_i,     // a QP of this priority may be granted
  // CmdQpModify: what is remembered of the QP is forgotten
  input  logic clear_i,
  input  logic [9:0] clear_qpn_i,
  // Congestion control: tokens
  input  logic rate_valid_i,
  input  rnic_pkg::rate_token_t rate_i,
  // Observation
  output logic stat_coalesced_o,
  output logic timer_valid_o,          // earliest time at which a throttled QP may go on
  output logic [63:0] timer_deadline_o,
  output logic idle_o                  // nothing changes until the timer's end: no QP waits or is handed out but throttled ones
);
  localparam int unsigned NumQp = rnic_pkg::NumQp;
  localparam int unsigned QpnW = rnic_pkg::QpnW;
  localparam int unsigned Classes = 9;                 // 8 priorities and the unknown
  localparam logic [3:0] Unknown = 4'd8;
  localparam int unsigned Lists = 8 * Classes;         // a round's list is the round's number modulo 8
  localparam int unsigned RoundW = 16;           // a round long past may pass for one to come, which does no harm
  localparam int unsigned DefW = 23;
  localparam logic [DefW-1:0] Quantum = 23'd1056;      // four are no less than the longest frame

  // ==== Events: who is busy ==========================================================================================
  logic [NumQp-1:0] busy_q, again_q;
  logic [NumQp-1:0] out_q;             // handed out
  logic [QpnW:0] num_busy_q;
  logic grant_valid_q;
  logic [9:0] grant_qpn_q, release_qpn;
  logic grant, ring_new, ring_busy, ring_released, back, done, teaches;

  assign grant_valid_o = grant_valid_q;
  assign grant_qpn_o = grant_qpn_q;
  assign release_qpn = turn_end_i.qpn;
  assign grant = grant_valid_q && grant_ready_i;
  assign ring_new = ring_i && !busy_q[ring_qpn_i];
  assign ring_busy = ring_i && busy_q[ring_qpn_i];
  assign ring_released = ring_i && ring_qpn_i == release_qpn;
  assign back = release_i && (turn_end_i.more || again_q[release_qpn] || ring_released);
  assign done = release_i && !back;
  // A turn that had nothing to do may not have seen the context.
  assign teaches = turn_end_i.more || turn_end_i.bytes != 14'd0;

  // A ring is coalesced when its QP is going to be granted anyway.
  logic ring_granted;
  assign ring_granted = grant && grant_qpn_q == ring_qpn_i;
  assign stat_coalesced_o = ring_busy && ((!out_q[ring_qpn_i] && !ring_granted) ||
    (out_q[ring_qpn_i] && (again_q[ring_qpn_i] || (release_i && ring_released && turn_end_i.more))));

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      busy_q <= '0;
    end else if (ring_new || done) begin
      if (ring_new) busy_q[ring_qpn_i] <= 1'b1;
      if (done) busy_q[release_qpn] <= 1'b0;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      again_q <= '0;
    end else if (ring_busy || grant) begin
      if (grant) again_q[grant_qpn_q] <= 1'b0;
      if (ring_busy) again_q[ring_qpn_i] <= 1'b1;       // wins over a grant at the same edge
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      out_q <= '0;
    end else if (release_i || grant) begin
      if (release_i) out_q[release_qpn] <= 1'b0;
      if (grant) out_q[grant_qpn_q] <= 1'b1;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) num_busy_q <= '0;
    else if (ring_new != done) num_busy_q <= ring_new ? num_busy_q + 1'b1 : num_busy_q - 1'b1;
  end

  // ==== What is remembered of a QP ===================================================================================
  logic [NumQp-1:0] known_q;           // priority and weight
  logic [NumQp-1:0] fresh_q;           // no turn yet: has a whole quantum; else drr_mem
  logic [NumQp-1:0] limited;
  logic [2:0] prio_mem [NumQp];
  logic [DefW-1:0] quantum_mem [NumQp];
  logic [DefW-1:0] drr_mem [NumQp];    // deficit counter
  logic [RoundW+3:0] place_mem [NumQp];              // class and round it goes to
  logic [RoundW+4:0] granted_mem [NumQp];            // from a list, class and round of its latest grant

  // ==== Rings that can't pass at once wait ==========================================================================
  logic ringq_valid, ringq_pop, ringq_room, ring_pass;
  logic [9:0] ringq_qpn;
  logic [QpnW:0] ringq_fill;
  fifo #(.Width(QpnW), .Depth(NumQp)) u_rings (
    .clk_i, .rst_ni,
    .wr_valid_i(ring_new && !ring_pass), .wr_ready_o(ringq_room), .wr_data_i(ring_qpn_i),
    .rd_valid_o(ringq_valid), .rd_ready_i(ringq_pop), .rd_data_o(ringq_qpn),
    .fill_o(ringq_fill)
  );

  // ==== A: one QP a cycle; a turn's end first =======================================================================
  localparam logic [1:0] KindTurn = 2'd0;
  localparam logic [1:0] KindRing = 2'd1;
  localparam logic [1:0] KindFree = 2'd2;              // from the rate limiter

  logic free_valid, free_ready, release_pass;
  logic [9:0] free_qpn;
  logic a_valid_q, a_back_q, a_pass_q, a_teach_q;
  logic [1:0] a_kind_q;
  logic [9:0] a_qpn_q;
  rnic_pkg::turn_end_t a_turn_q;
  logic [DefW-1:0] a_quantum_q;
  logic [RoundW+4:0] a_granted_q;      // read here: the QP may pass and be granted anew at this edge
  logic a_fresh_q;                     // read here for the depth of the logic
  logic [DefW-1:0] a_deficit_q, a_kept_q;
  logic release_at_b, release_clear;
  logic b_turn;                        // of the next stage: it is about to write the QP's counter
  logic [9:0] b_qpn_q;
  logic [DefW-1:0] b_left;
  logic [7:0] turn_weight;

  assign free_ready = !release_i;
  assign ringq_pop = !release_i && !free_valid;
  assign release_at_b = b_turn && b_qpn_q == release_qpn;
  assign release_clear = clear_i && clear_qpn_i == release_qpn;
  assign turn_weight = turn_end_i.weight == 8'd0 ? 8'd1 : turn_end_i.weight;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) a_valid_q <= 1'b0;
    else a_valid_q <= release_i || free_valid || ringq_valid;
  end

  always_ff @(posedge clk_i) begin
    if (release_i) begin
      a_kind_q <= KindTurn;
      a_qpn_q <= release_qpn;
      a_turn_q <= turn_end_i;
      a_quantum_q <= {5'b0, turn_weight, 10'b0} + {10'b0, turn_weight, 5'b0};    // Quantum * weight
      a_granted_q <= granted_mem[release_qpn];
      a_fresh_q <= (fresh_q[release_qpn] && !release_at_b) || release_clear;
      a_deficit_q <= release_at_b ? b_left : drr_mem[release_qpn];
      a_kept_q <= known_q[release_qpn] && !release_clear ? quantum_mem[release_qpn] : Quantum;
      a_back_q <= back;
      a_pass_q <= release_pass;
      a_teach_q <= teaches && !release_clear;
    end else if (free_valid || ringq_valid) begin
      a_kind_q <= free_valid ? KindFree : KindRing;
      a_qpn_q <= free_valid ? free_qpn : ringq_qpn;
    end
  end

  logic a_turn, a_learn, a_known;
  logic [3:0] a_class;
  logic [DefW-1:0] a_quantum;
  assign a_turn = a_valid_q && a_kind_q == KindTurn;
  assign a_learn = a_turn && a_teach_q && !(clear_i && clear_qpn_i == a_qpn_q);
  assign a_known = known_q[a_qpn_q];
  assign a_class = a_learn ? {1'b0, a_turn_q.prio} : a_known ? {1'b0, prio_mem[a_qpn_q]} : Unknown;
  assign a_quantum = a_learn ? a_quantum_q : a_kept_q;

  always_ff @(posedge clk_i) begin
    if (a_learn) prio_mem[a_qpn_q] <= a_turn_q.prio;
  end
  always_ff @(posedge clk_i) begin
    if (a_learn) quantum_mem[a_qpn_q] <= a_quantum_q;
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      known_q <= '0;
    end else if (a_learn || clear_i) begin
      if (a_learn) known_q[a_qpn_q] <= 1'b1;
      if (clear_i) known_q[clear_qpn_i] <= 1'b0;
    end
  end

  // ==== B: where it goes =============================================================================================
  logic b_valid_q, b_back_q, b_pass_q, b_from_list_q;
  logic [1:0] b_kind_q;
  logic [13:0] b_bytes_q;
  logic [3:0] b_class_q, b_granted_class_q, b_place_class_q;
  logic [RoundW-1:0] b_granted_round_q, b_place_q;
  logic [DefW-1:0] b_quantum_q, b_deficit_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) b_valid_q <= 1'b0;
    else b_valid_q <= a_valid_q;
  end

  always_ff @(posedge clk_i) begin
    if (a_valid_q) begin
      b_kind_q <= a_kind_q;
      b_qpn_q <= a_qpn_q;
      b_class_q <= a_class;
      b_quantum_q <= a_quantum;
      {b_place_class_q, b_place_q} <= place_mem[a_qpn_q];
      if (a_turn) begin
        {b_from_list_q, b_granted_class_q, b_granted_round_q} <= a_granted_q;
        b_back_q <= a_back_q;
        b_pass_q <= a_pass_q;
        b_bytes_q <= a_turn_q.bytes;
        b_deficit_q <= (a_fresh_q ? a_quantum : a_deficit_q) - {{(DefW-14){1'b0}}, a_turn_q.bytes};
      end
    end
  end

  logic [RoundW-1:0] base_q [Classes];               // this round
  logic [RoundW-1:0] b_base, b_ahead, b_target;
  logic b_limited, b_same, b_goes, b_pass, b_put;
  logic [2:0] b_rounds;                // quanta that it gets
  logic [2:0] b_steps;                 // rounds from this one to its
  logic [DefW-1:0] b_sum1, b_sum2, b_sum3, b_sum4;
  assign b_turn = b_valid_q && b_kind_q == KindTurn;
  assign b_limited = limited[b_qpn_q];
  assign b_base = base_q[b_class_q];
  assign b_ahead = (b_turn ? b_granted_round_q : b_place_q) - b_base;
  assign b_same = (b_turn ? b_granted_class_q : b_place_class_q) == b_class_q && b_class_q != Unknown;
  assign b_sum1 = b_deficit_q + b_quantum_q;
  assign b_sum2 = b_deficit_q + {b_quantum_q[DefW-2:0], 1'b0};
  assign b_sum3 = b_sum1 + {b_quantum_q[DefW-2:0], 1'b0};
  assign b_sum4 = b_deficit_q + {b_quantum_q[DefW-3:0], 2'b0};

  always_comb begin
    b_rounds = 3'd4;
    b_left = b_sum4;
    if (!b_deficit_q[DefW-1] && b_deficit_q != '0) begin
      b_rounds = 3'd0;
      b_left = b_deficit_q;
    end else if (!b_sum1[DefW-1] && b_sum1 != '0) begin
      b_rounds = 3'd1;
      b_left = b_sum1;
    end else if (!b_sum2[DefW-1] && b_sum2 != '0) begin
      b_rounds = 3'd2;
      b_left = b_sum2;
    end else if (!b_sum3[DefW-1] && b_sum3 != '0) begin
      b_rounds = 3'd3;
      b_left = b_sum3;
    end
  end

  // A round that is over counts as this one, and so does another priority's.
  always_comb begin
    b_steps = 3'd0;
    if (b_turn) b_steps = (b_same && b_ahead <= 16'd3 ? b_ahead[2:0] : 3'd0) + b_rounds;
    else if (b_same && b_ahead <= 16'd7) b_steps = b_ahead[2:0];
  end
  assign b_target = b_base + {{(RoundW-3){1'b0}}, b_steps};

  assign b_goes = b_valid_q && (b_kind_q == KindFree || (!b_limited && (b_kind_q == KindRing || (b_back_q && !b_pass_q))));
  assign b_put = b_goes && !b_pass;    // to its list

  always_ff @(posedge clk_i) begin
    if (b_turn) drr_mem[b_qpn_q] <= b_left;
  end
  always_ff @(posedge clk_i) begin
    if (b_valid_q) place_mem[b_qpn_q] <= {b_class_q, b_target};
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      fresh_q <= '1;
    end else if (b_turn || clear_i) begin
      if (b_turn) fresh_q[b_qpn_q] <= 1'b0;
      if (clear_i) fresh_q[clear_qpn_i] <= 1'b1;
    end
  end

  // ==== Rate limiter =================================================================================================
  logic [QpnW:0] throttled;
  logic limiter_quiet;
  rate_limiter u_rate_limiter (
    .clk_i, .rst_ni, .now_i,
    .cfg_i(a_learn), .cfg_qpn_i(a_qpn_q), .cfg_en_i(a_turn_q.rate_en), .cfg_gap_i(a_turn_q.rate_gap),
    .cfg_burst_i(a_turn_q.rate_burst),
    .limited_o(limited),
    .op_valid_i(b_valid_q && b_limited && b_kind_q != KindFree), .op_qpn_i(b_qpn_q),
    .op_bytes_i(b_turn ? b_bytes_q : 14'd0), .op_back_i(!b_turn || b_back_q),
    .free_valid_o(free_valid), .free_ready_i(free_ready), .free_qpn_o(free_qpn),
    .clear_i, .clear_qpn_i, .rate_valid_i, .rate_i,
    .waiting_o(throttled), .timer_valid_o, .timer_deadline_o, .quiet_o(limiter_quiet)
  );

  // ==== Lists ========================================================================================================
  logic [Lists-1:0] filled;
  logic take;
  logic [6:0] take_list, b_list, out_list;
  logic [9:0] take_qpn;
  assign b_list = {b_class_q, b_target[2:0]};
  qp_lists #(.Lists(Lists), .QpnW(QpnW)) u_lists (
    .clk_i, .rst_ni,
    .put_i(b_put), .put_list_i(b_list), .put_qpn_i(b_qpn_q),
    .take_i(take), .take_list_i(take_list), .take_qpn_o(take_qpn),
    .filled_o(filled)
  );

  // QPs handed out of each list
  logic [QpnW:0] out_mem [Lists];
  logic [Lists-1:0] outs_q;            // not zero
  logic [6:0] close_list;
  logic list_close, hand_out;
  logic [QpnW:0] outs_more, outs_less;
  assign list_close = b_turn && b_from_list_q;
  assign close_list = {b_granted_class_q, b_granted_round_q[2:0]};
  assign hand_out = take || b_pass;
  assign out_list = take ? take_list : b_list;
  assign outs_more = (outs_q[out_list] ? out_mem[out_list] : '0) + 1'b1;
  assign outs_less = out_mem[close_list] - 1'b1;

  always_ff @(posedge clk_i) begin
    if (hand_out && !(list_close && close_list == out_list)) out_mem[out_list] <= outs_more;
    if (list_close && !(hand_out && close_list == out_list)) out_mem[close_list] <= outs_less;
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      outs_q <= '0;
    end else if (hand_out || list_close) begin
      if (list_close) outs_q[close_list] <= outs_less != '0;
      if (hand_out) outs_q[out_list] <= 1'b1;
    end
  end

  // A round ends. Not while a QP comes to the class, which may be for this round.
  logic [Classes-1:0] filled_now, over;
  logic [Classes*2-1:0] first;         // how far the first list with a QP is ahead
  for (genvar c = 0; c < Classes; c++) begin : gen_class
    logic [7:0] lists, outs;           // this round's in bit 0
    assign lists = 8'({filled[8*c +: 8], filled[8*c +: 8]} >> base_q[c][2:0]);
    assign outs = 8'({outs_q[8*c +: 8], outs_q[8*c +: 8]} >> base_q[c][2:0]);
    assign filled_now[c] = lists[3:0] != 4'd0;
    assign first[2*c +: 2] = lists[0] ? 2'd0 : lists[1] ? 2'd1 : lists[2] ? 2'd2 : 2'd3;
    assign over[c] = !(b_goes && b_class_q == 4'(c)) &&
                     ((!lists[0] && !outs[0] && (lists != 8'd0 || outs != 8'd0)) ||
                      (starving_i && !filled_now[c] && lists != 8'd0));
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) base_q[c] <= '0;
      else if (over[c]) base_q[c] <= base_q[c] + 1'b1;
    end
  end

  // ==== Choice of a priority =========================================================================================
  logic [Classes-1:0] ready;
  logic [7:0] eligible, share, paid, best;
  logic [7:0] after;                   // those behind the latest one
  logic refill, sel_valid_q;
  logic [3:0] sel_class, sel_class_q;
  logic [RoundW-1:0] sel_round_q;
  logic [2:0] latest_q;
  logic [7:0] positive, coming;        // deficit counters of priorities; they have QPs, maybe handed out

  assign ready = {1'b1, prio_ready_i};
  assign eligible = filled_now[7:0] & prio_ready_i;
  assign share = eligible & ~cfg_i.strict;
  assign paid = share & positive;
  assign after = 8'hfe << latest_q;
  assign best = (paid & after) != 8'd0 ? paid & after : paid;
  // All that wait have used their share; one that has not and whose QPs are all handed out is waited for.
  assign refill = share != 8'd0 && paid == 8'd0 && (eligible & cfg_i.strict) == 8'd0 &&
                  ((positive & coming & ~cfg_i.strict) == 8'd0 || starving_i);

  always_comb begin
    sel_class = Unknown;
    if (!filled_now[8]) begin
      if ((eligible & cfg_i.strict) != 8'd0) begin
        for (int unsigned c = 0; c < 8; c++) begin
          if (eligible[c] && cfg_i.strict[c]) sel_class = 4'(c);
        end
      end else begin
        for (int unsigned c = 8; c > 0; c--) begin
          if (best[c-1]) sel_class = 4'(c - 1);
        end
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) sel_valid_q <= 1'b0;
    else sel_valid_q <= filled_now[8] || (eligible & cfg_i.strict) != 8'd0 || paid != 8'd0;
  end
  always_ff @(posedge clk_i) begin
    sel_class_q <= sel_class;
    sel_round_q <= base_q[sel_class] + {{(RoundW-2){1'b0}}, first[2*sel_class +: 2]};
  end

  for (genvar c = 0; c < 8; c++) begin : gen_share
    logic signed [23:0] deficit_q;
    logic [7:0] weight;
    logic [23:0] quantum;
    logic charge;
    assign weight = cfg_i.weights[8*c +: 8] == 8'd0 ? 8'd1 : cfg_i.weights[8*c +: 8];
    assign quantum = {4'b0, weight, 12'b0} + {9'b0, weight, 7'b0};
    assign positive[c] = !deficit_q[23] && deficit_q != '0;
    assign coming[c] = prio_ready_i[c] && (filled[8*c +: 8] != 8'd0 || outs_q[8*c +: 8] != 8'd0);
    assign charge = list_close && b_granted_class_q == 4'(c) && !cfg_i.strict[c];
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        deficit_q <= '0;
      end else if (refill) begin
        // One that does not wait keeps no more than a quantum.
        deficit_q <= (positive[c] ? '0 : deficit_q) + quantum - (charge ? {10'b0, b_bytes_q} : '0);
      end else if (charge) begin
        deficit_q <= deficit_q - {10'b0, b_bytes_q};
      end
    end
  end

  // ==== Grant ========================================================================================================
  // Grants stop while those that come back leave no time for the others to come to their lists.
  logic load, hold, quiet, a_puts, b_puts, ring_ready, release_ready;
  logic [3:0] ring_class, release_class, load_class;
  logic [RoundW-1:0] load_round;

  assign load = !grant_valid_q || grant_ready_i;
  assign hold = release_i && (free_valid || ringq_valid);
  assign take_list = {sel_class_q, sel_round_q[2:0]};
  assign take = sel_valid_q && filled[take_list] && load && !hold && ready[sel_class_q];

  // Nothing else waits: straight into the register
  assign a_puts = a_valid_q && !(a_kind_q == KindTurn && (!a_back_q || a_pass_q));
  assign b_puts = b_valid_q && !(b_kind_q == KindTurn && (!b_back_q || b_pass_q));
  assign quiet = load && filled == '0 && !a_puts && !b_puts && !ringq_valid && !free_valid;
  assign ring_class = known_q[ring_qpn_i] ? {1'b0, prio_mem[ring_qpn_i]} : Unknown;
  assign ring_ready = ready[ring_class] && !limited[ring_qpn_i];
  assign ring_pass = ring_new && quiet && ring_ready;
  assign release_class = teaches ? {1'b0, turn_end_i.prio} : known_q[release_qpn] ? {1'b0, prio_mem[release_qpn]} : Unknown;
  assign release_ready = ready[release_class] && !(teaches ? turn_end_i.rate_en : limited[release_qpn]);
  assign release_pass = back && load && num_busy_q == 11'd1 && !ring_new && release_ready;

  // Nobody waits, and from its list it would be granted at once: past the lists
  logic [Classes-1:0] pays;
  assign pays = {1'b1, positive | cfg_i.strict};
  assign b_pass = b_goes && filled == '0 && load && !release_pass && ready[b_class_q] && pays[b_class_q] &&
                  (!b_steps[2] || starving_i);

  logic chosen;
  logic [9:0] load_qpn;
  assign chosen = take || ring_pass || release_pass || b_pass;
  assign load_qpn = ring_pass ? ring_qpn_i : release_pass ? release_qpn : take ? take_qpn : b_qpn_q;
  assign load_class = ring_pass ? ring_class : release_pass ? release_class : take ? sel_class_q : b_class_q;
  assign load_round = take ? sel_round_q : b_pass ? b_target : base_q[load_class];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) grant_valid_q <= 1'b0;
    else if (load) grant_valid_q <= chosen;
  end

  always_ff @(posedge clk_i) begin
    if (chosen) begin
      grant_qpn_q <= load_qpn;
      granted_mem[load_qpn] <= {hand_out, load_class, load_round};
    end
    if (hand_out && load_class != Unknown) latest_q <= load_class[2:0];
  end

  logic [QpnW:0] active;
  assign active = num_busy_q - throttled;
  assign others_o = grant_valid_q || (active > 11'd1 && !hungry_i);
  assign idle_o = active == '0 && !a_valid_q && !b_valid_q && limiter_quiet;

`ifndef SYNTHESIS
  stream_checker #(.Width(10)) u_check_grant (
    .clk_i, .rst_ni, .valid_i(grant_valid_o), .ready_i(grant_ready_i), .data_i(grant_qpn_o)
  );
  ReleaseOfHandedOut : assert property (@(posedge clk_i) disable iff (!rst_ni) release_i |-> out_q[release_qpn]);
  GrantOfWaiting : assert property (@(posedge clk_i) disable iff (!rst_ni)
    grant_valid_q |-> busy_q[grant_qpn_q] && !out_q[grant_qpn_q]);
  OneWayToTheRegister : assert property (@(posedge clk_i) disable iff (!rst_ni)
    {2'b0, take} + {2'b0, ring_pass} + {2'b0, release_pass} + {2'b0, b_pass} <= 3'd1);
  RingsFit : assert property (@(posedge clk_i) disable iff (!rst_ni) ring_new && !ring_pass |-> ringq_room);
`endif
endmodule
