// SPDX-License-Identifier: Apache-2.0
// QP scheduler: round robin over the QPs that have work. A QP is handed out once at a time: from its grant to its
// release it is busy, and a doorbell in that time is remembered, so that no WQE is lost however the two meet.
//
// Per QP: busy (waiting or handed out) and again (rung since its last grant). Waiting QPs stand in one queue in the
// order in which they came, new ones and returning ones alike, so a QP never waits for more than NumQp - 1 grants.
// The queue is as deep as there are QPs and can't overflow; it has two banks, used in turn, because a new and a
// returning QP can come at the same edge (the new one stands first).
//
// Latency: a ring or a release at edge n is granted from after edge n, when nothing else waits. One grant a cycle.
module qp_scheduler (
  input  logic clk_i,
  input  logic rst_ni,
  // From doorbell_intake; always taken
  input  logic ring_i,
  input  logic [9:0] ring_qpn_i,
  // To wqe_fetch_engine
  output logic grant_valid_o,
  input  logic grant_ready_i,
  output logic [9:0] grant_qpn_o,
  // From tx_segmenter: the QP's turn is over; always taken. more: it knows of further work.
  input  logic release_i,
  input  logic [9:0] release_qpn_i,
  input  logic release_more_i,
  // Observation
  output logic stat_coalesced_o,
  output logic idle_o                  // no QP waiting or handed out
);
  localparam int unsigned PtrW = rnic_pkg::QpnW;

  logic [rnic_pkg::NumQp-1:0] busy_q, again_q;
  logic [rnic_pkg::NumQp-1:0] out_q;             // handed out
  logic [PtrW:0] num_busy_q;

  // ---- Events of this cycle ---------------------------------------------------------------------------------------
  logic grant_valid_q;
  logic [9:0] grant_qpn_q;
  logic grant, ring_new, ring_busy, ring_released, back, done;

  assign grant_valid_o = grant_valid_q;
  assign grant_qpn_o = grant_qpn_q;
  assign grant = grant_valid_q && grant_ready_i;
  assign ring_new = ring_i && !busy_q[ring_qpn_i];
  assign ring_busy = ring_i && busy_q[ring_qpn_i];
  assign ring_released = ring_i && ring_qpn_i == release_qpn_i;
  assign back = release_i && (release_more_i || again_q[release_qpn_i] || ring_released);
  assign done = release_i && !back;

  // A ring is coalesced when its QP is going to be granted anyway.
  logic ring_granted;
  assign ring_granted = grant && grant_qpn_q == ring_qpn_i;
  assign stat_coalesced_o = ring_busy && ((!out_q[ring_qpn_i] && !ring_granted) ||
    (out_q[ring_qpn_i] && (again_q[ring_qpn_i] || (release_i && ring_released && release_more_i))));

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      busy_q <= '0;
    end else if (ring_new || done) begin
      if (ring_new) busy_q[ring_qpn_i] <= 1'b1;
      if (done) busy_q[release_qpn_i] <= 1'b0;
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
      if (release_i) out_q[release_qpn_i] <= 1'b0;
      if (grant) out_q[grant_qpn_q] <= 1'b1;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) num_busy_q <= '0;
    else if (ring_new != done) num_busy_q <= ring_new ? num_busy_q + 1'b1 : num_busy_q - 1'b1;
  end

  assign idle_o = num_busy_q == '0;

  // ---- Queue of waiting QPs, with the one to be granted in a register before it -----------------------------------
  logic [9:0] bank0_mem [rnic_pkg::NumQp/2];
  logic [9:0] bank1_mem [rnic_pkg::NumQp/2];
  logic [PtrW:0] wptr_q, rptr_q, wptr_b;
  logic [9:0] head;
  logic queued, load, pass, put_a, put_b, a_bank, b_bank;

  assign queued = wptr_q != rptr_q;
  assign head = rptr_q[0] ? bank1_mem[rptr_q[PtrW-1:1]] : bank0_mem[rptr_q[PtrW-1:1]];
  assign load = !grant_valid_q || grant_ready_i;
  assign pass = load && !queued;                 // the first to come goes straight into the register
  assign put_a = ring_new && !pass;
  assign put_b = back && !(pass && !ring_new);
  assign wptr_b = wptr_q + {{PtrW{1'b0}}, put_a};
  assign a_bank = wptr_q[0];
  assign b_bank = wptr_b[0];

  always_ff @(posedge clk_i) begin
    if (put_a && !a_bank) bank0_mem[wptr_q[PtrW-1:1]] <= ring_qpn_i;
    else if (put_b && !b_bank) bank0_mem[wptr_b[PtrW-1:1]] <= release_qpn_i;
  end

  always_ff @(posedge clk_i) begin
    if (put_a && a_bank) bank1_mem[wptr_q[PtrW-1:1]] <= ring_qpn_i;
    else if (put_b && b_bank) bank1_mem[wptr_b[PtrW-1:1]] <= release_qpn_i;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      wptr_q <= '0;
      rptr_q <= '0;
      grant_valid_q <= 1'b0;
    end else begin
      if (put_a || put_b) wptr_q <= wptr_b + {{PtrW{1'b0}}, put_b};
      if (load && queued) rptr_q <= rptr_q + 1'b1;
      if (load) grant_valid_q <= queued || ring_new || back;
    end
  end

  always_ff @(posedge clk_i) begin
    if (load && (queued || ring_new || back)) grant_qpn_q <= queued ? head : ring_new ? ring_qpn_i : release_qpn_i;
  end

`ifndef SYNTHESIS
  logic [PtrW:0] fill;
  assign fill = wptr_q - rptr_q;
  stream_checker #(.Width(10)) u_check_grant (
    .clk_i, .rst_ni, .valid_i(grant_valid_o), .ready_i(grant_ready_i), .data_i(grant_qpn_o)
  );
  ReleaseOfHandedOut : assert property (@(posedge clk_i) disable iff (!rst_ni) release_i |-> out_q[release_qpn_i]);
  GrantOfWaiting : assert property (@(posedge clk_i) disable iff (!rst_ni)
    grant_valid_q |-> busy_q[grant_qpn_q] && !out_q[grant_qpn_q]);
  QueueFits : assert property (@(posedge clk_i) disable iff (!rst_ni) fill <= 11'd1024);
  BusyCovers : assert property (@(posedge clk_i) disable iff (!rst_ni) fill <= num_busy_q);
`endif
endmodule
