// SPDX-License-Identifier: Apache-2.0
// TX segmenter: turns a job into packets of at most one path MTU, checks the memory region, asks dma_master for the
// payload and hands the packet's description to tx_packetizer in the same order.
//
// One packet a turn: after each the QP goes back to the scheduler, unless no other QP waits (other_waiting_i), so that
// a long message never holds up the others for more than one packet, and a lone QP runs at one packet every few cycles.
// Descriptor and read request leave together; neither is offered without room for both.
module tx_segmenter (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic job_valid_i,
  output logic job_ready_o,
  input  rnic_pkg::tx_job_t job_i,
  input  logic other_waiting_i,        // scheduler's grant_valid
  // Memory protection table cache
  output logic mpt_req_valid_o,
  input  logic mpt_req_ready_i,
  output logic [15:0] mpt_req_idx_o,
  input  logic mpt_rsp_valid_i,
  output logic mpt_rsp_ready_o,
  input  rnic_pkg::mpt_t mpt_rsp_i,
  // Packet descriptions, in order
  output logic desc_valid_o,
  input  logic desc_ready_i,
  output rnic_pkg::pkt_desc_t desc_o,
  // Payload reads, in the same order; none for packets without payload
  output logic rd_valid_o,
  input  logic rd_ready_i,
  output rnic_pkg::rd_req_t rd_o,
  // Transmit state, written at the end of a turn
  output logic st_we_o,
  output logic [9:0] st_qpn_o,
  output rnic_pkg::tx_state_t st_o,
  output logic err_o,                  // QP to error
  output logic [9:0] err_qpn_o,
  // End of the turn
  output logic release_o,
  output logic [9:0] release_qpn_o,
  output logic release_more_o,
  // QP state in the BAR1 context set to error
  output logic dm_req_valid_o,
  input  logic dm_req_ready_i,
  output rnic_pkg::dm_req_t dm_req_o,
  output logic idle_o
);
endmodule
