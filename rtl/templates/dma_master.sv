// SPDX-License-Identifier: Apache-2.0
// A dma_master of your own, to start from: `scripts/new_override dma_master DIR` copies it, with dma_master_ref, our
// block under another name. Written by scripts/gen_templates.py from rtl/pcie/dma_master.sv and
// rtl/templates/contract.toml.
//
// What our block does: the head of rtl/pcie/dma_master.sv, and docs/blocks. What holds for every block:
// docs/howto/override.md.
//
// Latency: those of dma_read and dma_write (DmaMasterTest.Latencies).
// A version that takes N cycles more declares +latency+dma_master+N in its list.
//
// Streams that come in: rd, rd2, wr, wdata. A beat is taken at the edge before which valid and ready are both high;
// ready may depend on valid, valid never on ready; valid and payload stay until then.
//
// Has to drive, whatever is inside:
//   probe_rd_o         in the cycle in which a payload read is accepted (rd_valid_i && rd_ready_o)
//   probe_rd_op_o      with probe_rd_o: the read's op
//   probe_done_o       in the cycle in which the last byte of a payload read is in the buffer, before it is offered;
//                      not for a failed read
//   probe_done_op_o    with probe_done_o: the read's op
//   stat_unexpected_o  once for each completion whose tag is not in use, or of an orphan
//   stat_ur_o          once for each completion with status UR that a read awaits
//   stat_ca_o          likewise, CA
//   stat_poisoned_o    likewise, poisoned data
//   stat_timeout_o     once for each read request given up unanswered
//   stat_malformed_o   once for each completion that disagrees with its request
//   idle_o             low while a read or a write is queued or in flight, also while only an answer is awaited
//
// Has to keep:
//   payload      offered only when the whole packet is there, in request order
//   wr_done_o    when the last TLP of the write has been accepted at the pins; the NIC takes it as the probe cqe
//   completions  always taken
//   wqe_reads    neither wait for payload's data nor hold it up; their tags are 960 to 1023 of 10 bits, 224 to 255 of
//                8, or 24 to 31 of 5
module dma_master #(
  parameter int unsigned NumTags = 448,        // payload reads: 1..768-WqeTags
  parameter int unsigned WqeTags = 64,         // WQE reads: power of two, 8..256
  parameter int unsigned WqeTags8 = 32,        // of them with 8-bit tags: power of two, 8..WqeTags, at most 128
  parameter int unsigned BufBytes = 65536,
  parameter int unsigned MaxReads = 512,       // rd_req in flight
  parameter int unsigned WqeBufBytes = 16384,
  parameter int unsigned MaxWqeReads = 32
) (
  input  logic clk_i,
  input  logic rst_ni,                 // of the function: tags in use become orphans
  input  logic link_rst_ni,            // of the link: of the tags, too; only with rst_ni
  input  logic [63:0] now_i,           // ns
  input  rnic_pkg::pcie_cfg_t cfg_i,
  // Payload reads
  input  logic rd_valid_i,
  output logic rd_ready_o,
  input  rnic_pkg::rd_req_t rd_i,
  output logic pay_valid_o,
  input  logic pay_ready_i,
  output rnic_pkg::payload_t pay_o,
  // WQE reads, likewise
  input  logic rd2_valid_i,
  output logic rd2_ready_o,
  input  rnic_pkg::rd_req_t rd2_i,
  output logic pay2_valid_o,
  input  logic pay2_ready_i,
  output rnic_pkg::payload_t pay2_o,
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
  input  logic cpl_mid_i,              // the completion of which a beat came last goes on
  // To pcie_tlp_gen: room for completions that reads had, given back in this cycle
  output logic [7:0] back_h_o,
  output logic [9:0] back_d_o,         // in 16 B
  // Observation
  output logic stat_unexpected_o,      // completion for a tag that is not in use
  output logic stat_ur_o,              // completion with this status, or read given up
  output logic stat_ca_o,
  output logic stat_poisoned_o,
  output logic stat_timeout_o,
  output logic stat_malformed_o,       // more data than asked for, or inconsistent
  output logic probe_rd_o,             // payload read accepted
  output rnic_pkg::op_t probe_rd_op_o,
  output logic probe_done_o,           // last payload byte of a read in the buffer
  output rnic_pkg::op_t probe_done_op_o,
  output logic idle_o
);
  // ---- Places for registers: 1 puts one into the stream, which costs a cycle --------------------
  localparam bit RegRd = 1'b0;
  localparam bit RegRd2 = 1'b0;
  localparam bit RegWr = 1'b0;
  localparam bit RegWdata = 1'b0;

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

  logic rd2_valid, rd2_ready;
  rnic_pkg::rd_req_t rd2;
  if (RegRd2) begin : gen_rd2_reg
    stream_register #(.Width($bits(rd2_i))) u_rd2_reg (
      .clk_i, .rst_ni,
      .in_valid_i(rd2_valid_i), .in_ready_o(rd2_ready_o), .in_data_i(rd2_i),
      .out_valid_o(rd2_valid), .out_ready_i(rd2_ready), .out_data_o(rd2)
    );
  end else begin : gen_rd2_wire
    assign rd2_valid = rd2_valid_i;
    assign rd2_ready_o = rd2_ready;
    assign rd2 = rd2_i;
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

  // ---- Your logic stands here, instead of ours or around it --------------------------------------
  logic idle;
  dma_master_ref #(
    .NumTags(NumTags), .WqeTags(WqeTags), .WqeTags8(WqeTags8), .BufBytes(BufBytes), .MaxReads(MaxReads), .WqeBufBytes(WqeBufBytes), .MaxWqeReads(MaxWqeReads)
  ) u_ref (
    .clk_i, .rst_ni, .link_rst_ni, .now_i, .cfg_i, .rd_valid_i(rd_valid), .rd_ready_o(rd_ready),
    .rd_i(rd), .pay_valid_o, .pay_ready_i, .pay_o, .rd2_valid_i(rd2_valid), .rd2_ready_o(rd2_ready),
    .rd2_i(rd2), .pay2_valid_o, .pay2_ready_i, .pay2_o, .wr_valid_i(wr_valid),
    .wr_ready_o(wr_ready), .wr_i(wr), .wdata_valid_i(wdata_valid), .wdata_ready_o(wdata_ready),
    .wdata_i(wdata), .wr_done_o, .wr_done_op_o, .treq_rd_valid_o, .treq_rd_ready_i, .treq_rd_o,
    .treq_wr_valid_o, .treq_wr_ready_i, .treq_wr_o, .twd_valid_o, .twd_ready_i, .twd_o, .twr_sent_i,
    .cpl_valid_i, .cpl_i, .cpl_mid_i, .back_h_o, .back_d_o, .stat_unexpected_o, .stat_ur_o,
    .stat_ca_o, .stat_poisoned_o, .stat_timeout_o, .stat_malformed_o, .probe_rd_o, .probe_rd_op_o,
    .probe_done_o, .probe_done_op_o, .idle_o(idle)
  );

  // What stands in a register is work: no edge may be left out while it does.
  assign idle_o = idle && !(RegRd && rd_valid) && !(RegRd2 && rd2_valid) && !(RegWr && wr_valid) && !(RegWdata && wdata_valid);
endmodule
