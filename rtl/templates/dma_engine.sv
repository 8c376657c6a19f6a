// SPDX-License-Identifier: Apache-2.0
// A dma_engine of your own, to start from: `scripts/new_override dma_engine DIR` copies it, with dma_engine_ref, our
// block under another name. Written by scripts/gen_templates.py from rtl/pcie/dma_engine.sv and
// rtl/templates/contract.toml.
//
// What our block does: the head of rtl/pcie/dma_engine.sv, and docs/blocks. What holds for every block:
// docs/howto/override.md.
//
// Latency: those of dma_master and pcie_tlp_gen.
// A version that takes N cycles more declares +latency+dma_engine+N in its list.
//
// Streams that come in: rd, wr, wdata, tlp_rx. A beat is taken at the edge before which valid and ready are both high;
// ready may depend on valid, valid never on ready; valid and payload stay until then.
//
// Has to drive, whatever is inside:
//   idle_o  low while anything is on its way, in the engine or to the pins
//
// Has to keep:
//   reads   data come back in the order of the requests, each exactly as long as asked for
//   writes  done when the last beat of their last TLP has been accepted at the pins
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
  // ---- Places for registers: 1 puts one into the stream, which costs a cycle --------------------
  localparam bit RegRd = 1'b0;
  localparam bit RegWr = 1'b0;
  localparam bit RegWdata = 1'b0;
  localparam bit RegTlpRx = 1'b0;

  logic rd_valid, rd_ready;
  rnic_pkg::rd_req_t rd;
  if (RegRd) begin : gen_rd_reg
    stream_register #(.Width($bits(rd_i))) u_rd_reg (
      .clk_i, .rst_ni,
      .in_valid_i(rd_valid_i), .in_ready_o(rd_ready_o), .in_data_i(rd_i),
      .out_valid_o(rd_valid), .out_ready_i(rd_ready), .out_data_o(rd)
    );
  end else begin : gen_rd_wire
    assign rd_valid = rd_valid_i;
    assign rd_ready_o = rd_ready;
    assign rd = rd_i;
  end

  logic wr_valid, wr_ready;
  rnic_pkg::wr_req_t wr;
  if (RegWr) begin : gen_wr_reg
    stream_register #(.Width($bits(wr_i))) u_wr_reg (
      .clk_i, .rst_ni,
      .in_valid_i(wr_valid_i), .in_ready_o(wr_ready_o), .in_data_i(wr_i),
      .out_valid_o(wr_valid), .out_ready_i(wr_ready), .out_data_o(wr)
    );
  end else begin : gen_wr_wire
    assign wr_valid = wr_valid_i;
    assign wr_ready_o = wr_ready;
    assign wr = wr_i;
  end

  logic wdata_valid, wdata_ready;
  logic [511:0] wdata;
  if (RegWdata) begin : gen_wdata_reg
    stream_register #(.Width($bits(wdata_i))) u_wdata_reg (
      .clk_i, .rst_ni,
      .in_valid_i(wdata_valid_i), .in_ready_o(wdata_ready_o), .in_data_i(wdata_i),
      .out_valid_o(wdata_valid), .out_ready_i(wdata_ready), .out_data_o(wdata)
    );
  end else begin : gen_wdata_wire
    assign wdata_valid = wdata_valid_i;
    assign wdata_ready_o = wdata_ready;
    assign wdata = wdata_i;
  end

  logic tlp_rx_valid, tlp_rx_ready;
  rnic_pkg::tlp_beat_t tlp_rx;
  if (RegTlpRx) begin : gen_tlp_rx_reg
    stream_register #(.Width($bits(tlp_rx_i))) u_tlp_rx_reg (
      .clk_i, .rst_ni,
      .in_valid_i(tlp_rx_valid_i), .in_ready_o(tlp_rx_ready_o), .in_data_i(tlp_rx_i),
      .out_valid_o(tlp_rx_valid), .out_ready_i(tlp_rx_ready), .out_data_o(tlp_rx)
    );
  end else begin : gen_tlp_rx_wire
    assign tlp_rx_valid = tlp_rx_valid_i;
    assign tlp_rx_ready_o = tlp_rx_ready;
    assign tlp_rx = tlp_rx_i;
  end

  // ---- Your logic stands here, instead of ours or around it --------------------------------------
  logic idle;
  dma_engine_ref #(
    .NumTags(NumTags), .BufBytes(BufBytes), .MaxReads(MaxReads)
  ) u_ref (
    .clk_i, .rst_ni, .now_i, .pcie_cfg_i, .pcie_fc_i, .rd_valid_i(rd_valid), .rd_ready_o(rd_ready),
    .rd_i(rd), .pay_valid_o, .pay_ready_i, .pay_o, .wr_valid_i(wr_valid), .wr_ready_o(wr_ready),
    .wr_i(wr), .wdata_valid_i(wdata_valid), .wdata_ready_o(wdata_ready), .wdata_i(wdata),
    .wr_done_o, .wr_done_op_o, .tlp_tx_valid_o, .tlp_tx_ready_i, .tlp_tx_o,
    .tlp_rx_valid_i(tlp_rx_valid), .tlp_rx_ready_o(tlp_rx_ready), .tlp_rx_i(tlp_rx), .stat_o,
    .rd_done_o, .rd_done_op_o, .idle_o(idle)
  );

  // What stands in a register is work: no edge may be left out while it does.
  assign idle_o = idle && !(RegRd && rd_valid) && !(RegWr && wr_valid) && !(RegWdata && wdata_valid) && !(RegTlpRx && tlp_rx_valid);
endmodule
