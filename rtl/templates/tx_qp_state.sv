// SPDX-License-Identifier: Apache-2.0
// A tx_qp_state of your own, to start from: `scripts/new_override tx_qp_state DIR` copies it, with tx_qp_state_ref, our
// block under another name. Written by scripts/gen_templates.py from rtl/tx/tx_qp_state.sv and
// rtl/templates/contract.toml.
//
// What our block does: the head of rtl/tx/tx_qp_state.sv, and docs/blocks. What holds for every block:
// docs/howto/override.md.
//
// Latency: data after the strobe's edge, held until the next strobe.
// It is part of the contract: wqe_fetch_engine reads it in the cycle after its strobe.
//
// Has to keep:
//   clear  wins over a write or an error of the same QP at the same edge
module tx_qp_state (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic re_i,
  input  logic [9:0] rd_qpn_i,
  output logic rd_valid_o,             // 0: state is to be taken from the context
  output logic rd_err_o,               // QP in error
  output rnic_pkg::tx_state_t rd_state_o,
  input  logic q_re_i,
  input  logic [9:0] q_qpn_i,
  output logic q_valid_o,
  output logic q_err_o,
  output rnic_pkg::tx_state_t q_state_o,
  input  logic we_i,
  input  logic [9:0] wr_qpn_i,
  input  rnic_pkg::tx_state_t wr_state_i,
  // QP to error: from the segmenter, the packetizer and CmdQp2Err
  input  logic err_seg_i,
  input  logic [9:0] err_seg_qpn_i,
  input  logic err_pkt_i,
  input  logic [9:0] err_pkt_qpn_i,
  input  logic err_cmd_i,
  input  logic [9:0] err_cmd_qpn_i,
  // CmdQpModify: state invalid, error bit off
  input  logic clear_i,
  input  logic [9:0] clear_qpn_i
);
  // ---- Your logic stands here, instead of ours or around it --------------------------------------
  tx_qp_state_ref u_ref (
    .clk_i, .rst_ni, .re_i, .rd_qpn_i, .rd_valid_o, .rd_err_o, .rd_state_o, .q_re_i, .q_qpn_i,
    .q_valid_o, .q_err_o, .q_state_o, .we_i, .wr_qpn_i, .wr_state_i, .err_seg_i, .err_seg_qpn_i,
    .err_pkt_i, .err_pkt_qpn_i, .err_cmd_i, .err_cmd_qpn_i, .clear_i, .clear_qpn_i
  );
endmodule
