// SPDX-License-Identifier: Apache-2.0
// DMA engine at the PCIe pins: dma_master and pcie_tlp_gen as rnic_top has them, without the rest of the NIC. For
// measuring what the two make of a link, and for devices that only copy memory. The second reader is tied off.
//
// Latency, ordering and backpressure are dma_master's and pcie_tlp_gen's. A read that must see the data of a write is
// handed over when that write is done: until then the two take paths of their own.
module dma_engine #(
  parameter int unsigned NumTags = 448,        // reads in flight, as many as rnic_top has for payload
  parameter int unsigned BufBytes = 65536,     // reassembly buffer: power of two, at least 8192
  parameter int unsigned MaxReads = 512        // read requests in flight: power of two, at least 2
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic [63:0] now_i,           // ns
  input  rnic_pkg::pcie_cfg_t pcie_cfg_i,
  input  rnic_pkg::pcie_fc_t pcie_fc_i,
  // Reads, and their data in request order
  input  logic rd_valid_i,
  output logic rd_ready_o,
  input  rnic_pkg::rd_req_t rd_i,
  output logic pay_valid_o,
  input  logic pay_ready_i,
  output rnic_pkg::payload_t pay_o,
  // Writes: request, then ceil(len/64) beats of data
  input  logic wr_valid_i,
  output logic wr_ready_o,
  input  rnic_pkg::wr_req_t wr_i,
  input  logic wdata_valid_i,
  output logic wdata_ready_o,
  input  logic [511:0] wdata_i,
  output logic wr_done_o,              // pulse: the last beat of the write's last TLP was accepted at the pins
  output rnic_pkg::op_t wr_done_op_o,
  // PCIe
  output logic tlp_tx_valid_o,
  input  logic tlp_tx_ready_i,
  output rnic_pkg::tlp_beat_t tlp_tx_o,
  input  logic tlp_rx_valid_i,
  output logic tlp_rx_ready_o,
  input  rnic_pkg::tlp_beat_t tlp_rx_i,
  // Observation
  output rnic_pkg::stat_t stat_o,      // cpl_* only
  output logic rd_done_o,              // pulse: the last byte of a read is in the buffer
  output rnic_pkg::op_t rd_done_op_o,
  output logic idle_o
);
  logic treq_rd_valid, treq_rd_ready, treq_wr_valid, treq_wr_ready, twd_valid, twd_ready, twr_sent;
  logic cpl_valid, cpl_mid;
  logic [7:0] back_h;
  logic [9:0] back_d;
  rnic_pkg::tlp_req_t treq_rd, treq_wr;
  rnic_pkg::tlp_wdata_t twd;
  rnic_pkg::cpl_t cpl;
  logic idle_dma, idle_gen, dma_unexpected, dma_malformed, cpl_ur, cpl_ca, cpl_poisoned, cpl_timeout, gen_unexpected, gen_malformed;
  // Of the reader that is tied off, and of the start of reads, which the handshake shows
  logic rd2_ready, pay2_valid, probe_rd;
  rnic_pkg::payload_t pay2;
  rnic_pkg::op_t probe_rd_op;

  dma_master #(
    .NumTags(NumTags), .BufBytes(BufBytes), .MaxReads(MaxReads), .WqeBufBytes(8192), .MaxWqeReads(2)
  ) u_dma_master (
    .clk_i, .rst_ni, .link_rst_ni(rst_ni), .now_i, .cfg_i(pcie_cfg_i),
    .rd_valid_i, .rd_ready_o, .rd_i,
    .pay_valid_o, .pay_ready_i, .pay_o,
    .rd2_valid_i(1'b0), .rd2_ready_o(rd2_ready), .rd2_i('0),
    .pay2_valid_o(pay2_valid), .pay2_ready_i(1'b1), .pay2_o(pay2),
    .wr_valid_i, .wr_ready_o, .wr_i,
    .wdata_valid_i, .wdata_ready_o, .wdata_i,
    .wr_done_o, .wr_done_op_o,
    .treq_rd_valid_o(treq_rd_valid), .treq_rd_ready_i(treq_rd_ready), .treq_rd_o(treq_rd),
    .treq_wr_valid_o(treq_wr_valid), .treq_wr_ready_i(treq_wr_ready), .treq_wr_o(treq_wr),
    .twd_valid_o(twd_valid), .twd_ready_i(twd_ready), .twd_o(twd),
    .twr_sent_i(twr_sent),
    .cpl_valid_i(cpl_valid), .cpl_i(cpl), .cpl_mid_i(cpl_mid), .back_h_o(back_h), .back_d_o(back_d),
    .stat_unexpected_o(dma_unexpected), .stat_ur_o(cpl_ur), .stat_ca_o(cpl_ca),
    .stat_poisoned_o(cpl_poisoned), .stat_timeout_o(cpl_timeout), .stat_malformed_o(dma_malformed),
    .probe_rd_o(probe_rd), .probe_rd_op_o(probe_rd_op), .probe_done_o(rd_done_o), .probe_done_op_o(rd_done_op_o),
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

  always_comb begin
    stat_o = '0;
    stat_o.cpl_unexpected = dma_unexpected || gen_unexpected;
    stat_o.cpl_malformed = dma_malformed || gen_malformed;
    stat_o.cpl_ur = cpl_ur;
    stat_o.cpl_ca = cpl_ca;
    stat_o.cpl_poisoned = cpl_poisoned;
    stat_o.cpl_timeout = cpl_timeout;
  end

  assign idle_o = idle_dma && idle_gen;
endmodule
