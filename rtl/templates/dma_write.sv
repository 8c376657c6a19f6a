// SPDX-License-Identifier: Apache-2.0
// A dma_write of your own, to start from: `scripts/new_override dma_write DIR` copies it, with dma_write_ref, our block
// under another name. Written by scripts/gen_templates.py from rtl/pcie/dma_write.sv and rtl/templates/contract.toml.
//
// What our block does: the head of rtl/pcie/dma_write.sv, and docs/blocks. What holds for every block:
// docs/howto/override.md.
//
// Latency: wr_valid_i with data waiting to treq_wr_valid_o 2 cycles (DmaMasterTest.Latencies).
// A version that takes N cycles more declares +latency+dma_write+N in its list.
//
// Streams that come in: wr, wdata. A beat is taken at the edge before which valid and ready are both high; ready may
// depend on valid, valid never on ready; valid and payload stay until then.
//
// Has to drive, whatever is inside:
//   idle_o  low from the request until its data has left; wr_done_o still to come does not count
//
// Has to keep:
//   wr_done_o  as in dma_master
module dma_write (
  input  logic clk_i,
  input  logic rst_ni,
  input  rnic_pkg::pcie_cfg_t cfg_i,
  // Writes: request, then ceil(len/64) beats of data
  input  logic wr_valid_i,
  output logic wr_ready_o,
  input  rnic_pkg::wr_req_t wr_i,
  input  logic wdata_valid_i,
  output logic wdata_ready_o,
  input  logic [511:0] wdata_i,
  output logic wr_done_o,
  output rnic_pkg::op_t wr_done_op_o,
  // To pcie_tlp_gen
  output logic treq_wr_valid_o,
  input  logic treq_wr_ready_i,
  output rnic_pkg::tlp_req_t treq_wr_o,
  output logic twd_valid_o,
  input  logic twd_ready_i,
  output rnic_pkg::tlp_wdata_t twd_o,
  input  logic twr_sent_i,
  output logic idle_o
);
  // ---- Places for registers: 1 puts one into the stream, which costs a cycle --------------------
  localparam bit RegWr = 1'b0;
  localparam bit RegWdata = 1'b0;

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

  // ---- Your logic stands here, instead of ours or around it --------------------------------------
  logic idle;
  dma_write_ref u_ref (
    .clk_i, .rst_ni, .cfg_i, .wr_valid_i(wr_valid), .wr_ready_o(wr_ready), .wr_i(wr),
    .wdata_valid_i(wdata_valid), .wdata_ready_o(wdata_ready), .wdata_i(wdata), .wr_done_o,
    .wr_done_op_o, .treq_wr_valid_o, .treq_wr_ready_i, .treq_wr_o, .twd_valid_o, .twd_ready_i,
    .twd_o, .twr_sent_i, .idle_o(idle)
  );

  // What stands in a register is work: no edge may be left out while it does.
  assign idle_o = idle && !(RegWr && wr_valid) && !(RegWdata && wdata_valid);
endmodule
