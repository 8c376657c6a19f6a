// SPDX-License-Identifier: Apache-2.0
// On-chip transmit state of every QP (rnic_pkg::tx_state_t), with one valid and one error bit each. One reader (the
// fetch engine) and one writer (the segmenter); the scheduler's one-job-per-QP rule keeps them apart.
//
// Read: strobe at edge n, data after edge n.
module tx_qp_state (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic re_i,
  input  logic [9:0] rd_qpn_i,
  output logic rd_valid_o,             // 0: state is to be taken from the context
  output logic rd_err_o,               // QP in error
  output rnic_pkg::tx_state_t rd_state_o,
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
endmodule
