// SPDX-License-Identifier: Apache-2.0
// Properties of dm_arbiter: one grant at most, to one that asks; nobody waits for more than N-1 others; an answer goes to
// the requester whose read it belongs to. Waiting is watched for one requester, and one read is followed to its answer:
// which, a proof leaves open; simulation takes one after the other.
module arbiter_checker #(
  parameter int unsigned N = 5,
  parameter int unsigned Depth = 64,
  parameter int unsigned ReqW = 606
) (
  input logic clk_i,
  input logic rst_ni,
  input logic [N-1:0] req_valid_i,
  input logic [N-1:0] req_ready_i,
  input logic [N*ReqW-1:0] req_i,
  input logic dm_req_valid_i,
  input logic dm_req_ready_i,
  input logic [ReqW-1:0] dm_req_i,
  input logic dm_rsp_valid_i,
  input logic dm_rsp_last_i,
  input logic [N-1:0] rsp_valid_i,
  // Inside
  input logic [N-1:0] wanted_i,        // asks, and could be served
  input logic [N-1:0] sel_i,
  input logic lock_i,
  input logic [N-1:0] lock_sel_i,
  input logic [N*N-1:0] older_i,
  input logic room_i
);
  localparam int unsigned SelW = (N > 1) ? $clog2(N) : 1;
  localparam int unsigned CountW = $clog2(Depth) + 1;
  localparam int unsigned WaitW = $clog2(N + 1);

  logic accepted, read, answered;
  assign accepted = dm_req_valid_i && dm_req_ready_i;
  assign read = accepted && !dm_req_i[ReqW-1];
  assign answered = dm_rsp_valid_i && dm_rsp_last_i;

  // ---- Waiting ----------------------------------------------------------------------------------------------------
  logic [SelW-1:0] who;                // the watched requester
  logic waits;
  logic [WaitW-1:0] others_q;          // served since it waits
  assign waits = wanted_i[who] && !sel_i[who];
`ifdef FORMAL
  (* anyconst *) logic [SelW-1:0] any_requester;
  assign who = any_requester;
  always_ff @(posedge clk_i) Requester : assume (who < N);
`else
  logic [SelW-1:0] who_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) who_q <= '0;
    else if (accepted && !waits) who_q <= who_q == SelW'(N - 1) ? '0 : who_q + 1'b1;
  end
  assign who = who_q;
`endif

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) others_q <= '0;
    else if (waits && accepted) others_q <= others_q + 1'b1;
    else if (!waits && others_q != '0) others_q <= '0;
  end

  // ---- A read and its answer --------------------------------------------------------------------------------------
  logic start, follow_q;
  logic [SelW-1:0] from, from_q;       // who asked
  logic [CountW-1:0] ahead_q, count_q; // reads before it; reads under way
`ifdef FORMAL
  (* anyseq *) logic choose;
  assign start = read && !follow_q && choose;
`else
  assign start = read && !follow_q;
`endif

  always_comb begin
    from = '0;
    for (int unsigned i = 0; i < N; i++) begin
      if (req_ready_i[i]) from = i[SelW-1:0];
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      follow_q <= 1'b0;
      count_q <= '0;
    end else begin
      if (start) follow_q <= 1'b1;
      else if (follow_q && answered && ahead_q == '0) follow_q <= 1'b0;
      if (read != answered) count_q <= read ? count_q + 1'b1 : count_q - 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (start) from_q <= from;
    if (start) ahead_q <= answered ? count_q - 1'b1 : count_q;
    else if (follow_q && answered) ahead_q <= ahead_q - 1'b1;
  end

  // ---- Rules ------------------------------------------------------------------------------------------------------
  always_ff @(posedge clk_i) begin : rules
    logic same, could;
    same = 1'b1;
    could = 1'b0;
    if (rst_ni && dm_req_valid_i) begin
      for (int unsigned i = 0; i < N; i++) begin
        if (sel_i[i] && dm_req_i != req_i[i*ReqW +: ReqW]) same = 1'b0;
      end
      OneGrant : assert ((sel_i & (sel_i - 1'b1)) == '0);
      OnlyWhoAsks : assert ((sel_i & ~req_valid_i) == '0);
      ItsRequest : assert (same);
      Taken : assert (req_ready_i == (dm_req_ready_i ? sel_i : '0));
      RoomForRoute : assert (!read || room_i);
      NobodyStarves : assert (!waits || others_q < WaitW'(N - 1) || !accepted);
    end
    if (rst_ni && !dm_req_valid_i && req_valid_i != '0) begin
      for (int unsigned i = 0; i < N; i++) begin
        if (req_valid_i[i] && (room_i || req_i[i*ReqW + ReqW-1])) could = 1'b1;
      end
      NotIdle : assert (!could);
    end
    if (rst_ni && dm_rsp_valid_i) begin
      AnswerExpected : assume (count_q != '0);
      RightOne : assert (!follow_q || ahead_q != '0 || rsp_valid_i == N'(1) << from_q);
    end
  end

`ifdef FORMAL
  // What holds besides, for the induction: the order of age is total, and who waits has at most as many before it as
  // may still be served.
  logic [WaitW:0] before;
  logic younger_locked;
  always_comb begin
    before = '0;
    for (int unsigned j = 0; j < N; j++) begin
      if (j[SelW-1:0] != who && older_i[j*N + who]) before = before + 1'b1;
    end
  end
  logic [N-1:0] older_of_who;
  logic total;
  assign younger_locked = lock_i && (lock_sel_i & older_of_who) == '0 && !lock_sel_i[who];
  always_comb begin
    total = 1'b1;
    for (int unsigned a = 0; a < N; a++) begin
      older_of_who[a] = older_i[a*N + who];
      for (int unsigned b = 0; b < N; b++) begin
        if (a != b && older_i[a*N + b] == older_i[b*N + a]) total = 1'b0;
        for (int unsigned c = 0; c < N; c++) begin
          if (a != b && b != c && a != c && older_i[a*N + b] && older_i[b*N + c] && !older_i[a*N + c]) total = 1'b0;
        end
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      TotalOrder : assert (total);
      Patience : assert ({1'b0, others_q} + before + {3'b0, younger_locked} <= N - 1);
      LockedOne : assert (!lock_i || (lock_sel_i != '0 && (lock_sel_i & (lock_sel_i - 1'b1)) == '0));
      LockedAsks : assert (!lock_i || (lock_sel_i & ~req_valid_i) == '0);
      LockedFits : assert (!lock_i || (lock_sel_i & ~wanted_i) == '0);
      Followed : assert (!follow_q || (ahead_q < count_q && from_q < N));
      Reads : assert (count_q <= CountW'(Depth));
      LongestWait : cover (accepted && sel_i[who] && others_q == WaitW'(N - 1));
      RouteFull : cover (!room_i && req_valid_i == '1 && follow_q);
      Routed : cover (follow_q && answered && ahead_q == '0 && from_q == N - 1);
      LockedOut : cover (lock_i && younger_locked && waits);
    end
  end
`endif
endmodule
