// SPDX-License-Identifier: Apache-2.0
// The AllReduce engine at the PCIe pins: arp_fsm, whose results dma_master and pcie_tlp_gen write. It reads nothing;
// completions are unexpected and dropped.
module arp_engine (
  input  logic clk_i,
  input  logic rst_ni,
  input  rnic_pkg::pcie_cfg_t pcie_cfg_i,
  input  rnic_pkg::pcie_fc_t pcie_fc_i,
  // Group contexts
  input  logic cfg_valid_i,
  output logic cfg_ready_o,
  input  logic [15:0] cfg_group_i,
  input  arp_pkg::arp_group_t cfg_i,
  // Fragments
  input  logic frag_valid_i,
  output logic frag_ready_o,
  input  arp_pkg::arp_beat_t frag_i,
  // Acknowledges
  input  logic ack_valid_i,
  output logic ack_ready_o,
  input  arp_pkg::arp_ack_t ack_i,
  // PCIe
  output logic tlp_tx_valid_o,
  input  logic tlp_tx_ready_i,
  output rnic_pkg::tlp_beat_t tlp_tx_o,
  input  logic tlp_rx_valid_i,
  output logic tlp_rx_ready_o,
  input  rnic_pkg::tlp_beat_t tlp_rx_i,
  // Events; dropped when nobody takes them
  output logic evt_valid_o,
  input  logic evt_ready_i,
  output arp_pkg::arp_evt_t evt_o,
  // For tests: a bit of an accumulator row is wrong after its next write
  input  logic inject_valid_i,
  input  logic [11:0] inject_row_i,
  input  logic [9:0] inject_bit_i,
  // Observation
  output arp_pkg::arp_stat_t stat_o,
  output logic [10:0] slots_used_o,
  output logic [10:0] slots_done_o,
  output logic idle_o
);
  logic wr_valid, wr_ready, wdata_valid, wdata_ready, wr_done, idle_fsm, idle_dma, idle_gen;
  rnic_pkg::wr_req_t wr;
  logic [511:0] wdata;
  rnic_pkg::op_t wr_done_op;

  arp_fsm u_arp_fsm (
    .clk_i, .rst_ni,
    .cfg_valid_i, .cfg_ready_o, .cfg_group_i, .cfg_i,
    .frag_valid_i, .frag_ready_o, .frag_i,
    .ack_valid_i, .ack_ready_o, .ack_i,
    .wr_valid_o(wr_valid), .wr_ready_i(wr_ready), .wr_o(wr),
    .wdata_valid_o(wdata_valid), .wdata_ready_i(wdata_ready), .wdata_o(wdata),
    .wr_done_i(wr_done), .wr_done_op_i(wr_done_op),
    .evt_valid_o, .evt_ready_i, .evt_o,
    .inject_valid_i, .inject_row_i, .inject_bit_i,
    .stat_o, .slots_used_o, .slots_done_o, .idle_o(idle_fsm)
  );

  logic treq_rd_valid, treq_rd_ready, treq_wr_valid, treq_wr_ready, twd_valid, twd_ready, twr_sent, cpl_valid;
  rnic_pkg::tlp_req_t treq_rd, treq_wr;
  rnic_pkg::tlp_wdata_t twd;
  rnic_pkg::cpl_t cpl;
  logic cpl_mid;
  logic [7:0] back_h;
  logic [9:0] back_d;
  // Of the reads that there are not
  logic rd_ready, rd2_ready, pay_valid, pay2_valid, unexpected, cpl_ur, cpl_ca, cpl_poisoned, cpl_timeout, malformed, gen_unexpected, gen_malformed;
  logic probe_rd, probe_done;
  rnic_pkg::payload_t pay, pay2;
  rnic_pkg::op_t probe_rd_op, probe_done_op;

  dma_master #(
    .NumTags(1), .BufBytes(8192), .MaxReads(2), .WqeBufBytes(8192), .MaxWqeReads(2)
  ) u_dma_master (
    .clk_i, .rst_ni, .link_rst_ni(rst_ni), .now_i(64'd0), .cfg_i(pcie_cfg_i),
    .rd_valid_i(1'b0), .rd_ready_o(rd_ready), .rd_i('0),
    .pay_valid_o(pay_valid), .pay_ready_i(1'b1), .pay_o(pay),
    .rd2_valid_i(1'b0), .rd2_ready_o(rd2_ready), .rd2_i('0),
    .pay2_valid_o(pay2_valid), .pay2_ready_i(1'b1), .pay2_o(pay2),
    .wr_valid_i(wr_valid), .wr_ready_o(wr_ready), .wr_i(wr),
    .wdata_valid_i(wdata_valid), .wdata_ready_o(wdata_ready), .wdata_i(wdata),
    .wr_done_o(wr_done), .wr_done_op_o(wr_done_op),
    .treq_rd_valid_o(treq_rd_valid), .treq_rd_ready_i(treq_rd_ready), .treq_rd_o(treq_rd),
    .treq_wr_valid_o(treq_wr_valid), .treq_wr_ready_i(treq_wr_ready), .treq_wr_o(treq_wr),
    .twd_valid_o(twd_valid), .twd_ready_i(twd_ready), .twd_o(twd),
    .twr_sent_i(twr_sent),
    .cpl_valid_i(cpl_valid), .cpl_i(cpl), .cpl_mid_i(cpl_mid), .back_h_o(back_h), .back_d_o(back_d),
    .stat_unexpected_o(unexpected), .stat_ur_o(cpl_ur), .stat_ca_o(cpl_ca),
    .stat_poisoned_o(cpl_poisoned), .stat_timeout_o(cpl_timeout), .stat_malformed_o(malformed),
    .probe_rd_o(probe_rd), .probe_rd_op_o(probe_rd_op), .probe_done_o(probe_done), .probe_done_op_o(probe_done_op),
    .idle_o(idle_dma)
  );

  pcie_tlp_gen u_pcie_tlp_gen (
    .clk_i, .rst_ni, .link_rst_ni(rst_ni), .cfg_i(pcie_cfg_i), .fc_i(pcie_fc_i),
    .treq_rd_valid_i(treq_rd_valid), .treq_rd_ready_o(treq_rd_ready), .treq_rd_i(treq_rd),
    .treq_wr_valid_i(treq_wr_valid), .treq_wr_ready_o(treq_wr_ready), .treq_wr_i(treq_wr),
    .twd_valid_i(twd_valid), .twd_ready_o(twd_ready), .twd_i(twd),
    .twr_sent_o(twr_sent),
    .tlp_tx_valid_o, .tlp_tx_ready_i, .tlp_tx_o,
    .tlp_rx_valid_i, .tlp_rx_ready_o, .tlp_rx_i,
    .cpl_valid_o(cpl_valid), .cpl_o(cpl), .cpl_mid_o(cpl_mid), .back_h_i(back_h), .back_d_i(back_d),
    .stat_unexpected_o(gen_unexpected), .stat_malformed_o(gen_malformed),
    .idle_o(idle_gen)
  );

  assign idle_o = idle_fsm && idle_dma && idle_gen;
endmodule
