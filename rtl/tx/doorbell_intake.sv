// SPDX-License-Identifier: Apache-2.0
// Doorbell intake: takes send-queue doorbells and BlueFlame pushes, keeps each QP's producer index, and rings the
// scheduler. Never refuses and never loses one: doorbells of one QP coalesce into its producer index.
//
// A BlueFlame piece goes into a small direct-mapped buffer (BfEntries, by the QPN's low bits). When the WQE is
// complete (its DS field tells whether it is one or two pieces, which come in either order) the push counts as a
// doorbell. A pushed WQE that was overwritten or is incomplete is simply not found later, and the fetch engine reads
// the ring copy instead. A WQE of two pieces that loses its buffer entry to another QP between them rings all the
// same, from a FIFO that the port's idle or non-ringing cycles drain; its other piece is then expected and dropped.
//
// Latency: a doorbell accepted at edge n rings at edge n+1. Throughput: one a cycle.
module doorbell_intake #(
  parameter int unsigned BfEntries = 64
) (
  input  logic clk_i,
  input  logic rst_ni,
  // Doorbells of kind DbSq and DbBf only
  input  logic db_valid_i,
  output logic db_ready_o,
  input  rnic_pkg::doorbell_t db_i,
  // To the scheduler; always taken
  output logic ring_o,
  output logic [9:0] ring_qpn_o,
  // Producer index: read strobe at edge n, data after edge n (read by the fetch engine in the next cycle)
  input  logic pi_re_i,
  input  logic [9:0] pi_qpn_i,
  output logic [15:0] pi_o,
  output logic pi_valid_o,             // 0: no doorbell since reset or since the QP was cleared; pi_o means nothing
  // The same for ctx_query
  input  logic q_re_i,
  input  logic [9:0] q_qpn_i,
  output logic [15:0] q_pi_o,
  output logic q_pi_valid_o,
  // BlueFlame buffer: lookup strobe at edge n, answer after edge n. A hit consumes the entry.
  input  logic bf_re_i,
  input  logic [9:0] bf_qpn_i,
  input  logic [15:0] bf_wqe_i,
  output logic bf_hit_o,
  output logic bf_miss_pushed_o,       // the entry belongs to this QP, but not to this WQE or not complete: fallback
  output logic [1023:0] bf_data_o,
  // CmdQpModify: forget the QP's producer index (the fetch engine takes the context's sq_ci) and BlueFlame entry
  input  logic clear_i,
  input  logic [9:0] clear_qpn_i,
  // Observation
  output logic stat_db_rx_o,
  output logic probe_db_o,
  output logic [9:0] probe_qpn_o,
  output logic [15:0] probe_pi_o,
  output logic idle_o
);
  localparam int unsigned SlotW = $clog2(BfEntries);
  localparam int unsigned BfTagW = 27;           // {need1, index, qpn}

  // ---- The doorbell at the port -----------------------------------------------------------------------------------
  rnic_pkg::doorbell_t db;
  logic sq, push0, push1, one_piece, too_long;
  logic [15:0] db_index;                         // of a piece 0: WQE index and size in 16 B units
  logic [7:0] db_ds;
  logic [15:0] db_pi;

  assign db = db_i;
  assign db_ready_o = 1'b1;
  assign db_index = {db.data[15:8], db.data[23:16]};
  assign db_ds = db.data[63:56];
  assign sq = db_valid_i && db.kind == rnic_pkg::DbSq;
  assign push0 = db_valid_i && db.kind == rnic_pkg::DbBf && !db.piece && db_ds != 8'd0;
  assign push1 = db_valid_i && db.kind == rnic_pkg::DbBf && db.piece;
  assign one_piece = db_ds <= 8'd4;
  assign too_long = db_ds > 8'd8;
  assign db_pi = sq ? db.value[15:0] : db_index + {9'd0, {1'b0, db_ds[7:2]} + {6'd0, db_ds[1:0] != 2'd0}};

  // ---- Producer indices -------------------------------------------------------------------------------------------
  // Written with piece 0 already: an index never waits, so an older one can't overwrite a newer one.
  logic [15:0] pi_mem [rnic_pkg::NumQp];
  logic [rnic_pkg::NumQp-1:0] pi_valid_q;
  logic [15:0] pi_q, q_pi_q;
  logic pi_valid_rd_q, q_pi_valid_q;
  logic pi_we;

  assign pi_we = sq || push0;
  assign pi_o = pi_q;
  assign pi_valid_o = pi_valid_rd_q;
  assign q_pi_o = q_pi_q;
  assign q_pi_valid_o = q_pi_valid_q;

  always_ff @(posedge clk_i) begin
    if (pi_we) pi_mem[db.qpn] <= db_pi;
  end

  always_ff @(posedge clk_i) begin
    if (pi_re_i) pi_q <= pi_mem[pi_qpn_i];
    if (q_re_i) q_pi_q <= pi_mem[q_qpn_i];
  end

  // A doorbell at the same edge as the clear counts as after it.
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      pi_valid_q <= '0;
    end else if (clear_i || pi_we) begin
      if (clear_i) pi_valid_q[clear_qpn_i] <= 1'b0;
      if (pi_we) pi_valid_q[db.qpn] <= 1'b1;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) pi_valid_rd_q <= 1'b0;
    else if (pi_re_i) pi_valid_rd_q <= pi_valid_q[pi_qpn_i];
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) q_pi_valid_q <= 1'b0;
    else if (q_re_i) q_pi_valid_q <= pi_valid_q[q_qpn_i];
  end

  // ---- BlueFlame buffer -------------------------------------------------------------------------------------------
  // Of an entry: which pieces it has, and whether its data may be used (not dead). At one edge a clear acts first, then
  // a lookup, then a piece.
  logic [BfTagW-1:0] tag_mem [BfEntries];
  logic [511:0] data0_mem [BfEntries];
  logic [511:0] data1_mem [BfEntries];
  logic [BfEntries-1:0] valid_q, have0_q, have1_q, dead_q;

  // Per QP: its piece 0 (1) went with an entry that another QP took while the WQE's other piece was still to come.
  logic [rnic_pkg::NumQp-1:0] lost0_q, lost1_q;

  // Clear
  logic [SlotW-1:0] c_slot;
  logic [BfTagW-1:0] c_tag;
  logic c_hit;
  assign c_slot = clear_qpn_i[SlotW-1:0];
  assign c_tag = tag_mem[c_slot];
  assign c_hit = clear_i && valid_q[c_slot] && c_tag[9:0] == clear_qpn_i;

  // Lookup. One that finds its own WQE incomplete makes the entry dead: the ring copy is going to be used, and what
  // stayed here complete could be taken for the WQE that has this index 65536 blocks later.
  logic [SlotW-1:0] l_slot;
  logic [BfTagW-1:0] l_tag;
  logic l_own, l_same, l_open, l_hit, l_kill;
  assign l_slot = bf_qpn_i[SlotW-1:0];
  assign l_tag = tag_mem[l_slot];
  assign l_own = bf_re_i && valid_q[l_slot] && l_tag[9:0] == bf_qpn_i && !(c_hit && c_slot == l_slot);
  assign l_same = l_tag[25:10] == bf_wqe_i;
  assign l_open = !have0_q[l_slot] || (l_tag[26] && !have1_q[l_slot]);
  assign l_hit = l_own && !l_open && !dead_q[l_slot] && l_same;
  assign l_kill = l_own && l_open && (!have0_q[l_slot] || l_same);

  // Piece: the entry as it finds it
  logic [SlotW-1:0] p_slot;
  logic [BfTagW-1:0] p_tag;
  logic p_valid, p_own, p_have0, p_have1, p_open, p_dead, p_lost0, p_lost1;
  assign p_slot = db.qpn[SlotW-1:0];
  assign p_tag = tag_mem[p_slot];
  assign p_valid = valid_q[p_slot] && !(c_hit && c_slot == p_slot) && !(l_hit && l_slot == p_slot);
  assign p_own = p_valid && p_tag[9:0] == db.qpn;
  assign p_have0 = have0_q[p_slot];
  assign p_have1 = have1_q[p_slot];
  assign p_open = p_valid && (!p_have0 || (p_tag[26] && !p_have1));
  assign p_dead = dead_q[p_slot] || (l_kill && l_slot == p_slot);
  assign p_lost0 = lost0_q[db.qpn] && !(clear_i && clear_qpn_i == db.qpn);
  assign p_lost1 = lost1_q[db.qpn] && !(clear_i && clear_qpn_i == db.qpn);

  // ... and as it leaves it
  logic take, first1, joins, n_have0, n_have1, n_dead, evict;
  assign joins = p_own && p_have0 && p_tag[26] && !p_have1;      // a piece 1 completes the entry
  assign first1 = p_own && !p_have0;                             // its piece 1 came before this piece 0
  assign take = push0 || (push1 && !p_lost0);
  assign n_have0 = push0 || joins;
  assign n_have1 = push1 || (!one_piece && (first1 || p_lost1));
  assign n_dead = push0 ? too_long || (!one_piece && (p_lost1 || (first1 && p_dead))) : joins && p_dead;
  assign evict = take && p_open && !p_own;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q <= '0;
      have0_q <= '0;
      have1_q <= '0;
      dead_q <= '0;
    end else if (c_hit || l_hit || l_kill || take) begin
      if (c_hit) valid_q[c_slot] <= 1'b0;
      if (l_hit) valid_q[l_slot] <= 1'b0;
      if (l_kill) dead_q[l_slot] <= 1'b1;
      if (take) begin
        valid_q[p_slot] <= 1'b1;
        have0_q[p_slot] <= n_have0;
        have1_q[p_slot] <= n_have1;
        dead_q[p_slot] <= n_dead;
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      lost0_q <= '0;
      lost1_q <= '0;
    end else if (clear_i || push0 || push1) begin
      if (clear_i) begin
        lost0_q[clear_qpn_i] <= 1'b0;
        lost1_q[clear_qpn_i] <= 1'b0;
      end
      if (push0 || push1) begin
        lost0_q[db.qpn] <= 1'b0;
        lost1_q[db.qpn] <= 1'b0;
      end
      if (evict) begin
        if (p_have0) lost0_q[p_tag[9:0]] <= 1'b1;
        else lost1_q[p_tag[9:0]] <= 1'b1;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (push0) tag_mem[p_slot] <= {!one_piece, db_index, db.qpn};
    else if (take && !joins) tag_mem[p_slot] <= {1'b1, 16'd0, db.qpn};
  end

  always_ff @(posedge clk_i) begin
    if (push0) data0_mem[p_slot] <= db.data;
  end

  always_ff @(posedge clk_i) begin
    if (push1 && take) data1_mem[p_slot] <= db.data;
  end

  logic [1023:0] bf_data_q;
  logic bf_hit_q, bf_miss_pushed_q;
  assign bf_data_o = bf_data_q;
  assign bf_hit_o = bf_hit_q;
  assign bf_miss_pushed_o = bf_miss_pushed_q;

  always_ff @(posedge clk_i) begin
    if (bf_re_i) bf_data_q <= {data1_mem[l_slot], data0_mem[l_slot]};
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      bf_hit_q <= 1'b0;
      bf_miss_pushed_q <= 1'b0;
    end else if (bf_re_i) begin
      bf_hit_q <= l_hit;
      bf_miss_pushed_q <= l_own && !l_hit;
    end
  end

  // ---- Rings ------------------------------------------------------------------------------------------------------
  // Late ones, of WQEs whose entry was taken between their pieces, with the producer index for the probe. Incomplete
  // entries and late rings together are never more than BfEntries, so the FIFO can't overflow.
  logic db_ring, late_valid, late_push, late_pop, late_room;
  logic [25:0] late;
  logic [SlotW:0] late_fill;
  logic [15:0] old_pi;

  assign old_pi = p_tag[25:10] + 16'd2;          // of the entry found, when it is one of two pieces
  assign db_ring = sq || (push0 && (one_piece || too_long || n_have1)) || (push1 && take && joins && !p_dead);
  assign late_push = evict && p_have0 && !p_dead;
  assign late_pop = late_valid && !db_ring;

  fifo #(.Width(26), .Depth(BfEntries)) u_late (
    .clk_i, .rst_ni,
    .wr_valid_i(late_push), .wr_ready_o(late_room), .wr_data_i({old_pi, p_tag[9:0]}),
    .rd_valid_o(late_valid), .rd_ready_i(!db_ring), .rd_data_o(late), .fill_o(late_fill)
  );

  logic ring_q;
  logic [9:0] ring_qpn_q;
  assign stat_db_rx_o = db_ring || late_pop;
  assign probe_db_o = stat_db_rx_o;
  assign probe_qpn_o = db_ring ? db.qpn : late[9:0];
  assign probe_pi_o = !db_ring ? late[25:10] : push1 ? old_pi : db_pi;
  assign ring_o = ring_q;
  assign ring_qpn_o = ring_qpn_q;
  assign idle_o = !ring_q && !late_valid;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) ring_q <= 1'b0;
    else ring_q <= stat_db_rx_o;
  end

  always_ff @(posedge clk_i) begin
    if (stat_db_rx_o) ring_qpn_q <= probe_qpn_o;
  end

`ifndef SYNTHESIS
  stream_checker #(.Width(558)) u_check_db (
    .clk_i, .rst_ni, .valid_i(db_valid_i), .ready_i(db_ready_o), .data_i(db_i)
  );
  OnlySendQueueKinds : assert property (@(posedge clk_i) disable iff (!rst_ni)
    db_valid_i |-> db.kind == rnic_pkg::DbSq || db.kind == rnic_pkg::DbBf);
  LateHasRoom : assert property (@(posedge clk_i) disable iff (!rst_ni) late_push |-> late_room);
`endif
endmodule
