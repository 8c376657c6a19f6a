// SPDX-License-Identifier: Apache-2.0
// TLP generator and completion parser: builds MRd/MWr headers (3 or 4 DW, byte enables, length), obeys credits, puts
// posted and non-posted requests on one stream, and parses completions.
//
// A posted TLP may pass a blocked non-posted one, never the other way round. A TLP's beats are contiguous in order; the
// header travels with the first. One beat a cycle. A TLP starts only when its credits are there.
module pcie_tlp_gen (
  input  logic clk_i,
  input  logic rst_ni,
  input  rnic_pkg::pcie_cfg_t cfg_i,
  input  rnic_pkg::pcie_fc_t fc_i,
  // Requests
  input  logic treq_rd_valid_i,
  output logic treq_rd_ready_o,
  input  rnic_pkg::tlp_req_t treq_rd_i,
  input  logic treq_wr_valid_i,
  output logic treq_wr_ready_o,
  input  rnic_pkg::tlp_req_t treq_wr_i,
  input  logic twd_valid_i,
  output logic twd_ready_o,
  input  rnic_pkg::tlp_wdata_t twd_i,
  output logic twr_sent_o,
  // To the link
  output logic tlp_tx_valid_o,
  input  logic tlp_tx_ready_i,
  output rnic_pkg::tlp_beat_t tlp_tx_o,
  // From the link: completions
  input  logic tlp_rx_valid_i,
  output logic tlp_rx_ready_o,
  input  rnic_pkg::tlp_beat_t tlp_rx_i,
  // To dma_master; always taken
  output logic cpl_valid_o,
  output rnic_pkg::cpl_t cpl_o,
  output logic stat_unexpected_o,      // wrong requester, or not a completion
  output logic stat_malformed_o,       // length field and data beats disagree
  output logic idle_o
);
endmodule
