// SPDX-License-Identifier: Apache-2.0
// A cq_arm of your own, to start from: `scripts/new_override cq_arm DIR` copies it, with cq_arm_ref, our block under
// another name. Written by scripts/gen_templates.py from rtl/host/cq_arm.sv and rtl/templates/contract.toml.
//
// What our block does: the head of rtl/host/cq_arm.sv, and docs/blocks. What holds for every block:
// docs/howto/override.md.
//
// Latency: note, clear and arm to irq 2, 2 and 1 edges; no test holds it.
// A version that takes N cycles more declares +latency+cq_arm+N in its list.
//
// Streams that come in: arm, clear. A beat is taken at the edge before which valid and ready are both high; ready may
// depend on valid, valid never on ready; valid and payload stay until then.
//
// Has to drive, whatever is inside:
//   idle_o  high while nothing but moderation times runs
//
// Has to keep:
//   timer    timer_valid_o while a moderation time runs, timer_deadline_o its earliest end; low while that is being
//            worked out
//   wakeups  a CQE that the armed index does not cover fires, whether its note comes before the arm or after it
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
  // ---- Places for registers: 1 puts one into the stream, which costs a cycle --------------------
  localparam bit RegArm = 1'b0;
  localparam bit RegClear = 1'b0;

  logic arm_valid, arm_ready;
  rnic_pkg::doorbell_t arm;
  if (RegArm) begin : gen_arm_reg
    stream_register #(.Width($bits(arm_i))) u_arm_reg (
      .clk_i, .rst_ni,
      .in_valid_i(arm_valid_i), .in_ready_o(arm_ready_o), .in_data_i(arm_i),
      .out_valid_o(arm_valid), .out_ready_i(arm_ready), .out_data_o(arm)
    );
  end else begin : gen_arm_wire
    assign arm_valid = arm_valid_i;
    assign arm_ready_o = arm_ready;
    assign arm = arm_i;
  end

  logic clear_valid, clear_ready;
  logic [9:0] clear_cqn;
  if (RegClear) begin : gen_clear_reg
    stream_register #(.Width($bits(clear_cqn_i))) u_clear_reg (
      .clk_i, .rst_ni,
      .in_valid_i(clear_valid_i), .in_ready_o(clear_ready_o), .in_data_i(clear_cqn_i),
      .out_valid_o(clear_valid), .out_ready_i(clear_ready), .out_data_o(clear_cqn)
    );
  end else begin : gen_clear_wire
    assign clear_valid = clear_valid_i;
    assign clear_ready_o = clear_ready;
    assign clear_cqn = clear_cqn_i;
  end

  // ---- Your logic stands here, instead of ours or around it --------------------------------------
  logic idle;
  cq_arm_ref u_ref (
    .clk_i, .rst_ni, .now_i, .note_valid_i, .note_i, .arm_valid_i(arm_valid),
    .arm_ready_o(arm_ready), .arm_i(arm), .clear_valid_i(clear_valid), .clear_ready_o(clear_ready),
    .clear_cqn_i(clear_cqn), .q_re_i, .q_cqn_i, .q_armed_o, .q_only_o, .irq_valid_o, .irq_vector_o,
    .timer_valid_o, .timer_deadline_o, .idle_o(idle)
  );

  // What stands in a register is work: no edge may be left out while it does.
  assign idle_o = idle && !(RegArm && arm_valid) && !(RegClear && clear_valid);
endmodule
