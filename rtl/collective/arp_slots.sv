// SPDX-License-Identifier: Apache-2.0
// Slots of the AllReduce engine: judges each fragment, and remembers what every slot holds: which step and lap of the
// vector (its tag), and which ranks have contributed.
//
//   Free -> Open (first contribution) -> Full (last one) -> Drain (being written) -> Done -> Free (acknowledged)
//
// A fragment takes a free slot that never had a tag or whose latest one is older; into one that is not free it goes when
// the tags are equal and its rank has not contributed. Steps are compared as serial numbers of 16 bits. Only an
// acknowledge of the tag of a done slot frees it, and only a group's new context forgets what a slot was.
//
// Checked fragment at edge n, verdict after edge n + 1; one a cycle, also on the same slot. Acknowledges likewise; they
// stop while ack_stop_i is 1. Within a cycle a fragment is judged before an acknowledge, and that before a result's end.
module arp_slots (
  input  logic clk_i,
  input  logic rst_ni,
  // Fragments, as arp_check has found them
  input  logic chk_valid_i,
  input  logic chk_good_i,
  input  logic [3:0] chk_kind_i,
  input  arp_pkg::areth_t chk_hdr_i,
  input  logic [6:0] chk_lines_i,
  input  logic [9:0] chk_slot_i,
  input  logic [25:0] chk_lap_i,
  input  logic [31:0] chk_pos_i,
  input  logic [11:0] chk_row_i,
  input  logic chk_wide_i,
  input  logic [63:0] chk_members_i,
  // Verdicts
  output logic verdict_o,
  output logic verdict_good_o,                   // it counts
  output logic [3:0] verdict_kind_o,             // it does not: why
  output arp_pkg::areth_t verdict_hdr_o,
  output logic [6:0] verdict_lines_o,            // that stand in the buffer
  output logic verdict_first_o,
  output logic verdict_full_o,                   // last contribution
  output logic [9:0] verdict_slot_o,
  output logic [11:0] verdict_row_o,
  output logic verdict_wide_o,
  // Acknowledges
  input  logic ackc_valid_i,
  input  logic ackc_bad_i,
  input  arp_pkg::arp_ack_t ackc_i,
  input  logic [9:0] ackc_slot_i,
  input  logic [25:0] ackc_lap_i,
  input  logic ack_stop_i,
  output logic ack_done_o,                       // verdict; stays while ack_stop_i is 1
  output logic ack_new_o,                        // its first cycle
  output logic ack_good_o,
  output arp_pkg::arp_ack_t ack_hdr_o,
  // Results: what belongs to a slot, after the edge
  input  logic res_en_i,
  input  logic [9:0] res_slot_i,
  output arp_pkg::areth_t res_hdr_o,             // group, step, chunk, offset, len
  output logic [31:0] res_pos_o,
  output logic [11:0] res_row_o,
  input  logic drain_i,                          // its turn has come
  input  logic [9:0] drain_slot_i,
  input  logic end_i,                            // written, or lost: the slot is done
  input  logic [9:0] end_slot_i,
  output arp_pkg::areth_t end_hdr_o,             // after the edge
  // A slot's accumulators are damaged
  input  logic lose_i,
  input  logic [9:0] lose_slot_i,
  input  logic [9:0] ask_slot_i,
  output logic ask_lost_o,
  // A group has a new context: its slots are forgotten
  input  logic clear_i,
  input  logic [9:0] clear_slot_i,
  // Observation
  output logic [2:0] slot_state_o,               // arp_pkg::Slot*, of the fragment that is judged
  output logic [10:0] slots_used_o,
  output logic [10:0] slots_done_o,
  output logic idle_o
);
  localparam int unsigned NumSlots = arp_pkg::NumSlots;
  localparam int unsigned RecW = 6 + 16 + 16 + 32 + 13 + 32 + 12;     // group, step, chunk, offset, len, pos, row

  logic [NumSlots-1:0] busy_q;                   // not free
  logic [NumSlots-1:0] used_q;                   // has had a tag
  logic [NumSlots-1:0] full_q;                   // busy: has all contributions
  logic [NumSlots-1:0] drain_q;                  // busy: is being written, or done
  logic [NumSlots-1:0] done_q;                   // busy: has been written
  logic [NumSlots-1:0] lost_q;                   // busy: damaged
  logic [41:0] tag_mem [NumSlots];               // step, lap
  logic [63:0] ranks_mem [NumSlots];
  logic [RecW-1:0] rec_mem [NumSlots];

  // ---- Fragments: read, then judge ---------------------------------------------------------------------------------------
  logic j_valid_q, j_good_q, j_wide_q;
  logic [3:0] j_kind_q;
  arp_pkg::areth_t j_hdr_q;
  logic [6:0] j_lines_q;
  logic [9:0] j_slot_q;
  logic [25:0] j_lap_q;
  logic [31:0] j_pos_q;
  logic [11:0] j_row_q;
  logic [63:0] j_members_q, j_ranks_q, ranks, me;
  logic [15:0] j_tag_step_q;
  logic [25:0] j_tag_lap_q;

  logic busy, used, newer, same, first, again, accept, full;
  logic [15:0] ahead;
  assign busy = busy_q[j_slot_q];
  assign used = used_q[j_slot_q];
  assign ahead = j_hdr_q.step - j_tag_step_q;
  assign same = ahead == 16'd0 && j_lap_q == j_tag_lap_q;
  assign newer = ahead == 16'd0 ? j_lap_q > j_tag_lap_q : !ahead[15];
  assign me = 64'd1 << j_hdr_q.rank[5:0];
  assign again = (j_ranks_q & me) != 64'd0;
  assign first = !busy && (!used || newer);
  assign accept = j_valid_q && j_good_q && (busy ? same && !again : first);
  assign ranks = busy ? j_ranks_q | me : me;
  assign full = ranks == j_members_q;

  assign slot_state_o = !busy ? arp_pkg::SlotFree : done_q[j_slot_q] ? arp_pkg::SlotDone :
                        drain_q[j_slot_q] ? arp_pkg::SlotDrain : full_q[j_slot_q] ? arp_pkg::SlotFull : arp_pkg::SlotOpen;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      j_valid_q <= 1'b0;
      verdict_o <= 1'b0;
    end else begin
      j_valid_q <= chk_valid_i;
      verdict_o <= j_valid_q;
    end
  end

  always_ff @(posedge clk_i) begin
    if (chk_valid_i) begin
      {j_good_q, j_kind_q, j_hdr_q, j_lines_q} <= {chk_good_i, chk_kind_i, chk_hdr_i, chk_lines_i};
      {j_slot_q, j_lap_q, j_pos_q, j_row_q} <= {chk_slot_i, chk_lap_i, chk_pos_i, chk_row_i};
      {j_wide_q, j_members_q} <= {chk_wide_i, chk_members_i};
      // the one that is judged now may change the same slot
      if (accept && j_slot_q == chk_slot_i) begin
        {j_tag_step_q, j_tag_lap_q} <= {j_hdr_q.step, j_lap_q};
        j_ranks_q <= ranks;
      end else begin
        {j_tag_step_q, j_tag_lap_q} <= tag_mem[chk_slot_i];
        j_ranks_q <= ranks_mem[chk_slot_i];
      end
    end
    if (accept) begin
      ranks_mem[j_slot_q] <= ranks;
      if (!busy) begin
        tag_mem[j_slot_q] <= {j_hdr_q.step, j_lap_q};
        rec_mem[j_slot_q] <= {j_hdr_q.group[5:0], j_hdr_q.step, j_hdr_q.chunk, j_hdr_q.offset, j_hdr_q.len[12:0], j_pos_q,
                              j_row_q};
      end
    end
    if (j_valid_q) begin
      verdict_good_o <= accept;
      if (!j_good_q) verdict_kind_o <= j_kind_q;
      else if (!busy) verdict_kind_o <= arp_pkg::ArpLate;
      else if (same) verdict_kind_o <= arp_pkg::ArpDuplicate;
      else verdict_kind_o <= newer ? arp_pkg::ArpNoSlot : arp_pkg::ArpLate;
      verdict_hdr_o <= j_hdr_q;
      verdict_lines_o <= j_lines_q;
      verdict_first_o <= !busy;
      verdict_full_o <= accept && full;
      verdict_slot_o <= j_slot_q;
      verdict_row_o <= j_row_q;
      verdict_wide_o <= j_wide_q;
    end
  end

  // ---- Acknowledges ------------------------------------------------------------------------------------------------------------
  // A done slot's tag stays until it is freed, so that it may be read a cycle before.
  logic k_valid_q, k_bad_q, frees, ack_verdict_q, ack_new_q;
  arp_pkg::arp_ack_t k_ack_q;
  logic [9:0] k_slot_q;
  logic [25:0] k_lap_q;
  logic [41:0] k_tag_q;
  assign frees = k_valid_q && !ack_stop_i && !k_bad_q && busy_q[k_slot_q] && done_q[k_slot_q] &&
                 k_tag_q == {k_ack_q.step, k_lap_q};
  assign ack_done_o = ack_verdict_q;
  assign ack_new_o = ack_new_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      k_valid_q <= 1'b0;
      ack_verdict_q <= 1'b0;
      ack_new_q <= 1'b0;
    end else begin
      if (!ack_stop_i) begin
        k_valid_q <= ackc_valid_i;
        ack_verdict_q <= k_valid_q;
      end
      ack_new_q <= k_valid_q && !ack_stop_i;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!ack_stop_i) begin
      if (ackc_valid_i) begin
        {k_bad_q, k_ack_q, k_slot_q, k_lap_q} <= {ackc_bad_i, ackc_i, ackc_slot_i, ackc_lap_i};
        k_tag_q <= tag_mem[ackc_slot_i];
      end
      if (k_valid_q) {ack_good_o, ack_hdr_o} <= {frees, k_ack_q};
    end
  end

  // ---- States of slots ---------------------------------------------------------------------------------------------------------
  logic take;                                    // a slot is taken
  assign take = accept && !busy;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      busy_q <= '0;
    end else if (take || frees || clear_i) begin
      if (frees) busy_q[k_slot_q] <= 1'b0;
      if (take) busy_q[j_slot_q] <= 1'b1;
      if (clear_i) busy_q[clear_slot_i] <= 1'b0;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      used_q <= '0;
    end else if (take || clear_i) begin
      if (take) used_q[j_slot_q] <= 1'b1;
      if (clear_i) used_q[clear_slot_i] <= 1'b0;
    end
  end

  // of a busy slot
  always_ff @(posedge clk_i) begin
    if (verdict_o && verdict_good_o) full_q[verdict_slot_o] <= verdict_full_o;
    if (drain_i) drain_q[drain_slot_i] <= 1'b1;
    if (end_i) done_q[end_slot_i] <= 1'b1;
    if (lose_i) lost_q[lose_slot_i] <= 1'b1;
    if (take) begin
      drain_q[j_slot_q] <= 1'b0;
      done_q[j_slot_q] <= 1'b0;
      lost_q[j_slot_q] <= 1'b0;
    end
  end
  assign ask_lost_o = lost_q[ask_slot_i];

  logic clear_busy, clear_done;
  assign clear_busy = clear_i && busy_q[clear_slot_i];
  assign clear_done = clear_busy && done_q[clear_slot_i];
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      slots_used_o <= 11'd0;
      slots_done_o <= 11'd0;
    end else if (take || frees || end_i || clear_busy) begin
      slots_used_o <= slots_used_o + {10'd0, take} - {10'd0, frees || clear_busy};
      slots_done_o <= slots_done_o + {10'd0, end_i} - {10'd0, frees || clear_done};
    end
  end

  // ---- Results -----------------------------------------------------------------------------------------------------------------
  logic [RecW-1:0] res_q, end_q;
  always_ff @(posedge clk_i) begin
    if (res_en_i) res_q <= rec_mem[res_slot_i];
    if (end_i) end_q <= rec_mem[end_slot_i];
  end
  always_comb begin
    res_hdr_o = '0;
    {res_hdr_o.group[5:0], res_hdr_o.step, res_hdr_o.chunk, res_hdr_o.offset, res_hdr_o.len[12:0], res_pos_o, res_row_o} = res_q;
    end_hdr_o = '0;
    {end_hdr_o.group[5:0], end_hdr_o.step, end_hdr_o.chunk, end_hdr_o.offset, end_hdr_o.len[12:0]} = end_q[RecW-1:44];
  end

  assign idle_o = !j_valid_q && !verdict_o && !k_valid_q && !ack_verdict_q;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      EndOfBusySlot : assert (!end_i || (busy_q[end_slot_i] && !done_q[end_slot_i]));
      ClearedWhileQuiet : assert (!clear_i || idle_o);
    end
  end
`endif
endmodule
