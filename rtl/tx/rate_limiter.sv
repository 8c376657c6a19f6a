// SPDX-License-Identifier: Apache-2.0
// Rate limiter: holds back QPs that have sent more than their rate allows. Token bucket, written as GCRA: each QP has a
// theoretical arrival time TAT in 2^-16 ns.
//
//   charge of b bytes at time t    TAT = max(TAT, t) + b * gap
//   the QP may go on at            TAT - burst * 256 * gap, rounded up to a whole ns
//
// A QP that comes (op_*) is charged; if it wants to go on it leaves through free_*, at once or when its time is there.
// A QP without rate passes uncharged. Tokens (rate_*) pay for 64 B each, before the bucket: a charge takes what it needs
// of them. A QP can have 2^32 - 1 of them. They do not wake a QP that already waits.
//
// One operation takes nine cycles; later ones queue. Waiting QPs stand in a tree that gives the earliest; it lets one
// go every LogN + 2 cycles at most. quiet_o: nothing under way and nobody due; then no edge changes anything, and
// timer_* tell when that ends.
//
// clear_i: rate, tokens and TAT of the QP are forgotten, and if it waits, it may go.
module rate_limiter (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic [63:0] now_i,           // ns
  // What is remembered of a QP's rate
  input  logic cfg_i,
  input  logic [9:0] cfg_qpn_i,
  input  logic cfg_en_i,
  input  logic [31:0] cfg_gap_i,
  input  logic [15:0] cfg_burst_i,
  output logic [rnic_pkg::NumQp-1:0] limited_o,   // QPs with a rate
  // Charges and checks; always taken. One charge without back and one with it may wait of each QP.
  input  logic op_valid_i,
  input  logic [9:0] op_qpn_i,
  input  logic [13:0] op_bytes_i,
  input  logic op_back_i,              // wants to go on
  // QPs that may go on
  output logic free_valid_o,
  input  logic free_ready_i,
  output logic [9:0] free_qpn_o,
  input  logic clear_i,
  input  logic [9:0] clear_qpn_i,
  input  logic rate_valid_i,
  input  rnic_pkg::rate_token_t rate_i,
  output logic [10:0] waiting_o,       // QPs in the tree
  output logic timer_valid_o,
  output logic [63:0] timer_deadline_o,
  output logic quiet_o
);
  localparam int unsigned NsW = 48;    // time in ns, 3 days
  localparam int unsigned TatW = NsW + 16;
  localparam int unsigned OpW = 10 + 14 + 1 + NsW;

  logic [rnic_pkg::NumQp-1:0] limited_q, tat_valid_q, tree_q, tokens_q;
  logic [NsW-1:0] now;
  assign now = now_i[NsW-1:0];
  assign limited_o = limited_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      limited_q <= '0;
    end else if (cfg_i || clear_i) begin
      if (cfg_i) limited_q[cfg_qpn_i] <= cfg_en_i;
      if (clear_i) limited_q[clear_qpn_i] <= 1'b0;
    end
  end

  logic [47:0] rate_mem [rnic_pkg::NumQp];
  always_ff @(posedge clk_i) begin
    if (cfg_i) rate_mem[cfg_qpn_i] <= {cfg_burst_i, cfg_gap_i};
  end

  // ---- Operations wait, with their time ---------------------------------------------------------------------------
  logic opq_ready, opq_valid, opq_pop;
  logic [OpW-1:0] opq;
  logic [11:0] opq_fill;
  fifo #(.Width(OpW), .Depth(2 * rnic_pkg::NumQp)) u_ops (
    .clk_i, .rst_ni,
    .wr_valid_i(op_valid_i), .wr_ready_o(opq_ready), .wr_data_i({now, op_back_i, op_bytes_i, op_qpn_i}),
    .rd_valid_o(opq_valid), .rd_ready_i(opq_pop), .rd_data_o(opq),
    .fill_o(opq_fill)
  );

  // ---- One operation after the other -------------------------------------------------------------------------------
  localparam logic [3:0] StIdle = 4'd0;
  localparam logic [3:0] StRead = 4'd1;
  localparam logic [3:0] StLeft = 4'd2;
  localparam logic [3:0] StTokens = 4'd3;
  localparam logic [3:0] StMultiply = 4'd4;
  localparam logic [3:0] StSum = 4'd5;
  localparam logic [3:0] StCharge = 4'd6;
  localparam logic [3:0] StAllow = 4'd7;
  localparam logic [3:0] StDecide = 4'd8;

  logic [3:0] state_q;
  logic [9:0] qpn_q;
  logic [13:0] bytes_q;
  logic back_q, plain_q;               // plain: no rate, or forgotten meanwhile
  logic [NsW-1:0] time_q;
  logic [TatW-1:0] tat_mem [rnic_pkg::NumQp];
  logic [TatW-1:0] tat_q;
  logic [31:0] gap_q;
  logic [15:0] burst_q;
  logic [31:0] given_q, used_q, tokens_left_q;
  logic tokens_any_q;
  logic [39:0] cost0_q, cost1_q, allow0_q, allow1_q;
  logic [46:0] cost_q;
  logic [55:0] allow_q;
  logic [TatW-1:0] limit_q;
  logic charges_q;

  logic clear_op, clear_tree, pop, due, insert, frees, free_room;
  logic [NsW-1:0] deadline;
  logic [3:0] settle_q;
  logic root_valid, tree_busy;
  logic [9:0] root_idx;
  logic [NsW-1:0] root_key;

  assign clear_op = clear_i && clear_qpn_i == qpn_q;
  assign clear_tree = clear_i && tree_q[clear_qpn_i];
  assign due = root_valid && settle_q == 4'd0 && root_key <= now;
  assign pop = state_q == StIdle && due && !clear_tree;
  assign opq_pop = state_q == StIdle && !due;

  // Rounded up to ns
  assign deadline = limit_q[TatW-1:16] + {{(NsW-1){1'b0}}, limit_q[15:0] != 16'd0};
  assign frees = state_q == StDecide && back_q && (plain_q || clear_op || deadline <= now);
  assign insert = state_q == StDecide && back_q && !frees && !clear_tree;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= StIdle;
      settle_q <= '0;
    end else begin
      unique case (state_q)
        StIdle: if (opq_pop && opq_valid) state_q <= StRead;
        StDecide: if (insert || frees || !back_q) state_q <= StIdle;
        default: state_q <= state_q + 4'd1;
      endcase
      if (pop) settle_q <= 4'd12;
      else if (settle_q != 4'd0) settle_q <= settle_q - 4'd1;
    end
  end

  logic [31:0] given_mem [rnic_pkg::NumQp];
  logic [31:0] used_mem [rnic_pkg::NumQp];
  logic [7:0] need;                    // tokens that pay for the whole frame
  logic [7:0] pays;
  logic [TatW-1:0] start;
  assign need = {1'b0, bytes_q[12:6]} + {7'b0, bytes_q[5:0] != 6'd0};
  assign pays = tokens_left_q < {24'b0, need} ? tokens_left_q[7:0] : need;
  assign start = !charges_q || tat_q[TatW-1:16] >= time_q ? tat_q : {time_q, 16'b0};

  always_ff @(posedge clk_i) begin
    unique case (state_q)
      StIdle: if (opq_pop && opq_valid) begin
        {time_q, back_q, bytes_q, qpn_q} <= opq;
        plain_q <= clear_i && clear_qpn_i == opq[9:0];
      end
      StRead: begin
        tat_q <= tat_valid_q[qpn_q] ? tat_mem[qpn_q] : '0;
        {burst_q, gap_q} <= rate_mem[qpn_q];
        given_q <= given_mem[qpn_q];
        used_q <= used_mem[qpn_q];
        tokens_any_q <= tokens_q[qpn_q];
        charges_q <= bytes_q != 14'd0;
        plain_q <= plain_q || clear_op || !limited_q[qpn_q];
      end
      StLeft: tokens_left_q <= tokens_any_q ? given_q - used_q : '0;
      StTokens: begin
        bytes_q <= pays == need ? '0 : bytes_q - {pays, 6'b0};
        charges_q <= pays != need;
      end
      StMultiply: begin
        cost0_q <= {33'b0, bytes_q[6:0]} * {8'b0, gap_q};
        cost1_q <= {33'b0, bytes_q[13:7]} * {8'b0, gap_q};
        allow0_q <= {32'b0, burst_q[7:0]} * {8'b0, gap_q};
        allow1_q <= {32'b0, burst_q[15:8]} * {8'b0, gap_q};
      end
      StSum: begin
        cost_q <= {7'b0, cost0_q} + {cost1_q, 7'b0};
        allow_q <= {8'b0, allow0_q, 8'b0} + {allow1_q, 16'b0};
        tat_q <= start;
      end
      StCharge: tat_q <= tat_q + {{(TatW-47){1'b0}}, cost_q};
      StAllow: limit_q <= tat_q < {{(TatW-56){1'b0}}, allow_q} ? '0 : tat_q - {{(TatW-56){1'b0}}, allow_q};
      default: ;
    endcase
    if (state_q != StIdle && state_q != StRead && clear_op) plain_q <= 1'b1;
  end

  always_ff @(posedge clk_i) begin
    if (state_q == StAllow) tat_mem[qpn_q] <= tat_q;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      tat_valid_q <= '0;
    end else if (state_q == StAllow || clear_i) begin
      if (state_q == StAllow && charges_q && !plain_q) tat_valid_q[qpn_q] <= 1'b1;
      if (clear_i) tat_valid_q[clear_qpn_i] <= 1'b0;
    end
  end

  // ---- Tokens: given and used modulo 2^32, so that each memory has one writer --------------------------------------
  // Two steps: read, with what the one before it is about to write; then add.
  logic read_valid_q, add_valid_q, add_now;
  rnic_pkg::rate_token_t read_q, add_q;
  logic [31:0] base_q, sum;
  assign sum = base_q + {16'b0, add_q.tokens};
  assign add_now = add_valid_q && !(clear_i && clear_qpn_i == add_q.qpn);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      read_valid_q <= 1'b0;
      add_valid_q <= 1'b0;
    end else if (rate_valid_i || read_valid_q || add_valid_q) begin
      read_valid_q <= rate_valid_i && !(clear_i && clear_qpn_i == rate_i.qpn);
      add_valid_q <= read_valid_q && !(clear_i && clear_qpn_i == read_q.qpn);
    end
  end

  always_ff @(posedge clk_i) begin
    if (rate_valid_i) read_q <= rate_i;
    if (read_valid_q) begin
      add_q <= read_q;
      if (add_now && add_q.qpn == read_q.qpn) base_q <= sum;
      else base_q <= tokens_q[read_q.qpn] ? given_mem[read_q.qpn] : used_mem[read_q.qpn];
    end
    if (add_now) given_mem[add_q.qpn] <= sum;
  end

  always_ff @(posedge clk_i) begin
    if (state_q == StTokens && !plain_q && tokens_left_q != '0) used_mem[qpn_q] <= used_q + {24'b0, pays};
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      tokens_q <= '0;
    end else if (add_now || clear_i) begin
      if (add_now) tokens_q[add_q.qpn] <= 1'b1;
      if (clear_i) tokens_q[clear_qpn_i] <= 1'b0;
    end
  end

  // ---- Those that wait ----------------------------------------------------------------------------------------------
  // After a QP has been let go the root shows it until its leaf's change has climbed up. A cleared one is due at once.
  logic [10:0] waiting_q, free_fill;

  deadline_tree #(.LogN(10), .KeyW(NsW)) u_tree (
    .clk_i, .rst_ni,
    .set_i(clear_tree || insert || pop),
    .set_idx_i(clear_tree ? clear_qpn_i : insert ? qpn_q : root_idx),
    .set_valid_i(clear_tree || insert),
    .set_key_i(clear_tree ? '0 : deadline),
    .root_valid_o(root_valid), .root_idx_o(root_idx), .root_key_o(root_key),
    .busy_o(tree_busy)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      tree_q <= '0;
      waiting_q <= '0;
    end else if (insert || pop) begin
      if (insert) tree_q[qpn_q] <= 1'b1;
      else tree_q[root_idx] <= 1'b0;
      waiting_q <= insert ? waiting_q + 11'd1 : waiting_q - 11'd1;
    end
  end

  fifo #(.Width(10), .Depth(rnic_pkg::NumQp)) u_free (
    .clk_i, .rst_ni,
    .wr_valid_i(frees || pop), .wr_ready_o(free_room), .wr_data_i(pop ? root_idx : qpn_q),
    .rd_valid_o(free_valid_o), .rd_ready_i(free_ready_i), .rd_data_o(free_qpn_o),
    .fill_o(free_fill)
  );

  assign waiting_o = waiting_q;
  assign timer_valid_o = root_valid && settle_q == 4'd0 && !tree_busy;
  assign timer_deadline_o = {{(64-NsW){1'b0}}, root_key};
  assign quiet_o = state_q == StIdle && !opq_valid && !free_valid_o && settle_q == 4'd0 && !tree_busy && !due &&
                   !read_valid_q && !add_valid_q;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && op_valid_i) begin
      RoomForOperation : assert (opq_ready);
    end
    if (rst_ni && pop) begin
      PopOfWaiting : assert (tree_q[root_idx]);
    end
    if (rst_ni && (frees || pop)) begin
      RoomForFree : assert (free_room);
    end
  end
`endif
endmodule
