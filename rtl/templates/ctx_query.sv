// SPDX-License-Identifier: Apache-2.0
// A ctx_query of your own, to start from: `scripts/new_override ctx_query DIR` copies it, with ctx_query_ref, our block
// under another name. Written by scripts/gen_templates.py from rtl/host/ctx_query.sv and rtl/templates/contract.toml.
//
// What our block does: the head of rtl/host/ctx_query.sv, and docs/blocks. What holds for every block:
// docs/howto/override.md.
//
// Latency: command to request of device memory 3 cycles (CtxQueryTest.AnswerFollowsInThreeCycles).
// A version that takes N cycles more declares +latency+ctx_query+N in its list.
//
// Streams that come in: cmd. A beat is taken at the edge before which valid and ready are both high; ready may depend
// on valid, valid never on ready; valid and payload stay until then.
//
// Has to drive, whatever is inside:
//   idle_o  low from the command until device memory has taken the record
//
// Has to keep:
//   moment    all of a record is of one edge, the one behind the strobe
//   sequence  counts answers since reset, from 1 to 65535, then from 1 again
module ctx_query (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic [63:0] now_i,           // ns
  // CmdQpQuery and CmdCqQuery only
  input  logic cmd_valid_i,
  output logic cmd_ready_o,
  input  rnic_pkg::cmd_t cmd_i,
  // Look-up in the blocks below: strobe at edge n, all data after edge n
  output logic read_o,
  output logic [9:0] idx_o,
  input  logic sq_pi_valid_i,          // doorbell_intake: its producer index
  input  logic [15:0] sq_pi_i,
  input  logic st_valid_i,             // tx_qp_state
  input  logic st_err_i,
  input  rnic_pkg::tx_state_t st_i,
  input  logic cq_pi_valid_i,          // cqe_writer: its indices
  input  logic [23:0] cq_pi_i,
  input  logic cq_ci_valid_i,
  input  logic [23:0] cq_ci_i,
  input  logic cq_overrun_i,
  input  logic cq_armed_i,             // cq_arm
  input  logic cq_only_i,
  // To device memory: writes only
  output logic dm_req_valid_o,
  input  logic dm_req_ready_i,
  output rnic_pkg::dm_req_t dm_req_o,
  output logic idle_o
);
  // ---- Places for registers: 1 puts one into the stream, which costs a cycle --------------------
  localparam bit RegCmd = 1'b0;

  logic cmd_valid, cmd_ready;
  rnic_pkg::cmd_t cmd;
  if (RegCmd) begin : gen_cmd_reg
    stream_register #(.Width($bits(cmd_i))) u_cmd_reg (
      .clk_i, .rst_ni,
      .in_valid_i(cmd_valid_i), .in_ready_o(cmd_ready_o), .in_data_i(cmd_i),
      .out_valid_o(cmd_valid), .out_ready_i(cmd_ready), .out_data_o(cmd)
    );
  end else begin : gen_cmd_wire
    assign cmd_valid = cmd_valid_i;
    assign cmd_ready_o = cmd_ready;
    assign cmd = cmd_i;
  end

  // ---- Your logic stands here, instead of ours or around it --------------------------------------
  logic idle;
  ctx_query_ref u_ref (
    .clk_i, .rst_ni, .now_i, .cmd_valid_i(cmd_valid), .cmd_ready_o(cmd_ready), .cmd_i(cmd), .read_o,
    .idx_o, .sq_pi_valid_i, .sq_pi_i, .st_valid_i, .st_err_i, .st_i, .cq_pi_valid_i, .cq_pi_i,
    .cq_ci_valid_i, .cq_ci_i, .cq_overrun_i, .cq_armed_i, .cq_only_i, .dm_req_valid_o,
    .dm_req_ready_i, .dm_req_o, .idle_o(idle)
  );

  // What stands in a register is work: no edge may be left out while it does.
  assign idle_o = idle && !(RegCmd && cmd_valid);
endmodule
