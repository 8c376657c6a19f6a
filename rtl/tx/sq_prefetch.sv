// SPDX-License-Identifier: Apache-2.0
// Prefetch buffer for send queues in host memory. A lookup asks for the WQE at a QP's consumer index; it hits when the
// WQE is here as a whole, and misses otherwise: then its read is under way, and the scheduler is rung for the QP when
// it is worth looking again. No lookup waits for memory.
//
// Entries, chosen by the QPN's low bits, hold a window of up to Blocks blocks of one QP, which reads of up to Chunk
// blocks fill in order. A miss reads as far as the window reaches; each hit reads on as soon as a Chunk, or all that is
// posted, finds room. Nothing at or behind the producer index of the lookup is ever read, so what is here is what
// software had written.
//
// An entry goes to another QP when nothing is in flight for it and its window is used up, or when its owner has left it
// unused for long. Until then the other QPs of that entry are parked. They are called in turn, and the entry is kept for
// a while for the one called. While some are parked the owner gets no further reads. A QP that loses its entry loses no
// WQE: they are read again.
//
// A failed read of several blocks is repeated block by block, so that only the WQE that can't be read fails: its lookup
// hits with the read's status. clear_i throws the QP's entry and all that is in flight for it away.
//
// Latency: lookup to answer 3 cycles, to the read that it starts 4; last payload beat to ring 1. A lookup takes 3 cycles, or
// 4 with a miss, and 1 more for each read that it starts.
module sq_prefetch #(
  parameter int unsigned Entries = 32,         // power of two, 2..512
  parameter int unsigned Blocks = 32,          // of an entry: power of two, at least 8
  parameter int unsigned Chunk = 8,            // blocks of a read: power of two, 4..Blocks/2
  parameter int unsigned MaxReads = 32         // reads under way: power of two
) (
  input  logic clk_i,
  input  logic rst_ni,
  // Lookups; answers in order
  input  logic pf_req_valid_i,
  output logic pf_req_ready_o,
  input  logic [9:0] pf_req_qpn_i,
  input  logic [15:0] pf_req_idx_i,    // block index of the WQE
  input  logic [15:0] pf_req_pi_i,     // producer index, not equal to it
  input  logic [63:0] pf_req_base_i,   // of the ring: I/O address, 64 B aligned
  input  logic [3:0] pf_req_log_size_i,
  output logic pf_rsp_valid_o,
  input  logic pf_rsp_ready_i,
  output logic pf_rsp_hit_o,
  output logic [2:0] pf_rsp_status_o,  // with a hit; not DmaOk: the WQE can't be read
  output logic [2047:0] pf_rsp_data_o, // with a hit: four blocks from the index on, valid as far as the WQE reaches
  // QP to be scheduled again
  output logic ring_valid_o,
  input  logic ring_ready_i,
  output logic [9:0] ring_qpn_o,
  // Reads of host memory
  output logic rd_valid_o,
  input  logic rd_ready_i,
  output rnic_pkg::rd_req_t rd_o,
  input  logic pay_valid_i,
  output logic pay_ready_o,
  input  rnic_pkg::payload_t pay_i,
  // CmdQpModify
  input  logic clear_i,
  input  logic [9:0] clear_qpn_i,
  // Observation
  output logic idle_o
);
  localparam int unsigned SlotW = $clog2(Entries);
  localparam int unsigned PosW = $clog2(Blocks);
  localparam int unsigned RowW = SlotW + PosW - 2;     // a row of a bank
  localparam int unsigned TagW = 10 - SlotW;
  localparam int unsigned Sharers = 1 << TagW;         // QPs of one entry
  localparam int unsigned NumW = $clog2(Chunk) + 1;
  localparam int unsigned ReqW = 58 + 10 + 16 + NumW;
  // Visits for which an entry is kept when others want it: for one that has had a WQE, and for one that has been rung for
  // its first. The latter comes, but its turn may be far: thrown out each time it would never get on.
  localparam logic [11:0] Short = 12'd15;
  localparam logic [11:0] Long = 12'd4095;

  if (Entries < 2 || Entries > 512 || Entries != 1 << SlotW) $error("Entries must be a power of two, 2..512");
  if (Blocks < 8 || Blocks != 1 << PosW) $error("Blocks must be a power of two, at least 8");
  if (Chunk < 4 || 2 * Chunk > Blocks || Chunk != 1 << (NumW - 1)) $error("Chunk must be a power of two, 4..Blocks/2");

  localparam logic [2:0] Idle = 3'd0;
  localparam logic [2:0] Look = 3'd1;          // lookup: read the entry and the blocks
  localparam logic [2:0] Decide = 3'd2;        //         answer
  localparam logic [2:0] Issue = 3'd3;         //         start reads, one a cycle
  localparam logic [2:0] Choose = 3'd4;        // visit: of the parked QPs the next one
  localparam logic [2:0] Call = 3'd5;          //        ring it, if it can have the entry

  // The first one behind `last`, or else the first of all; meaningless without one.
  function automatic logic [TagW-1:0] after(input logic [Sharers-1:0] row, input logic [TagW-1:0] last);
    logic [Sharers-1:0] behind, one, one_behind;
    logic [TagW-1:0] first, first_behind;
    begin
      behind = row & ({Sharers{1'b1}} << last << 1);
      one = row & (~row + 1'b1);
      one_behind = behind & (~behind + 1'b1);
      first = '0;
      first_behind = '0;
      for (int t = 0; t < Sharers; t++) begin
        if (one[t]) first = first | t[TagW-1:0];
        if (one_behind[t]) first_behind = first_behind | t[TagW-1:0];
      end
      after = behind == '0 ? first : first_behind;
    end
  endfunction

  // ---- Entries ----------------------------------------------------------------------------------------------------
  // Blocks lo..arr-1 are here, arr..req-1 on their way. All but clear_i act one at a time.
  logic [Entries-1:0] valid_q;
  logic [Entries-1:0] await_q;                 // owner is to be rung when a read arrives
  logic [Entries-1:0] bad_q;                   // a read failed: those behind it are dropped
  logic [3*Entries-1:0] fly_q;                 // reads under way
  logic [12*Entries-1:0] patience_q;           // visits for which the entry is still kept, for its owner or the QP called
  logic [TagW-1:0] tag_mem [Entries];          // owner; without one the QP called
  logic [15:0] lo_mem [Entries];
  logic [15:0] arr_mem [Entries];
  logic [15:0] req_mem [Entries];
  logic [2:0] err_mem [Entries];               // block arr can't be read
  logic [NumW-1:0] narrow_mem [Entries];       // so many more blocks are read one by one
  logic [1023:0] parked_q;                     // {entry, tag}
  logic [Entries-1:0] parked;                  // some QP of the entry

  for (genvar e = 0; e < Entries; e++) begin : gen_parked
    assign parked[e] = |parked_q[Sharers*e +: Sharers];
  end

  // ---- Who acts in this cycle -------------------------------------------------------------------------------------
  // A lookup that hits and has no read to start changes nothing any more: whoever comes next need not wait for Idle.
  logic [2:0] state_q;
  logic open;
  logic scan_turn_q, ring_valid_q;
  logic [9:0] ring_qpn_q;
  logic commit_waits, commit, scan, take, ring_free, rsp_room;
  logic [2:0] rsp_fill;

  assign ring_free = !ring_valid_q || ring_ready_i;
  assign commit_waits = pay_valid_i && pay_i.last;
  assign commit = commit_waits && open && ring_free;
  assign scan = open && !commit_waits && scan_turn_q && |parked;
  assign pf_req_ready_o = open && !commit_waits && rsp_room && !(scan_turn_q && |parked);
  assign take = pf_req_valid_i && pf_req_ready_o;
  assign pay_ready_o = !pay_i.last || (open && ring_free);

  // ---- Lookup -----------------------------------------------------------------------------------------------------
  logic [9:0] q_qpn_q;
  logic [15:0] q_idx_q, q_pi_q;
  logic [57:0] q_base_q;
  logic [15:0] q_mask_q;                       // of an index in the ring
  logic q_dead_q, dead;                        // cleared meanwhile
  logic [SlotW-1:0] q_slot;
  logic [TagW-1:0] q_tag;
  assign q_slot = q_qpn_q[SlotW-1:0];
  assign q_tag = q_qpn_q[9:SlotW];
  assign dead = q_dead_q || (clear_i && clear_qpn_i == q_qpn_q);

  // What the entry says, and the blocks from idx on, each in its bank.
  logic s_valid_q, s_own_q, s_used_q;          // used: its window is used up, and no failed read is being repeated
  logic s_others_q;                            // other QPs are parked
  logic [2:0] s_fly_q, s_err_q;
  logic s_patient_q;
  logic [NumW-1:0] s_narrow_q;
  logic [15:0] s_left_q;                       // pi - idx
  logic [15:0] s_reach_q;                      // req - idx
  logic [15:0] s_window_q;                     // req - lo
  logic [15:0] s_out_q;                        // req - arr
  logic [PosW:0] s_here_q;                     // arr - idx, if idx is before arr
  logic [511:0] s_bank0_q, s_bank1_q, s_bank2_q, s_bank3_q;

  logic own, before_arr, complete, hit, failed, missing, give_up, take_over, park;
  logic [7:0] ds;
  logic [6:0] ds_blocks;
  logic [2:0] size, need;
  logic [PosW:0] here;

  always_comb begin
    unique case (q_idx_q[1:0])
      2'd0: ds = s_bank0_q[63:56];
      2'd1: ds = s_bank1_q[63:56];
      2'd2: ds = s_bank2_q[63:56];
      default: ds = s_bank3_q[63:56];
    endcase
  end
  assign ds_blocks = {1'b0, ds[7:2]} + {6'b0, ds[1:0] != 2'd0};
  assign size = ds_blocks == 7'd0 ? 3'd1 : ds_blocks > 7'd4 ? 3'd4 : ds_blocks[2:0];
  assign need = s_left_q < {13'b0, size} ? s_left_q[2:0] : size;
  assign own = s_valid_q && s_own_q && s_reach_q <= s_window_q;
  assign before_arr = s_reach_q >= s_out_q;
  assign here = before_arr ? s_here_q : '0;
  assign complete = here >= (PosW + 1)'(need);
  assign hit = own && complete;
  assign failed = own && !complete && before_arr && s_err_q != 3'd0;
  assign missing = own && !complete && !failed;
  assign give_up = missing && s_fly_q == 3'd0 && s_narrow_q == '0 && s_others_q;
  assign take_over = !own && s_fly_q == 3'd0 &&
                     (!s_valid_q && s_patient_q ? s_own_q :
                      !s_others_q && (!s_valid_q || s_own_q || s_used_q || !s_patient_q));
  assign park = give_up || (!own && !take_over);

  // ---- Reads that a lookup starts ---------------------------------------------------------------------------------
  logic i_miss_q;                              // the WQE is not here
  logic [2:0] i_fly_q;
  logic [15:0] i_from_q;                       // next block to be read
  logic [PosW:0] i_used_q;                     // blocks from the window's start to there
  logic [15:0] i_left_q;                       // to the producer index; 0 when it is passed already
  logic [NumW-1:0] i_narrow_q;
  logic i_stop_q;                              // nothing more can be read now
  logic [15:0] ring_left;                      // to its end
  logic [PosW:0] room;
  logic [NumW-1:0] num, most;
  logic i_must, i_go, i_done, fly_room, rd_room;
  logic [57:0] i_block;

  assign ring_left = q_mask_q & ~i_from_q;     // less one
  assign room = (PosW + 1)'(Blocks) - i_used_q;
  assign most = i_narrow_q != '0 ? NumW'(1) : ring_left >= 16'(Chunk) ? NumW'(Chunk) : ring_left[NumW-1:0] + 1'b1;
  assign num = i_left_q < 16'(most) ? i_left_q[NumW-1:0] : most;
  // The whole of the longest WQE, or it might be thrown out in part again and again.
  assign i_must = i_miss_q && (i_fly_q == 3'd0 || (i_used_q < (PosW + 1)'(4) && i_narrow_q == '0));
  assign i_go = state_q == Issue && !i_stop_q && num != '0 && (PosW + 1)'(num) <= room && i_fly_q != 3'd7 && fly_room &&
                (i_must || (!s_others_q && i_narrow_q == '0));
  assign i_done = state_q == Issue && !i_go;
  assign open = state_q == Idle || (i_done && !i_miss_q);
  assign i_block = q_base_q + {42'b0, i_from_q & q_mask_q};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) state_q <= Idle;
    else if (take) state_q <= Look;
    else if (scan && parked[scan_q]) state_q <= Choose;
    else begin
      unique case (state_q)
        Look: state_q <= Decide;
        Decide: state_q <= dead || failed || park ? Idle : Issue;
        Issue: if (dead || !i_go) state_q <= Idle;
        Choose: state_q <= Call;
        default: state_q <= Idle;
      endcase
    end
  end

  always_ff @(posedge clk_i) begin
    if (take) begin
      q_qpn_q <= pf_req_qpn_i;
      q_idx_q <= pf_req_idx_i;
      q_pi_q <= pf_req_pi_i;
      q_base_q <= pf_req_base_i[63:6];
      q_mask_q <= 16'hFFFF >> (4'd15 - pf_req_log_size_i) >> 1;
    end
    if (take) q_dead_q <= clear_i && clear_qpn_i == pf_req_qpn_i;
    else if (state_q != Idle) q_dead_q <= dead;

    if (state_q == Look) begin : look
      logic [15:0] req, arr;
      logic [Sharers-1:0] row;
      req = req_mem[q_slot];
      arr = arr_mem[q_slot];
      row = parked_q[{q_slot, {TagW{1'b0}}} +: Sharers];
      row[q_tag] = 1'b0;
      s_valid_q <= valid_q[q_slot];
      s_own_q <= tag_mem[q_slot] == q_tag;
      s_others_q <= |row;
      s_fly_q <= fly_q[3*q_slot +: 3];
      s_err_q <= err_mem[q_slot];
      s_narrow_q <= narrow_mem[q_slot];
      s_patient_q <= patience_q[12*q_slot +: 12] != '0;
      s_used_q <= req == lo_mem[q_slot] && err_mem[q_slot] == '0 && narrow_mem[q_slot] == '0;
      s_left_q <= q_pi_q - q_idx_q;
      s_reach_q <= req - q_idx_q;
      s_window_q <= req - lo_mem[q_slot];
      s_out_q <= req - arr;
      s_here_q <= arr[PosW:0] - q_idx_q[PosW:0];
    end

    if (state_q == Decide) begin
      i_miss_q <= !hit;
      i_fly_q <= s_fly_q;
      if (own) begin
        // With a hit the window starts behind the WQE, which has left the buffer.
        i_from_q <= q_idx_q + s_reach_q;
        i_used_q <= s_reach_q[PosW:0] - (hit ? (PosW + 1)'(need) : '0);
        i_left_q <= s_left_q > s_reach_q ? s_left_q - s_reach_q : '0;
        i_narrow_q <= s_narrow_q;
        i_stop_q <= bad_q[q_slot] || s_err_q != 3'd0;
      end else begin
        i_from_q <= q_idx_q;
        i_used_q <= '0;
        i_left_q <= s_left_q;
        i_narrow_q <= '0;
        i_stop_q <= 1'b0;
      end
    end else if (i_go) begin
      i_fly_q <= i_fly_q + 3'd1;
      i_from_q <= i_from_q + 16'(num);
      i_used_q <= i_used_q + (PosW + 1)'(num);
      i_left_q <= i_left_q - 16'(num);
    end
  end

  // ---- Reads under way --------------------------------------------------------------------------------------------
  logic fly_valid, rd_queued;
  logic [SlotW-1:0] f_slot;
  logic [NumW-1:0] f_num;
  logic [$clog2(MaxReads):0] fly_fill, rd_fill;
  logic [57:0] rd_block;
  logic [9:0] rd_qpn;
  logic [15:0] rd_idx;
  logic [NumW-1:0] rd_num;

  fifo #(.Width(SlotW + NumW), .Depth(MaxReads)) u_fly (
    .clk_i, .rst_ni,
    .wr_valid_i(i_go),
    .wr_ready_o(fly_room),
    .wr_data_i({q_slot, num}),
    .rd_valid_o(fly_valid),
    .rd_ready_i(commit),
    .rd_data_o({f_slot, f_num}),
    .fill_o(fly_fill)
  );

  fifo #(.Width(ReqW), .Depth(MaxReads)) u_rd (
    .clk_i, .rst_ni,
    .wr_valid_i(i_go),
    .wr_ready_o(rd_room),
    .wr_data_i({i_block, q_qpn_q, i_from_q, num}),
    .rd_valid_o(rd_queued),
    .rd_ready_i(rd_ready_i),
    .rd_data_o({rd_block, rd_qpn, rd_idx, rd_num}),
    .fill_o(rd_fill)
  );

  assign rd_valid_o = rd_queued;
  always_comb begin
    rd_o = '0;
    rd_o.addr = {rd_block, 6'b0};
    rd_o.len = 13'({rd_num, 6'b0});
    rd_o.op.qpn = rd_qpn;
    rd_o.op.wqe = rd_idx;
  end

  // ---- Blocks, in four banks by the index's low bits --------------------------------------------------------------
  logic [NumW-1:0] beat_q;                     // of the read that arrives
  logic fill_beat;
  logic [PosW-1:0] w_idx;
  assign w_idx = arr_mem[f_slot][PosW-1:0] + PosW'(beat_q);
  assign fill_beat = pay_valid_i && pay_ready_o && pay_i.status == rnic_pkg::DmaOk && valid_q[f_slot] && !bad_q[f_slot];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) beat_q <= '0;
    else if (pay_valid_i && pay_ready_o) beat_q <= pay_i.last ? '0 : beat_q + 1'b1;
  end

  for (genvar b = 0; b < 4; b++) begin : gen_bank
    localparam logic [1:0] B = b;
    logic [511:0] mem [1 << RowW];
    logic [511:0] read;
    always_ff @(posedge clk_i) begin
      if (fill_beat && w_idx[1:0] == B) mem[{f_slot, w_idx[PosW-1:2]}] <= pay_i.data;
      if (state_q == Look) begin : row
        logic [15:0] idx;
        idx = q_idx_q + {14'b0, B - q_idx_q[1:0]};
        read <= mem[{q_slot, idx[PosW-1:2]}];
      end
    end
  end
  assign s_bank0_q = gen_bank[0].read;
  assign s_bank1_q = gen_bank[1].read;
  assign s_bank2_q = gen_bank[2].read;
  assign s_bank3_q = gen_bank[3].read;

  // ---- Changes of the entries -------------------------------------------------------------------------------------
  // Besides lookups: the arrival of a read, and visits of the entries, one after the other, to ring a parked QP.
  logic [SlotW-1:0] scan_q;
  logic [SlotW-1:0] c_slot;
  logic n_valid_q, n_still_q, n_patient_q, n_used_q, n_dead_q, n_call, n_act;
  logic [Sharers-1:0] n_row_q;
  logic [TagW-1:0] n_last_q, n_tag_q;
  assign c_slot = clear_qpn_i[SlotW-1:0];
  assign n_act = state_q == Call && !n_dead_q && !(clear_i && c_slot == scan_q) && n_still_q;
  assign n_call = n_act && ring_free && fly_room && (!n_patient_q || (n_valid_q && n_used_q));

  always_ff @(posedge clk_i) begin
    if (scan) begin
      n_row_q <= parked_q[{scan_q, {TagW{1'b0}}} +: Sharers];
      n_last_q <= tag_mem[scan_q];
      n_valid_q <= valid_q[scan_q];
      n_still_q <= fly_q[3*scan_q +: 3] == 3'd0;
      n_patient_q <= patience_q[12*scan_q +: 12] != '0;
      n_used_q <= lo_mem[scan_q] == req_mem[scan_q] && err_mem[scan_q] == '0 && narrow_mem[scan_q] == '0;
    end
    if (scan) n_dead_q <= clear_i && c_slot == scan_q;
    else if (state_q == Choose) n_dead_q <= n_dead_q || (clear_i && c_slot == scan_q);
    if (state_q == Choose) n_tag_q <= after(n_row_q, n_last_q);
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q <= '0;
      await_q <= '0;
      bad_q <= '0;
      fly_q <= '0;
      patience_q <= '0;
      parked_q <= '0;
      scan_turn_q <= 1'b0;
      scan_q <= '0;
      ring_valid_q <= 1'b0;
    end else begin
      if (ring_ready_i) ring_valid_q <= 1'b0;
      if (open && |parked) scan_turn_q <= !scan;

      if (state_q == Decide && !dead) begin
        parked_q[{q_slot, q_tag}] <= park;
        if (hit) patience_q[12*q_slot +: 12] <= Short;
        else if (take_over) patience_q[12*q_slot +: 12] <= Long;
        if (take_over) begin
          valid_q[q_slot] <= 1'b1;
          bad_q[q_slot] <= 1'b0;
        end else if (failed || (park && s_valid_q && s_own_q)) begin
          valid_q[q_slot] <= 1'b0;
          await_q[q_slot] <= 1'b0;
          patience_q[12*q_slot +: 12] <= '0;
        end
      end

      if (i_go) fly_q[3*q_slot +: 3] <= i_fly_q + 3'd1;
      if (i_done && !dead && i_miss_q) begin
        if (i_fly_q != 3'd0) await_q[q_slot] <= 1'b1;
        else parked_q[{q_slot, q_tag}] <= 1'b1;
      end

      if (commit) begin : arrive
        logic live, good, out_last, wake;
        live = valid_q[f_slot];
        good = !bad_q[f_slot] && pay_i.status == rnic_pkg::DmaOk;
        out_last = fly_q[3*f_slot +: 3] == 3'd1;
        wake = live && await_q[f_slot] && (good || out_last) &&
               !(clear_i && clear_qpn_i == {tag_mem[f_slot], f_slot});
        fly_q[3*f_slot +: 3] <= fly_q[3*f_slot +: 3] - 3'd1;
        if (live) patience_q[12*f_slot +: 12] <= Long;
        if (live && !good) bad_q[f_slot] <= !out_last;
        if (wake) begin
          await_q[f_slot] <= 1'b0;
          ring_valid_q <= 1'b1;
        end
      end

      if (state_q == Call || (scan && !parked[scan_q])) scan_q <= scan_q + 1'b1;
      if (n_call) begin
        ring_valid_q <= 1'b1;
        parked_q[{scan_q, n_tag_q}] <= 1'b0;
        valid_q[scan_q] <= 1'b0;
        patience_q[12*scan_q +: 12] <= Long;
      end else if (n_act && n_patient_q) begin
        patience_q[12*scan_q +: 12] <= patience_q[12*scan_q +: 12] - 1'b1;
      end

      if (clear_i) begin
        parked_q[{c_slot, clear_qpn_i[9:SlotW]}] <= 1'b0;
        if (tag_mem[c_slot] == clear_qpn_i[9:SlotW]) begin
          valid_q[c_slot] <= 1'b0;
          await_q[c_slot] <= 1'b0;
          patience_q[12*c_slot +: 12] <= '0;
        end
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (state_q == Decide && !dead) begin
      if (hit) lo_mem[q_slot] <= q_idx_q + {13'b0, need};
      else if (missing || take_over) lo_mem[q_slot] <= q_idx_q;
      if (take_over) begin
        tag_mem[q_slot] <= q_tag;
        arr_mem[q_slot] <= q_idx_q;
        req_mem[q_slot] <= q_idx_q;
        err_mem[q_slot] <= 3'd0;
        narrow_mem[q_slot] <= '0;
      end
    end
    if (i_go) req_mem[q_slot] <= i_from_q + 16'(num);
    if (commit) begin : arrive_window
      logic good;
      good = !bad_q[f_slot] && pay_i.status == rnic_pkg::DmaOk;
      if (valid_q[f_slot]) begin
        if (good) begin
          arr_mem[f_slot] <= arr_mem[f_slot] + 16'(f_num);
          if (narrow_mem[f_slot] != '0) narrow_mem[f_slot] <= narrow_mem[f_slot] - 1'b1;
        end else begin
          if (fly_q[3*f_slot +: 3] == 3'd1) req_mem[f_slot] <= arr_mem[f_slot];
          if (!bad_q[f_slot]) begin
            if (f_num == NumW'(1)) err_mem[f_slot] <= pay_i.status;
            else narrow_mem[f_slot] <= f_num;
          end
        end
      end
      ring_qpn_q <= {tag_mem[f_slot], f_slot};
    end
    if (n_call) begin
      ring_qpn_q <= {n_tag_q, scan_q};
      tag_mem[scan_q] <= n_tag_q;
    end
  end

  assign ring_valid_o = ring_valid_q;
  assign ring_qpn_o = ring_qpn_q;

  // ---- Answers ----------------------------------------------------------------------------------------------------
  logic [2051:0] rsp_mem [4];
  logic [2:0] rsp_wptr_q, rsp_rptr_q;
  assign rsp_fill = rsp_wptr_q - rsp_rptr_q;
  assign rsp_room = !rsp_fill[2];              // one lookup at a time: its place is kept
  assign pf_rsp_valid_o = rsp_fill != '0;
  assign {pf_rsp_hit_o, pf_rsp_status_o, pf_rsp_data_o} = rsp_mem[rsp_rptr_q[1:0]];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      rsp_wptr_q <= '0;
      rsp_rptr_q <= '0;
    end else begin
      if (state_q == Decide) rsp_wptr_q <= rsp_wptr_q + 1'b1;
      if (pf_rsp_valid_o && pf_rsp_ready_i) rsp_rptr_q <= rsp_rptr_q + 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (state_q == Decide) begin : answer
      logic [2047:0] data;
      unique case (q_idx_q[1:0])
        2'd0: data = {s_bank3_q, s_bank2_q, s_bank1_q, s_bank0_q};
        2'd1: data = {s_bank0_q, s_bank3_q, s_bank2_q, s_bank1_q};
        2'd2: data = {s_bank1_q, s_bank0_q, s_bank3_q, s_bank2_q};
        default: data = {s_bank2_q, s_bank1_q, s_bank0_q, s_bank3_q};
      endcase
      rsp_mem[rsp_wptr_q[1:0]] <= {!dead && (hit || failed), hit ? 3'd0 : s_err_q, data};
    end
  end

  assign idle_o = state_q == Idle && !fly_valid && !ring_valid_q && !pf_rsp_valid_o && !(|parked);

`ifndef SYNTHESIS
  assert property (@(posedge clk_i) disable iff (!rst_ni) pf_req_valid_i |-> pf_req_pi_i != pf_req_idx_i);
  assert property (@(posedge clk_i) disable iff (!rst_ni) pf_rsp_valid_o && !pf_rsp_ready_i |=>
                   pf_rsp_valid_o && $stable(pf_rsp_hit_o) && $stable(pf_rsp_status_o));
  assert property (@(posedge clk_i) disable iff (!rst_ni) ring_valid_o && !ring_ready_i |=>
                   ring_valid_o && $stable(ring_qpn_o));
  assert property (@(posedge clk_i) disable iff (!rst_ni) rd_valid_o && !rd_ready_i |=> rd_valid_o && $stable(rd_o));
  assert property (@(posedge clk_i) disable iff (!rst_ni) pay_valid_i |-> fly_valid);
  assert property (@(posedge clk_i) disable iff (!rst_ni) i_go |-> rd_room);
  assert property (@(posedge clk_i) disable iff (!rst_ni) state_q == Decide |-> rsp_room);
  assert property (@(posedge clk_i) disable iff (!rst_ni)
                   pay_valid_i && pay_i.last && pay_i.status == rnic_pkg::DmaOk |-> beat_q + 1'b1 == f_num);
`endif
endmodule
