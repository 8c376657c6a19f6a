// SPDX-License-Identifier: Apache-2.0
// Arm state of the completion queues, and interrupt moderation: decides when a CQ raises its MSI-X vector.
//
// A CQ is armed once by DbCqArm {ci, solicited_only} and disarmed when it fires. It fires at once when a CQE of index ci
// or later has been written already. Otherwise CQEs written from then on count: the irq_count-th one (0 counts as 1)
// fires, or the time irq_period us (0: no such limit) after the first of them, whichever comes first. Armed with
// solicited_only, only solicited and error CQEs count. Arming again drops what has been counted; "solicited only" does
// not weaken an arm for every CQE.
//
// note_i comes when the CQE's write and data have been taken by whatever comes next, so that a message sent because of
// it follows the CQE. One operation a cycle: CQEs first, then CmdCqModify, arms, the timer. From note, clear or arm to
// irq_valid_o: 2, 2 and 1 edges. A timer fires at the first free edge at which now_i has reached it; expired ones follow each
// other in 11 cycles. The deadline goes out by timer_*; idle_o is high while only timers run.
module cq_arm (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic [63:0] now_i,                   // ns
  // CQEs handed over; always taken, at most one every two cycles
  input  logic note_valid_i,
  input  rnic_pkg::cq_note_t note_i,
  // DbCqArm; other kinds must not come
  input  logic arm_valid_i,
  output logic arm_ready_o,
  input  rnic_pkg::doorbell_t arm_i,
  // CmdCqModify: not armed, nothing written
  input  logic clear_valid_i,
  output logic clear_ready_o,
  input  logic [9:0] clear_cqn_i,
  // For ctx_query: strobe at edge n, as it was before it after edge n
  input  logic q_re_i,
  input  logic [9:0] q_cqn_i,
  output logic q_armed_o,
  output logic q_only_o,
  // To msix; always taken
  output logic irq_valid_o,
  output logic [5:0] irq_vector_o,
  // Earliest end of a moderation time
  output logic timer_valid_o,
  output logic [63:0] timer_deadline_o,
  output logic idle_o
);
  localparam int unsigned NsW = 48;            // of deadlines: 78 hours of simulated time

  logic [1023:0] armed_q, only_q, timed_q;     // armed; for solicited ones only; its time is running
  logic [1023:0] wrote_q, sol_q;               // a CQE, a solicited one, has been written
  logic [23:0] pi_mem [1024];                  // index after the last CQE, of those written
  logic [23:0] sol_mem [1024];                 // index after the last solicited one
  logic [15:0] count_mem [1024];               // CQEs that count so far, while armed
  logic [6:0] vec_mem [1024];                  // irq_en, vector as the last CQE's context said

  // ==== Which operation ============================================================================================
  logic note_valid_q;
  rnic_pkg::cq_note_t note_q;
  logic do_note, do_clear, do_arm, do_expire;
  logic root_valid, tree_busy, expired;
  logic [9:0] root_cqn, cqn;
  logic [NsW-1:0] root_key;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) note_valid_q <= 1'b0;
    else note_valid_q <= note_valid_i;
  end
  always_ff @(posedge clk_i) begin
    if (note_valid_i) note_q <= note_i;
  end

  assign expired = root_valid && !tree_busy && root_key <= now_i[NsW-1:0];
  assign clear_ready_o = !note_valid_q;
  assign arm_ready_o = !note_valid_q && !clear_valid_i;
  assign do_note = note_valid_q;
  assign do_clear = clear_valid_i && clear_ready_o;
  assign do_arm = arm_valid_i && arm_ready_o;
  assign do_expire = expired && !do_note && !do_clear && !do_arm;
  assign cqn = do_note ? note_q.cqn : do_clear ? clear_cqn_i : do_arm ? arm_i.qpn : root_cqn;

  // ==== What it does ===============================================================================================
  logic counts, full, first, newer_any, newer_sol, newer, fire_note, fire_arm, fire_time;
  logic arm_only, timed, enabled, tree_set, tree_on;
  logic [15:0] counted;
  logic [23:0] beyond_any, beyond_sol;
  logic [6:0] vec;

  assign timed = timed_q[cqn];
  assign vec = do_note ? {note_q.irq_en, note_q.irq_vector} : vec_mem[cqn];
  assign enabled = vec[6];

  assign counts = do_note && armed_q[cqn] && enabled && (!only_q[cqn] || note_q.solicited);
  assign counted = count_mem[cqn] + 16'd1;
  assign full = counted >= note_q.count;       // a count of 0 is always reached
  assign first = counted == 16'd1;
  assign fire_note = counts && full;

  // Newer than ci: the index after it is ahead, by less than half of the numbers.
  assign beyond_any = pi_mem[cqn] - arm_i.value[23:0];
  assign beyond_sol = sol_mem[cqn] - arm_i.value[23:0];
  assign newer_any = wrote_q[cqn] && beyond_any != 24'd0 && !beyond_any[23];
  assign newer_sol = sol_q[cqn] && beyond_sol != 24'd0 && !beyond_sol[23];
  assign arm_only = arm_i.value[24] && !(armed_q[cqn] && !only_q[cqn]);
  assign newer = arm_only ? newer_sol : newer_any;
  assign fire_arm = do_arm && newer && enabled;

  // Cleared ones have left the tree before their number is used again.
  assign fire_time = do_expire && armed_q[cqn] && timed && enabled;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      armed_q <= '0;
      only_q <= '0;
      timed_q <= '0;
      wrote_q <= '0;
      sol_q <= '0;
    end else begin
      if (do_note) begin
        wrote_q[cqn] <= 1'b1;
        if (note_q.solicited) sol_q[cqn] <= 1'b1;
      end
      if (do_clear) begin
        wrote_q[cqn] <= 1'b0;
        sol_q[cqn] <= 1'b0;
      end
      if (do_arm) only_q[cqn] <= arm_only;
      if (do_arm || do_clear || fire_note || fire_time) armed_q[cqn] <= do_arm && !fire_arm;
      if (tree_set) timed_q[cqn] <= tree_on;
    end
  end

  always_ff @(posedge clk_i) begin
    if (do_note) begin
      pi_mem[cqn] <= note_q.index + 24'd1;
      vec_mem[cqn] <= {note_q.irq_en, note_q.irq_vector};
      if (note_q.solicited) sol_mem[cqn] <= note_q.index + 24'd1;
    end
    if (do_arm || counts) count_mem[cqn] <= do_arm ? 16'd0 : counted;
  end

  logic q_armed_q, q_only_q;
  assign q_armed_o = q_armed_q;
  assign q_only_o = q_only_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      q_armed_q <= 1'b0;
      q_only_q <= 1'b0;
    end else if (q_re_i) begin
      q_armed_q <= armed_q[q_cqn_i];
      q_only_q <= only_q[q_cqn_i];
    end
  end

  // ==== Deadlines ==================================================================================================
  logic [NsW-1:0] deadline;
  // 1000 ns a microsecond
  assign deadline = now_i[NsW-1:0] + {22'd0, {note_q.period, 10'd0}} - {27'd0, {note_q.period, 4'd0}, 1'b0} +
                    {29'd0, note_q.period, 3'd0};
  assign tree_on = counts && !full && first && note_q.period != 16'd0;
  assign tree_set = tree_on || (timed && (fire_note || do_clear || do_arm)) || do_expire;

  deadline_tree #(
    .LogN(10),
    .KeyW(NsW)
  ) u_tree (
    .clk_i,
    .rst_ni,
    .set_i(tree_set),
    .set_idx_i(cqn),
    .set_valid_i(tree_on),
    .set_key_i(deadline),
    .root_valid_o(root_valid),
    .root_idx_o(root_cqn),
    .root_key_o(root_key),
    .busy_o(tree_busy)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) irq_valid_o <= 1'b0;
    else irq_valid_o <= fire_note || fire_arm || fire_time;
  end
  always_ff @(posedge clk_i) begin
    if (fire_note || fire_arm || fire_time) irq_vector_o <= vec[5:0];
  end

  assign timer_valid_o = root_valid && !tree_busy;
  assign timer_deadline_o = {{(64-NsW){1'b0}}, root_key};
  assign idle_o = !(note_valid_q || tree_busy || expired || irq_valid_o);

`ifndef SYNTHESIS
  assert property (@(posedge clk_i) disable iff (!rst_ni) arm_valid_i |-> arm_i.kind == rnic_pkg::DbCqArm);
  // The tree has an entry for each time that runs, and no other.
  assert property (@(posedge clk_i) disable iff (!rst_ni) do_expire |-> timed && armed_q[cqn]);
`endif
endmodule
