// SPDX-License-Identifier: Apache-2.0
// Joins the requesters of device memory: round robin, answers routed back in request order. Requests pass through
// combinationally; up to Depth reads in flight. Requesters always take their answers.
//
// The requester served least recently goes first (round robin when all want), so one whose read had to wait for room
// does not lose its turn to writes that could go on. An offered request stays until the memory takes it. No latency
// of its own in either direction.
module dm_arbiter #(
  parameter int unsigned N = 7,
  parameter int unsigned Depth = 64
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic [N-1:0] req_valid_i,
  output logic [N-1:0] req_ready_o,
  input  logic [N*606-1:0] req_i,      // rnic_pkg::dm_req_t each, requester 0 in the low bits
  output logic [N-1:0] rsp_valid_o,
  output rnic_pkg::dm_rsp_t rsp_o,     // to all; rsp_valid_o names the one
  output logic dm_req_valid_o,
  input  logic dm_req_ready_i,
  output rnic_pkg::dm_req_t dm_req_o,
  input  logic dm_rsp_valid_i,
  input  rnic_pkg::dm_rsp_t dm_rsp_i,
  output logic idle_o
);
  localparam int unsigned ReqW = 606;            // rnic_pkg::dm_req_t
  localparam int unsigned SelW = (N > 1) ? $clog2(N) : 1;

  logic room, route_push;
  logic [N-1:0] wanted, pick, sel, lock_sel_q;
  logic lock_q;                                  // a request is offered and was not taken yet
  logic [N*N-1:0] older_q;                       // [i*N+j]: i was served less recently than j
  logic accepted;

  // ---- Choice -----------------------------------------------------------------------------------------------------
  always_comb begin
    for (int unsigned i = 0; i < N; i++) begin
      wanted[i] = req_valid_i[i] && (room || req_i[i*ReqW + ReqW-1]);    // top bit: write
    end
  end

  always_comb begin
    for (int unsigned i = 0; i < N; i++) begin
      pick[i] = wanted[i];
      for (int unsigned j = 0; j < N; j++) begin
        if (j != i && wanted[j] && older_q[j*N + i]) pick[i] = 1'b0;
      end
    end
  end

  assign sel = lock_q ? lock_sel_q : pick;
  assign accepted = dm_req_valid_o && dm_req_ready_i;
  assign dm_req_valid_o = sel != '0;
  assign req_ready_o = dm_req_ready_i ? sel : '0;

  logic [ReqW-1:0] req;
  logic [SelW-1:0] num;
  always_comb begin
    req = '0;
    num = '0;
    for (int unsigned i = 0; i < N; i++) begin
      if (sel[i]) begin
        req = req_i[i*ReqW +: ReqW];
        num = i[SelW-1:0];
      end
    end
  end
  assign dm_req_o = req;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) lock_q <= 1'b0;
    else lock_q <= dm_req_valid_o && !dm_req_ready_i;
  end

  always_ff @(posedge clk_i) begin
    if (dm_req_valid_o && !dm_req_ready_i && !lock_q) lock_sel_q <= pick;
  end

  for (genvar gi = 0; gi < N; gi++) begin : g_from
    for (genvar gj = 0; gj < N; gj++) begin : g_to
      always_ff @(posedge clk_i or negedge rst_ni) begin
        if (!rst_ni) older_q[gi*N + gj] <= gi < gj;
        else if (accepted && sel[gi]) older_q[gi*N + gj] <= 1'b0;
        else if (accepted && sel[gj]) older_q[gi*N + gj] <= 1'b1;
      end
    end
  end

  // ---- Way back ---------------------------------------------------------------------------------------------------
  logic route_valid;
  logic [$clog2(Depth):0] route_fill;
  logic [SelW-1:0] route;

  assign route_push = accepted && !req[ReqW-1];
  fifo #(.Width(SelW), .Depth(Depth)) u_route (
    .clk_i, .rst_ni,
    .wr_valid_i(route_push), .wr_ready_o(room), .wr_data_i(num),
    .rd_valid_o(route_valid), .rd_ready_i(dm_rsp_valid_i && dm_rsp_i.last), .rd_data_o(route), .fill_o(route_fill)
  );

  always_comb begin
    for (int unsigned i = 0; i < N; i++) begin
      rsp_valid_o[i] = dm_rsp_valid_i && route == i[SelW-1:0];
    end
  end
  assign rsp_o = dm_rsp_i;
  assign idle_o = !route_valid && !lock_q;

`ifndef SYNTHESIS
  for (genvar gk = 0; gk < N; gk++) begin : g_check
    stream_checker #(.Width(ReqW), .Input(1)) u_check_req (
      .clk_i, .rst_ni, .valid_i(req_valid_i[gk]), .ready_i(req_ready_o[gk]), .data_i(req_i[gk*ReqW +: ReqW])
    );
  end
  stream_checker #(.Width(ReqW)) u_check_dm (
    .clk_i, .rst_ni, .valid_i(dm_req_valid_o), .ready_i(dm_req_ready_i), .data_i(dm_req_o)
  );
  arbiter_checker #(.N(N), .Depth(Depth), .ReqW(ReqW)) u_check (
    .clk_i, .rst_ni, .req_valid_i, .req_ready_i(req_ready_o), .req_i, .dm_req_valid_i(dm_req_valid_o), .dm_req_ready_i,
    .dm_req_i(dm_req_o), .dm_rsp_valid_i, .dm_rsp_last_i(dm_rsp_i.last), .rsp_valid_i(rsp_valid_o), .wanted_i(wanted),
    .sel_i(sel), .lock_i(lock_q), .lock_sel_i(lock_sel_q), .older_i(older_q), .room_i(room)
  );
`endif
endmodule
