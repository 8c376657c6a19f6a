// SPDX-License-Identifier: Apache-2.0
// TX packetizer: headers (Ethernet, IPv4, UDP, BTH, RETH, ImmDt), payload, pad and ICRC of one packet, as 512-bit beats
// to the MAC. A packet starts when its whole payload waits in the TX buffer, so a frame never has gaps of its own
// making; one beat a cycle, back to back. The pipeline itself never stalls: a packet enters only when the output FIFO
// has room for all of its beats.
//
// A description with err set, or whose payload came back with an error, makes no frame: it is reported to cqe_writer in
// its place, and the QP's later descriptions are flushed.
module tx_packetizer (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic desc_valid_i,
  output logic desc_ready_o,
  input  rnic_pkg::pkt_desc_t desc_i,
  input  logic pay_valid_i,
  output logic pay_ready_o,
  input  rnic_pkg::payload_t pay_i,
  output logic mac_valid_o,
  input  logic mac_ready_i,
  output rnic_pkg::mac_beat_t mac_o,
  output logic [2:0] mac_port_o,       // port of the frame
  // Completions, in order: after the last beat of a signaled message's last packet has been accepted by the MAC
  output logic cqe_valid_o,
  input  logic cqe_ready_i,
  output rnic_pkg::cqe_req_t cqe_o,
  // QP to error after a failed payload read
  output logic err_o,
  output logic [9:0] err_qpn_o,
  // CmdQpModify: the QP's error memory is cleared
  input  logic clear_i,
  input  logic [9:0] clear_qpn_i,
  output logic probe_mac_o,
  output rnic_pkg::op_t probe_mac_op_o,
  output logic idle_o
);
endmodule
