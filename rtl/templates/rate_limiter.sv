// SPDX-License-Identifier: Apache-2.0
// A rate_limiter of your own, to start from: `scripts/new_override rate_limiter DIR` copies it, with rate_limiter_ref,
// our block under another name. Written by scripts/gen_templates.py from rtl/tx/rate_limiter.sv and
// rtl/templates/contract.toml.
//
// What our block does: the head of rtl/tx/rate_limiter.sv, and docs/blocks. What holds for every block:
// docs/howto/override.md.
//
// Latency: nine cycles for a charge (QpSchedulerTest.TimerTellsTheEarliest waits for it).
// A version that takes N cycles more declares +latency+rate_limiter+N in its list.
//
// Has to keep:
//   rate   a QP is not let go before the time that GCRA gives
//   clear  a QP that waits may go at once
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
  // ---- Your logic stands here, instead of ours or around it --------------------------------------
  rate_limiter_ref u_ref (
    .clk_i, .rst_ni, .now_i, .cfg_i, .cfg_qpn_i, .cfg_en_i, .cfg_gap_i, .cfg_burst_i, .limited_o,
    .op_valid_i, .op_qpn_i, .op_bytes_i, .op_back_i, .free_valid_o, .free_ready_i, .free_qpn_o,
    .clear_i, .clear_qpn_i, .rate_valid_i, .rate_i, .waiting_o, .timer_valid_o, .timer_deadline_o,
    .quiet_o
  );
endmodule
