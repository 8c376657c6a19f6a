// SPDX-License-Identifier: Apache-2.0
// DMA master: reads and writes of up to 4 KiB. Splits them into TLP requests (MRRS or MPS, and 4 KiB boundaries),
// hands out tags, puts completions of any order back together, and returns read data in request order, first byte in
// lane 0.
//
// Reads: up to NumTags TLPs in flight, and BufBytes of reassembly buffer, reserved before a read is sent, so that
// completions never have to wait. A request is finished when the bytes that it asked for have arrived, whatever the
// completer's byte count says; only then is its tag free. A failed read returns one beat with last and its status,
// after all its tags have been answered.
// Writes: data in lane 0 on; posted. wr_done_o pulses when the last TLP of the write has been accepted at the pins.
//
// The halves are dma_read and dma_write; they share nothing. Without bus mastering a read returns DmaNoMaster and a
// write is swallowed. There is no completion timer: a read that is never answered stays.
module dma_master #(
  parameter int unsigned NumTags = 256,
  parameter int unsigned BufBytes = 65536,
  parameter int unsigned MaxReads = 128        // rd_req in flight
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  rnic_pkg::pcie_cfg_t cfg_i,
  // Reads
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
  output logic wr_done_o,
  output rnic_pkg::op_t wr_done_op_o,
  // pcie_tlp_gen: reads and writes have a channel each, so that a blocked read never holds up a write
  output logic treq_rd_valid_o,
  input  logic treq_rd_ready_i,
  output rnic_pkg::tlp_req_t treq_rd_o,
  output logic treq_wr_valid_o,
  input  logic treq_wr_ready_i,
  output rnic_pkg::tlp_req_t treq_wr_o,
  output logic twd_valid_o,
  input  logic twd_ready_i,
  output rnic_pkg::tlp_wdata_t twd_o,
  input  logic twr_sent_i,             // the oldest write TLP not yet reported has left: its last beat was accepted
  // Completions; always taken
  input  logic cpl_valid_i,
  input  rnic_pkg::cpl_t cpl_i,
  // Observation
  output logic stat_unexpected_o,      // completion for a tag that is not in use
  output logic stat_cpl_error_o,
  output logic stat_malformed_o,       // more data than asked for, or inconsistent
  output logic probe_rd_o,             // read accepted
  output rnic_pkg::op_t probe_rd_op_o,
  output logic probe_done_o,           // last payload byte of a read in the buffer
  output rnic_pkg::op_t probe_done_op_o,
  output logic idle_o
);
  logic rd_idle, wr_idle;
  assign idle_o = rd_idle && wr_idle;

  dma_read #(
    .NumTags(NumTags),
    .BufBytes(BufBytes),
    .MaxReads(MaxReads)
  ) u_read (
    .clk_i,
    .rst_ni,
    .cfg_i,
    .rd_valid_i,
    .rd_ready_o,
    .rd_i,
    .pay_valid_o,
    .pay_ready_i,
    .pay_o,
    .treq_rd_valid_o,
    .treq_rd_ready_i,
    .treq_rd_o,
    .cpl_valid_i,
    .cpl_i,
    .stat_unexpected_o,
    .stat_cpl_error_o,
    .stat_malformed_o,
    .probe_rd_o,
    .probe_rd_op_o,
    .probe_done_o,
    .probe_done_op_o,
    .idle_o(rd_idle)
  );

  dma_write u_write (
    .clk_i,
    .rst_ni,
    .cfg_i,
    .wr_valid_i,
    .wr_ready_o,
    .wr_i,
    .wdata_valid_i,
    .wdata_ready_o,
    .wdata_i,
    .wr_done_o,
    .wr_done_op_o,
    .treq_wr_valid_o,
    .treq_wr_ready_i,
    .treq_wr_o,
    .twd_valid_o,
    .twd_ready_i,
    .twd_o,
    .twr_sent_i,
    .idle_o(wr_idle)
  );
endmodule
